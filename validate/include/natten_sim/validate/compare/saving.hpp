#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <natten_sim/validate/compare/comparison.hpp>

namespace natten_sim::validate {

/// What a sawtooth saves of the DRAM reads that a cyclic walk makes: 1 - sawtooth / cyclic, for every pair of
/// measured points that differ in their KV order alone.
///
/// A saving is already a fraction of the cyclic reads, and it is 0 below the capacity. So its deviation is
/// the plain difference, predicted - measured: 0.05 is five percent of what the cyclic walk reads.
inline constexpr std::string_view kSaving = "dram_read_saving";

/// Whether deviations of a compared quantity are differences, not ratios: savings only.
[[nodiscard]] constexpr bool compares_by_difference(std::string_view quantity) noexcept {
  return quantity == kSaving;
}

/// Returns `name` if it is a counter's label, `kLaunchTime`, `kSaving`, `kExecutedPath` or `kBound`. @throws
/// UnknownName with the closest.
[[nodiscard]] std::string compared_quantity(const std::string& name);

/// One row for each pair and each model that predicts both. `compared` holds the rows of that recording's
/// counters. A row's point is the sawtooth's key and " against cyclic", and its group is the sawtooth's. Its
/// spread is the sum of both relative spreads, as if they never cancelled, in units of the saving. O(rows log
/// rows).
[[nodiscard]] std::vector<ComparisonRow> compare_savings(const Suite& suite, const Recording& recording,
                                                         std::span<const ComparisonRow> compared);

/// Counts rows of savings: those whose measured saving is above 5%, and how many of these are predicted
/// within 5% of the saving itself, which is the stricter reading.
struct SavingSummary {
  std::size_t pairs = 0;
  std::size_t within_points = 0;  ///< |predicted - measured| <= 0.05
  std::size_t parted = 0;
  std::size_t within_ratio = 0;  ///< of `parted`: |predicted / measured - 1| <= 0.05
};
[[nodiscard]] SavingSummary summarise_savings(std::span<const ComparisonRow> rows, std::string_view model);

}  // namespace natten_sim::validate
