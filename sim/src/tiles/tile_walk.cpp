#include <algorithm>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "tiles/walks.hpp"

namespace natten_sim {
namespace {

/// The walk keeps a range for each token of an axis and, for single-dimensional tiling, a number for each
/// tile.
void require_enumerable(const TilingProblem& problem) {
  constexpr std::int64_t kMaxWalkedAxis = std::int64_t{1} << 26, kMaxTiles = std::int64_t{1} << 27;
  for (const AxisMask& axis : problem.mask) {
    if (axis.length > kMaxWalkedAxis) {
      throw InvalidParameter(
          "input", std::to_string(axis.length) + " tokens on an axis",
          "up to 67108864 tokens an axis where tiles are enumerated, as for single-dimensional tiling",
          std::to_string(kMaxWalkedAxis));
    }
  }
  const std::int64_t tokens = product(input_of(problem.mask), "tokens");
  if (problem.tiling == Tiling::kMultiDimensional) return;
  for (const Extents* tile : {&problem.tiles.q_tile, &problem.tiles.kv_tile}) {
    if (ceil_divide(tokens, (*tile)[0]) <= kMaxTiles) continue;
    throw InvalidParameter(tile == &problem.tiles.q_tile ? "q_tile" : "kv_tile", std::to_string((*tile)[0]),
                           "tiles that cut the layout into 134217728 or fewer for single-dimensional tiling",
                           std::to_string(ceil_divide(tokens, kMaxTiles)));
  }
}

WalkTotals walk(const TilingProblem& problem, const TileVisitor& visit) {
  require_valid(problem);
  require_enumerable(problem);
  return problem.tiling == Tiling::kMultiDimensional ? walk_boxes(problem, visit) : walk_runs(problem, visit);
}

/// Tiles of the undilated layout.
std::int64_t layout_tiles(const TilingProblem& problem, const Extents& tile) {
  if (problem.tiling == Tiling::kSingleDimensional) {
    return ceil_divide(product(input_of(problem.mask), "tokens"), tile[0]);
  }
  std::int64_t tiles = 1;
  for (std::size_t axis = 0; axis < tile.rank(); ++axis)
    tiles *= ceil_divide(problem.mask[axis].length, tile[axis]);
  return tiles;
}

}  // namespace

void for_each_tile_visit(const TilingProblem& problem, const TileVisitor& visit) {
  (void)walk(problem, visit);
}

TileCount walk_tiles(const TilingProblem& problem, const std::function<void(double)>& progress) {
  require_valid(problem);
  const bool forward = problem.walk == Walk::kForward;
  TileCount count;
  count.walk = problem.walk;
  const std::int64_t tokens = product(input_of(problem.mask), "tokens");
  count.dense_pairs = static_cast<Int128>(tokens) * tokens;
  count.q_tiles = layout_tiles(problem, problem.tiles.q_tile);
  count.kv_tiles = layout_tiles(problem, problem.tiles.kv_tile);
  count.dense_tiles = static_cast<Int128>(count.q_tiles) * count.kv_tiles;
  const auto expected = static_cast<double>(count.walked_tiles());  // a little less than all with dilation
  double seen = 0;
  std::int64_t group = -1, walked = -1, of_walked = 0;
  const WalkTotals totals = walk(problem, [&](const TileVisit& visit) {
    const std::int64_t tile = forward ? visit.q_tile : visit.kv_tile;
    if (visit.group != group || tile != walked) {
      of_walked = 0;
      if (progress) progress(std::min(1.0, seen++ / expected));
    }
    group = visit.group;
    walked = tile;
    count.max_tiles_per_walked_tile = std::max(count.max_tiles_per_walked_tile, ++of_walked);
    ++count.visited_tiles;
    if (visit.work == TileWork::kFull) ++count.full_tiles;
  });
  count.attended_pairs = totals.attended_pairs;
  (forward ? count.q_tiles : count.kv_tiles) = totals.walked_tiles;
  const std::int64_t tile_pairs = checked_multiply(product(problem.tiles.q_tile, "mma_pairs"),
                                                   product(problem.tiles.kv_tile, "mma_pairs"), "mma_pairs");
  count.mma_pairs = checked_multiply(count.visited_tiles, tile_pairs, "mma_pairs");
  return count;
}

}  // namespace natten_sim
