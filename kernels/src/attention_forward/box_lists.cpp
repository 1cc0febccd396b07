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
    if (axis > 0 && tile[axis] >= std::int64_t{1} << kYBits)
      throw InvalidParameter("kv_origin", std::to_string(origin), "16384 tiles an outer axis");
    if (axis == 0 && tile[axis] >= std::int64_t{1} << kXBits)
      throw InvalidParameter("kv_origin", std::to_string(origin), "2^20 tiles of the innermost axis");
  }
  const std::int64_t w = fourth(mask, visit.group, visit.kv_origin);
  if (w >= kExtraKeys)
    throw InvalidParameter("input", std::to_string(w + 1), "4095 tokens of the first of four axes");
  KvTileEntry entry;
  entry.y = static_cast<std::uint16_t>(tile[1]) & ((1u << kYBits) - 1);
  entry.z = static_cast<std::uint16_t>(tile[2]);
  entry.xw = packed(tile[0], w);
  return entry;
}

/// Whether some query of the Q tile does not see some key of the KV tile along an axis.
bool hides(const AxisMask& mask, std::int64_t residue, std::int64_t q_origin, std::int64_t q_side,
           std::int64_t kv_origin, std::int64_t kv_side) {
  const AxisGroup group = residue_class(mask, residue);
  const std::int64_t last_query = std::min(q_origin + q_side, group.length) - 1;
  return kv_origin < attended_range(group, last_query).begin ||
         kv_origin + kv_side > std::min(attended_range(group, q_origin).end, group.length);
}

/// KvTileEntry::products.
std::uint16_t products_of(const Neighborhood& neighborhood, const MaskProducts& products,
                          const VisitedTile& visit) {
  std::uint16_t bits = 0;
  std::int64_t group = visit.group;
  for (std::size_t axis = 0; axis < neighborhood.mask.rank(); ++axis) {  // innermost first
    const std::size_t at = neighborhood.mask.rank() - 1 - axis;
    const AxisMask& mask = neighborhood.mask[at];
    if (axis < 3 && hides(mask, group % mask.dilation, visit.q_origin[at], neighborhood.q_tile[at],
                          visit.kv_origin[at], neighborhood.kv_tile[at])) {
      bits |= static_cast<std::uint16_t>(1 << products.of_axis[axis]);
    }
    group /= mask.dilation;
  }
  return bits;
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

MaskProducts mask_products(const Neighborhood& neighborhood) {
  if (!neighborhood.intervals.empty()) return {};  // the window that products would hide is not theirs
  for (std::size_t axis = 0; axis < neighborhood.mask.rank(); ++axis) {
    if (residue_class(neighborhood.mask[axis], 0).length >= std::int64_t{1} << 15) return {};
  }
  return mask_products(innermost_first(neighborhood.kv_tile));
}

std::vector<WalkedTile> walked_tiles(const Neighborhood& neighborhood) {
  const PerAxis<std::size_t> order = tile_order(neighborhood.mask);
  const MaskProducts products = mask_products(neighborhood);
  std::vector<WalkedTile> walked;
  for (const VisitedTile& tile : neighborhood.visits)
    walked.push_back({&tile, tile.full ? std::uint16_t{0} : products_of(neighborhood, products, tile)});
  const auto place = [&](const WalkedTile& at) {
    return std::tuple(at.tile->group, in_order(at.tile->q_origin, order), !at.tile->full, at.needs_several(),
                      in_order(at.tile->kv_origin, order));
  };
  std::stable_sort(walked.begin(), walked.end(),
                   [&](const WalkedTile& a, const WalkedTile& b) { return place(a) < place(b); });
  return walked;
}

BoxLists box_lists(const Neighborhood& neighborhood, std::int64_t extra_tokens) {
  const std::vector<WalkedTile> visits = walked_tiles(neighborhood);
  const auto same_q_tile = [&](const WalkedTile& a, const WalkedTile& b) {
    return a.tile->group == b.tile->group && a.tile->q_origin == b.tile->q_origin;
  };
  const std::int64_t side = product(neighborhood.kv_tile, "kv_tile");
  const std::int64_t filled = extra_tokens / side;
  const auto extra_tile = [](std::int64_t tile) { return KvTileEntry{0, 0, 0, packed(tile, kExtraKeys)}; };
  BoxLists lists;
  const auto close = [&] {  // the row
    if (lists.rows.empty()) return;
    if (extra_tokens % side != 0) lists.entries.push_back(extra_tile(filled));
    lists.rows.back().count = static_cast<int>(lists.entries.size()) - lists.rows.back().first_entry;
  };
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const VisitedTile& visit = *visits[i].tile;
    if (i == 0 || !same_q_tile(visits[i], visits[i - 1])) {
      close();
      QTileRow row;
      row.first_entry = static_cast<int>(lists.entries.size());
      row.full = row.single_end = static_cast<int>(filled);
      for (std::int64_t tile = 0; tile < filled; ++tile) lists.entries.push_back(extra_tile(tile));
      row.group = static_cast<int>(inner_group(neighborhood.mask, visit.group));
      row.w = static_cast<int>(fourth(neighborhood.mask, visit.group, visit.q_origin));
      row.x = static_cast<int>(inner(visit.q_origin, 0));
      row.y = static_cast<int>(inner(visit.q_origin, 1));
      row.z = static_cast<int>(inner(visit.q_origin, 2));
      lists.rows.push_back(row);
    }
    lists.rows.back().full += visit.full ? 1 : 0;
    lists.rows.back().single_end += visits[i].needs_several() ? 0 : 1;
    lists.entries.push_back(entry_of(neighborhood.mask, visit, neighborhood.kv_tile));
    lists.entries.back().products = visits[i].products & ((1u << kMostMaskProducts) - 1);
  }
  close();
  return lists;
}

}  // namespace natten_sim::kernels::attention_forward
