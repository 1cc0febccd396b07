#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>

#include "windows/option_bounds.hpp"

namespace natten_sim {

/// Counts of one pass along one short axis, for every window and stride. Choices pair the same forward tiles with many
/// backward ones, which would count them again. Threads may ask at once, each for windows of its own.
class AxisCounts {
 public:
  static constexpr std::int64_t kLongest = 256;  ///< longer axes have too many options to keep
  static constexpr std::int64_t kLongestCausal = 1024;  ///< whose options bounds leave out less
  static constexpr std::int64_t kLongestAlone = 4096;  ///< of layouts with one axis

  /// `axis` tells all but window and stride.
  AxisCounts(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk)
      : axis_(axis), tiles_(tiles), kv_tiling_(kv_tiling), walk_(walk),
        of_window_(static_cast<std::size_t>(axis.length) + 1) {}

  [[nodiscard]] bool are_of(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk) const {
    return axis == axis_ && tiles.walked == tiles_.walked && tiles.streamed == tiles_.streamed &&
           kv_tiling == kv_tiling_ && walk == walk_;
  }

  struct Option {
    std::int32_t attended = 0, visited = 0, full = 0, longest = 0;
    std::int32_t shortest = 0;  ///< LeastVisited's, of forward passes
    bool fast = false;          ///< natten_fast_path

    /// Without walked tiles, which are those of the axis.
    [[nodiscard]] AxisCount count() const { return {0, visited, full, longest, attended}; }
  };

  [[nodiscard]] const Option& of(const AxisMask& mask) {
    std::vector<Option>& options = of_window_[static_cast<std::size_t>(mask.window)];
    if (options.empty()) options.resize(static_cast<std::size_t>(mask.window));
    Option& option = options[static_cast<std::size_t>(mask.stride) - 1];
    if (option.visited == 0) option = counted(mask);
    return option;
  }

 private:
  [[nodiscard]] Option counted(const AxisMask& mask) const {
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };  // at most kLongestAlone^2
    const AxisCount count = count_axis(mask, tiles_, kv_tiling_, walk_);
    const bool walks_q = walk_ == Walk::kForward;
    const Extents walked{tiles_.walked}, streamed{tiles_.streamed};
    Option option{narrow(count.attended_pairs), narrow(count.visited_tiles), narrow(count.full_tiles),
                  narrow(count.max_tiles_per_walked_tile)};
    if (walks_q) option.shortest = narrow(least_visited(mask, tiles_).shortest);
    option.fast = natten_fast_path({.mask = {mask}, .tiles = walks_q ? TilePair{walked, streamed} : TilePair{streamed, walked}});
    return option;
  }

  AxisMask axis_;
  AxisTiles tiles_;
  KvTiling kv_tiling_;
  Walk walk_;
  std::vector<std::vector<Option>> of_window_;  // [window][stride - 1]; without visited tiles: not counted yet
};

}  // namespace natten_sim
