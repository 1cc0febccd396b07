#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim::study {

/// A neighborhood mask as FlexAttention's BlockMask wants it, tile by tile, without an attention matrix.
///
/// Tokens are taken tile by tile: dilation groups row-major, in each its tiles row-major, in each its tokens
/// row-major, padded at the border. All groups have the tiles of the longest one, so that a group's blocks
/// are next to each other. A Q block is a Q tile, a KV block a KV tile.
struct BlockTables {
  NeighborhoodMask mask;
  TilePair tiles;
  std::int64_t groups = 1;
  Extents q_tiles, kv_tiles;  ///< of a group, one number an axis
  /// KV blocks of each Q block, ascending. Full: every pair of tokens attends, and no key is padding.
  std::vector<std::vector<std::int32_t>> partial, full;
  /// What the queries of a residue class attend to, in coordinates of the class: [axis][residue][query].
  std::vector<std::vector<std::vector<TokenRange>>> ranges;

  [[nodiscard]] std::int64_t q_blocks() const;
  [[nodiscard]] std::int64_t kv_blocks() const;
};

/// Static tiling. O(visited pairs of tiles + tokens of each axis).
/// @throws InvalidParameter on an invalid problem, or with 2^24 blocks or more.
[[nodiscard]] BlockTables block_mask(const NeighborhoodMask& mask, const TilePair& tiles);

}  // namespace natten_sim::study
