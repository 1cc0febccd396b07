#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

namespace natten_sim {

TileCount count(const TilingProblem& problem, const std::function<void(double)>& progress) {
  require_valid(problem);
  const bool factorises = problem.tiling == Tiling::kMultiDimensional ||
                          (problem.mask.rank() == 1 && problem.mask[0].dilation == 1);
  return factorises ? count_tiles(problem) : walk_tiles(problem, progress);
}

}  // namespace natten_sim
