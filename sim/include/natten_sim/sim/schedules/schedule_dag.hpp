#pragma once

#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

namespace natten_sim {

/// A prologue counts as before a chain's first task, an epilogue as behind its last. The early exit of a
/// chain without tasks counts as a prologue.
enum class TaskPhase { kPrologue, kCompute, kReduce, kEpilogue, kReduceKv };

template <>
struct NamesOf<TaskPhase> {
  static constexpr const char* kConcept = "phase of a task";
  static constexpr Name<TaskPhase> kTable[] = {{TaskPhase::kPrologue, "prologue"},
                                               {TaskPhase::kCompute, "compute"},
                                               {TaskPhase::kReduce, "reduce"},
                                               {TaskPhase::kEpilogue, "epilogue"},
                                               {TaskPhase::kReduceKv, "reduce_kv"}};
};

/// One phase of one task on the critical path; `task` counts in the chain's q_order.
struct CriticalStep {
  std::int32_t chain = 0;  ///< in launch order
  std::int32_t task = 0;
  TaskPhase phase = TaskPhase::kCompute;
  double start = 0;
  double end = 0;
};

struct DagSolution {
  double makespan = 0;
  std::vector<TaskTimes> tasks;  ///< earliest times, in the order of ScheduleRun::tasks
  std::vector<double>
      slack;  ///< how much later the reduction of each task may end without changing the makespan
  std::vector<CriticalStep> critical_path;  ///< first to last; phases without duration only after a handoff
};

/// The same schedule as a directed acyclic graph: edges of weight compute, reduce and handoff, zero-weight
/// edges for every order (tasks of a chain, chains of a worker, reductions of a dQ tile, buffers of the
/// writer). Its longest path is the makespan. `worker` gives the worker of each chain in launch order, and
/// each worker runs its chains in that order: what `run_schedule` found for dynamic dispatch, or the
/// schedule's own for static dispatch. O(tasks) time and memory (about 1.1 KB a task, measured: for checks
/// and pictures, not for scale). Ties on the critical path go to the smaller node.
/// @throws InvalidParameter as run_schedule; DeadlockError when the order edges close a cycle.
[[nodiscard]] DagSolution solve_schedule_dag(const BackwardProblem& problem, const BackwardCosts& costs,
                                             const BackwardSchedule& schedule,
                                             const std::vector<std::int32_t>& worker);

}  // namespace natten_sim
