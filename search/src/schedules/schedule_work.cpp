#include <algorithm>

#include <natten_sim/search/schedules/schedule_work.hpp>

#include "schedules/search_budget.hpp"

namespace natten_sim {
namespace {

/// What glibc's allocator gives to the vectors of one schedule and its run, and the turns of their loops.
struct Costs {
  double task_steps = 1, chain_steps = 7;           // chains and dQ tiles
  double task_bytes = 14, chain_bytes = 96, dq_tile_bytes = 72;
};
constexpr double kBytesOfMask = 16;  // a task of one head

Costs costs_of(const ScheduleAlgorithm& algorithm) {
  if (algorithm.searches) return {.task_bytes = 60};
  // Orders of dQ by the time of a run without orders: it records that of every task.
  if (algorithm.ordered) return algorithm.ignores_costs ? Costs{} : Costs{.task_steps = 3, .task_bytes = 44};
  if (!algorithm.repeatable) return {.task_bytes = 4.5, .dq_tile_bytes = 0};
  return {.task_steps = 1.5, .task_bytes = 6.5, .dq_tile_bytes = 24};  // one or two unordered passes
}

/// Iterations of a search, each a list schedule and a run of it or two, after as many of named algorithms.
double schedules_of(std::optional<std::int64_t> effort, double tasks) {
  constexpr double kNamed = 20, kAnIteration = 5;
  if (!effort && tasks > static_cast<double>(schedules::SearchBudget::kManyTasks))
    return std::max(schedules::SearchBudget::kUsualWork / tasks, schedules::kByRule);
  return kNamed + kAnIteration * static_cast<double>(
                                  effort.value_or(schedules::SearchBudget::usual_effort(static_cast<std::int64_t>(tasks))));
}

/// Of trying all schedules of a small problem: each node bounds what is left of every chain, and looks for chains of
/// every head.
double exhaustive_steps(std::optional<std::int64_t> effort, double tasks, double chains, double heads) {
  if (tasks > static_cast<double>(schedules::SearchBudget::kExhaustiveTasks)) return 0;
  const std::int64_t iterations =
      effort.value_or(schedules::SearchBudget::usual_effort(static_cast<std::int64_t>(tasks)));
  return static_cast<double>(schedules::SearchBudget::kNodesAnIteration * iterations) * (1 + chains + heads);
}

}  // namespace

ScheduleWork schedule_work(const ScheduleAlgorithm& algorithm, const BackwardProblem& problem,
                           std::optional<std::int64_t> effort) {
  if (algorithm.not_applicable(problem)) return {};
  const Costs costs = costs_of(algorithm);
  const double heads = problem.heads, of_mask = static_cast<double>(problem.mask.attended().count);
  const double tasks = heads * of_mask;
  const double kv_tiles = heads * problem.mask.kv_tiles, q_tiles = heads * problem.mask.q_tiles;
  ScheduleWork work;
  work.steps = costs.task_steps * tasks + costs.chain_steps * (kv_tiles + q_tiles);
  if (algorithm.searches)
    work.steps = work.steps * schedules_of(effort, tasks) + exhaustive_steps(effort, tasks, kv_tiles, heads);
  work.bytes = costs.task_bytes * tasks + costs.chain_bytes * kv_tiles + costs.dq_tile_bytes * q_tiles +
               kBytesOfMask * of_mask;
  return work;
}

}  // namespace natten_sim
