#include <algorithm>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "tiles/natten_axis.hpp"

namespace natten_sim {
namespace {

using Axes = PerAxis<NattenAxis>;

/// Product over the axes of the sum over their groups of `term`.
template <typename Term>
std::int64_t product_of_sums(const Axes& axes, const char* quantity, const Term& term) {
  std::int64_t product = 1;
  for (std::size_t a = 0; a < axes.rank(); ++a) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < axes[a].count; ++i) {
      const NattenAxisGroups& groups = axes[a].lengths[i];
      sum = checked_add(sum, checked_multiply(groups.groups, term(groups, a), quantity), quantity);
    }
    product = checked_multiply(product, sum, quantity);
  }
  return product;
}

std::int64_t visits_of_row_prefix(const PerAxis<const NattenAxisGroups*>& groups,
                                  const NattenProblem& problem, std::size_t axis, std::int64_t tiles) {
  const auto tiles_of = [&](std::size_t a) { return axis_tiles(problem.tiles, a, Walk::kForward); };
  if (axis == groups.rank()) return tiles;
  std::int64_t behind = 1;
  for (std::size_t a = axis + 1; a < groups.rank(); ++a) behind *= groups[a]->tiles;
  std::int64_t behind_visits = 1;
  for (std::size_t a = axis + 1; a < groups.rank(); ++a) behind_visits *= groups[a]->visited;
  const std::int64_t whole = tiles / behind, rest = tiles % behind;
  const std::int64_t before = dynamic_visits_of_first(groups[axis]->group, tiles_of(axis), whole);
  std::int64_t visits = checked_multiply(before, behind_visits, "visited_tiles");
  if (rest == 0) return visits;
  const std::int64_t here = dynamic_visits_of_first(groups[axis]->group, tiles_of(axis), whole + 1) - before;
  return checked_add(visits, here * visits_of_row_prefix(groups, problem, axis + 1, rest), "visited_tiles");
}

/// Visits of the CTAs that cutlass-fna's forward grid has too many for one combination of groups. Their
/// indices continue behind the last tile in row-major order, so that only the first coordinate leaves the
/// axis.
std::int64_t visits_of_extra_ctas(const PerAxis<const NattenAxisGroups*>& groups,
                                  const NattenProblem& problem) {
  std::int64_t launched = 1, tiles = 1, row = 1, row_visits = 1;
  for (std::size_t a = 0; a < groups.rank(); ++a) {
    launched *= groups[a]->launched;  // no more than the tokens
    tiles *= groups[a]->tiles;
    if (a > 0) row *= groups[a]->tiles, row_visits *= groups[a]->visited;
  }
  const std::int64_t extra = launched - tiles;
  if (extra == 0) return 0;
  const std::int64_t first_axis =
      ceil_divide(groups[0]->group.window, axis_tiles(problem.tiles, 0, Walk::kForward).streamed);
  std::int64_t rows = checked_multiply(extra / row, row_visits, "visited_tiles");
  if (extra % row != 0)
    rows = checked_add(rows, visits_of_row_prefix(groups, problem, 1, extra % row), "visited_tiles");
  return checked_multiply(first_axis, rows, "visited_tiles");
}

/// Calls function(groups, multiplicity) for every combination of group lengths over the axes.
template <typename Function>
void for_each_combination(const Axes& axes, PerAxis<const NattenAxisGroups*>& chosen,
                          std::int64_t multiplicity, const Function& function) {
  const std::size_t axis = chosen.rank();
  if (axis == axes.rank()) {
    function(chosen, multiplicity);
    return;
  }
  for (std::size_t i = 0; i < axes[axis].count; ++i) {
    PerAxis<const NattenAxisGroups*> next = chosen;
    next.push_back(&axes[axis].lengths[i]);
    for_each_combination(axes, next, multiplicity * axes[axis].lengths[i].groups, function);
  }
}

KernelVisits fna_visits(const NattenProblem& problem, const Axes& axes) {
  KernelVisits visits;
  const std::size_t rank = axes.rank();
  const auto all = [](const NattenAxisGroups& groups) { return groups.visited + groups.empty_visits; };
  const auto sum = [&](const char* quantity, const auto& term) {
    return product_of_sums(axes, quantity, term);
  };
  visits.launched_tiles = sum("launched_tiles", [](const auto& g, std::size_t) { return g.launched; });
  visits.visited_tiles = sum("visited_tiles", [&](const auto& g, std::size_t) { return all(g); });
  visits.empty_tiles =
      visits.launched_tiles - sum("launched_tiles", [](const auto& g, std::size_t) { return g.tiles; });
  visits.empty_visits =
      visits.visited_tiles - sum("visited_tiles", [](const auto& g, std::size_t) { return g.visited; });
  if (problem.backend == NattenBackend::kFlexFna) {
    visits.unmasked_tiles = sum("visited_tiles", [](const auto& g, std::size_t) { return g.full; });
    visits.masked_tiles = visits.visited_tiles - visits.unmasked_tiles;
    return visits;
  }
  // No group of a causal axis is block-sparse.
  const std::int64_t block_sparse =
      sum("visited_tiles", [&](const auto& g, std::size_t) { return g.block_sparse ? all(g) : 0; });
  visits.unmasked_tiles = sum("visited_tiles", [&](const auto& g, std::size_t axis) {
    const bool padded = g.padded && padding_counts(problem.backend, rank, axis);
    return g.block_sparse && !padded ? all(g) : 0;
  });
  visits.bounds_masked_tiles = block_sparse - visits.unmasked_tiles;
  visits.masked_tiles = visits.visited_tiles - visits.unmasked_tiles - visits.bounds_masked_tiles;
  return visits;
}

void add_extra_ctas(const NattenProblem& problem, const Axes& axes, KernelVisits& visits) {
  // The grid is counted by launched tiles of each axis already; only their visits are missing.
  PerAxis<const NattenAxisGroups*> chosen;
  for_each_combination(axes, chosen, 1, [&](const auto& groups, std::int64_t multiplicity) {
    const std::int64_t added =
        checked_multiply(visits_of_extra_ctas(groups, problem), multiplicity, "visited_tiles");
    bool block_sparse = true, padded = false;
    for (std::size_t a = 0; a < groups.rank(); ++a) {
      block_sparse = block_sparse && groups[a]->block_sparse;
      padded = padded || (groups[a]->padded && padding_counts(problem.backend, groups.rank(), a));
    }
    visits.visited_tiles = checked_add(visits.visited_tiles, added, "visited_tiles");
    visits.empty_visits += added;
    (!block_sparse ? visits.masked_tiles
     : padded      ? visits.bounds_masked_tiles
                   : visits.unmasked_tiles) += added;
  });
}

}  // namespace

bool padding_counts(NattenBackend backend, std::size_t rank, std::size_t axis) noexcept {
  return backend != NattenBackend::kCutlassFna || rank < 3 || axis < 2;
}

Masking masking_of(const KernelVisits& visits) noexcept {
  if (visits.masked_tiles == visits.visited_tiles) return Masking::kElements;
  if (visits.bounds_masked_tiles == visits.visited_tiles) return Masking::kBounds;
  return visits.unmasked_tiles == visits.visited_tiles ? Masking::kNone : Masking::kMixed;
}

NattenVisits natten_visits(const NattenProblem& problem) {
  require_valid(problem.mask);
  if (problem.backend != NattenBackend::kFlexFna)
    require_no_cycle(problem.mask, "false: windows of NATTEN's kernels end at the borders");
  if (problem.mask.rank() > 3) throw InvalidParameter("input", "4 axes", "1 to 3 axes: NATTEN has no more");
  if (problem.additional_keys < 0) {
    throw InvalidParameter("additional_keys", std::to_string(problem.additional_keys), "0 or more", "0");
  }
  const std::int64_t tokens = product(input_of(problem.mask), "tokens");
  const std::int64_t keys = checked_add(tokens, problem.additional_keys, "tokens");
  NattenVisits visits;
  visits.dense_path =
      !problem.kernel_alone && takes_dense_path(input_of(problem.mask), window_of(problem.mask),
                                                causal_of(problem.mask), problem.additional_keys > 0);
  if (visits.dense_path) {
    visits.attention = fmha_visits(problem.fmha, tokens, keys, problem.mask[0].causal, problem.pass);
    return visits;
  }
  require_extents("q_tile", problem.tiles.q_tile, problem.mask.rank(), 1, kMaxAxisLength);
  require_extents("kv_tile", problem.tiles.kv_tile, problem.mask.rank(), 1, kMaxAxisLength);
  Axes axes;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    axes.push_back(natten_axis(problem.mask[axis], axis_tiles(problem.tiles, axis, problem.pass),
                               problem.backend, problem.pass,
                               problem.counted.empty() ? nullptr : &problem.counted[axis]));
  }
  visits.attention = fna_visits(problem, axes);
  if (problem.backend == NattenBackend::kCutlassFna && problem.pass == Walk::kForward) {
    add_extra_ctas(problem, axes, visits.attention);
  }
  if (problem.additional_keys > 0) {
    visits.additional = fmha_visits(problem.fmha, tokens, problem.additional_keys, false, problem.pass);
  }
  return visits;
}

}  // namespace natten_sim
