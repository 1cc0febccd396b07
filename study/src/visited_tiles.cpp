#include <algorithm>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>
#include <natten_sim/study/visited_tiles.hpp>

namespace natten_sim::study {
namespace {

/// Group 0 alone, as an undilated problem.
TilingProblem first_group(const TilingProblem& problem) {
  if (problem.tiling == Tiling::kSingleDimensional) return problem;
  TilingProblem group = problem;
  for (AxisMask& axis : group.mask) {
    const AxisGroup residue = residue_class(axis, 0);
    axis = {residue.length, residue.window, residue.stride, 1, residue.causal, residue.cyclic};
  }
  return group;
}

void plan_matrix(VisitedTiles& plan) {
  const std::int64_t tokens = product(input_of(plan.problem.mask), "tokens");
  plan.width = tokens;
  plan.height = ceil_divide(tokens, plan.problem.tiles.q_tile[0]);
  plan.tile_width = plan.problem.tiles.kv_tile[0];
}

/// The Q tile at these indices, or the middle one.
Extents existing_q_tile(const TilingProblem& problem, const Extents& at) {
  Extents tiles, middle;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    tiles.push_back(ceil_divide(problem.mask[axis].length, problem.tiles.q_tile[axis]));
    middle.push_back(tiles[axis] / 2);
  }
  if (at.empty()) return middle;
  if (at.rank() != tiles.rank()) throw InvalidParameter("at-q-tile", to_string(at), "one tile index an axis");
  for (std::size_t axis = 0; axis < tiles.rank(); ++axis) {
    if (at[axis] >= 0 && at[axis] < tiles[axis]) continue;
    throw InvalidParameter("at-q-tile", std::to_string(at[axis]) + " on axis " + std::to_string(axis),
                           "0.." + std::to_string(tiles[axis] - 1));
  }
  return at;
}

void plan_boxes(const Extents& at_q_tile, VisitedTiles& plan) {
  const TilingProblem& problem = plan.problem;
  const std::size_t x = problem.mask.rank() - 1, y = x - 1;
  plan.width = problem.mask[x].length;
  plan.height = problem.mask[y].length;
  plan.tile_width = problem.tiles.kv_tile[x];
  plan.tile_height = problem.tiles.kv_tile[y];
  if (y > 0) plan.slices = ceil_divide(problem.mask[0].length, problem.tiles.kv_tile[0]);
  const Extents& size = problem.tiles.q_tile;
  QTilePlace place{.tile = existing_q_tile(problem, at_q_tile)};
  place.x = place.tile[x] * size[x];
  place.y = place.tile[y] * size[y];
  place.width = std::min(size[x], plan.width - place.x);
  place.height = std::min(size[y], plan.height - place.y);
  plan.q_tile = place;
}

/// KV tiles of one Q tile, row-major: the product of what it visits along each axis.
std::vector<TileVisit> visits_of_q_tile(const TilingProblem& problem, const Extents& q_tile) {
  std::vector<TileVisit> visits = {{.work = TileWork::kFull}};
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    const TilingProblem one_axis{.mask = {problem.mask[axis]},
                                 .tiles = {{problem.tiles.q_tile[axis]}, {problem.tiles.kv_tile[axis]}},
                                 .kv_tiling = problem.kv_tiling};
    std::vector<TileVisit> longer;
    for_each_tile_visit(one_axis, [&](const TileVisit& along) {
      if (along.q_tile != q_tile[axis]) return;
      for (const TileVisit& visit : visits) {
        longer.push_back(visit);
        longer.back().kv_origin.push_back(along.kv_origin[0]);
        if (along.work == TileWork::kPartial) longer.back().work = TileWork::kPartial;
      }
    });
    visits = std::move(longer);
  }
  std::sort(visits.begin(), visits.end(),
            [](const TileVisit& a, const TileVisit& b) { return a.kv_origin < b.kv_origin; });
  return visits;
}

void walk_matrix(VisitedTiles& plan) {
  plan.slice_origins = {0};
  for_each_tile_visit(plan.problem, [&](const TileVisit& visit) {
    const std::int64_t x = visit.kv_origin[0];
    plan.tiles.push_back({.x = x,
                          .y = visit.q_tile,
                          .width = std::min(plan.tile_width, plan.width - x),
                          .full = visit.work == TileWork::kFull});
  });
}

/// First tokens of the slices: those of the grid, or of the KV tiles that are visited.
std::vector<std::int64_t> origins_of(const VisitedTiles& plan, const std::vector<TileVisit>& visits) {
  const NeighborhoodMask& mask = plan.problem.mask;
  if (mask.rank() == 2) return {0};
  std::vector<std::int64_t> origins;
  if (plan.on_grid) {
    for (std::int64_t origin = 0; origin < mask[0].length; origin += plan.problem.tiles.kv_tile[0])
      origins.push_back(origin);
    return origins;
  }
  for (const TileVisit& visit : visits) {
    poll();
    if (origins.empty() || origins.back() != visit.kv_origin[0]) origins.push_back(visit.kv_origin[0]);
  }
  return origins;
}

/// Slices reach from one origin up to the next.
std::int64_t slice_of(const std::vector<std::int64_t>& origins, std::int64_t token) {
  const auto behind = std::upper_bound(origins.begin(), origins.end(), token);
  return std::max<std::int64_t>(0, behind - origins.begin() - 1);
}

void walk_boxes(VisitedTiles& plan) {
  const TilingProblem& problem = plan.problem;
  const std::size_t x = problem.mask.rank() - 1, y = x - 1;
  QTilePlace& place = *plan.q_tile;
  const std::vector<TileVisit> visits = visits_of_q_tile(problem, place.tile);
  plan.slice_origins = origins_of(plan, visits);
  if (y > 0) {
    const std::int64_t first = place.tile[0] * problem.tiles.q_tile[0];
    const std::int64_t last = std::min(first + problem.tiles.q_tile[0], problem.mask[0].length) - 1;
    place.first_slice = slice_of(plan.slice_origins, first);
    place.slices = slice_of(plan.slice_origins, last) - place.first_slice + 1;
  }
  for (const TileVisit& visit : visits) {
    poll();
    const Extents& origin = visit.kv_origin;
    plan.tiles.push_back({.slice = y > 0 ? slice_of(plan.slice_origins, origin[0]) : 0,
                          .x = origin[x],
                          .y = origin[y],
                          .width = std::min(plan.tile_width, plan.width - origin[x]),
                          .height = std::min(plan.tile_height, plan.height - origin[y]),
                          .full = visit.work == TileWork::kFull});
  }
}

}  // namespace

VisitedTiles plan_visited_tiles(const TilingProblem& problem, const Extents& at_q_tile) {
  require_valid(problem);
  VisitedTiles plan{.problem = first_group(problem)};
  plan.on_grid = problem.kv_tiling == KvTiling::kStatic;
  const std::size_t rank = problem.mask.rank();
  if (problem.tiling == Tiling::kSingleDimensional || rank == 1) {
    if (!at_q_tile.empty()) {
      throw InvalidParameter("at-q-tile", to_string(at_q_tile),
                             "layouts of 2 or 3 axes with multi-dimensional tiling");
    }
    plan_matrix(plan);
  } else if (rank > 3) {
    throw InvalidParameter("picture", "4 axes", "layouts of 1 to 3 axes");
  } else {
    plan_boxes(at_q_tile, plan);
  }
  return plan;
}

void walk_visited_tiles(VisitedTiles& plan) {
  if (plan.q_tile) {
    walk_boxes(plan);
  } else {
    walk_matrix(plan);
  }
  plan.slices = static_cast<std::int64_t>(plan.slice_origins.size());
}

}  // namespace natten_sim::study
