#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

namespace natten_sim {

CountByAxes count_by_axes(const TilingProblem& problem, const std::function<void(double)>& progress,
                          AxisCountMemo* memo) {
  const bool factorises = problem.tiling == Tiling::kMultiDimensional ||
                          (problem.mask.rank() == 1 && problem.mask[0].dilation == 1);
  if (!factorises) return {walk_tiles(problem, progress), {}};
  const PerAxis<AxisCount> axes = count_axes(problem, memo);
  return {combine_axes(problem, axes), axes};
}

TileCount count(const TilingProblem& problem, const std::function<void(double)>& progress) {
  return count_by_axes(problem, progress).count;
}

}  // namespace natten_sim
