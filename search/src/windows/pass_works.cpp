#include "windows/pass_works.hpp"

#include <algorithm>
#include <bit>

#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>

namespace natten_sim {

/// A launch's time depends on the sums of fast axes alone, and on the order of the slowest. There are millions of keys, so
/// small numbers share a word.
void PassWorks::add_pairs(const std::array<std::int64_t, kLateCtas>& pairs) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 28U;
  const bool small = *std::max_element(pairs.begin(), pairs.end()) < kSmall;
  if (small && !pass_.slowest) {
    std::int64_t sum = 0, squares = 0, tiles = 0;
    for (const std::int64_t each : pairs) sum += each, squares += each * each, tiles += each > 0;
    key_.insert(key_.end(), {sum, squares, tiles});
    return;
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    key_.push_back(small ? pairs[i] * kSmall + pairs[i + 1] : pairs[i]);
    if (!small) key_.push_back(pairs[i + 1]);
  }
}

/// The kernel's work along one axis alone, and its key.
AxisWork PassWorks::work_along(const AxisMask& axis) {
  key_.clear();
  NattenProblem problem;
  problem.mask.push_back(axis);
  problem.backend = pass_.family;
  problem.tiles = pass_.tiles;
  problem.pass = pass_.walk;
  problem.kernel_alone = true;
  const KernelVisits visits = natten_visits(problem).attention;
  AxisWork work{.ctas = visits.launched_tiles,
                .visited = visits.visited_tiles,
                .without_elements = visits.unmasked_tiles + visits.bounds_masked_tiles,
                .unmasked = visits.unmasked_tiles,
                .filled = static_cast<double>(visits.visited_tiles),
                .even = true};
  if (pass_.family == NattenBackend::kCutlassFna) {
    // Its time follows from sums and a few shares.
    work.even = false;
    const bool forward = pass_.walk == Walk::kForward;
    const std::int64_t q = pass_.tiles.q_tile[0], kv = pass_.tiles.kv_tile[0];
    const CutlassAxis along = cutlass_axis(axis, forward ? AxisTiles{q, kv} : AxisTiles{kv, q}, pass_.walk);
    key_.insert(key_.end(), {work.ctas, work.visited, work.without_elements, visits.unmasked_tiles});
    for (const double share : {along.longest, along.alike, along.filled}) key_.push_back(std::bit_cast<std::int64_t>(share));
    add_pairs(along.pairs);
    work.filled = along.filled * static_cast<double>(work.visited);
    return work;
  }
  key_.insert(key_.end(), {work.ctas, work.visited, work.without_elements, work.unmasked});
  const bool tile_by_tile = pass_.family == NattenBackend::kFlexFna;
  const std::vector<CtaVisits> ctas = list_ctas(problem.mask, pass_.tiles, pass_.family, pass_.walk);
  for (const CtaVisits& cta : ctas) {
    const std::int64_t full = tile_by_tile ? cta.full : 0;
    key_.insert(key_.end(), {cta.tiles, full});
    work.longest = std::max(work.longest, cta.tiles);
    work.shortest = &cta == ctas.data() ? cta.tiles : std::min(work.shortest, cta.tiles);
    work.even = work.even && cta.tiles == ctas.front().tiles && (!tile_by_tile || full == ctas.front().full);
  }
  return work;
}

std::size_t PassWorks::number_of(std::int64_t window, std::int64_t stride) {
  AxisMask axis = pass_.axis;
  axis.window = window;
  axis.stride = stride;
  const AxisWork along = work_along(axis);
  const auto [at, is_new] = numbers_.try_emplace(key_, works_.size());
  if (is_new) works_.push_back({at->second, &at->first, along});
  return at->second;
}

}  // namespace natten_sim
