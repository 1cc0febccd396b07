#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {

/// A schedule that never finishes. `waits` says which chain waits for which reduction of which other chain.
/// The sequence ends with a chain that waits for an earlier one (a cycle of order edges), or with one that no
/// worker can start.
struct Deadlock {
  std::string waits;

  /// "deadlock: " and the waits.
  [[nodiscard]] std::string text() const { return "deadlock: " + waits; }
};

/// A deadlock as an exception, for callers that expect a schedule to finish; `what()` is Deadlock::text.
class DeadlockError : public Error {
 public:
  explicit DeadlockError(const std::string& waits);
};

struct TaskTimes {
  double compute_start = 0;
  double compute_end = 0;
  double reduce_start = 0;
  double reduce_end = 0;  ///< tax included
};

/// Where the time of workers that do not compute or reduce goes; sums over workers.
struct ScheduleBubble {
  double startup = 0;        ///< waits before a worker's first reduction
  double wait_for_turn = 0;  ///< waits before later ones
  double tail = 0;           ///< after a worker's last chain, until the makespan
};

/// From when its worker takes it to the end of its last reduction and of its epilogue.
struct ChainTimes {
  double start = 0;
  double end = 0;
};

struct ScheduleRun {
  double makespan = 0;
  double total_work = 0;    ///< compute, reductions and tax of all tasks
  double compute_work = 0;  ///< compute alone
  ScheduleBubble bubble;
  std::vector<std::int32_t> worker;  ///< worker of each chain, in launch order
  std::vector<ChainTimes> chains;    ///< in launch order; those without tasks start and end at 0
  /// Times of every task, chain by chain in launch order, tasks in q_order. Empty unless recorded.
  std::vector<TaskTimes> tasks;
};

/// The most heads that have a chain at work at the same time, from its start to its end (exclusive). Their Q,
/// dO and dQ are what the L2 cache must hold. O(chains log chains).
[[nodiscard]] std::int32_t heads_in_flight(const BackwardSchedule& schedule, const ScheduleRun& run);

enum class RecordTimes { kNo, kYes };

/// Runs a schedule event by event; a deadlock is one of the answers. O(tasks + chains log workers) for whole
/// costs, O(tasks log workers) for others, and 5 bytes a task besides the schedule itself (32 more when times
/// are recorded). Deterministic: simultaneous events are handled by worker number. Serial workers spend
/// workers * makespan = total_work + bubble exactly for integer costs.
/// @throws InvalidParameter on a schedule that does not fit its problem, or on costs that are negative, not
/// finite, or whose sum could exceed 2^53.
[[nodiscard]] std::variant<ScheduleRun, Deadlock> attempt_schedule(const BackwardProblem& problem,
                                                                   const BackwardCosts& costs,
                                                                   const BackwardSchedule& schedule,
                                                                   RecordTimes record = RecordTimes::kNo);

/// The same for searches: none if the schedule never finishes, or not by `limit`.
[[nodiscard]] std::optional<ScheduleRun> run_by(const BackwardProblem& problem, const BackwardCosts& costs,
                                                const BackwardSchedule& schedule, double limit);

/// The same for schedules that are known to finish. @throws InvalidParameter, DeadlockError.
[[nodiscard]] ScheduleRun run_schedule(const BackwardProblem& problem, const BackwardCosts& costs,
                                       const BackwardSchedule& schedule,
                                       RecordTimes record = RecordTimes::kNo);

/// One schedule that is run with one set of costs after another: it is checked, and its tasks are ranked,
/// once. Copies share it.
class RepeatedSchedule {
 public:
  /// @throws InvalidParameter on a schedule that does not fit its problem.
  RepeatedSchedule(BackwardProblem problem, BackwardSchedule schedule);

  /// That of run_schedule. @throws as run_schedule does for costs and deadlocks.
  [[nodiscard]] double makespan(const BackwardCosts& costs) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace natten_sim
