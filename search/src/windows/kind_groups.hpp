#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "windows/axis_kinds.hpp"

namespace natten_sim {

using Kinds = std::vector<AxisKind>;

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
  PerPass<AxisWork> least;  ///< but `without_elements`: at most; `unmasked` and `longest`: nothing is known
  Reach reach;
  std::vector<std::uint32_t> kinds;  ///< ascending
};

/// `length`: tokens of the input along the axis.
[[nodiscard]] Reach reach_of(const AxisKind& kind, double length);

/// The groups of an axis' kinds by the full pairs of tiles that take as long in the first pass. O(kinds log kinds).
[[nodiscard]] std::vector<KindGroup> kind_groups(const Kinds& kinds, const std::vector<Reach>& reach, double clipped_share);

}  // namespace natten_sim
