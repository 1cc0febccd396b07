#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim::python {

/// One side of a table of visited tiles: those of row r are columns[offsets[r]] .. columns[offsets[r + 1] -
/// 1], ascending, each full (1) or partial (0).
struct TileSide {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;
  std::vector<std::uint8_t> full;
};

/// Which KV tiles each Q tile visits, and the other way round. O(visited tiles) memory.
struct TileTables {
  std::int64_t q_tiles = 0, kv_tiles = 0;
  TileSide of_q, of_kv;
};

/// Tiles of the dilation groups one after the other, row-major in each.
/// @throws InvalidParameter for dynamic tiling, whose KV tiles are not shared by Q tiles; more than 2^31
/// tiles.
[[nodiscard]] TileTables neighborhood_tables(const TilingProblem& problem);
[[nodiscard]] TileTables mask_tables(const BlockMask& mask);

/// Where tokens lie when they are copied into tiles: for each place the number of its token in the row-major
/// layout, -1 for padding. One head.
[[nodiscard]] std::vector<std::int64_t> tokens_in_tiles(const TilingProblem& problem, const Extents& tile);

/// The mask along one axis, by places: the query at place p attends to keys whose place number is in begin[p]
/// .. end[p] - 1; on a cyclic axis a turn before or after too. Place numbers of tokens of another dilation group
/// never are; padding attends to nothing.
struct AxisPlaces {
  std::vector<std::int64_t> begin, end;  ///< of queries
  std::vector<std::int64_t> key;         ///< -1: padding
  std::int64_t turn = 0;                 ///< tokens of a dilation group of a cyclic axis, else 0
};
[[nodiscard]] AxisPlaces axis_places(const TilingProblem& problem, std::size_t axis,
                                     const std::vector<std::int64_t>& q_tokens,
                                     const std::vector<std::int64_t>& kv_tokens);

}  // namespace natten_sim::python
