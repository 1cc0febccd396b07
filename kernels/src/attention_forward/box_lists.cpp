#include "attention_forward/box_lists.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/attention_forward/tile_order.hpp>

namespace natten_sim::kernels::attention_forward {
namespace {

/// Of `extents`, innermost first.
std::int64_t inner(const Extents& extents, std::size_t axis) {
  return axis < extents.rank() ? extents[extents.rank() - 1 - axis] : 0;
}

std::uint32_t packed(std::int64_t x, std::int64_t w) {
  return static_cast<std::uint32_t>(x) | static_cast<std::uint32_t>(w) << kXBits;
}

/// The coordinate of the layout along a fourth axis, of one of the dilation group.
std::int64_t fourth(const NeighborhoodMask& mask, std::int64_t group, const Extents& origin) {
  if (mask.rank() < 4) return 0;
  for (std::size_t axis = 1; axis < mask.rank(); ++axis) group /= mask[axis].dilation;
  return group + mask[0].dilation * origin[0];
}
/// The dilation group of the other three.
std::int64_t inner_group(const NeighborhoodMask& mask, std::int64_t group) {
  if (mask.rank() < 4) return group;
  std::int64_t groups = 1;
  for (std::size_t axis = 1; axis < mask.rank(); ++axis) groups *= mask[axis].dilation;
  return group % groups;
}

KvTileEntry entry_of(const NeighborhoodMask& mask, const VisitedTile& visit, const Extents& kv_tile) {
  std::int64_t tile[3] = {0, 0, 0};
  for (std::size_t axis = 0; axis < std::min<std::size_t>(visit.kv_origin.rank(), 3); ++axis) {
    const std::int64_t origin = inner(visit.kv_origin, axis), side = inner(kv_tile, axis);
    if (origin % side != 0)
      throw InvalidParameter("kv_origin", std::to_string(origin), "a multiple of the KV tile");
    tile[axis] = origin / side;
    if (axis > 0 && tile[axis] > std::numeric_limits<std::uint16_t>::max())
      throw InvalidParameter("kv_origin", std::to_string(origin), "65536 tiles an outer axis");
    if (axis == 0 && tile[axis] >= std::int64_t{1} << kXBits)
      throw InvalidParameter("kv_origin", std::to_string(origin), "2^20 tiles of the innermost axis");
  }
  const std::int64_t w = fourth(mask, visit.group, visit.kv_origin);
  if (w >= kExtraKeys)
    throw InvalidParameter("input", std::to_string(w + 1), "4095 tokens of the first of four axes");
  return {static_cast<std::uint16_t>(tile[1]), static_cast<std::uint16_t>(tile[2]), packed(tile[0], w)};
}

}  // namespace

PerAxis<std::size_t> tile_order(const NeighborhoodMask& mask) {
  PerAxis<std::size_t> order;
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) order.push_back(axis);
  // window / (length / dilation), compared without division.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return mask[a].window * mask[a].dilation * mask[b].length <
           mask[b].window * mask[b].dilation * mask[a].length;
  });
  return order;
}

BoxLists box_lists(const Neighborhood& neighborhood, std::int64_t extra_tokens) {
  const PerAxis<std::size_t> order = tile_order(neighborhood.mask);
  std::vector<const VisitedTile*> visits;
  for (const VisitedTile& visit : neighborhood.visits) visits.push_back(&visit);
  const auto q_place = [&](const VisitedTile* visit) {
    return std::tuple(visit->group, in_order(visit->q_origin, order));
  };
  std::stable_sort(visits.begin(), visits.end(), [&](const VisitedTile* a, const VisitedTile* b) {
    return std::tuple(q_place(a), !a->full, in_order(a->kv_origin, order)) <
           std::tuple(q_place(b), !b->full, in_order(b->kv_origin, order));
  });
  const std::int64_t side = product(neighborhood.kv_tile, "kv_tile");
  const std::int64_t filled = extra_tokens / side;
  const auto extra_tile = [](std::int64_t tile) { return KvTileEntry{0, 0, packed(tile, kExtraKeys)}; };
  BoxLists lists;
  const auto close = [&] {  // the row
    if (lists.rows.empty()) return;
    if (extra_tokens % side != 0) lists.entries.push_back(extra_tile(filled));
    lists.rows.back().count = static_cast<int>(lists.entries.size()) - lists.rows.back().first_entry;
  };
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const VisitedTile& visit = *visits[i];
    if (i == 0 || q_place(visits[i]) != q_place(visits[i - 1])) {
      close();
      QTileRow row;
      row.first_entry = static_cast<int>(lists.entries.size());
      row.full = static_cast<int>(filled);
      for (std::int64_t tile = 0; tile < filled; ++tile) lists.entries.push_back(extra_tile(tile));
      row.group = static_cast<int>(inner_group(neighborhood.mask, visit.group));
      row.w = static_cast<int>(fourth(neighborhood.mask, visit.group, visit.q_origin));
      row.x = static_cast<int>(inner(visit.q_origin, 0));
      row.y = static_cast<int>(inner(visit.q_origin, 1));
      row.z = static_cast<int>(inner(visit.q_origin, 2));
      lists.rows.push_back(row);
    }
    lists.rows.back().full += visit.full ? 1 : 0;
    lists.entries.push_back(entry_of(neighborhood.mask, visit, neighborhood.kv_tile));
  }
  close();
  return lists;
}

}  // namespace natten_sim::kernels::attention_forward
