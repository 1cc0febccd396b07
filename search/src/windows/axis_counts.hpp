#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/models/tiles/axis_count.hpp>

namespace natten_sim {

/// Counts of one pass along one short axis, for every window and stride. Choices pair the same forward tiles with many
/// backward ones, which would count them again. Threads may ask at once, each for windows of its own.
class AxisCounts {
 public:
  static constexpr std::int64_t kLongest = 256;  ///< longer axes have too many options to keep

  /// `axis` tells all but window and stride.
  AxisCounts(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk)
      : axis_(axis), tiles_(tiles), kv_tiling_(kv_tiling), walk_(walk),
        of_window_(static_cast<std::size_t>(axis.length) + 1) {}

  [[nodiscard]] bool are_of(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk) const {
    return axis == axis_ && tiles.walked == tiles_.walked && tiles.streamed == tiles_.streamed &&
           kv_tiling == kv_tiling_ && walk == walk_;
  }

  [[nodiscard]] const AxisCount& of(const AxisMask& mask) {
    std::vector<AxisCount>& counts = of_window_[static_cast<std::size_t>(mask.window)];
    if (counts.empty()) counts.resize(static_cast<std::size_t>(mask.window));
    AxisCount& count = counts[static_cast<std::size_t>(mask.stride) - 1];
    if (count.walked_tiles == 0) count = count_axis(mask, tiles_, kv_tiling_, walk_);
    return count;
  }

 private:
  AxisMask axis_;
  AxisTiles tiles_;
  KvTiling kv_tiling_;
  Walk walk_;
  std::vector<std::vector<AxisCount>> of_window_;  // [window][stride - 1]; without walked tiles: not counted yet
};

}  // namespace natten_sim
