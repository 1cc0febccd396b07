#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/search/schedules/schedule_work.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"

namespace schedule_algorithm_test {

using namespace natten_sim;

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) found.push_back(algorithm->name);
  return found;
}

TEST_CASE("every file of the algorithms' folder is an algorithm, in the order of positions") {
  CHECK(names() == std::vector<std::string>{"ascending", "descending", "spt", "outside-in", "first-come",
                                            "shift", "wave-shift", "symmetric-shift", "fa2-split", "two-pass",
                                            "unordered", "best"});
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
    INFO(algorithm->name);
    CHECK(!algorithm->origin.empty());
    CHECK(&schedule_algorithm(algorithm->name) == algorithm);
  }
}

TEST_CASE("an unknown algorithm is answered with all names and the closest one") {
  try {
    (void)schedule_algorithm("shfit");
    FAIL("an unknown name was accepted");
  } catch (const UnknownName& error) {
    CHECK(error.hint() == "shift");
    CHECK(
        error.accepted() ==
        "ascending, descending, spt, outside-in, first-come, shift, wave-shift, symmetric-shift, fa2-split, "
        "two-pass, unordered, best");
  }
}

TEST_CASE("names that are taken, reserved or no names are refused, and so is an algorithm without a plan") {
  const auto plan = schedule_algorithm("spt").plan;
  for (const char* name : {"spt", "all", "", "-x", "Upper", "a b", "a,b"}) {
    INFO(name);
    CHECK_THROWS_AS(add_schedule_algorithm({.name = name, .plan = plan}), InvalidParameter);
  }
  CHECK_THROWS_AS(add_schedule_algorithm({.name = "planless"}), InvalidParameter);
  CHECK(names().size() == 12);
}

TEST_CASE("whether an algorithm applies is a question, and its answer a value") {
  ScheduleRequest request;
  request.problem.mask = window_mask({8, 8, 2, 2}, {});
  request.problem.workers = 4;
  const ScheduleAlgorithm& symmetric = schedule_algorithm("symmetric-shift");
  CHECK(symmetric.not_applicable(request.problem).has_value());
  CHECK(std::holds_alternative<NotApplicable>(attempt_plan(symmetric, request)));
  CHECK_THROWS_AS(plan_backward(symmetric, request), InvalidParameter);
  request.problem.mask = window_mask({8, 8, 2, 2}, {std::nullopt, 0});
  CHECK(!symmetric.not_applicable(request.problem));
  CHECK(std::holds_alternative<SchedulePlan>(attempt_plan(symmetric, request)));
}

TEST_CASE("a construction that never finishes is a deadlock as a value") {
  // Two heads share a KV head, so head 1 waits for head 0 to reduce dK/dV, on the one worker that runs head 1
  // first: launched last first, on one worker.
  ScheduleRequest request;
  request.problem.mask = window_mask({4, 4, 2, 2}, {});
  request.problem.heads = request.problem.heads_per_kv_head = 2;
  request.problem.workers = 1;
  SchedulePlan plan = plan_backward(schedule_algorithm("ascending"), request);
  BackwardSchedule& schedule = plan.phases.front().schedule;
  std::reverse(schedule.chains.begin(), schedule.chains.end());
  const auto outcome = attempt_run(plan);
  REQUIRE(std::holds_alternative<Deadlock>(outcome));
  CHECK(std::get<Deadlock>(outcome).text().starts_with("deadlock: chain (head 1, KV tile 1) waits"));
  CHECK_THROWS_AS(run_plan(plan), DeadlockError);
}

TEST_CASE("shift launches head by head, and all heads in one section with more KV than Q tiles") {
  const auto chains = [](std::int32_t q_tiles, std::int32_t kv_tiles) {
    ScheduleRequest request;
    const auto cells = static_cast<std::size_t>(q_tiles) * static_cast<std::size_t>(kv_tiles);
    request.problem.mask = {q_tiles, kv_tiles, std::vector<TileWork>(cells, TileWork::kFull)};
    request.problem.heads = 2;
    request.problem.workers = 2;
    std::vector<std::pair<std::int32_t, std::int32_t>> order;
    const SchedulePlan plan = plan_backward(schedule_algorithm("shift"), request);
    for (const ScheduledChain& chain : plan.phases.front().schedule.chains)
      order.emplace_back(chain.head, chain.kv_tile);
    return order;
  };
  using Order = std::vector<std::pair<std::int32_t, std::int32_t>>;
  CHECK(chains(2, 2) == Order{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(chains(3, 2) == Order{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  CHECK(chains(1, 2) == Order{{0, 0}, {1, 0}, {0, 1}, {1, 1}});
}

TEST_CASE("an algorithm that would take more than 4 GiB for a legal problem lacks fewer tasks") {
  // Orders of dQ by the time of a run: 44 bytes a task, so 2^27 take 5.5 GiB; by KV tile, 14.
  ScheduleRequest request;
  request.problem.mask = {1 << 7, 1 << 7, std::vector<TileWork>(1 << 14, TileWork::kFull)};
  request.problem.heads = 1 << 13;
  const PlanOutcome outcome = attempt_plan(schedule_algorithm("shift"), request);
  REQUIRE(std::holds_alternative<NotApplicable>(outcome));
  CHECK(std::get<NotApplicable>(outcome).needs.find("4 GiB") != std::string::npos);
  CHECK(schedule_work(schedule_algorithm("spt"), request.problem).bytes < static_cast<double>(kMaxScheduleBytes));
}

}  // namespace schedule_algorithm_test
