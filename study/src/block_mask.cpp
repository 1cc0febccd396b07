#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>
#include <natten_sim/study/block_mask.hpp>

namespace natten_sim::study {
namespace {

constexpr std::int64_t kMostBlocks = std::int64_t{1} << 24;

/// Tiles along each axis of the longest group.
Extents tiles_of_group(const NeighborhoodMask& mask, const Extents& tile) {
  Extents tiles;
  for (std::size_t axis = 0; axis < mask.rank(); ++axis)
    tiles.push_back(ceil_divide(residue_class(mask[axis], 0).length, tile[axis]));
  return tiles;
}

/// The block of the tile at `origin`.
std::int64_t block_at(std::int64_t group, const Extents& origin, const Extents& tile, const Extents& tiles) {
  std::int64_t index = group;
  for (std::size_t axis = 0; axis < tiles.rank(); ++axis)
    index = index * tiles[axis] + origin[axis] / tile[axis];
  return index;
}

/// Whether no token of a tile lies behind the end of its group.
bool within_group(const NeighborhoodMask& mask, std::int64_t group, const Extents& origin,
                  const Extents& tile) {
  for (std::size_t axis = mask.rank(); axis-- > 0; group /= mask[axis].dilation) {
    const std::int64_t length = residue_class(mask[axis], group % mask[axis].dilation).length;
    if (origin[axis] + tile[axis] > length) return false;
  }
  return true;
}

std::int64_t blocks_of(std::int64_t groups, const Extents& tiles) {
  return checked_multiply(groups, product(tiles, "tiles"), "blocks");
}

}  // namespace

std::int64_t BlockTables::q_blocks() const { return blocks_of(groups, q_tiles); }
std::int64_t BlockTables::kv_blocks() const { return blocks_of(groups, kv_tiles); }

BlockTables block_mask(const NeighborhoodMask& mask, const TilePair& tiles) {
  TilingProblem problem{.mask = mask, .tiles = tiles};
  require_valid(problem);
  BlockTables made{.mask = mask, .tiles = tiles};
  made.q_tiles = tiles_of_group(mask, tiles.q_tile);
  made.kv_tiles = tiles_of_group(mask, tiles.kv_tile);
  for (const AxisMask& axis : mask) {
    made.groups = checked_multiply(made.groups, axis.dilation, "groups");
    std::vector<std::vector<TokenRange>> residues;
    for (std::int64_t residue = 0; residue < axis.dilation; ++residue) {
      const AxisGroup group = residue_class(axis, residue);
      std::vector<TokenRange> queries;
      for (std::int64_t query = 0; query < group.length; ++query)
        queries.push_back(attended_range(group, query));
      residues.push_back(std::move(queries));
    }
    made.ranges.push_back(std::move(residues));
  }
  if (made.q_blocks() >= kMostBlocks || made.kv_blocks() >= kMostBlocks)
    throw InvalidParameter("input", to_string(input_of(mask)), "fewer than 16777216 tiles");
  made.partial.resize(static_cast<std::size_t>(made.q_blocks()));
  made.full.resize(static_cast<std::size_t>(made.q_blocks()));
  for_each_tile_visit(problem, [&](const TileVisit& visit) {
    const auto row =
        static_cast<std::size_t>(block_at(visit.group, visit.q_origin, tiles.q_tile, made.q_tiles));
    const bool full = visit.work == TileWork::kFull &&
                      within_group(mask, visit.group, visit.kv_origin, tiles.kv_tile);
    (full ? made.full : made.partial)[row].push_back(static_cast<std::int32_t>(
        block_at(visit.group, visit.kv_origin, tiles.kv_tile, made.kv_tiles)));
  });
  return made;
}

}  // namespace natten_sim::study
