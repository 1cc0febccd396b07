#pragma once

#include <array>
#include <cstdint>

#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>

namespace natten_sim {

/// Dilation groups of one axis that have the same length.
struct NattenAxisGroups {
  AxisGroup group;
  std::int64_t groups = 0;
  std::int64_t tiles = 0;         ///< walked tiles that hold a token, in one group
  std::int64_t launched = 0;      ///< walked tiles that the kernel runs, in one group
  std::int64_t visited = 0;       ///< by the tiles that hold a token, in one group
  std::int64_t empty_visits = 0;  ///< by the launched ones behind them, in one group
  std::int64_t full = 0;          ///< of `visited`, every pair of tokens attends, padding included
  bool block_sparse = false;      ///< NATTEN's predicate
  bool padded = false;            ///< the streamed tile does not divide the group
};

/// An axis has groups of at most two lengths, the longer first.
struct NattenAxis {
  std::array<NattenAxisGroups, 2> lengths;
  std::size_t count = 0;
};

/// `counted_axis`: `count_axis` of this axis, where it is known.
[[nodiscard]] NattenAxis natten_axis(const AxisMask& axis, const AxisTiles& tiles, NattenBackend backend,
                                     Walk pass, const AxisCount* counted_axis = nullptr);

/// NATTEN's predicate on one axis of one group: no visited tile is partial.
[[nodiscard]] bool group_is_block_sparse(const AxisGroup& group, std::int64_t q_tile, std::int64_t kv_tile);

/// Visits of the first `count` Q tiles of a group under dynamic tiling; the cost is that of count_axis().
[[nodiscard]] std::int64_t dynamic_visits_of_first(const AxisGroup& group, const AxisTiles& tiles,
                                                   std::int64_t count);

}  // namespace natten_sim
