#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <natten_sim/core/tiling.hpp>

namespace natten_sim::study {

/// A KV tile that is visited, in token coordinates from the corner of its slice. Tiles are cut at the border.
struct VisitedTile {
  std::int64_t slice = 0;
  std::int64_t x = 0, y = 0, width = 1, height = 1;
  bool full = false;  ///< every pair attends
};

/// Where one Q tile lies among the slices.
struct QTilePlace {
  Extents tile;  ///< its index on each axis
  std::int64_t first_slice = 0, slices = 1;
  std::int64_t x = 0, y = 0, width = 1, height = 1;
};

/// Which tiles a forward pass visits, as rectangles. One axis or single-dimensional tiling: a matrix, Q tiles
/// down (one unit each), KV tokens across. Two and three axes: the KV tiles of one Q tile; slices of the
/// first of three axes. Dilated problems show the first residue class of every axis.
struct VisitedTiles {
  TilingProblem problem;                    ///< that of the residue class
  std::int64_t width = 1, height = 1;       ///< of one slice
  std::vector<std::int64_t> slice_origins;  ///< first token of each slice; one slice: 0
  std::int64_t slices = 1;                  ///< number of slices; an upper bound until the tiles are walked
  std::int64_t tile_width = 1, tile_height = 1;  ///< on the static grid
  bool on_grid = true;                           ///< false: dynamic tiles lie anywhere
  std::optional<QTilePlace> q_tile;              ///< none: a matrix of all Q tiles
  std::vector<VisitedTile> tiles;                ///< visited tiles; skipped ones are left out
};

/// The size alone, so that callers can refuse it before anything is walked. `at_q_tile`: tile indices, one an
/// axis; empty: the middle Q tile.
/// @throws InvalidParameter for four axes, or a Q tile that does not exist.
[[nodiscard]] VisitedTiles plan_visited_tiles(const TilingProblem& problem, const Extents& at_q_tile);

/// Fills in slices and tiles. O(visited tiles).
void walk_visited_tiles(VisitedTiles& plan);

}  // namespace natten_sim::study
