#include "windows/passes.hpp"

#include <numeric>

#include <natten_sim/models/tiles/tile_count.hpp>

namespace natten_sim {
namespace {

/// scale / base of one pass.
Ratio scale_of_pass(const SearchSpace& space, Objective objective, const TilePair& tiles, Walk walk) {
  const std::int64_t tokens = product(space.input, "tokens");
  const std::int64_t dense_pairs = checked_multiply(tokens, tokens, "dense_pairs");
  std::int64_t dense_tiles = 1, walked_tiles = 1;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    const AxisMask mask{space.input[axis], 1, 1, space.dilation[axis], false};
    walked_tiles *= count_axis(mask, axis_tiles(tiles, axis, walk), KvTiling::kStatic, walk).walked_tiles;
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

std::int64_t axis_cost(const AxisCount& count, Objective objective) noexcept {
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
  return count.visited_tiles;
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
