// The event simulation of backward schedules against the longest path of their graphs, on random problems.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include <rapidcheck.h>

#include <natten_sim/sim/schedules/schedule_dag.hpp>

#include "catch.hpp"
#include "property/holds.hpp"
#include "random.hpp"

namespace schedule_test {

using namespace natten_sim;

using natten_sim::test::pick;
std::int32_t pick32(std::int64_t lo, std::int64_t hi) { return static_cast<std::int32_t>(pick(lo, hi)); }

template <typename T>
void shuffle(std::vector<T>& values) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(i) - 1))]);
  }
}

BackwardProblem random_problem() {
  BackwardProblem problem;
  problem.mask.q_tiles = pick32(1, 6);
  problem.mask.kv_tiles = pick32(1, 6);
  for (std::int32_t i = 0; i < problem.mask.q_tiles * problem.mask.kv_tiles; ++i) {
    problem.mask.work.push_back(static_cast<TileWork>(pick(0, 5) == 0 ? 0 : pick(1, 2)));
  }
  problem.heads_per_kv_head = pick(0, 2) == 0 ? pick32(2, 3) : 1;
  problem.heads = problem.heads_per_kv_head * pick32(1, 3);
  problem.workers = pick32(1, 8);
  return problem;
}

BackwardCosts random_costs() {
  BackwardCosts costs;
  costs.compute = static_cast<double>(pick(0, 9));
  costs.compute_partial = static_cast<double>(pick(0, 9));
  costs.reduce = static_cast<double>(pick(0, 5));
  costs.per_tile_tax = static_cast<double>(pick(0, 2));
  costs.handoff = static_cast<double>(pick(0, 3));
  if (pick(0, 2) == 0) costs.handoff_far = static_cast<double>(pick(0, 6));
  costs.reduce_kv = static_cast<double>(pick(0, 5));
  costs.writer_stages = pick(0, 1) == 0 ? 0 : pick32(1, 3);
  if (pick(0, 1) == 0) costs.prologue = static_cast<double>(pick(0, 4));
  costs.epilogue = static_cast<double>(std::max<std::int64_t>(0, pick(-6, 6)));
  if (pick(0, 3) == 0) costs.release = TurnRelease::kAfterNext;
  if (pick(0, 1) == 0) costs.dkv_turns = DkvTurns::kApart;
  costs.early_exit = static_cast<double>(std::max<std::int64_t>(0, pick(-3, 3)));
  return costs;
}

/// Random launch order, Q orders and dispatch. dQ orders: none, those in which an unordered run happens to
/// reduce (which a static schedule can always keep), or random ones, which mostly deadlock.
BackwardSchedule random_schedule(const BackwardProblem& problem, const BackwardCosts& costs) {
  BackwardSchedule schedule;
  const BlockMask& mask = problem.mask;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t kv = 0; kv < mask.kv_tiles; ++kv) {
      schedule.chains.push_back({head, kv, attended_q_tiles(mask, kv)});
      if (pick(0, 1) == 0) shuffle(schedule.chains.back().q_order);
    }
  }
  if (pick(0, 2) == 0) shuffle(schedule.chains);
  if (pick(0, 1) == 0) {
    schedule.dispatch = Dispatch::kStatic;
    for (std::size_t i = 0; i < schedule.chains.size(); ++i)
      schedule.worker.push_back(pick32(0, problem.workers - 1));
  }
  const std::int64_t kind = pick(0, 4);
  if (kind == 0) return schedule;
  for (std::int32_t cell = 0; cell < problem.heads * mask.q_tiles; ++cell) {
    schedule.dq_order.push_back(attended_kv_tiles(mask, cell % mask.q_tiles));
    if (kind == 1) shuffle(schedule.dq_order.back());
  }
  if (kind <= 2) return schedule;  // random or ascending
  BackwardSchedule unordered = schedule;
  unordered.dq_order.clear();
  BackwardProblem free = problem;  // the order of dK/dV may deadlock by itself: leave it out here
  free.heads_per_kv_head = 1;
  const ScheduleRun run = run_schedule(free, costs, unordered, RecordTimes::kYes);
  std::vector<std::vector<std::pair<double, std::int32_t>>> ends(schedule.dq_order.size());
  std::size_t task = 0;
  for (const ScheduledChain& chain : schedule.chains) {
    for (const std::int32_t q : chain.q_order) {
      ends[static_cast<std::size_t>(chain.head * mask.q_tiles + q)].emplace_back(run.tasks[task++].reduce_end,
                                                                                 chain.kv_tile);
    }
  }
  for (std::size_t cell = 0; cell < ends.size(); ++cell) {
    std::stable_sort(ends[cell].begin(), ends[cell].end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    schedule.dq_order[cell].clear();
    for (const auto& [end, kv] : ends[cell]) schedule.dq_order[cell].push_back(kv);
  }
  return schedule;
}

std::optional<ScheduleRun> try_run(const BackwardProblem& problem, const BackwardCosts& costs,
                                   const BackwardSchedule& schedule) {
  try {
    return run_schedule(problem, costs, schedule, RecordTimes::kYes);
  } catch (const DeadlockError&) {
    return std::nullopt;
  }
}

std::optional<DagSolution> try_dag(const BackwardProblem& problem, const BackwardCosts& costs,
                                   const BackwardSchedule& schedule,
                                   const std::vector<std::int32_t>& worker) {
  try {
    return solve_schedule_dag(problem, costs, schedule, worker);
  } catch (const DeadlockError&) {
    return std::nullopt;
  }
}

TEST_CASE(
    "event simulation and longest path agree to the last bit on random schedules, and on which ones "
    "deadlock") {
  int finished = 0, deadlocked = 0;
  REQUIRE(natten_sim::test::holds("events == longest path", 10000, [&] {
    const BackwardProblem problem = random_problem();
    const BackwardCosts costs = random_costs();
    const BackwardSchedule schedule = random_schedule(problem, costs);
    const std::optional<ScheduleRun> run = try_run(problem, costs, schedule);
    if (!run) {
      ++deadlocked;
      // A static schedule hangs exactly if its graph has a cycle; dynamic dispatch has no graph before it
      // ran.
      if (schedule.dispatch == Dispatch::kStatic)
        RC_ASSERT(!try_dag(problem, costs, schedule, schedule.worker));
      return;
    }
    ++finished;
    const std::optional<DagSolution> dag = try_dag(problem, costs, schedule, run->worker);
    RC_ASSERT(dag.has_value());
    RC_ASSERT(run->makespan == dag->makespan);
    RC_ASSERT(run->tasks.size() == dag->tasks.size());
    for (std::size_t i = 0; i < run->tasks.size(); ++i) {
      RC_ASSERT(run->tasks[i].compute_start == dag->tasks[i].compute_start);
      RC_ASSERT(run->tasks[i].compute_end == dag->tasks[i].compute_end);
      RC_ASSERT(run->tasks[i].reduce_start == dag->tasks[i].reduce_start);
      RC_ASSERT(run->tasks[i].reduce_end == dag->tasks[i].reduce_end);
      RC_ASSERT(dag->slack[i] >= 0.0);
    }
    if (costs.writer_stages == 0) {
      const ScheduleBubble& bubble = run->bubble;
      RC_ASSERT(run->makespan * problem.workers ==
                run->total_work + bubble.startup + bubble.wait_for_turn + bubble.tail);
    }
  }));
  INFO(finished << " finished, " << deadlocked << " deadlocked");
  if (finished + deadlocked < 10000) return;  // a soak asks for fewer cases at a time
  CHECK(finished > 2500);
  CHECK(deadlocked > 250);
}

TEST_CASE("the critical path is a path: steps follow each other and end at the makespan") {
  REQUIRE(natten_sim::test::holds("critical path", 10000, [] {
    const BackwardProblem problem = random_problem();
    BackwardCosts costs = random_costs();
    const bool handoffs = pick(0, 1) == 0;
    if (!handoffs) {
      costs.handoff = 0;
      costs.handoff_far.reset();
    }
    const BackwardSchedule schedule = random_schedule(problem, costs);
    const std::optional<ScheduleRun> run = try_run(problem, costs, schedule);
    if (!run || run->makespan == 0) return;
    const DagSolution dag = solve_schedule_dag(problem, costs, schedule, run->worker);
    // Steps touch, or lie a handoff apart; together they make the makespan.
    double time = 0;
    for (const CriticalStep& step : dag.critical_path) {
      const double gap = step.start - time;
      RC_ASSERT(gap == 0 || gap == costs.handoff || gap == costs.handoff_far.value_or(costs.handoff));
      RC_ASSERT(step.end > step.start || gap > 0);
      time = step.end;
    }
    RC_ASSERT(time == dag.makespan);
  }));
}

BackwardCosts times(BackwardCosts costs, double factor) {
  for (double* cost : {&costs.compute, &costs.compute_partial, &costs.reduce, &costs.per_tile_tax,
                       &costs.handoff, &costs.reduce_kv, &costs.prologue, &costs.epilogue, &costs.early_exit})
    *cost *= factor;
  if (costs.handoff_far) *costs.handoff_far *= factor;
  return costs;
}

/// The outcome as one list of numbers, times multiplied by `factor`; a deadlock as what waits for what.
std::pair<std::vector<double>, std::string> told(const std::variant<ScheduleRun, Deadlock>& outcome,
                                                 double factor) {
  if (const auto* deadlock = std::get_if<Deadlock>(&outcome)) return {{}, deadlock->waits};
  const ScheduleRun& run = std::get<ScheduleRun>(outcome);
  const ScheduleBubble& bubble = run.bubble;
  std::vector<double> numbers = {run.makespan,   run.total_work,       run.compute_work,
                                 bubble.startup, bubble.wait_for_turn, bubble.tail};
  for (const ChainTimes& chain : run.chains) numbers.insert(numbers.end(), {chain.start, chain.end});
  for (const TaskTimes& task : run.tasks)
    numbers.insert(numbers.end(), {task.compute_start, task.compute_end, task.reduce_start, task.reduce_end});
  for (double& number : numbers) number *= factor;
  numbers.insert(numbers.end(), run.worker.begin(), run.worker.end());
  return {numbers, ""};
}

// Whole costs are run by need; costs with a fraction by time, event after event, which the longest path
// judges as well. Costs divided by a power of two are exact in both.
TEST_CASE("schedules that are run by need end as those that are run by time, to the last bit") {
  constexpr double kUnit = 1024;
  REQUIRE(natten_sim::test::holds("by need == by time", 10000, [] {
    const BackwardProblem problem = random_problem();
    BackwardCosts costs = random_costs();
    costs.compute_partial = 2 * costs.compute_partial + 1;  // a fraction, once it is divided
    const BackwardCosts divided = times(costs, 1 / kUnit);
    const BackwardSchedule schedule = random_schedule(problem, costs);
    const auto by_need = attempt_schedule(problem, costs, schedule, RecordTimes::kYes);
    const auto by_time = attempt_schedule(problem, divided, schedule, RecordTimes::kYes);
    RC_ASSERT(told(by_need, 1) == told(by_time, kUnit));
    const auto* run = std::get_if<ScheduleRun>(&by_time);
    if (run == nullptr) return;
    const RepeatedSchedule repeated(problem, schedule);
    RC_ASSERT(repeated.makespan(divided) == run->makespan);
    RC_ASSERT(repeated.makespan(costs) == run->makespan * kUnit);
    const std::optional<ScheduleRun> in_time = run_by(problem, divided, schedule, run->makespan);
    RC_ASSERT(in_time && in_time->makespan == run->makespan);
    if (run->makespan > 0)
      RC_ASSERT(!run_by(problem, costs, schedule, run->makespan * kUnit - 0.5).has_value());
  }));
}

// ---- Closed forms: n KV tiles, n Q tiles, n workers, m heads, costs c and r.

}  // namespace schedule_test
