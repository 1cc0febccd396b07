#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/search/windows/search.hpp>

namespace natten_sim {

/// Attended pairs along one causal axis, for every window and stride: they vary with the stride, so that most options of
/// a window may attend to too few or too many. Kept from one search to the next. Threads may ask at once, each for
/// windows of its own.
class AttendedPairs {
 public:
  static constexpr std::int64_t kLongest = 4096;  ///< longer axes have too many options to keep

  [[nodiscard]] static bool keeps(const AxisMask& axis) { return axis.causal && !axis.cyclic && axis.length <= kLongest; }

  /// `axis` tells all but window and stride.
  AttendedPairs(const AxisMask& axis, const IntRange& strides)
      : axis_(axis), strides_(strides), of_window_(static_cast<std::size_t>(axis.length) + 1) {}

  [[nodiscard]] bool are_of(const AxisMask& axis, const IntRange& strides) const {
    return axis == axis_ && strides == strides_;
  }

  /// One for each stride of the range up to the window.
  [[nodiscard]] std::span<const std::int32_t> of(std::int64_t window) {
    std::vector<std::int32_t>& pairs = of_window_[static_cast<std::size_t>(window)];
    if (pairs.empty()) {
      AxisMask axis = axis_;
      axis.window = window;
      for (axis.stride = strides_.lo; axis.stride <= std::min(strides_.hi, window); ++axis.stride)
        pairs.push_back(static_cast<std::int32_t>(attended_pairs(axis)));  // at most kLongest^2
    }
    return pairs;
  }

 private:
  AxisMask axis_;
  IntRange strides_;
  std::vector<std::vector<std::int32_t>> of_window_;
};

}  // namespace natten_sim
