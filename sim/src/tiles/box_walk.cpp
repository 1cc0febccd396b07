#include <algorithm>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>

#include "tiles/axis_tokens.hpp"
#include "tiles/walks.hpp"

namespace natten_sim {
namespace {

/// A streamed tile as one walked tile meets it along one axis.
struct AxisVisit {
  std::int64_t index = 0;
  std::int64_t origin = 0;
  bool full = false;
};

struct AxisWalk {
  std::vector<std::vector<AxisVisit>> of_walked_tile;
  std::int64_t streamed_tiles = 0;  // of the group, on the static grid
  std::int64_t attended_pairs = 0;
};

struct Met {
  bool any = false, all = false;
};

/// How much of tokens begin .. end-1 a range holds; on a cycle, of the turns before and after too.
Met met_by(const TokenRange& range, const AxisGroup& group, std::int64_t begin, std::int64_t end) {
  const bool whole_turn = group.cyclic && range.end - range.begin >= group.length;
  Met met{.any = whole_turn, .all = whole_turn};
  for (std::int64_t turn = group.cyclic ? -1 : 0; turn <= (group.cyclic ? 1 : 0); ++turn) {
    const std::int64_t from = begin + turn * group.length, to = end + turn * group.length;
    met.any = met.any || (range.begin < to && from < range.end);
    met.all = met.all || (range.begin <= from && to <= range.end);
  }
  return met;
}

/// Looks at every token of the walked tile for every streamed tile in reach.
AxisWalk walk_axis(const AxisGroup& group, std::int64_t walked, std::int64_t streamed, KvTiling kv_tiling,
                   Walk walk) {
  const std::vector<TokenRange> met = met_tokens(group, walk);
  AxisWalk result;
  result.streamed_tiles = ceil_divide(group.length, streamed);
  for (std::int64_t first = 0; first < group.length; first += walked) {
    poll();
    const std::int64_t last = std::min(first + walked, group.length) - 1;
    std::int64_t reach_begin = group.length, reach_end = 0;
    for (std::int64_t token = first; token <= last; ++token) {
      const TokenRange range = met[static_cast<std::size_t>(token)];
      reach_begin = std::min(reach_begin, range.begin);
      reach_end = std::max(reach_end, range.end);
      result.attended_pairs += range.end - range.begin;
    }
    const std::int64_t origin = kv_tiling == KvTiling::kStatic ? 0 : reach_begin;
    const std::int64_t reach_first = group.cyclic ? 0 : (reach_begin - origin) / streamed;
    const std::int64_t reach_last = group.cyclic ? group.length : reach_end;
    std::vector<AxisVisit> visits;
    for (std::int64_t index = reach_first; origin + index * streamed < reach_last; ++index) {
      const std::int64_t begin = origin + index * streamed;
      const std::int64_t end = std::min(begin + streamed, group.length);
      if (!met_by({reach_begin, reach_end}, group, begin, end).any) continue;
      bool any = false, all = true;
      for (std::int64_t token = first; token <= last; ++token) {
        const Met by_token = met_by(met[static_cast<std::size_t>(token)], group, begin, end);
        any = any || by_token.any;
        all = all && by_token.all;
      }
      if (any) visits.push_back({index, begin, all});
    }
    result.of_walked_tile.push_back(std::move(visits));
  }
  return result;
}

/// Counts an index vector up, last axis fastest; false after the last one.
bool advance(Extents& index, const Extents& limit) {
  for (std::size_t axis = index.rank(); axis-- > 0;) {
    if (++index[axis] < limit[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

std::int64_t row_major(const Extents& index, const Extents& limit) {
  std::int64_t flat = 0;
  for (std::size_t axis = 0; axis < index.rank(); ++axis) flat = flat * limit[axis] + index[axis];
  return flat;
}

void visit_group(const TilingProblem& problem, std::int64_t group, const PerAxis<AxisWalk>& axes,
                 const TileVisitor& visit) {
  const std::size_t rank = axes.rank();
  Extents walked_limit, streamed_grid;
  for (const AxisWalk& axis : axes) {
    walked_limit.push_back(static_cast<std::int64_t>(axis.of_walked_tile.size()));
    streamed_grid.push_back(axis.streamed_tiles);
  }
  Extents walked(rank, 0);
  do {
    poll();
    PerAxis<const std::vector<AxisVisit>*> lists;
    Extents met_limit;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      lists.push_back(&axes[axis].of_walked_tile[static_cast<std::size_t>(walked[axis])]);
      met_limit.push_back(static_cast<std::int64_t>(lists[axis]->size()));
    }
    Extents met(rank, 0);
    do {
      poll();
      Extents streamed, walked_origin, streamed_origin;
      bool full = true;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const AxisVisit& axis_visit = (*lists[axis])[static_cast<std::size_t>(met[axis])];
        const Extents& walked_tile =
            problem.walk == Walk::kForward ? problem.tiles.q_tile : problem.tiles.kv_tile;
        streamed.push_back(axis_visit.index);
        streamed_origin.push_back(axis_visit.origin);
        walked_origin.push_back(walked[axis] * walked_tile[axis]);
        full = full && axis_visit.full;
      }
      TileVisit tile_visit{
          .group = group,
          .q_tile = row_major(walked, walked_limit),
          .kv_tile = row_major(streamed, problem.kv_tiling == KvTiling::kStatic ? streamed_grid : met_limit),
          .q_origin = walked_origin,
          .kv_origin = streamed_origin,
          .work = full ? TileWork::kFull : TileWork::kPartial};
      if (problem.walk == Walk::kBackward) {
        std::swap(tile_visit.q_tile, tile_visit.kv_tile);
        std::swap(tile_visit.q_origin, tile_visit.kv_origin);
      }
      visit(tile_visit);
    } while (advance(met, met_limit));
  } while (advance(walked, walked_limit));
}

}  // namespace

WalkTotals walk_boxes(const TilingProblem& problem, const TileVisitor& visit) {
  const bool forward = problem.walk == Walk::kForward;
  const std::size_t rank = problem.mask.rank();
  WalkTotals totals;
  Extents residue(rank, 0);
  const Extents dilation = dilation_of(problem.mask);
  std::int64_t group = 0;
  do {
    poll();
    PerAxis<AxisWalk> axes;
    std::int64_t walked = 1, pairs = 1;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::int64_t q = problem.tiles.q_tile[axis], kv = problem.tiles.kv_tile[axis];
      axes.push_back(walk_axis(residue_class(problem.mask[axis], residue[axis]), forward ? q : kv,
                               forward ? kv : q, problem.kv_tiling, problem.walk));
      walked *= static_cast<std::int64_t>(axes[axis].of_walked_tile.size());
      pairs = checked_multiply(pairs, axes[axis].attended_pairs, "attended_pairs");
    }
    totals.walked_tiles += walked;
    totals.attended_pairs = checked_add(totals.attended_pairs, pairs, "attended_pairs");
    visit_group(problem, group++, axes, visit);
  } while (advance(residue, dilation));
  return totals;
}

}  // namespace natten_sim
