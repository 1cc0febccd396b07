#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

namespace natten_sim {

AxisTiles axis_tiles(const TilePair& tiles, std::size_t axis, Walk walk) {
  return walk == Walk::kForward ? AxisTiles{tiles.q_tile[axis], tiles.kv_tile[axis]}
                                : AxisTiles{tiles.kv_tile[axis], tiles.q_tile[axis]};
}

TileCount combine_axes(const TilingProblem& problem, const PerAxis<AxisCount>& axes) {
  TileCount count;
  count.walk = problem.walk;
  std::int64_t walked = 1, streamed = 1, dense_walked = 1, tokens = 1;
  count.visited_tiles = count.full_tiles = count.max_tiles_per_walked_tile = count.attended_pairs = 1;
  count.mma_pairs = 1;
  for (std::size_t axis = 0; axis < axes.rank(); ++axis) {
    const AxisTiles tiles = axis_tiles(problem.tiles, axis, problem.walk);
    const std::int64_t length = problem.mask[axis].length;
    tokens = checked_multiply(tokens, length, "tokens");
    walked *= axes[axis].walked_tiles;  // no more than tokens
    dense_walked *= ceil_divide(length, tiles.walked);
    streamed *= ceil_divide(length, tiles.streamed);
    const auto multiply = [](std::int64_t& total, std::int64_t factor, const char* name) {
      total = checked_multiply(total, factor, name);
    };
    multiply(count.visited_tiles, axes[axis].visited_tiles, "visited_tiles");
    multiply(count.full_tiles, axes[axis].full_tiles, "full_tiles");
    multiply(count.max_tiles_per_walked_tile, axes[axis].max_tiles_per_walked_tile,
             problem.walk == Walk::kForward ? "max_tiles_per_q_tile" : "max_tiles_per_kv_tile");
    multiply(count.attended_pairs, axes[axis].attended_pairs, "attended_pairs");
    multiply(count.mma_pairs, checked_multiply(tiles.walked, tiles.streamed, "mma_pairs"), "mma_pairs");
  }
  count.dense_pairs = static_cast<Int128>(tokens) * tokens;
  count.dense_tiles = static_cast<Int128>(dense_walked) * streamed;
  count.mma_pairs = checked_multiply(count.mma_pairs, count.visited_tiles, "mma_pairs");
  count.q_tiles = problem.walk == Walk::kForward ? walked : streamed;
  count.kv_tiles = problem.walk == Walk::kForward ? streamed : walked;
  return count;
}

PerAxis<AxisCount> count_axes(const TilingProblem& problem, AxisCountMemo* memo) {
  require_valid(problem);
  const std::size_t rank = problem.mask.rank();
  if (problem.tiling == Tiling::kSingleDimensional && (rank > 1 || problem.mask[0].dilation > 1)) {
    throw InvalidParameter("tiling", "single", "multi: a closed form needs tilings that factorise over axes");
  }
  std::int64_t pairs = 1;  // refused before anything is counted
  for (const AxisMask& mask : problem.mask) pairs = checked_multiply(pairs, attended_pairs(mask), "attended_pairs");
  PerAxis<AxisCount> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const AxisTiles tiles = axis_tiles(problem.tiles, axis, problem.walk);
    const AxisMask& mask = problem.mask[axis];
    axes.push_back(memo != nullptr ? memo->count(mask, tiles, problem.kv_tiling, problem.walk)
                                   : count_axis(mask, tiles, problem.kv_tiling, problem.walk));
  }
  return axes;
}

TileCount count_tiles(const TilingProblem& problem) { return combine_axes(problem, count_axes(problem)); }

}  // namespace natten_sim
