#include "tile_tables.hpp"

#include <functional>
#include <limits>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

namespace natten_sim::python {
namespace {

/// Calls `visit` with the residue of each dilation group, row-major.
void for_each_group(const NeighborhoodMask& mask, const std::function<void(const Extents& residue)>& visit) {
  Extents residue(mask.rank(), 0);
  while (true) {
    visit(residue);
    std::size_t axis = mask.rank();
    while (axis > 0 && ++residue[axis - 1] == mask[axis - 1].dilation) residue[--axis] = 0;
    if (axis == 0) return;
  }
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Tiles of one dilation group, an axis.
Extents tiles_of_group(const NeighborhoodMask& mask, const Extents& residue, const Extents& tile) {
  Extents tiles;
  for (std::size_t axis = 0; axis < mask.rank(); ++axis)
    tiles.push_back(ceil_div(residue_class(mask[axis], residue[axis]).length, tile[axis]));
  return tiles;
}

/// Number of the first tile of each group, and after the last one the number of all tiles.
std::vector<std::int64_t> first_tiles(const TilingProblem& problem, const Extents& tile) {
  std::vector<std::int64_t> first = {0};
  if (problem.tiling == Tiling::kSingleDimensional) {
    first.push_back(ceil_div(product(input_of(problem.mask), "tokens"), tile[0]));
  } else {
    for_each_group(problem.mask, [&](const Extents& residue) {
      first.push_back(first.back() + product(tiles_of_group(problem.mask, residue, tile), "tiles"));
    });
  }
  if (first.back() > std::numeric_limits<std::int32_t>::max())
    throw InvalidParameter("q_tile", std::to_string(first.back()) + " tiles", "fewer than 2^31 tiles");
  return first;
}

/// The same visits by columns.
TileSide transposed(const TileSide& side, std::int64_t rows) {
  TileSide other;
  other.offsets.assign(static_cast<std::size_t>(rows) + 1, 0);
  other.columns.resize(side.columns.size());
  other.full.resize(side.full.size());
  for (const std::int32_t column : side.columns) ++other.offsets[static_cast<std::size_t>(column) + 1];
  for (std::size_t row = 1; row < other.offsets.size(); ++row) other.offsets[row] += other.offsets[row - 1];
  std::vector<std::int64_t> next = other.offsets;
  for (std::size_t row = 0; row + 1 < side.offsets.size(); ++row) {
    for (std::int64_t i = side.offsets[row]; i < side.offsets[row + 1]; ++i) {
      const std::int64_t place = next[static_cast<std::size_t>(side.columns[i])]++;
      other.columns[place] = static_cast<std::int32_t>(row);
      other.full[place] = side.full[i];
    }
  }
  return other;
}

/// One axis of a token's place.
struct PlaceOnAxis {
  std::int64_t residue = 0, index = 0;
};

PlaceOnAxis place_of(const NeighborhoodMask& mask, std::size_t axis, std::int64_t token) {
  for (std::size_t inner = mask.rank(); inner-- > axis + 1;) token /= mask[inner].length;
  token %= mask[axis].length;
  return {token % mask[axis].dilation, token / mask[axis].dilation};
}

}  // namespace

TileTables neighborhood_tables(const TilingProblem& problem) {
  if (problem.kv_tiling == KvTiling::kDynamic)
    throw InvalidParameter("kv_tiling", "dynamic", "static: Q tiles share KV tiles");
  const std::vector<std::int64_t> first_q = first_tiles(problem, problem.tiles.q_tile);
  const std::vector<std::int64_t> first_kv = first_tiles(problem, problem.tiles.kv_tile);
  TileTables tables{.q_tiles = first_q.back(), .kv_tiles = first_kv.back(), .of_q = {}, .of_kv = {}};
  TileSide& side = tables.of_q;
  side.offsets.reserve(static_cast<std::size_t>(tables.q_tiles) + 1);
  TilingProblem forward = problem;
  forward.walk = Walk::kForward;
  for_each_tile_visit(forward, [&](const TileVisit& visit) {  // in the order of the table
    const std::int64_t row = first_q[visit.group] + visit.q_tile;
    while (static_cast<std::int64_t>(side.offsets.size()) <= row)
      side.offsets.push_back(static_cast<std::int64_t>(side.columns.size()));
    side.columns.push_back(static_cast<std::int32_t>(first_kv[visit.group] + visit.kv_tile));
    side.full.push_back(visit.work == TileWork::kFull ? 1 : 0);
  });
  side.offsets.resize(static_cast<std::size_t>(tables.q_tiles) + 1,
                      static_cast<std::int64_t>(side.columns.size()));
  tables.of_kv = transposed(side, tables.kv_tiles);
  return tables;
}

TileTables mask_tables(const BlockMask& mask) {
  TileTables tables{.q_tiles = mask.q_tiles, .kv_tiles = mask.kv_tiles, .of_q = {}, .of_kv = {}};
  TileSide& side = tables.of_q;
  for (std::int32_t row = 0; row < mask.q_tiles; ++row) {
    side.offsets.push_back(static_cast<std::int64_t>(side.columns.size()));
    for (std::int32_t column = 0; column < mask.kv_tiles; ++column) {
      if (mask.at(row, column) == TileWork::kNone) continue;
      side.columns.push_back(column);
      side.full.push_back(mask.at(row, column) == TileWork::kFull ? 1 : 0);
    }
  }
  side.offsets.push_back(static_cast<std::int64_t>(side.columns.size()));
  tables.of_kv = transposed(side, tables.kv_tiles);
  return tables;
}

std::vector<std::int64_t> tokens_in_tiles(const TilingProblem& problem, const Extents& tile) {
  const NeighborhoodMask& mask = problem.mask;
  const std::int64_t tile_tokens = product(tile, "q_tile");
  const std::vector<std::int64_t> first = first_tiles(problem, tile);
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(first.back() * tile_tokens), -1);
  if (problem.tiling == Tiling::kSingleDimensional) {
    const std::int64_t all = product(input_of(mask), "tokens");
    for (std::int64_t token = 0; token < all; ++token) tokens[static_cast<std::size_t>(token)] = token;
    return tokens;
  }
  std::size_t group = 0;
  for_each_group(mask, [&](const Extents& residue) {
    const Extents tiles = tiles_of_group(mask, residue, tile);
    Extents at(mask.rank(), 0);  // index within the group
    const auto visit = [&](const auto& self, std::size_t axis, std::int64_t tile_number, std::int64_t within,
                           std::int64_t token) -> void {
      if (axis == mask.rank()) {
        tokens[static_cast<std::size_t>((first[group] + tile_number) * tile_tokens + within)] = token;
        return;
      }
      const std::int64_t length = residue_class(mask[axis], residue[axis]).length;
      for (std::int64_t i = 0; i < length; ++i) {
        self(self, axis + 1, tile_number * tiles[axis] + i / tile[axis], within * tile[axis] + i % tile[axis],
             token * mask[axis].length + residue[axis] + i * mask[axis].dilation);
      }
    };
    visit(visit, 0, 0, 0, 0);
    ++group;
  });
  return tokens;
}

AxisPlaces axis_places(const TilingProblem& problem, std::size_t axis,
                       const std::vector<std::int64_t>& q_tokens,
                       const std::vector<std::int64_t>& kv_tokens) {
  const AxisMask& mask = problem.mask[axis];
  AxisPlaces places;
  if (residue_class(mask, 0).cyclic) places.turn = residue_class(mask, 0).length;
  // Of the residue classes; on a cycle with room for a turn before and after each.
  const std::int64_t apart = mask.length + 2 * places.turn;
  for (const std::int64_t token : q_tokens) {
    TokenRange range{0, 0};
    if (token >= 0) {
      const PlaceOnAxis place = place_of(problem.mask, axis, token);
      range = attended_range(residue_class(mask, place.residue), place.index);
      range = {range.begin + place.residue * apart, range.end + place.residue * apart};
    }
    places.begin.push_back(range.begin);
    places.end.push_back(range.end);
  }
  for (const std::int64_t token : kv_tokens) {
    const PlaceOnAxis place = token < 0 ? PlaceOnAxis{} : place_of(problem.mask, axis, token);
    places.key.push_back(token < 0 ? -1 : place.index + place.residue * apart);
  }
  return places;
}

}  // namespace natten_sim::python
