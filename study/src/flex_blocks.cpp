#include "flex_blocks.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/study/kernel_choice.hpp>

namespace natten_sim::study {
namespace {

constexpr std::int64_t kDefaultBlock = 128;

void add_boxes(Extents box, std::size_t rank, std::int64_t tokens, std::vector<Extents>& boxes) {
  if (box.rank() + 1 == rank) {
    box.push_back(tokens);
    boxes.push_back(box);
    return;
  }
  for (std::int64_t side = 1; side <= tokens; side *= 2) {
    Extents longer = box;
    longer.push_back(side);
    add_boxes(longer, rank, tokens / side, boxes);
  }
}

std::vector<Extents> boxes_of(std::size_t rank, std::int64_t tokens) {
  std::vector<Extents> boxes;
  add_boxes({}, rank, tokens, boxes);
  return boxes;
}

/// Smaller is better: the time of all blocks, the sum of the sides, and outer sides before inner ones.
auto rank_of(const TilingProblem& problem, const BlockTokens& blocks) {
  std::int64_t sides = 0;
  for (const std::int64_t side : problem.tiles.q_tile) sides += side;
  for (const std::int64_t side : problem.tiles.kv_tile) sides += side;
  const TileCount count = count_tiles(problem);
  const double time = blocks.full * static_cast<double>(count.full_tiles) +
                      blocks.partial * static_cast<double>(count.partial_tiles()) +
                      blocks.block * static_cast<double>(count.walked_tiles());
  return std::tuple(time, sides, problem.tiles.q_tile, problem.tiles.kv_tile);
}

/// `problem` with a box of as many tokens for each side that is open.
TilingProblem with_box(TilingProblem problem, const Extents* q_tile, const Extents* kv_tile) {
  if (problem.tiles.q_tile.empty()) problem.tiles.q_tile = *q_tile;
  if (problem.tiles.kv_tile.empty()) problem.tiles.kv_tile = *kv_tile;
  return problem;
}

}  // namespace

BlockTokens block_tokens(const TimedKernel& kernel, const Setting& setting, Walk pass,
                         const Catalog& catalog) {
  const std::vector<CostPrior> priors = catalog.cost_priors.of(pass, kernel.name, *setting.head_dim);
  const BlockTokens open{kDefaultBlock, kDefaultBlock, 1, prior_value(priors, "masked", 1), prior_value(priors, "cta_tiles", 1)};
  if (kernel.own != nullptr) {
    BlockTokens own = open;
    own.q = kernel.own->q_tile;
    if (const KernelTile* tile = kernel.own->tile_of(*setting.head_dim)) own.kv = tile->kv_tile;
    const std::optional<TileTokens> backward =
        pass == Walk::kBackward ? backward_tokens(*kernel.own, *setting.head_dim) : std::nullopt;
    if (backward) {
      own.q = backward->q;
      own.kv = backward->kv;
    }
    return own;
  }
  const KernelCosts* costs = setting.device
                                 ? catalog.costs_of(kernel.name, catalog.device(*setting.device).name,
                                                    *setting.head_dim, *setting.dtype)
                                 : nullptr;
  const PassCosts* timed = costs == nullptr ? nullptr : costs->costs_of(pass);
  if (timed != nullptr) {
    const std::size_t axes = std::clamp<std::size_t>(setting.input.rank(), 1, timed->masked_tile_us.size());
    return {timed->q_tile_tokens, timed->kv_tile_tokens, timed->unmasked_tile_us, timed->masked_tile_us[axes - 1],
            timed->cta_us};
  }
  return open;
}

std::vector<Extents> block_boxes(const Extents& input, std::int64_t tokens) {
  std::vector<Extents> boxes = boxes_of(input.rank(), tokens);
  if (input.rank() == 1) return boxes;
  std::erase_if(boxes, [&](const Extents& box) {
    for (std::size_t axis = 0; axis < input.rank(); ++axis) {
      if (box[axis] > 1 && box[axis] / 2 >= input[axis]) return true;
    }
    return false;
  });
  return boxes;
}

TilePair block_tiles(const TilingProblem& problem, const BlockTokens& tokens) {
  const std::size_t rank = problem.tiling == Tiling::kSingleDimensional ? 1 : problem.mask.rank();
  const std::vector<Extents> q_boxes = boxes_of(rank, tokens.q), kv_boxes = boxes_of(rank, tokens.kv);
  TilingProblem best = with_box(problem, &q_boxes.front(), &kv_boxes.front());
  for (std::size_t i = 1; i < q_boxes.size(); ++i) {
    const TilingProblem other = with_box(problem, &q_boxes[i], &kv_boxes[std::min(i, kv_boxes.size() - 1)]);
    if (rank_of(other, tokens) < rank_of(best, tokens)) best = other;
  }
  return best.tiles;
}

}  // namespace natten_sim::study
