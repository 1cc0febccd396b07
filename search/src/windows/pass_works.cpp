#include "windows/pass_works.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>

namespace natten_sim {

/// The kernel's work along one axis alone, and its key.
AxisWork PassWorks::work_along(const AxisMask& axis) {
  key_.clear();
  NattenProblem problem;
  problem.mask.push_back(axis);
  problem.backend = family_;
  problem.tiles = tiles_;
  problem.pass = walk_;
  problem.kernel_alone = true;
  const KernelVisits visits = natten_visits(problem).attention;
  AxisWork work{.ctas = visits.launched_tiles,
                .visited = visits.visited_tiles,
                .without_elements = visits.unmasked_tiles + visits.bounds_masked_tiles,
                .unmasked = visits.unmasked_tiles,
                .even = true};
  if (family_ == NattenBackend::kCutlassFna) {
    // Its time follows from sums and a few shares.
    work.even = false;
    const bool forward = walk_ == Walk::kForward;
    const std::int64_t q = tiles_.q_tile[0], kv = tiles_.kv_tile[0];
    const CutlassAxis along = cutlass_axis(axis, forward ? AxisTiles{q, kv} : AxisTiles{kv, q}, walk_);
    key_.insert(key_.end(), {work.ctas, work.visited, work.without_elements, visits.unmasked_tiles});
    for (const double share : {along.longest, along.alike, along.filled}) key_.push_back(std::bit_cast<std::int64_t>(share));
    for (const double length : along.lengths) key_.push_back(std::bit_cast<std::int64_t>(length));
    work.cutlass = std::make_shared<const CutlassAxis>(along);
    return work;
  }
  key_.insert(key_.end(), {work.ctas, work.visited, work.without_elements, work.unmasked});
  const bool tile_by_tile = family_ == NattenBackend::kFlexFna;
  const std::vector<CtaVisits> ctas = list_ctas(problem.mask, tiles_, family_, walk_);
  for (const CtaVisits& cta : ctas) {
    const std::int64_t full = tile_by_tile ? cta.full : 0;
    key_.insert(key_.end(), {cta.tiles, full});
    work.longest = std::max(work.longest, cta.tiles);
    work.even = work.even && cta.tiles == ctas.front().tiles && (!tile_by_tile || full == ctas.front().full);
  }
  return work;
}

std::size_t PassWorks::number_of(std::int64_t window, std::int64_t stride) {
  AxisMask axis = axis_;
  axis.window = window;
  axis.stride = stride;
  const AxisWork along = work_along(axis);
  const auto [at, is_new] = numbers_.try_emplace(key_, works_.size());
  if (is_new) works_.push_back({at->second, &at->first, along});
  return at->second;
}

}  // namespace natten_sim
