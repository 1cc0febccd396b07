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

KvTileEntry entry_of(const VisitedTile& visit, const Extents& kv_tile) {
  std::int64_t tile[3] = {0, 0, 0};
  for (std::size_t axis = 0; axis < visit.kv_origin.rank(); ++axis) {
    const std::int64_t origin = inner(visit.kv_origin, axis), side = inner(kv_tile, axis);
    if (origin % side != 0)
      throw InvalidParameter("kv_origin", std::to_string(origin), "a multiple of the KV tile");
    tile[axis] = origin / side;
    if (axis > 0 && tile[axis] > std::numeric_limits<std::uint16_t>::max())
      throw InvalidParameter("kv_origin", std::to_string(origin), "65536 tiles an outer axis");
  }
  return {static_cast<std::uint16_t>(tile[1]), static_cast<std::uint16_t>(tile[2]),
          static_cast<std::uint32_t>(tile[0])};
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

BoxLists box_lists(const Neighborhood& neighborhood) {
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
  BoxLists lists;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const VisitedTile& visit = *visits[i];
    if (i == 0 || q_place(visits[i]) != q_place(visits[i - 1])) {
      QTileRow row;
      row.first_entry = static_cast<int>(i);
      row.group = static_cast<int>(visit.group);
      row.x = static_cast<int>(inner(visit.q_origin, 0));
      row.y = static_cast<int>(inner(visit.q_origin, 1));
      row.z = static_cast<int>(inner(visit.q_origin, 2));
      lists.rows.push_back(row);
    }
    lists.rows.back().full += visit.full ? 1 : 0;
    ++lists.rows.back().count;
    lists.entries.push_back(entry_of(visit, neighborhood.kv_tile));
  }
  return lists;
}

}  // namespace natten_sim::kernels::attention_forward
