#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

void require_valid(const TilingProblem& problem) {
  require_valid(problem.mask);
  const std::size_t rank = problem.tiling == Tiling::kSingleDimensional ? 1 : problem.mask.rank();
  require_extents("q_tile", problem.tiles.q_tile, rank, 1, kMaxAxisLength);
  require_extents("kv_tile", problem.tiles.kv_tile, rank, 1, kMaxAxisLength);
  if (problem.kv_tiling == KvTiling::kDynamic && has_cycle(problem.mask))
    throw InvalidParameter("kv_tiling", to_string(problem.kv_tiling),
                           "static: no kernel moves its tiles around a cyclic axis", "static");
}

}  // namespace natten_sim
