#pragma once

#include <cstdint>

#include <natten_sim/sim/tiles/tile_walk.hpp>

namespace natten_sim {

/// What both walks report besides the visits: sums that do not depend on any single pair of tiles.
struct WalkTotals {
  std::int64_t walked_tiles = 0;
  std::int64_t attended_pairs = 0;
};

/// Multi-dimensional tiling: tiles are boxes of a dilation group.
WalkTotals walk_boxes(const TilingProblem& problem, const TileVisitor& visit);

/// Single-dimensional tiling: tiles are runs of the row-major token sequence.
WalkTotals walk_runs(const TilingProblem& problem, const TileVisitor& visit);

}  // namespace natten_sim
