#include "windows/axis_kinds.hpp"

#include <algorithm>
#include <map>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>

#include "windows/space.hpp"

namespace natten_sim {
namespace {

/// The kernel's work along one axis alone, and what tells kinds apart: every CTA's tiles.
AxisWork work_along(const AxisMask& axis, const TilePair& tiles, const TimedPass& pass,
                    std::vector<std::int64_t>& key) {
  NattenProblem problem;
  problem.mask.push_back(axis);
  problem.backend = pass.family;
  problem.tiles = tiles;
  problem.pass = pass.walk;
  problem.kernel_alone = true;
  const KernelVisits visits = natten_visits(problem).attention;
  AxisWork work{.ctas = visits.launched_tiles,
                .visited = visits.visited_tiles,
                .without_elements = visits.unmasked_tiles + visits.bounds_masked_tiles,
                .unmasked = visits.unmasked_tiles,
                .even = true};
  if (pass.family == NattenBackend::kCutlassFna) {
    // Its time follows from sums alone, and in 3-D it looks at the padding of two axes: bound it from below.
    work.unmasked = work.without_elements;
    work.even = false;
    key.insert(key.end(), {work.ctas, work.visited, work.without_elements, visits.unmasked_tiles});
    return work;
  }
  key.insert(key.end(), {work.ctas, work.visited, work.without_elements, work.unmasked});
  const bool tile_by_tile = pass.family == NattenBackend::kFlexFna;
  const std::vector<CtaVisits> ctas = list_ctas(problem.mask, tiles, pass.family, pass.walk);
  for (const CtaVisits& cta : ctas) {
    const std::int64_t full = tile_by_tile ? cta.full : 0;
    key.insert(key.end(), {cta.tiles, full});
    work.longest = std::max(work.longest, cta.tiles);
    work.even = work.even && cta.tiles == ctas.front().tiles && (!tile_by_tile || full == ctas.front().full);
  }
  return work;
}

/// Keeps the smallest stride of each window and number of attended pairs.
void add_member(const KindMember& member, std::vector<KindMember>& members) {
  for (KindMember& each : members) {
    if (each.window != member.window || each.attended != member.attended) continue;
    each.stride = std::min(each.stride, member.stride);
    return;
  }
  members.push_back(member);
}

TilePair along(const TilePair& tiles, std::size_t axis) {
  return {Extents{tiles.q_tile[axis]}, Extents{tiles.kv_tile[axis]}};
}

}  // namespace

std::vector<AxisKind> axis_kinds(const SearchSpace& space, const AxisTable& table, std::size_t axis,
                                 std::size_t tile_choice, const TimedChoice& choice, KindStrides strides) {
  std::map<std::vector<std::int64_t>, AxisKind> kinds;
  std::vector<std::int64_t> key;
  for (const AxisClass& of_class : table.classes) {
    for (const std::int64_t stride : table.strides_of(of_class)) {
      poll();
      const AxisMask mask = axis_in(space, axis, of_class.window, stride);
      key.clear();
      PerPass<AxisWork> work;
      for (std::size_t i = 0; i < choice.passes.size(); ++i) {
        const TimedPass& pass = choice.passes[i];
        work[i] = work_along(mask, along(tiles_of(space.tiles[tile_choice], pass.walk), axis), pass, key);
      }
      AxisKind& kind = kinds[key];
      kind.work = work;
      const KindMember member{of_class.window, of_class.attended, stride};
      if (strides == KindStrides::kAll) {
        kind.members.push_back(member);
      } else {
        add_member(member, kind.members);
      }
    }
  }
  std::vector<AxisKind> sorted;
  for (auto& [unused, kind] : kinds)
    sorted.push_back(std::move(kind));  // members as in the table: by `attended`
  std::stable_sort(sorted.begin(), sorted.end(), [](const AxisKind& a, const AxisKind& b) {
    return a.work[0].visited < b.work[0].visited;
  });
  return sorted;
}

}  // namespace natten_sim
