#pragma once

#include <optional>
#include <string>

#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// What an answer about schedules comes down to: which one to take, what it gains, and where another one
/// becomes faster. All times are simulated with the answer's own costs.

/// Where workers lose most of their time.
enum class ScheduleLoss { kNothing, kStartup, kWaitForTurn, kTail };

/// From this handoff on another schedule is faster.
struct ScheduleFlip {
  double handoff = 0;  ///< in the unit of the costs, found to a thirty-second of a compute
  std::string to;
  bool above = true;  ///< `to` is faster at `handoff`, which is above the answer's own; else below
};

struct ScheduleConclusion {
  std::string from;  ///< the schedule that was asked for; of several: ascending, else the slowest
  double from_makespan = 0;
  ScheduleLoss loss = ScheduleLoss::kNothing;  ///< of `from`
  double loss_share = 0;                       ///< of the time of all its workers
  double gap = 0;                              ///< of `from`, over its lower bound
  /// The fastest of those that are repeatable: searches that were asked for, and all
  /// others up to kConcludedTasks tasks. Empty: none was compared.
  std::string fastest;
  double fastest_makespan = 0;
  double gain = 1;                   ///< from_makespan over fastest_makespan
  std::optional<ScheduleFlip> flip;  ///< none: the same up to four computes of handoff, or not asked
  bool flip_asked = false;
};

/// Tasks up to which algorithms that the answer lacks are run, and up to which the handoff is varied.
inline constexpr std::int64_t kConcludedTasks = std::int64_t{1} << 18;
inline constexpr std::int64_t kVariedTasks = std::int64_t{1} << 14;

/// The answer's problem and costs under every algorithm that is no search; then the three fastest under other
/// handoffs. `asked`: the question of the answer; a table has none. O(40 runs).
[[nodiscard]] ScheduleConclusion conclude(const ScheduleAnswer& answer, const ScheduleQuestion& asked = {});

}  // namespace natten_sim::study
