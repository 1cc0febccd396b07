// From the structs of C to the kernels' problems.
#include "problem.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <natten_sim/kernels/attention_forward/visits.hpp>

namespace natten_sim::operators {
namespace {

forward::TensorStrides strides_of(const natten_sim_strides& given) {
  return {given.batch, given.head, given.token};
}

NeighborhoodMask mask_of(const natten_sim_attention& given) {
  if (given.rank < 1 || given.rank > 4)
    throw InvalidParameter("input", std::to_string(given.rank) + " axes", "1 to 4 axes");
  NeighborhoodMask mask;
  for (int axis = 0; axis < given.rank; ++axis) {
    const int64_t* of = given.axes + 5 * axis;
    mask.push_back({of[0], of[1], of[2], of[3], of[4] != 0});
  }
  require_valid(mask);
  return mask;
}

std::vector<TokenRange> intervals_of(const natten_sim_attention& given) {
  std::vector<TokenRange> intervals;
  if (given.intervals == nullptr) return intervals;
  for (int64_t query = 0; query < given.q_tokens; ++query)
    intervals.push_back({given.intervals[2 * query], given.intervals[2 * query + 1]});
  return intervals;
}

forward::Band band_of(const natten_sim_attention& given) {
  forward::Band band;
  if (given.left >= 0) band.left = given.left;
  if (given.right >= 0) band.right = given.right;
  return band;
}

/// Boxes of as many tokens as the kernel's KV tile has.
std::vector<Extents> boxes(std::size_t rank, std::int64_t tokens) {
  if (rank == 1) return {{tokens}};
  const bool whole = tokens == 128;
  if (rank == 2) return whole ? std::vector<Extents>{{16, 8}, {8, 16}, {4, 32}} : std::vector<Extents>{{14, 8}};
  std::vector<Extents> found = whole ? std::vector<Extents>{{2, 8, 8}, {4, 4, 8}, {8, 4, 4}, {4, 8, 4}}
                                     : std::vector<Extents>{{7, 4, 4}};
  if (rank == 3) return found;
  for (Extents& box : found) box = {1, box[0], box[1], box[2]};
  return found;
}

/// The boxes with which the least is computed, where masks cost a tenth of a tile; ties go to the first.
forward::Neighborhood with_best_tiles(const NeighborhoodMask& mask, const forward::KernelShape& kernel) {
  forward::Neighborhood best;
  double least = 0;
  for (const Extents& q_tile : boxes(mask.rank(), kernel.q_tile)) {
    for (const Extents& kv_tile : boxes(mask.rank(), kernel.kv_tile)) {
      forward::Neighborhood made{mask, q_tile, kv_tile, forward::visits_of(mask, q_tile, kv_tile), {}};
      double cost = 0;
      for (const forward::VisitedTile& visit : made.visits) cost += visit.full ? 1.0 : 1.1;
      if (best.visits.empty() || cost < least) {
        least = cost;
        best = std::move(made);
      }
    }
  }
  return best;
}

/// Tiles do not depend on anything that is not known yet, but the kernel is asked for with some.
forward::KernelShape kernel_of(forward::Problem problem, const NeighborhoodMask& mask) {
  forward::Neighborhood any;
  any.mask = mask;
  any.q_tile = any.kv_tile = Extents(mask.rank(), 1);
  problem.mask = any;
  return forward::best_kernel(problem);
}

backward::TokenPairs with_extra_keys(const backward::TokenPairs& pairs, std::int64_t extra) {
  const std::int64_t before = pairs.kv_tokens();
  backward::TokenPairs made(pairs.q_tokens(), before + extra);
  std::vector<std::uint64_t> row(static_cast<std::size_t>(made.words()));
  for (std::int64_t query = 0; query < pairs.q_tokens(); ++query) {
    const auto seen = pairs.row(query);
    std::ranges::fill(row, 0);
    std::ranges::copy(seen, row.begin());
    made.show(query, row);
    if (std::ranges::any_of(seen, [](std::uint64_t word) { return word != 0; }))
      made.show(query, {before, before + extra});
  }
  return made;
}

/// What both passes are told in the same way.
template <typename Problem>
Problem without_mask(const natten_sim_attention& given) {
  Problem problem;
  problem.batch = given.batch;
  problem.heads = given.heads;
  problem.heads_kv = given.heads_kv;
  problem.q_tokens = given.q_tokens;
  problem.kv_tokens = given.kv_tokens;
  problem.head_dim = given.head_dim;
  problem.dtype = given.fp16 != 0 ? Dtype::kFp16 : Dtype::kBf16;
  if (given.scale != 0) problem.scale = given.scale;
  problem.q = strides_of(given.q);
  problem.k = strides_of(given.k);
  problem.v = strides_of(given.v);
  problem.o = strides_of(given.o);
  return problem;
}

}  // namespace

forward::Problem forward_problem(const natten_sim_attention& given) {
  auto problem = without_mask<forward::Problem>(given);
  problem.extra_tokens = given.extra_tokens;
  problem.extra_k = strides_of(given.extra_k);
  problem.extra_v = strides_of(given.extra_v);
  if (given.intervals != nullptr) {
    const NeighborhoodMask mask = {AxisMask{given.q_tokens, given.q_tokens, 1, 1, false}};
    const forward::KernelShape kernel = kernel_of(problem, mask);
    const std::vector<TokenRange> intervals = intervals_of(given);
    problem.mask = forward::Neighborhood{
        mask,
        {kernel.q_tile},
        {kernel.kv_tile},
        forward::visits_of(intervals, kernel.q_tile, kernel.kv_tile),
        intervals};
  } else if (given.rank > 0) {
    const NeighborhoodMask mask = mask_of(given);
    problem.mask = with_best_tiles(mask, kernel_of(problem, mask));
  } else {
    problem.mask = band_of(given);
  }
  forward::require_valid(problem);
  return problem;
}

backward::Problem backward_problem(const natten_sim_attention& given, Places& places) {
  auto problem = without_mask<backward::Problem>(given);
  if (given.intervals != nullptr) {
    backward::TokenPairs pairs(given.q_tokens, given.kv_tokens);
    const std::vector<TokenRange> intervals = intervals_of(given);
    for (std::size_t query = 0; query < intervals.size(); ++query)
      pairs.show(static_cast<std::int64_t>(query), intervals[query]);
    problem.pairs = std::make_shared<const backward::TokenPairs>(std::move(pairs));
  } else if (given.rank > 0) {
    const NeighborhoodMask mask = mask_of(given);
    const TilePair tiles = backward::neighborhood_tiles(backward::best_kernel(problem), mask.rank());
    places = {backward::tile_order(mask, tiles.q_tile), backward::tile_order(mask, tiles.kv_tile)};
    backward::TokenPairs pairs = backward::neighborhood_pairs(mask, tiles);
    if (given.extra_tokens > 0) pairs = with_extra_keys(pairs, given.extra_tokens);
    problem.q_tokens = pairs.q_tokens();
    problem.kv_tokens = pairs.kv_tokens();
    problem.pairs = std::make_shared<const backward::TokenPairs>(std::move(pairs));
  } else {
    problem.mask = band_of(given);
  }
  backward::require_valid(problem);
  return problem;
}

}  // namespace natten_sim::operators
