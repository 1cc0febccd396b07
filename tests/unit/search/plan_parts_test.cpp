// Plans of several kernels, what they keep in memory, and what a search adds to the constructions.
#include <algorithm>
#include <chrono>
#include <functional>
#include <tuple>
#include <vector>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/models/schedules/schedule_bounds.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "catch.hpp"
#include "random_masks.hpp"
#include "refused.hpp"
#include "schedules/construct.hpp"

namespace plan_parts_test {

using namespace natten_sim;

ScheduleRequest random_request(RandomSequence& random) {
  ScheduleRequest request;
  request.problem.mask = test::random_block_mask(random, 5);
  request.problem.heads = static_cast<std::int32_t>(1 + random.below(4));
  request.problem.workers = static_cast<std::int32_t>(1 + random.below(7));
  // Quarters: sums are exact, and gaps of less than 1 count.
  const auto quarters = [&](std::size_t below) { return static_cast<double>(random.below(below)) / 4; };
  BackwardCosts& costs = request.costs;
  costs.compute = 0.25 + quarters(20), costs.compute_partial = 0.25 + quarters(20);
  costs.reduce = 0.25 + quarters(9);
  costs.prologue = quarters(9), costs.epilogue = quarters(9), costs.handoff = quarters(6);
  costs.writer_stages = static_cast<std::int32_t>(random.below(4));
  return request;
}

/// A lone chain on a lone worker.
double lone_time(const ScheduleRequest& request, std::int32_t kv_tile) {
  BackwardProblem lone;
  lone.mask.q_tiles = request.problem.mask.q_tiles;
  lone.mask.kv_tiles = 1;
  std::vector<TileWork> cells;
  for (std::int32_t q = 0; q < lone.mask.q_tiles; ++q) cells.push_back(request.problem.mask.at(q, kv_tile));
  lone.mask.work = std::move(cells);
  BackwardSchedule schedule;
  schedule.chains = {{0, 0, attended_q_tiles(lone.mask, 0)}};
  return run_schedule(lone, request.costs, schedule).makespan;
}

TEST_CASE("CTAs of fa2-split go to the worker that is free first, ties to the smaller one") {
  RandomSequence random(29);
  for (int trial = 0; trial < 200; ++trial) {
    ScheduleRequest request = random_request(random);
    if (trial % 2 == 0) request.problem.workers = request.problem.heads - 1 + request.problem.workers % 2;
    if (request.problem.workers == 0) request.problem.workers = 1;
    request.problem.heads *= 3;  // so that workers take several CTAs
    const BackwardProblem& problem = request.problem;
    const SchedulePlan plan = plan_backward(schedule_algorithm("fa2-split"), request);
    const std::int32_t splits = (problem.workers + problem.heads - 1) / problem.heads;
    std::vector<double> free(static_cast<std::size_t>(problem.workers), 0.0);
    std::vector<std::tuple<std::int32_t, std::int32_t, std::int32_t>> wanted, found;  // head, KV tile, worker
    for (std::int32_t head = 0; head < problem.heads; ++head) {
      for (std::int32_t split = 0; split < splits; ++split) {
        const auto first = std::min_element(free.begin(), free.end());
        for (std::int32_t kv = split; kv < problem.mask.kv_tiles; kv += splits) {
          wanted.emplace_back(head, kv, static_cast<std::int32_t>(first - free.begin()));
          *first += lone_time(request, kv);
        }
      }
    }
    const BackwardSchedule& schedule = plan.phases.front().schedule;
    for (std::size_t i = 0; i < schedule.chains.size(); ++i)
      found.emplace_back(schedule.chains[i].head, schedule.chains[i].kv_tile, schedule.worker[i]);
    INFO("trial " << trial);
    CHECK(found == wanted);
    CHECK(plan.memory.dq_buffers == splits);
    CHECK(plan.memory.dkv == DkvMemory::kOneAQueryHead);
    CHECK_FALSE(plan.memory.dq_counters);
    CHECK_FALSE(plan.memory.dkv_counters);
    ScheduleRequest fixed = request;
    fixed.dispatch = Dispatch::kStatic;
    const SchedulePlan turns = plan_backward(schedule_algorithm("fa2-split"), fixed);
    CHECK(turns.dispatch == Dispatch::kStatic);
    std::size_t at = 0;
    for (std::int32_t cta = 0; cta < problem.heads * splits; ++cta) {
      for (std::int32_t kv = cta % splits; kv < problem.mask.kv_tiles; kv += splits)
        CHECK(turns.phases.front().schedule.worker[at++] == cta % problem.workers);
    }
  }
}

TEST_CASE("two passes take four and three of five products, the second by Q tile, and keep no dQ buffer") {
  // Two heads share a KV head. KV tile 0: full, partial, none; KV tile 1: none, none, full.
  ScheduleRequest request;
  request.problem.mask = {3, 2, std::vector<TileWork>(6, TileWork::kNone)};
  request.problem.mask.work[0] = TileWork::kFull;
  request.problem.mask.work[2] = TileWork::kPartial;
  request.problem.mask.work[5] = TileWork::kFull;
  request.problem.heads = request.problem.heads_per_kv_head = 2;
  request.problem.merged_heads = 3;
  request.problem.workers = 2;
  request.costs = {.compute = 10, .compute_partial = 5, .reduce = 3, .handoff = 2, .reduce_kv = 1};
  request.costs.handoff_far = 4;
  request.costs.prologue = 7, request.costs.epilogue = 6, request.costs.early_exit = 1;
  request.costs.dkv_turns = DkvTurns::kApart;
  const SchedulePlan plan = plan_backward(schedule_algorithm("two-pass"), request);
  REQUIRE(plan.phases.size() == 2);
  const SchedulePhase &dkv = plan.phases[0], &dq = plan.phases[1];
  CHECK(dkv.name == "dkv");
  CHECK(dq.name == "dq");
  CHECK(dkv.problem.mask == request.problem.mask);
  CHECK(dkv.problem.heads_per_kv_head == 2);
  CHECK(dq.problem.heads_per_kv_head == 1);
  REQUIRE(dq.problem.mask.q_tiles == 2);
  REQUIRE(dq.problem.mask.kv_tiles == 3);
  for (std::int32_t q = 0; q < 3; ++q) {
    for (std::int32_t kv = 0; kv < 2; ++kv)
      CHECK(dq.problem.mask.at(kv, q) == request.problem.mask.at(q, kv));
  }
  for (const SchedulePhase* phase : {&dkv, &dq}) {
    CHECK(phase->problem.merged_heads == 1);
    CHECK(phase->problem.heads == 2);
    CHECK(phase->costs.compute == 10 * (phase == &dkv ? 4 : 3) / 5.0);
    CHECK(phase->costs.compute_partial == 5 * (phase == &dkv ? 4 : 3) / 5.0);
    CHECK(phase->costs.reduce == 0);
    CHECK(phase->costs.reduce_kv == 1);
    CHECK(phase->costs.handoff == 2);
    CHECK(phase->costs.handoff_far == 4);
    CHECK(phase->costs.prologue == 7);
    CHECK(phase->costs.epilogue == 6);
    CHECK(phase->costs.early_exit == 1);
    CHECK(phase->costs.dkv_turns == DkvTurns::kApart);
    CHECK(phase->schedule.dq_order.empty());
  }
  CHECK(plan.memory.dq_buffers == 0);
  CHECK(plan.memory.dkv_counters);
  CHECK_FALSE(plan.memory.dq_counters);
  CHECK(plan.dispatch == Dispatch::kDynamic);
}

TEST_CASE("a plan keeps counters of turns where something is ordered") {
  ScheduleRequest request;
  request.problem.mask = {2, 2, std::vector<TileWork>(4, TileWork::kFull)};
  request.problem.workers = 2;
  for (const char* name : {"ascending", "spt", "shift", "best"}) {
    const SchedulePlan plan = plan_backward(schedule_algorithm(name), request);
    CHECK(plan.memory.dq_counters);
    CHECK(plan.memory.dq_buffers == 1);
    CHECK(plan.memory.dkv == DkvMemory::kOneAKvHead);
  }
  CHECK_FALSE(plan_backward(schedule_algorithm("unordered"), request).memory.dq_counters);
  BackwardSchedule schedule = plan_backward(schedule_algorithm("ascending"), request).phases[0].schedule;
  CHECK(one_phase(request, schedule).memory.dkv_counters);
  schedule.dkv_order = DkvOrder::kUnordered;
  CHECK_FALSE(one_phase(request, schedule).memory.dkv_counters);
}

TEST_CASE("a bound that was exhausted below the other bounds changes nothing") {
  ScheduleRequest request;
  request.problem.mask = {2, 2, std::vector<TileWork>(4, TileWork::kFull)};
  request.problem.workers = 2;
  SchedulePlan plan = plan_backward(schedule_algorithm("ascending"), request);
  const PlanRun run = run_plan(plan);
  REQUIRE(run.binding.has_value());
  plan.exhausted_at = run.lower_bound - 1;
  CHECK(run_plan(plan).lower_bound == run.lower_bound);
  CHECK(run_plan(plan).binding == run.binding);
}

TEST_CASE("best is no later than any ordered construction in either dispatch, with no effort") {
  RandomSequence random(31);
  for (int trial = 0; trial < 150; ++trial) {
    ScheduleRequest request = random_request(random);
    request.effort = 0;
    const double best = run_plan(plan_backward(schedule_algorithm("best"), request)).makespan;
    INFO("trial " << trial);
    for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
      if (!algorithm->ordered || algorithm->searches) continue;
      for (const Dispatch dispatch : {Dispatch::kStatic, Dispatch::kDynamic}) {
        ScheduleRequest named = request;
        named.dispatch = dispatch;
        PlanOutcome outcome = attempt_plan(*algorithm, named);
        const auto* plan = std::get_if<SchedulePlan>(&outcome);
        if (plan == nullptr) continue;
        const auto run = attempt_run(*plan);
        if (const auto* done = std::get_if<PlanRun>(&run)) CHECK(best <= done->makespan);
      }
    }
    // List schedules of all chains: head by head, and longest first.
    std::vector<std::int32_t> chains;
    for (std::int32_t chain = 0; chain < request.problem.heads * request.problem.mask.kv_tiles; ++chain) {
      if (!attended_q_tiles(request.problem.mask, chain % request.problem.mask.kv_tiles).empty())
        chains.push_back(chain);
    }
    const auto time = [&](std::int32_t chain) {
      return chain_time(request.problem, request.costs, chain % request.problem.mask.kv_tiles);
    };
    std::vector<std::vector<std::int32_t>> orders = {chains, chains, chains, chains, chains};
    std::stable_sort(orders[1].begin(), orders[1].end(), [&](auto a, auto b) { return time(a) > time(b); });
    std::stable_sort(orders[2].begin(), orders[2].end(), [&](auto a, auto b) { return time(a) < time(b); });
    const std::int32_t kv = request.problem.mask.kv_tiles;
    std::stable_sort(orders[3].begin(), orders[3].end(), [&](auto a, auto b) { return a % kv < b % kv; });
    std::stable_sort(orders[4].begin(), orders[4].end(), [&](auto a, auto b) {
      return std::pair(a / kv, -time(a)) < std::pair(b / kv, -time(b));
    });
    for (const auto& order : orders) {
      const auto listed = schedules::list_schedule(request.problem, request.costs, order, {});
      if (listed) CHECK(best <= run_schedule(request.problem, request.costs, *listed).makespan);
    }
  }
}

/// Requests of up to five tasks that constructions alone leave with a gap.
std::vector<ScheduleRequest> gap_requests(std::size_t count) {
  std::vector<ScheduleRequest> requests;
  RandomSequence random(41);
  while (requests.size() < count) {
    ScheduleRequest request = random_request(random);
    request.costs.handoff = 1 + request.costs.handoff;
    request.effort = 0;
    const std::int64_t tasks = request.problem.heads * request.problem.mask.attended().count;
    if (tasks < 2 || tasks > 5 || request.problem.workers > 3) continue;
    const SchedulePlan constructed = plan_backward(schedule_algorithm("best"), request);
    CHECK_FALSE(constructed.exhausted_at);
    if (run_plan(constructed).optimality_gap > 0) requests.push_back(request);
  }
  return requests;
}

TEST_CASE(
    "a gap of the bounds is closed by trying all schedules, with an effort of one and in half of a time "
    "limit") {
  std::vector<ScheduleRequest> requests = gap_requests(8), proven;
  std::size_t at_once = 0;
  for (ScheduleRequest& request : requests) {
    request.effort = 1;  // 500 nodes
    at_once += plan_backward(schedule_algorithm("best"), request).exhausted_at ? 1 : 0;
    request.effort = 100;
    const SchedulePlan searched = plan_backward(schedule_algorithm("best"), request);
    CHECK(run_plan(searched).optimality_gap == 0);
    if (!searched.exhausted_at) continue;  // a schedule was found that meets the bound
    CHECK(run_plan(searched).makespan == *searched.exhausted_at);
    proven.push_back(request);
  }
  CHECK(at_once > 0);
  REQUIRE(!proven.empty());
  ScheduleRequest& request = proven.front();
  const SchedulePlan searched = plan_backward(schedule_algorithm("best"), request);
  request.effort.reset();
  request.time_limit_s = 0.2;
  const auto begin = std::chrono::steady_clock::now();
  const SchedulePlan limited = plan_backward(schedule_algorithm("best"), request);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(100));
  CHECK(limited.exhausted_at == searched.exhausted_at);
}

TEST_CASE("progress of a search goes from nothing to nearly all in equal steps") {
  ScheduleRequest request;  // 48 tasks: more than are tried exhaustively
  request.problem.mask = {2, 3, std::vector<TileWork>(6, TileWork::kFull)};
  request.problem.heads = 8;
  request.problem.workers = 5;
  request.costs = {.compute = 3, .compute_partial = 3, .reduce = 2, .handoff = 1};
  request.effort = 40;
  std::vector<double> shown;
  request.progress = [&](double share) { shown.push_back(share); };
  (void)plan_backward(schedule_algorithm("best"), request);
  REQUIRE(shown.size() <= 40);
  for (std::size_t i = 0; i < shown.size(); ++i) CHECK(shown[i] == static_cast<double>(i) / 40);
}

TEST_CASE("a worker whose tiles are all held waits for their release, and then goes on") {
  // KV tile 0 attends to Q tiles 0 and 1, KV tile 1 to Q tile 0. Worker 0 computes until 3 and reduces Q tile
  // 0, which has more to come, until 4; it keeps the turn until it has that of Q tile 1, at 7. So does worker
  // 1 wait.
  BackwardProblem problem;
  problem.mask = {2, 2, std::vector<TileWork>(4, TileWork::kFull)};
  problem.mask.work[3] = TileWork::kNone;
  problem.workers = 2;
  BackwardCosts costs{.compute = 3, .compute_partial = 3, .reduce = 1};
  costs.release = TurnRelease::kAfterNext;
  const std::vector<std::vector<std::int32_t>> lists = {{0}, {1}};
  const auto held = schedules::list_schedule(problem, costs, lists, {});
  REQUIRE(held);
  CHECK(held->dq_order == std::vector<std::vector<std::int32_t>>{{0, 1}, {0}});
  CHECK(run_schedule(problem, costs, *held).makespan == 7 + 1);
  const auto first_come = schedules::first_come_first_served(problem, costs, {lists, {{0, 1}, {0}}});
  REQUIRE(first_come);
  CHECK(run_schedule(problem, costs, *first_come).makespan == 7 + 1);
  costs.release = TurnRelease::kAtOnce;
  CHECK(run_schedule(problem, costs, *schedules::list_schedule(problem, costs, lists, {})).makespan == 8);
}

TEST_CASE("the bins of a symmetric shift go to the workers in turn, from the first on") {
  ScheduleRequest request;
  request.problem.mask = window_mask({8, 8, 1, 1}, {std::nullopt, 0});
  request.problem.heads = 2;
  request.problem.workers = 3;
  const BackwardSchedule schedule =
      plan_backward(schedule_algorithm("symmetric-shift"), request).phases.front().schedule;
  // Bins of KV tiles j and 7 - j, head by head.
  REQUIRE(schedule.chains.size() == 16);
  for (std::size_t i = 0; i < 16; ++i) {
    const ScheduledChain& chain = schedule.chains[i];
    const std::int32_t bin = 4 * chain.head + std::min(chain.kv_tile, 7 - chain.kv_tile);
    CHECK(schedule.worker[i] == bin % 3);
  }
}

TEST_CASE("the middle of an odd causal mask turns for the first head of two, and for a last one alone") {
  // Five KV tiles: the middle, tile 2, has rows 2, 3 and 4. The pairs leave 4, 2, 3 of the shifted square
  // free; the second head's goes upwards.
  ScheduleRequest request;
  request.problem.mask = {5, 5, std::vector<TileWork>(25, TileWork::kNone)};
  for (std::size_t q = 0; q < 5; ++q) {
    for (std::size_t kv = 0; kv <= q; ++kv) request.problem.mask.work[q * 5 + kv] = TileWork::kFull;
  }
  request.problem.heads = 3;
  request.problem.workers = 2;
  const SchedulePlan plan = plan_backward(schedule_algorithm("symmetric-shift"), request);
  std::vector<std::vector<std::int32_t>> middles(3);
  for (const ScheduledChain& chain : plan.phases[0].schedule.chains) {
    if (chain.kv_tile == 2) middles[static_cast<std::size_t>(chain.head)] = chain.q_order;
  }
  CHECK(middles == std::vector<std::vector<std::int32_t>>{{4, 2, 3}, {4, 3, 2}, {4, 2, 3}});
}

TEST_CASE("a request of 2^27 tasks is taken, and one head more is refused") {
  ScheduleRequest request;
  request.problem.mask = {1 << 7, 1 << 7, std::vector<TileWork>(1 << 14, TileWork::kFull)};
  const auto refused = [&](std::int32_t heads) {
    request.problem.heads = heads;
    return test::refused([&] { require_valid(request); });
  };
  CHECK(refused(1 << 13).empty());
  CHECK(refused((1 << 13) + 1) == "tasks");
  request.problem.mask = {1, 1 << 16, std::vector<TileWork>(1 << 16, TileWork::kNone)};
  CHECK(refused((1 << 11) + 1) == "tasks");  // chains without tasks count
}

TEST_CASE("a schedule that would take more than 4 GiB is refused, and the heads are named") {
  // 96 bytes a chain, 72 a dQ tile and 14 a task for each head, and 16 a task of the mask.
  ScheduleRequest request;
  request.problem.mask = {1 << 16, 1, std::vector<TileWork>(1 << 16, TileWork::kFull)};
  const std::int64_t a_head = 96 + (72 + 14) * (1 << 16), of_mask = 16 * (1 << 16);
  request.problem.heads = 5;
  CHECK(schedule_bytes(request.problem) == 5 * a_head + of_mask);
  const auto most = static_cast<std::int32_t>(((std::int64_t{1} << 32) - of_mask) / a_head);
  request.problem.heads = most;
  CHECK_NOTHROW(require_valid(request));
  request.problem.heads = most + 1;
  CHECK(test::refused([&] { require_valid(request); }) == "heads");
  request.problem.mask = {1, 1, std::vector<TileWork>(1, TileWork::kFull)};
  request.problem.heads = 1 << 27;  // 26 GB by what was measured
  CHECK(test::refused([&] { require_valid(request); }) == "heads");
}

TEST_CASE("what a request asks for ends where it says") {
  ScheduleRequest request;
  request.problem.mask = {1, 1, std::vector<TileWork>(1, TileWork::kFull)};
  const auto refused = [&](const std::function<void(ScheduleRequest&)>& change) {
    ScheduleRequest other = request;
    change(other);
    return test::refused([&] { require_valid(other); });
  };
  CHECK(refused([](ScheduleRequest& r) { r.launch = HeadSections{1}; }).empty());
  CHECK(refused([](ScheduleRequest& r) { r.launch = HeadSections{0}; }) == "launch_order");
  CHECK(refused([](ScheduleRequest& r) { r.heads_in_flight = 1; }).empty());
  CHECK(refused([](ScheduleRequest& r) { r.heads_in_flight = 0; }) == "heads_in_flight");
  CHECK(refused([](ScheduleRequest& r) { r.time_limit_s = 0; }).empty());
  CHECK(refused([](ScheduleRequest& r) { r.time_limit_s = 86400; }).empty());
  CHECK(refused([](ScheduleRequest& r) { r.time_limit_s = -1; }) == "time_limit");
  CHECK(refused([](ScheduleRequest& r) { r.time_limit_s = 86401; }) == "time_limit");
  CHECK(refused([](ScheduleRequest& r) { r.effort = 0; }).empty());
  CHECK(refused([](ScheduleRequest& r) { r.effort = -1; }) == "effort");
}

TEST_CASE("a gap is of a bound below 1 too") {
  ScheduleRequest request;
  request.problem.mask = {2, 2, std::vector<TileWork>(4, TileWork::kFull)};
  request.problem.workers = 2;
  request.costs = {.compute = 0.25, .compute_partial = 0.25, .reduce = 0.125};
  const PlanRun run = run_plan(plan_backward(schedule_algorithm("ascending"), request));
  CHECK(run.lower_bound == 0.75);
  CHECK(run.makespan == 0.25 + 0.125 + 0.125 + 0.25 + 0.125);  // the second waits once
  CHECK(run.optimality_gap == run.makespan / 0.75 - 1);
}

TEST_CASE("a plan of nothing has no gap") {
  ScheduleRequest request;
  request.problem.mask = {2, 2, std::vector<TileWork>(4, TileWork::kNone)};
  const PlanRun run = run_plan(plan_backward(schedule_algorithm("ascending"), request));
  CHECK(run.makespan == 0);
  CHECK(run.optimality_gap == 0);
  CHECK_FALSE(run.utilization.has_value());
}

}  // namespace plan_parts_test
