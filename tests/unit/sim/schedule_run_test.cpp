// Backward schedules that are simple enough to follow by hand, and the paper's closed forms. The schedules are
// written out here, from their descriptions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>

#include "catch.hpp"

namespace schedule_run_test {

using namespace natten_sim;

BackwardProblem square_problem(std::int32_t n, std::int32_t m, bool causal) {
  BackwardProblem problem;
  problem.mask = {n, n, {}};
  for (std::int32_t q = 0; q < n; ++q) {
    for (std::int32_t kv = 0; kv < n; ++kv)
      problem.mask.work.push_back(causal && kv > q ? TileWork::kNone : TileWork::kFull);
  }
  problem.heads = m;
  problem.workers = n;
  return problem;
}

/// Chains head by head, KV tile 0 first; dQ by ascending KV tile; KV tile i on worker i if static.
BackwardSchedule plain_schedule(const BackwardProblem& problem, Dispatch dispatch, bool descending) {
  BackwardSchedule schedule;
  schedule.dispatch = dispatch;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv) {
      schedule.chains.push_back({head, kv, attended_q_tiles(problem.mask, kv)});
      if (descending)
        std::reverse(schedule.chains.back().q_order.begin(), schedule.chains.back().q_order.end());
      if (dispatch == Dispatch::kStatic) schedule.worker.push_back(kv);
    }
    for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q)
      schedule.dq_order.push_back(attended_kv_tiles(problem.mask, q));
  }
  return schedule;
}

/// dQ of every tile in the order of the depth at which its workers come to it.
void order_by_depth(const BackwardProblem& problem, BackwardSchedule& schedule) {
  const auto q_tiles = static_cast<std::size_t>(problem.mask.q_tiles);
  std::vector<std::int32_t> depth(static_cast<std::size_t>(problem.workers), 0);
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> visits(
      static_cast<std::size_t>(problem.heads) * q_tiles);
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    for (const std::int32_t q : schedule.chains[i].q_order) {
      const std::size_t cell =
          static_cast<std::size_t>(schedule.chains[i].head) * q_tiles + static_cast<std::size_t>(q);
      visits[cell].emplace_back(depth[static_cast<std::size_t>(schedule.worker[i])]++,
                                schedule.chains[i].kv_tile);
    }
  }
  for (auto& cell : visits) {
    std::sort(cell.begin(), cell.end());
    schedule.dq_order.emplace_back();
    for (const auto& [when, kv] : cell) schedule.dq_order.back().push_back(kv);
  }
}

/// KV tile i on worker i visits Q tiles i, i+1, .., n-1, 0, .., i-1.
BackwardSchedule shift_schedule(const BackwardProblem& problem) {
  const std::int32_t n = problem.mask.q_tiles;
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kStatic;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t kv = 0; kv < n; ++kv) {
      ScheduledChain chain{head, kv, {}};
      for (std::int32_t t = 0; t < n; ++t) chain.q_order.push_back((kv + t) % n);
      schedule.chains.push_back(chain);
      schedule.worker.push_back(kv);
    }
  }
  order_by_depth(problem, schedule);
  return schedule;
}

/// Even n and m: worker i of one half takes KV tiles i and n-1-i of every other head.
BackwardSchedule symmetric_shift_schedule(const BackwardProblem& problem) {
  const std::int32_t n = problem.mask.q_tiles, half = n / 2;
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kStatic;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t i = 0; i < half; ++i) {
      ScheduledChain longer{head, i, {}}, shorter{head, n - 1 - i, {}};
      for (std::int32_t t = 0; t < half; ++t) longer.q_order.push_back(half + (i + t) % half);
      for (std::int32_t q = i; q < half; ++q) longer.q_order.push_back(q);
      for (std::int32_t q = n - 1; q >= n - 1 - i; --q) shorter.q_order.push_back(q);
      for (const ScheduledChain& chain : {longer, shorter}) {
        schedule.chains.push_back(chain);
        schedule.worker.push_back(head % 2 * half + i);
      }
    }
  }
  order_by_depth(problem, schedule);
  return schedule;
}

void check_makespan(const char* name, const BackwardProblem& problem, const BackwardCosts& costs,
                    const BackwardSchedule& schedule, double expected) {
  INFO(name << ": n " << problem.workers << ", m " << problem.heads << ", c " << costs.compute << ", r "
            << costs.reduce);
  const ScheduleRun run = run_schedule(problem, costs, schedule);
  CHECK(run.makespan == expected);
  if (problem.workers <= 16)
    CHECK(solve_schedule_dag(problem, costs, schedule, run.worker).makespan == expected);
}

void check_path(const DagSolution& solution, std::span<const CriticalStep> expected) {
  REQUIRE(solution.critical_path.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(solution.critical_path[i].chain == expected[i].chain);
    CHECK(solution.critical_path[i].task == expected[i].task);
    CHECK(solution.critical_path[i].phase == expected[i].phase);
    CHECK(solution.critical_path[i].start == expected[i].start);
    CHECK(solution.critical_path[i].end == expected[i].end);
  }
}

TEST_CASE("the paper's closed forms hold, under the conditions that they need") {
  for (const std::int32_t n : {4, 8, 16, 132}) {
    for (const std::int32_t m : {1, 2, 4, 6}) {
      for (const auto& [c, r] : {std::pair{7.0, 2.0}, std::pair{5.0, 5.0}, std::pair{1.0, 0.0}}) {
        const BackwardCosts costs{.compute = c, .compute_partial = c, .reduce = r};
        const BackwardProblem full = square_problem(n, m, false), causal = square_problem(n, m, true);
        const double ascending = m * n * (c + r) + (n - 1) * r;
        for (const Dispatch dispatch : {Dispatch::kDynamic, Dispatch::kStatic}) {
          check_makespan("ascending, full", full, costs, plain_schedule(full, dispatch, false), ascending);
          check_makespan("ascending, causal", causal, costs, plain_schedule(causal, dispatch, false),
                         ascending);
        }
        check_makespan("descending, causal, static", causal, costs,
                       plain_schedule(causal, Dispatch::kStatic, true), m * n * (c + r));
        check_makespan("shift, full", full, costs, shift_schedule(full), m * n * (c + r));
        if (m == 1) {
          check_makespan("descending, causal, one head", causal, costs,
                         plain_schedule(causal, Dispatch::kDynamic, true), n * (c + r));
        }
        if (m % 2 != 0) continue;
        check_makespan("descending, causal, dynamic", causal, costs,
                       plain_schedule(causal, Dispatch::kDynamic, true),
                       m * (n + 1) * (c + r) / 2 + (n - 1) * r);
        check_makespan("symmetric shift, causal", causal, costs, symmetric_shift_schedule(causal),
                       m * (n + 1) * (c + r) / 2);
      }
    }
  }
}

TEST_CASE("two workers by hand: the second waits for the first's reduction and its handoff") {
  const BackwardProblem problem = square_problem(2, 1, false);
  BackwardCosts costs{.compute = 3, .compute_partial = 3, .reduce = 2, .per_tile_tax = 1, .handoff = 4};
  const ScheduleRun run =
      run_schedule(problem, costs, plain_schedule(problem, Dispatch::kDynamic, false), RecordTimes::kYes);
  // Worker 0: C 0-3, R 3-6, C 6-9, R 9-12. Worker 1: C 0-3, waits for 6 + 4, R 10-13, C 13-16, R max(16, 12 +
  // 4)-19.
  CHECK(run.tasks[1].reduce_end == 12);
  CHECK(run.tasks[2].reduce_start == 10);
  CHECK(run.tasks[3].reduce_start == 16);
  CHECK(run.makespan == 19);
  CHECK(run.bubble.startup == 7);
  CHECK(run.bubble.tail == 7);
}

TEST_CASE("of two critical paths the one through the smaller node is named, to the end of the last phase") {
  // Two heads share two KV tiles; dK/dV takes no time, but is handed over in 11. Chains of 10 + 1 on three
  // workers: head 1 follows head 0 on worker 1, and ends at 22 as the handoff from worker 0 does.
  const BackwardProblem problem{
      .mask = {1, 2, {TileWork::kFull, TileWork::kFull}}, .heads = 2, .heads_per_kv_head = 2, .workers = 3};
  const BackwardCosts costs{.compute = 10, .reduce = 1, .handoff = 11};
  const BackwardSchedule schedule{.dispatch = Dispatch::kStatic,
                                  .chains = {{0, 0, {0}}, {0, 1, {0}}, {1, 0, {0}}, {1, 1, {0}}},
                                  .worker = {0, 1, 1, 2}};
  const DagSolution solution = solve_schedule_dag(problem, costs, schedule, schedule.worker);
  CHECK(solution.makespan == 22);
  CHECK(run_schedule(problem, costs, schedule).makespan == 22);
  // The last chain is done at 11, and its dK/dV may start with the handoff that comes from chain 1 at 22.
  CHECK(solution.slack == std::vector<double>{0, 0, 0, 11});
  const CriticalStep expected[] = {{0, 0, TaskPhase::kCompute, 0, 10},
                                   {0, 0, TaskPhase::kReduce, 10, 11},
                                   {2, 0, TaskPhase::kReduceKv, 22, 22}};
  check_path(solution, expected);
}

TEST_CASE("a turn that is kept is passed on with the turn of the next tile, in both simulations") {
  // Worker 0 reduces Q tile 0 until 4, and keeps its turn until it has that of Q tile 1, at 7. Worker 1 has
  // it 2 later, until 10.
  BackwardProblem problem{.mask = {2, 2, std::vector<TileWork>(4, TileWork::kFull)}, .workers = 2};
  problem.mask.work[3] = TileWork::kNone;
  BackwardCosts costs{.compute = 3, .compute_partial = 3, .reduce = 1, .handoff = 2};
  costs.release = TurnRelease::kAfterNext;
  const BackwardSchedule schedule{.dispatch = Dispatch::kStatic,
                                  .chains = {{0, 0, {0, 1}}, {0, 1, {0}}},
                                  .worker = {0, 1},
                                  .dq_order = {{0, 1}, {0}}};
  const DagSolution solution = solve_schedule_dag(problem, costs, schedule, schedule.worker);
  CHECK(solution.makespan == 10);
  CHECK(run_schedule(problem, costs, schedule).makespan == 10);
}

TEST_CASE(
    "where a reduction that waits for its turn passes another one on, that instant is a step of its own") {
  // Worker 1 reduces Q tile 2 until 4 and Q tile 1 from 7 to 8. Worker 0 has waited for that turn since 7; it
  // gets it at 10, and only then gives up that of Q tile 0, which worker 2 has from 12 on.
  BackwardProblem problem{.mask = {3, 3, std::vector<TileWork>(9, TileWork::kNone)}, .workers = 3};
  for (const auto& [q, kv] : {std::pair{0, 0}, {1, 0}, {1, 1}, {2, 1}, {0, 2}})
    problem.mask.work[static_cast<std::size_t>(3 * q + kv)] = TileWork::kFull;
  BackwardCosts costs{.compute = 3, .compute_partial = 3, .reduce = 1, .handoff = 2};
  costs.release = TurnRelease::kAfterNext;
  const BackwardSchedule schedule{.dispatch = Dispatch::kStatic,
                                  .chains = {{0, 0, {0, 1}}, {0, 1, {2, 1}}, {0, 2, {0}}},
                                  .worker = {0, 1, 2},
                                  .dq_order = {{0, 2}, {1, 0}, {1}}};
  const DagSolution solution = solve_schedule_dag(problem, costs, schedule, schedule.worker);
  CHECK(solution.makespan == 13);
  CHECK(run_schedule(problem, costs, schedule).makespan == 13);
  const CriticalStep expected[] = {{1, 0, TaskPhase::kCompute, 0, 3},  {1, 0, TaskPhase::kReduce, 3, 4},
                                   {1, 1, TaskPhase::kCompute, 4, 7},  {1, 1, TaskPhase::kReduce, 7, 8},
                                   {0, 1, TaskPhase::kReduce, 10, 10}, {2, 0, TaskPhase::kReduce, 12, 13}};
  check_path(solution, expected);
}

TEST_CASE("of workers that are free at the same time, the smaller one takes the next chain") {
  BackwardProblem problem;
  problem.mask = {1, 5, std::vector<TileWork>(5, TileWork::kFull)};
  problem.workers = 3;
  BackwardSchedule schedule = plain_schedule(problem, Dispatch::kDynamic, false);
  schedule.dq_order.clear();  // nobody waits: all three are free at 2, then at 4
  CHECK(run_schedule(problem, {}, schedule).worker == std::vector<std::int32_t>{0, 1, 2, 0, 1});
}

TEST_CASE("the time of computes alone leaves out reductions, prologues and epilogues") {
  BackwardProblem problem = square_problem(2, 1, false);
  problem.mask.work[3] = TileWork::kPartial;
  const BackwardCosts costs{
      .compute = 3, .compute_partial = 5, .reduce = 2, .per_tile_tax = 1, .prologue = 7, .epilogue = 11};
  const ScheduleRun run = run_schedule(problem, costs, plain_schedule(problem, Dispatch::kDynamic, false));
  CHECK(run.compute_work == 3 * 3 + 5);
  CHECK(run.total_work == 3 * 3 + 5 + 4 * (2 + 1) + 2 * (7 + 11));
}

TEST_CASE("an asynchronous writer of one stage hides reductions behind the next compute") {
  BackwardProblem problem;
  problem.mask = {4, 1, std::vector<TileWork>(4, TileWork::kFull)};
  const BackwardCosts serial{.compute = 5, .compute_partial = 5, .reduce = 3};
  BackwardCosts writer = serial;
  writer.writer_stages = 1;
  const BackwardSchedule schedule = plain_schedule(problem, Dispatch::kDynamic, false);
  CHECK(run_schedule(problem, serial, schedule).makespan == 4 * (5 + 3));
  CHECK(run_schedule(problem, writer, schedule).makespan == 4 * 5 + 3);
}

TEST_CASE("a deadlock names the waits, whether a cycle or a chain that nobody can start") {
  const BackwardProblem problem = square_problem(2, 1, false);
  BackwardSchedule cycle = plain_schedule(problem, Dispatch::kStatic, false);
  cycle.chains[1].q_order = {0, 1};
  cycle.dq_order = {{1, 0}, {0, 1}};  // KV 0 waits for KV 1 at Q 0, whose next task waits for KV 0 at Q 1
  CHECK_NOTHROW(run_schedule(problem, {}, cycle));
  cycle.chains[1].q_order = {1, 0};
  try {
    (void)run_schedule(problem, {}, cycle);
    FAIL("ran a cycle");
  } catch (const DeadlockError& error) {
    CHECK(std::string(error.what()).find("a cycle") != std::string::npos);
    CHECK(std::string(error.what()).find("Q tile 0 behind KV tile 1") != std::string::npos);
  }
  BackwardProblem one_worker = problem;
  one_worker.workers = 1;
  BackwardSchedule resource = plain_schedule(one_worker, Dispatch::kDynamic, false);
  resource.dq_order = {{1, 0}, {0, 1}};
  try {
    (void)run_schedule(one_worker, {}, resource);
    FAIL("ran a chain that waits for one behind it");
  } catch (const DeadlockError& error) {
    CHECK(std::string(error.what()).find("no worker can start") != std::string::npos);
  }
}

TEST_CASE("schedules that do not fit their problem are refused, and so are impossible costs") {
  const BackwardProblem problem = square_problem(3, 2, true);
  const BackwardSchedule good = plain_schedule(problem, Dispatch::kStatic, false);
  const auto refused = [&](const std::function<void(BackwardSchedule&)>& spoil) {
    BackwardSchedule bad = good;
    spoil(bad);
    CHECK_THROWS_AS(run_schedule(problem, {}, bad), InvalidParameter);
  };
  CHECK_NOTHROW(run_schedule(problem, {}, good));
  refused([](BackwardSchedule& bad) { bad.chains.pop_back(); });
  refused([](BackwardSchedule& bad) { bad.chains[1] = bad.chains[0]; });
  refused([](BackwardSchedule& bad) { bad.chains[0].head = 2; });
  refused([](BackwardSchedule& bad) { bad.chains[0].q_order.pop_back(); });
  refused([](BackwardSchedule& bad) { bad.chains[0].q_order[0] = bad.chains[0].q_order[1]; });
  refused([](BackwardSchedule& bad) { bad.chains[2].q_order[0] = 0; });  // masked
  refused([](BackwardSchedule& bad) { bad.worker[0] = 3; });
  refused([](BackwardSchedule& bad) { bad.worker.pop_back(); });
  refused([](BackwardSchedule& bad) { bad.dispatch = Dispatch::kDynamic; });
  refused([](BackwardSchedule& bad) { bad.dq_order.pop_back(); });
  refused([](BackwardSchedule& bad) { bad.dq_order[2][0] = bad.dq_order[2][1]; });
  for (const double cost : {-1.0, 1e300, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_AS(run_schedule(problem, {.compute = cost}, good), InvalidParameter);
}

}  // namespace schedule_run_test
