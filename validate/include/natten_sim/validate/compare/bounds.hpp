#pragma once

#include <array>
#include <optional>
#include <string_view>

#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// What counters and clocks say that a scatter executed and what bound it, without any constant of a model.
///
/// Both are one of several names, as the number that the enum has. A row of either has no size of error:
/// it deviates by 0 where prediction and counters name the same, else by 1.
inline constexpr std::string_view kExecutedPath = "executed_path";  ///< an InstructionPath
inline constexpr std::string_view kBound = "bound";                 ///< a ContentionBound

[[nodiscard]] constexpr bool is_one_of_several(std::string_view quantity) noexcept {
  return quantity == kExecutedPath || quantity == kBound;
}

/// Sectors of reductions without an answer: a `red`. Of atomics with one: a `cas` where SMs sent half as many
/// again as the rows have, since two lanes of a 16-bit word never succeed at once, else an `atom`. nullopt
/// for a point that is no scatter, without counters, or with both kinds.
[[nodiscard]] std::optional<double> executed_path(const RecordedRow& row);

/// The extremes of a recording, which a run's counters are held against.
struct BusiestRuns {
  double shortest_ns = 0;        ///< the shortest run: what a launch takes
  double dram_bytes_per_ns = 0;  ///< most, over the time beyond the shortest run's
  /// Most cycles a ns of the busiest slice, by path, of runs that were counted as they were timed: whose L2
  /// counted a clock between two thirds and 1.5 times that of the recording. That clock is the median of runs of
  /// a millisecond or more, or the least if there are none. (A counted range has a tenth of a millisecond around
  /// its kernel, so cycles of short ones do not say how long the kernel took. Of a run that takes now one time
  /// and now another, either the timed or the counted one may be the longer.)
  std::array<double, 3> slice_cycles_per_ns = {};
};
[[nodiscard]] BusiestRuns busiest_runs(const Recording& recording);

/// In this order: `launch` if the run takes less than twice the shortest; `hottest-address` if the slice with
/// the most atomics was busy for at least half as many cycles a time as in the recording's busiest run by the
/// same path, or if a compare-and-swap sent half as many sectors again as its successes need; `dram` if DRAM
/// moved at least 85% of the recording's most bytes a time; else `issue`. nullopt without these counters.
[[nodiscard]] std::optional<double> counted_bound(const RecordedRow& row, const BusiestRuns& busiest);

}  // namespace natten_sim::validate
