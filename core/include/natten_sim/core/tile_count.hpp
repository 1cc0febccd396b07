#pragma once

#include <cstdint>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// Exact tile counts of one attention operation, for one head and one batch element.
///
/// With dilation, the walked tiles (Q forward, KV backward), `visited_tiles` and `full_tiles` are summed over
/// the dilation groups; the tiles of the other operand and `dense_tiles` belong to the undilated layout.
///
/// What dense attention would do has 128 bits: squares of 2^63 tokens fit, and so do the layouts of long
/// contexts, of which a mask keeps little.
struct TileCount {
  std::int64_t q_tiles = 0;
  std::int64_t kv_tiles = 0;
  Int128 dense_tiles = 0;          ///< pairs of tiles that dense attention visits: ceil-div products
  std::int64_t visited_tiles = 0;  ///< pairs of tiles of which some token pair attends
  std::int64_t full_tiles = 0;     ///< visited, and every in-bounds token pair attends
  std::int64_t max_tiles_per_walked_tile = 0;  ///< largest number of tiles that one walked tile streams
  std::int64_t attended_pairs = 0;             ///< token pairs (query, key) that attend
  Int128 dense_pairs = 0;                      ///< N * N, causal or not
  std::int64_t mma_pairs = 0;  ///< visited_tiles * |q_tile| * |kv_tile|: what the tensor cores multiply
  Walk walk = Walk::kForward;

  [[nodiscard]] std::int64_t partial_tiles() const noexcept { return visited_tiles - full_tiles; }
  [[nodiscard]] std::int64_t walked_tiles() const noexcept {
    return walk == Walk::kForward ? q_tiles : kv_tiles;
  }
  [[nodiscard]] bool fully_block_sparse() const noexcept { return full_tiles == visited_tiles; }

  /// Fractions in 0..1 and factors over dense attention.
  [[nodiscard]] double sparsity() const noexcept {
    return static_cast<double>(dense_pairs - attended_pairs) / static_cast<double>(dense_pairs);
  }
  /// Share of the multiplied token pairs that do not attend, padding included.
  [[nodiscard]] double wasted_share() const noexcept {
    return static_cast<double>(mma_pairs - attended_pairs) / static_cast<double>(mma_pairs);
  }
  /// The speedup if only the work that the mask keeps took time.
  [[nodiscard]] double speedup_flop() const noexcept {
    return static_cast<double>(dense_pairs) / static_cast<double>(attended_pairs);
  }
  /// The speedup by the average walked tile.
  [[nodiscard]] double speedup_mean() const noexcept {
    return static_cast<double>(dense_tiles) / static_cast<double>(visited_tiles);
  }
  /// By the walked tile that streams most. These are the speedups published as NATTENSim's.
  [[nodiscard]] double speedup_worst() const noexcept {
    return static_cast<double>(dense_tiles) /
           (static_cast<double>(walked_tiles()) * static_cast<double>(max_tiles_per_walked_tile));
  }
  /// Over an unpadded dense baseline: padding counts against it, so it compares across tile shapes.
  [[nodiscard]] double speedup_work() const noexcept {
    return static_cast<double>(dense_pairs) / static_cast<double>(mma_pairs);
  }

  friend constexpr bool operator==(const TileCount&, const TileCount&) = default;
};

}  // namespace natten_sim
