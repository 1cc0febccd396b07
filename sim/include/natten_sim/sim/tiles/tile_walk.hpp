#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <natten_sim/core/tile_count.hpp>

namespace natten_sim {

/// One visited pair of tiles. Tile indices are row-major over the tiles of the dilation group; in dynamic
/// tiling the index of the streamed tile is its position in the region of its walked tile. Origins are the
/// first token of the tile in coordinates of the group (multi-dimensional) or of the row-major sequence
/// (single).
struct TileVisit {
  std::int64_t group = 0;  ///< row-major residue of the dilation; 0 for single-dimensional tiling
  std::int64_t q_tile = 0;
  std::int64_t kv_tile = 0;
  Extents q_origin;
  Extents kv_origin;
  TileWork work = TileWork::kPartial;  ///< never kNone
};

/// Called once for every visited pair: groups in order, walked tiles in order, streamed tiles in order.
using TileVisitor = std::function<void(const TileVisit&)>;

/// Enumerates every visited pair of tiles by applying the mask rule token by token, without a formula.
///
/// Multi-dimensional tiling: O(sum over axes of tokens * window) for the axes plus one call a visited pair.
/// Single-dimensional tiling: for each walked tile, one interval for each row of the layout that it attends
/// to; O(walked tiles * rows seen), memory O(longest axis + streamed tiles). Any dilation, causal mix, rank 1
/// to 4.
/// Axes of at most 2^26 tokens; single-dimensional tiling: at most 2^27 tiles.
/// @throws InvalidParameter on an invalid problem or a larger one; OverflowError if the layout has 2^63
/// tokens or more.
void for_each_tile_visit(const TilingProblem& problem, const TileVisitor& visit);

/// The same counts as models' `count_tiles`, by enumeration; any tiling. `progress`, if any, is called with
/// 0..1 once a walked tile.
[[nodiscard]] TileCount walk_tiles(const TilingProblem& problem,
                                   const std::function<void(double)>& progress = {});

}  // namespace natten_sim
