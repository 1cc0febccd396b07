#include <algorithm>

#include <natten_sim/kernels/attention_forward/visits.hpp>

namespace natten_sim::kernels::attention_forward {
namespace {

/// A KV tile that a Q tile visits along one axis.
struct AxisVisit {
  std::int64_t kv_origin = 0;
  bool full = false;  ///< all of its queries see all of its keys, and those exist
};
/// By Q tile.
using AxisVisits = std::vector<std::vector<AxisVisit>>;

template <typename KeysOf>
AxisVisits axis_visits(std::int64_t length, std::int64_t q_tile, std::int64_t kv_tile, const KeysOf& keys_of) {
  AxisVisits visits;
  for (std::int64_t q_origin = 0; q_origin < length; q_origin += q_tile) {
    const std::int64_t q_end = std::min(q_origin + q_tile, length);
    std::vector<AxisVisit>& row = visits.emplace_back();
    const std::int64_t begin = keys_of(q_origin).begin, end = std::min(keys_of(q_end - 1).end, length);
    for (std::int64_t kv = begin / kv_tile * kv_tile; kv < end; kv += kv_tile) {
      bool some = false, all = kv + kv_tile <= length;
      for (std::int64_t query = q_origin; query < q_end; ++query) {
        const TokenRange keys = keys_of(query);
        some = some || (keys.begin < kv + kv_tile && keys.end > kv);
        all = all && keys.begin <= kv && keys.end >= kv + kv_tile;
      }
      if (some) row.push_back({kv, all});
    }
  }
  return visits;
}

/// Steps `at` to the next coordinates below `sizes`, the last axis fastest; false at the end.
bool step(std::vector<std::size_t>& at, const std::vector<std::size_t>& sizes) {
  for (std::size_t axis = at.size(); axis-- > 0;) {
    if (++at[axis] < sizes[axis]) return true;
    at[axis] = 0;
  }
  return false;
}

void add_q_tile(std::int64_t group, const std::vector<const std::vector<AxisVisit>*>& rows,
                const Extents& q_origin, std::vector<VisitedTile>& visits) {
  std::vector<std::size_t> sizes, at(rows.size(), 0);
  for (const auto* row : rows) sizes.push_back(row->size());
  if (std::ranges::find(sizes, std::size_t{0}) != sizes.end()) return;
  do {
    VisitedTile tile{group, q_origin, {}, true};
    for (std::size_t axis = 0; axis < rows.size(); ++axis) {
      const AxisVisit& visit = (*rows[axis])[at[axis]];
      tile.kv_origin.push_back(visit.kv_origin);
      tile.full = tile.full && visit.full;
    }
    visits.push_back(tile);
  } while (step(at, sizes));
}

void add_group(std::int64_t group, const std::vector<const AxisVisits*>& axes, const Extents& q_tile,
               std::vector<VisitedTile>& visits) {
  std::vector<std::size_t> sizes, at(axes.size(), 0);
  for (const AxisVisits* axis : axes) sizes.push_back(axis->size());
  do {
    std::vector<const std::vector<AxisVisit>*> rows;
    Extents q_origin;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      rows.push_back(&(*axes[axis])[at[axis]]);
      q_origin.push_back(static_cast<std::int64_t>(at[axis]) * q_tile[axis]);
    }
    add_q_tile(group, rows, q_origin, visits);
  } while (step(at, sizes));
}

}  // namespace

std::vector<VisitedTile> visits_of(const NeighborhoodMask& mask, const Extents& q_tile,
                                   const Extents& kv_tile) {
  require_valid(mask);
  require_extents("q_tile", q_tile, mask.rank(), 1, 256);
  require_extents("kv_tile", kv_tile, mask.rank(), 1, 256);
  std::vector<std::vector<AxisVisits>> by_residue(mask.rank());
  std::vector<std::size_t> dilations, residue(mask.rank(), 0);
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    dilations.push_back(static_cast<std::size_t>(mask[axis].dilation));
    for (std::int64_t r = 0; r < mask[axis].dilation; ++r) {
      const AxisGroup group = residue_class(mask[axis], r);
      by_residue[axis].push_back(axis_visits(group.length, q_tile[axis], kv_tile[axis], [&](std::int64_t query) {
        return attended_range(group, query);
      }));
    }
  }
  std::vector<VisitedTile> visits;
  std::int64_t group = 0;
  do {
    std::vector<const AxisVisits*> axes;
    for (std::size_t axis = 0; axis < mask.rank(); ++axis)
      axes.push_back(&by_residue[axis][residue[axis]]);
    add_group(group++, axes, q_tile, visits);
  } while (step(residue, dilations));
  return visits;
}

std::vector<VisitedTile> visits_of(const std::vector<TokenRange>& intervals, std::int64_t q_tile,
                                   std::int64_t kv_tile) {
  const AxisVisits axis =
      axis_visits(std::ssize(intervals), q_tile, kv_tile,
                  [&](std::int64_t query) { return intervals[static_cast<std::size_t>(query)]; });
  std::vector<VisitedTile> visits;
  add_group(0, {&axis}, {q_tile}, visits);
  return visits;
}

}  // namespace natten_sim::kernels::attention_forward
