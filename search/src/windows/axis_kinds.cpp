#include "windows/axis_kinds.hpp"

#include <algorithm>
#include <list>
#include <unordered_map>

#include <natten_sim/core/cancellation.hpp>

#include "windows/space.hpp"

namespace natten_sim {
namespace {

/// Keeps the smallest stride of each window and number of attended pairs. Members come in their order.
void add_member(const KindMember& member, std::vector<KindMember>& members) {
  if (members.empty() || members.back().window != member.window || members.back().attended != member.attended) {
    members.push_back(member);
  } else {
    members.back().stride = std::min(members.back().stride, member.stride);
  }
}

TilePair along(const TilePair& tiles, std::size_t axis) {
  return {Extents{tiles.q_tile[axis]}, Extents{tiles.kv_tile[axis]}};
}

struct NumberedKind {
  PerPass<const std::vector<std::int64_t>*> keys = {nullptr, nullptr};
  AxisKind kind;
};

/// By the full pairs of tiles that take as long in the first pass; then by what tells kinds apart.
std::vector<AxisKind> sorted(std::vector<NumberedKind> numbered, double clipped_share) {
  const auto full = [&](const NumberedKind& each) { return visits_of(each.kind.work[0]).full(clipped_share); };
  std::sort(numbered.begin(), numbered.end(), [&](const NumberedKind& a, const NumberedKind& b) {
    if (full(a) != full(b)) return full(a) < full(b);
    if (a.keys[0] != b.keys[0]) return *a.keys[0] < *b.keys[0];
    return a.keys[1] != b.keys[1] && *a.keys[1] < *b.keys[1];
  });
  std::vector<AxisKind> kinds;
  kinds.reserve(numbered.size());
  for (NumberedKind& each : numbered) kinds.push_back(std::move(each.kind));
  return kinds;
}

}  // namespace

std::vector<AxisKind> axis_kinds(const SearchSpace& space, const AxisTable& table, std::size_t axis,
                                 std::size_t tile_choice, const TimedChoice& choice, KindStrides strides,
                                 AxisMemory& memory) {
  const AxisMask mask = axis_in(space, axis, 1, 1);
  std::list<PassWorks> own;
  std::vector<PassWorks*> works;
  for (const TimedPass& pass : choice.passes) {
    const PassAlong here{mask, along(tiles_of(space.tiles[tile_choice], pass.walk), axis), pass.family, pass.walk, axis == 0};
    works.push_back(mask.length <= PassWorks::kLongest ? &memory.works_of(here) : &own.emplace_back(here));
  }
  std::unordered_map<std::uint64_t, std::size_t> places;  // of the numbers of both passes
  std::vector<NumberedKind> kinds;
  for (const AxisClass& of_class : table.classes) {
    for (const std::int64_t stride : table.strides_of(of_class)) {
      poll();
      PerPass<const PassWorks::Work*> work = {nullptr, nullptr};
      std::uint64_t numbers = 0;
      for (std::size_t i = 0; i < works.size(); ++i) {
        work[i] = &works[i]->of(of_class.window, stride);
        numbers = (numbers << 32U) + work[i]->number;
      }
      const auto [place, is_new] = places.try_emplace(numbers, kinds.size());
      if (is_new) {
        kinds.emplace_back();
        for (std::size_t i = 0; i < works.size(); ++i) {
          kinds.back().keys[i] = work[i]->key;
          kinds.back().kind.work[i] = work[i]->along;
        }
      }
      std::vector<KindMember>& members = kinds[place->second].kind.members;
      const KindMember member{of_class.window, of_class.attended, stride};
      if (strides == KindStrides::kAll) {
        members.push_back(member);
      } else {
        add_member(member, members);
      }
    }
  }
  return sorted(std::move(kinds), choice.passes[0].costs.clipped_share);
}

}  // namespace natten_sim
