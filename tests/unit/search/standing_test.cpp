// A search that is left and goes on: from its best schedule, with the iterations that are left.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>

#include "catch.hpp"

namespace standing_test {

using namespace natten_sim;

/// 11 causal tiles and 3 heads on 9 workers: 198 tasks, whose bound is not met.
ScheduleRequest causal_request(std::int64_t effort) {
  ScheduleRequest request;
  request.problem.mask.q_tiles = request.problem.mask.kv_tiles = 11;
  for (std::int32_t q = 0; q < 11; ++q) {
    for (std::int32_t kv = 0; kv < 11; ++kv)
      request.problem.mask.work.push_back(kv <= q ? TileWork::kFull : TileWork::kNone);
  }
  request.problem.heads = 3;
  request.problem.workers = 9;
  request.costs = {.compute = 5, .reduce = 4, .handoff = 3};
  request.effort = effort;
  return request;
}

PlanRun run_of(const ScheduleRequest& request) {
  return run_plan(plan_backward(schedule_algorithm("best"), request));
}

double makespan_of(const ScheduleRequest& request, const BackwardSchedule& schedule) {
  return std::get<ScheduleRun>(attempt_schedule(request.problem, request.costs, schedule)).makespan;
}

TEST_CASE("a search says where it stands before its first iteration, at each, and behind its last") {
  ScheduleRequest request = causal_request(20);
  std::vector<std::int64_t> iterations;
  std::vector<double> makespans;
  request.standing = [&](std::int64_t done, const BackwardSchedule& best) {
    iterations.push_back(done);
    makespans.push_back(makespan_of(request, best));
  };
  const PlanRun run = run_of(request);
  REQUIRE(iterations.size() == 21);
  for (std::int64_t i = 0; i <= 20; ++i) CHECK(iterations[static_cast<std::size_t>(i)] == i);
  for (std::size_t i = 1; i < makespans.size(); ++i) CHECK(makespans[i] <= makespans[i - 1]);
  CHECK(makespans.back() == run.makespan);
}

TEST_CASE("a search that goes on does what is left of its effort, and ends no later than it began") {
  ScheduleRequest first = causal_request(40);
  SearchStanding left;
  first.standing = [&](std::int64_t done, const BackwardSchedule& best) {
    if (done == 15) left = {done, best};
  };
  (void)run_of(first);
  REQUIRE(left.iterations == 15);

  ScheduleRequest second = causal_request(40);
  second.start = left;
  std::vector<std::int64_t> iterations;
  second.standing = [&](std::int64_t done, const BackwardSchedule&) { iterations.push_back(done); };
  const PlanRun run = run_of(second);
  CHECK(run.makespan <= makespan_of(second, left.best));
  REQUIRE(iterations.size() == 26);
  CHECK(iterations.front() == 15);
  CHECK(iterations.back() == 40);

  second.effort = 15;  // nothing is left
  iterations.clear();
  CHECK(run_of(second).makespan <= makespan_of(second, left.best));
  CHECK(iterations == std::vector<std::int64_t>{15});
}

TEST_CASE("a search that goes on tries other schedules than it has tried") {
  const auto found_after = [](std::int64_t earlier) {
    ScheduleRequest request = causal_request(earlier + 40);
    BackwardSchedule late = plan_backward(schedule_algorithm("ascending"), request).phases.front().schedule;
    request.start = SearchStanding{earlier, std::move(late)};
    return plan_backward(schedule_algorithm("best"), request).phases.front().schedule.dq_order;
  };
  CHECK(found_after(0) == found_after(0));
  CHECK((found_after(0) != found_after(40) || found_after(0) != found_after(80)));
}

TEST_CASE("a start that never finishes is no start") {
  ScheduleRequest request = causal_request(0);
  const double made = run_of(request).makespan;
  SearchStanding broken;
  broken.best = plan_backward(schedule_algorithm("ascending"), request).phases.front().schedule;
  REQUIRE(broken.best.dq_order.size() == 33);
  // The first worker's first chain waits for its last one.
  broken.best.dispatch = Dispatch::kStatic;
  broken.best.worker.assign(broken.best.chains.size(), 0);
  for (std::vector<std::int32_t>& order : broken.best.dq_order) std::reverse(order.begin(), order.end());
  request.start = broken;
  CHECK(run_of(request).makespan == made);
}

}  // namespace standing_test
