#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "windows/axis_kinds.hpp"

namespace natten_sim {

using Kinds = std::vector<AxisKind>;

inline constexpr Visits kEndless = {1e300, 1e300};

/// What the windows of some kinds may have: attended pairs, and tokens of the input over the window along an axis.
struct Reach {
  double lo = 1, hi = 1;
  double smallest = 1e300, largest = 0;  ///< the smallest is at most that, the largest at least

  [[nodiscard]] Reach with(const Reach& axis) const {
    return {lo * axis.lo, hi * axis.hi, std::min(smallest, axis.smallest), std::max(largest, axis.largest)};
  }
};

/// Kinds with the same largest window, and what each of them does and reaches at least: strides change little of it.
struct KindGroup {
  PerPass<AxisWork> least;  ///< but `without_elements`: at most; `unmasked` and what one CTA has: nothing is known
  Reach reach;
  std::vector<std::uint32_t> kinds;  ///< ascending
};

/// Kinds of an axis in groups, and what is known of all of them: choices that share the kinds share this.
struct GroupedKinds {
  const Kinds* kinds = nullptr;
  double clipped_share = 0;
  std::vector<Reach> reach;       ///< of each kind
  std::vector<KindGroup> groups;  ///< by the full pairs of tiles that take as long in the first pass
  std::vector<double> most_attended;  ///< of each group and those before it
  double least_attended = 1e300, most_attended_of_all = 0;
  PerPass<Visits> least = {kEndless, kEndless}, least_per_pair = {kEndless, kEndless};  ///< of all kinds
};

/// `length`: tokens of the input along the axis.
[[nodiscard]] Reach reach_of(const AxisKind& kind, double length);

/// `clipped_share` of the first of so many passes; `kinds` outlive the result. O(kinds log kinds).
[[nodiscard]] GroupedKinds grouped(const Kinds& kinds, double length, double clipped_share, std::size_t passes);

}  // namespace natten_sim
