#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// Which tiles a mask visits: full, partial or skipped; one matrix, or slices side by side.
///
///     TileMap map{.heading = {"Tiles visited", "input 64, window 16"}, .width = 64, .height = 8, .tile_width
///     = 4}; map.tiles.push_back({.x = 8, .y = 2, .width = 4, .coverage = Coverage::kPartial}); std::string
///     text = ascii(map), svg = render(map).svg;
///
/// Lengths are in units of the caller's choice, such as tokens; x runs to the right, y down. What no tile
/// covers is skipped. Tiles lie inside the slice; tiles of one slice do not overlap.

enum class Coverage { kPartial, kFull };

struct MapTile {
  std::int64_t slice = 0;
  std::int64_t x = 0, y = 0, width = 1, height = 1;
  Coverage coverage = Coverage::kFull;
};

/// A rectangle that is outlined in some neighbouring slices: the Q tile.
struct TileOutline {
  std::int64_t first_slice = 0, slices = 1;
  std::int64_t x = 0, y = 0, width = 1, height = 1;
  std::string label = "Q tile";
};

struct TileMap {
  Heading heading;
  std::string across = "KV tiles", down = "Q tiles";       ///< what x and y count
  std::string tile_name = "KV tile", unit_name = "token";  ///< one character of `ascii` is one of them
  std::int64_t width = 1, height = 1;                      ///< of one slice
  std::int64_t tile_width = 1, tile_height = 1;            ///< of the grid; border tiles may be smaller
  bool on_grid = true;              ///< false: tiles lie anywhere, there is no grid, `ascii` shows units
  bool same_units = false;          ///< x and y are in the same unit and drawn to one scale
  std::vector<std::string> slices;  ///< labels; empty: one slice without a label
  std::vector<MapTile> tiles;
  std::optional<TileOutline> outline;
  bool tile_axis = true;  ///< numbers of tiles along the edges of a grid
};

inline constexpr std::int64_t kMaxMapEdge = 4096;  ///< tiles across, tiles down, slices of a picture
inline constexpr std::int64_t kMaxAsciiColumns = 400;
inline constexpr std::int64_t kMaxAsciiLines = 4000;  ///< of a slice; also slices

/// Whether `render` and `ascii` take a map of this size; the tiles are not looked at, so that callers can ask
/// before they enumerate them. @throws LimitExceeded; std::invalid_argument for a length below 1.
void require_drawable(const TileMap& map);
void require_printable(const TileMap& map);

/// O(tiles log tiles). @throws as require_drawable; std::invalid_argument for a tile outside its slice.
[[nodiscard]] Picture render(const TileMap& map);

/// `#` full, `+` partial, `.` skipped; a character a tile, or a unit when not on the grid. The heading and a
/// line that explains the characters come first. @throws as require_printable and render.
[[nodiscard]] std::string ascii(const TileMap& map);

}  // namespace natten_sim::draw
