#include <natten_sim/models/tiles/fast_path.hpp>

#include "tiles/natten_axis.hpp"

namespace natten_sim {

bool natten_fast_path(const TilingProblem& problem) {
  const bool single = problem.tiling == Tiling::kSingleDimensional;
  if (single && (problem.mask.rank() > 1 || problem.mask[0].dilation > 1)) return false;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    const AxisMask& mask = problem.mask[axis];
    if (mask.causal || mask.cyclic) return false;
    const std::int64_t q_tile = problem.tiles.q_tile[axis], kv_tile = problem.tiles.kv_tile[axis];
    // Residue 0 has the longest groups, the last residue the shortest: no third length exists.
    if (!group_is_block_sparse(residue_class(mask, 0), q_tile, kv_tile)) return false;
    if (!group_is_block_sparse(residue_class(mask, mask.dilation - 1), q_tile, kv_tile)) return false;
  }
  return true;
}

}  // namespace natten_sim
