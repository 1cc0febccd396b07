#pragma once

#include <cstdint>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// Tile sizes along one axis, in tokens: of the operand that the outer loop walks (Q forward, KV backward)
/// and of the one that it streams.
struct AxisTiles {
  std::int64_t walked = 0;
  std::int64_t streamed = 0;

  friend constexpr bool operator==(const AxisTiles&, const AxisTiles&) = default;
};

/// Tile counts along one axis, summed over its dilation groups; the maximum is over them. Over a
/// multi-dimensional layout every field multiplies to that of the whole problem, since a pair of box tiles is
/// visited (full) iff it is on every axis.
struct AxisCount {
  std::int64_t walked_tiles = 0;
  std::int64_t visited_tiles = 0;
  std::int64_t full_tiles = 0;
  std::int64_t max_tiles_per_walked_tile = 0;
  std::int64_t attended_pairs = 0;

  friend constexpr bool operator==(const AxisCount&, const AxisCount&) = default;
};

/// Closed form of the counts along one axis. Requires a valid axis and tile sizes in 1..kMaxAxisLength, and a
/// cyclic axis static tiling.
///
/// The first and last attended tokens of consecutive tiles are staircases in the tile's position: flat near
/// the borders, climbing by the stride between. Tiles at the same place of a stride group form arithmetic progressions,
/// and so do tiles within one; sums of floors over them are taken by Euclid's algorithm. Cost: O(s log n) with
/// s = min(tiles on the axis, stride / gcd(stride, tile), stride groups), whatever the number of tokens; s is less
/// than 2^22 for any axis whose attended pairs fit in 63 bits, which is checked first. At most two distinct group
/// lengths exist, so dilation at most doubles it. Source of the counting rule: Hassani, section 4.2.3 (NATTENSim);
/// the closed form is this project's.
/// @throws OverflowError naming the count.
[[nodiscard]] AxisCount count_axis(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling,
                                   Walk walk = Walk::kForward);

/// Progressions that count_axis() adds up: its cost, in O(1).
[[nodiscard]] std::int64_t count_axis_steps(const AxisMask& axis, const AxisTiles& tiles, Walk walk);

/// Token pairs that attend along one valid axis, summed over its dilation groups; O(1).
/// @throws OverflowError naming `attended_pairs`.
[[nodiscard]] std::int64_t attended_pairs(const AxisMask& axis);

/// Whether a few tiles, those where windows begin and stop to move, already rule out that the count is fully
/// block-sparse. O(1). False does not say that it is.
[[nodiscard]] bool has_partial_tile_near_breaks(const AxisMask& axis, const AxisTiles& tiles,
                                                KvTiling kv_tiling);

}  // namespace natten_sim
