#include "windows/passes.hpp"

#include <numeric>

#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "windows/space.hpp"

namespace natten_sim {
namespace {

/// Without dilation kernels visit what the mask needs.
bool kernel_differs(const SearchSpace& space, const AxisMask& mask) {
  return space.kernel && permutes_tokens(*space.kernel) && mask.dilation > 1;
}

/// Of one axis: the numbers of all axes multiply to those of the problem.
KernelVisits kernel_visits(const SearchSpace& space, const AxisMask& mask, const AxisTiles& tiles,
                           Walk walk) {
  const bool walks_q = walk == Walk::kForward;
  NattenProblem problem{.mask = {mask}, .backend = *space.kernel};
  problem.tiles = {{walks_q ? tiles.walked : tiles.streamed}, {walks_q ? tiles.streamed : tiles.walked}};
  problem.pass = walk;
  problem.kernel_alone = true;
  return natten_visits(problem).attention;
}

/// scale / base of one pass.
Ratio scale_of_pass(const SearchSpace& space, Objective objective, const TilePair& tiles, Walk walk) {
  const std::int64_t tokens = product(space.input, "tokens");
  const std::int64_t dense_pairs = checked_multiply(tokens, tokens, "dense_pairs");
  std::int64_t dense_tiles = 1, walked_tiles = 1;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    const AxisMask mask = axis_in(space, axis, 1, 1);
    const AxisTiles of_axis = axis_tiles(tiles, axis, walk);
    walked_tiles *= kernel_differs(space, mask)
                        ? kernel_visits(space, mask, of_axis, walk).launched_tiles
                        : count_axis(mask, of_axis, KvTiling::kStatic, walk).walked_tiles;
    dense_tiles =
        checked_multiply(dense_tiles, ceil_divide(space.input[axis], tiles.q_tile[axis]), "dense_tiles");
    dense_tiles =
        checked_multiply(dense_tiles, ceil_divide(space.input[axis], tiles.kv_tile[axis]), "dense_tiles");
  }
  switch (objective) {
    case Objective::kWork:
      return {checked_multiply(product(tiles.q_tile, "mma_pairs"), product(tiles.kv_tile, "mma_pairs"),
                               "mma_pairs"),
              dense_pairs};
    case Objective::kTime:
    case Objective::kMean:
      return {1, dense_tiles};
    case Objective::kWorst:
    case Objective::kEndToEnd:
      return {walked_tiles, dense_tiles};
    case Objective::kFlop:
      break;
  }
  return {1, dense_pairs};
}

}  // namespace

Passes::Passes(const SearchSpace& space) {
  const Pass forward{Walk::kForward, space.kv_tiling, space.weights.forward};
  const Pass backward{Walk::kBackward, space.backward_kv_tiling, space.weights.backward};
  if (space.phase != SearchPhase::kBoth) {
    passes_[0] = space.phase == SearchPhase::kForward ? forward : backward;
    passes_[0].weight = 1;
    return;
  }
  size_ = 2;
  const bool forward_first = forward.weight > backward.weight;
  passes_ = {forward_first ? forward : backward, forward_first ? backward : forward};
}

std::int64_t axis_cost(const SearchSpace& space, const AxisMask& mask, const AxisTiles& tiles, Walk walk,
                       const AxisCount& count, Objective objective) {
  switch (objective) {
    case Objective::kWork:
    case Objective::kTime:
    case Objective::kMean:
      break;
    case Objective::kWorst:
    case Objective::kEndToEnd:
      return count.max_tiles_per_walked_tile;
    case Objective::kFlop:
      return count.attended_pairs;
  }
  return kernel_differs(space, mask) ? kernel_visits(space, mask, tiles, walk).visited_tiles
                                     : count.visited_tiles;
}

TileCount ranked_count(const SearchSpace& space, const TilingProblem& problem, const TileCount& count) {
  TileCount ranked = count;
  std::int64_t launched = 1, visited = 1;
  bool differs = false;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    const AxisMask& mask = problem.mask[axis];
    const AxisTiles tiles = axis_tiles(problem.tiles, axis, problem.walk);
    if (kernel_differs(space, mask)) {
      const KernelVisits visits = kernel_visits(space, mask, tiles, problem.walk);
      launched = checked_multiply(launched, visits.launched_tiles, "launched_tiles");
      visited = checked_multiply(visited, visits.visited_tiles, "visited_tiles");
      differs = true;
      continue;
    }
    const AxisCount of_axis = count_axis(mask, tiles, problem.kv_tiling, problem.walk);
    launched = checked_multiply(launched, of_axis.walked_tiles, "launched_tiles");
    visited = checked_multiply(visited, of_axis.visited_tiles, "visited_tiles");
  }
  if (!differs) return ranked;
  ranked.mma_pairs = checked_multiply(count.mma_pairs / count.visited_tiles, visited, "mma_pairs");
  ranked.visited_tiles = visited;
  (problem.walk == Walk::kForward ? ranked.q_tiles : ranked.kv_tiles) = launched;
  return ranked;
}

void CostScale::require_fits(const PerPass<std::int64_t>& products) const {
  (void)checked_add(checked_multiply(scale[0], products[0], "mma_pairs"),
                    checked_multiply(scale[1], products[1], "mma_pairs"), "mma_pairs");
}

CostScale cost_scale(const SearchSpace& space, Objective objective, const TileChoice& choice) {
  const Passes passes(space);
  const Ratio first = scale_of_pass(space, objective, tiles_of(choice, passes[0].walk), passes[0].walk);
  if (passes.size() == 1) return {{first.numerator, 0}, first.denominator};
  // (a c / b + d e / f) / (a + d) over one denominator, with the weights a and d.
  const Ratio second = scale_of_pass(space, objective, tiles_of(choice, passes[1].walk), passes[1].walk);
  const std::int64_t common = checked_multiply(
      first.denominator / std::gcd(first.denominator, second.denominator), second.denominator, "dense_tiles");
  const auto scaled = [&](const Pass& pass, const Ratio& scale) {
    return checked_multiply(checked_multiply(pass.weight, scale.numerator, "weighted cost"),
                            common / scale.denominator, "weighted cost");
  };
  return {
      {scaled(passes[0], first), scaled(passes[1], second)},
      checked_multiply(common, checked_add(passes[0].weight, passes[1].weight, "weights"), "weighted cost")};
}

bool divides_evenly(const SearchSpace& space, const TileChoice& choice) {
  for (const Pass& pass : Passes(space)) {
    const TilePair& tiles = tiles_of(choice, pass.walk);
    for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
      const std::int64_t dilation = space.dilation[axis];
      for (const std::int64_t length :
           {space.input[axis] / dilation, ceil_divide(space.input[axis], dilation)}) {
        if (length % tiles.q_tile[axis] != 0 || length % tiles.kv_tile[axis] != 0) return false;
      }
    }
  }
  return true;
}

std::int64_t kv_tile_step(const SearchSpace& space, const TileChoice& choice, std::size_t axis) {
  std::int64_t step = 1;
  for (const Pass& pass : Passes(space)) {
    const std::int64_t kv_tile = tiles_of(choice, pass.walk).kv_tile[axis];
    step = checked_multiply(step / std::gcd(step, kv_tile), kv_tile, "window step");
  }
  return step;
}

}  // namespace natten_sim
