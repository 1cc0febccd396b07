#include <algorithm>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/text.hpp>
#include <natten_sim/report/draw/tile_map.hpp>

#include "draw/page_sizes.hpp"

namespace natten_sim::draw {
namespace {

constexpr double kAxisSize = 10, kSliceGap = 18;

std::int64_t ceil_of(std::int64_t length, std::int64_t tile) {
  return length / tile + (length % tile != 0 ? 1 : 0);
}
std::int64_t columns_of(const TileMap& map) { return ceil_of(map.width, map.tile_width); }
std::int64_t lines_of(const TileMap& map) { return ceil_of(map.height, map.tile_height); }
std::int64_t slices_of(const TileMap& map) {
  return map.slices.empty() ? 1 : static_cast<std::int64_t>(map.slices.size());
}

void require_lengths(const TileMap& map) {
  if (std::min({map.width, map.height, map.tile_width, map.tile_height}) < 1)
    throw std::invalid_argument("a tile map needs lengths of at least 1");
}

void require_inside(const TileMap& map) {
  for (const MapTile& tile : map.tiles) {
    const bool inside = tile.slice >= 0 && tile.slice < slices_of(map) && tile.x >= 0 && tile.y >= 0 &&
                        tile.width >= 1 && tile.height >= 1 && tile.x <= map.width - tile.width &&
                        tile.y <= map.height - tile.height;
    if (!inside)
      throw std::invalid_argument(
          fmt::format("a tile outside its slice: slice {}, {}, {}", tile.slice, tile.x, tile.y));
  }
}

/// Tiles of a slice in rows, those of one coverage that touch in a row as one.
std::vector<MapTile> merged(const TileMap& map) {
  std::vector<MapTile> tiles = map.tiles;
  const auto key = [](const MapTile& t) { return std::tuple(t.slice, t.coverage, t.y, t.height, t.x); };
  std::sort(tiles.begin(), tiles.end(), [&](const MapTile& a, const MapTile& b) { return key(a) < key(b); });
  if (!map.on_grid) return tiles;
  std::vector<MapTile> runs;
  for (const MapTile& tile : tiles) {
    const bool joins = !runs.empty() && runs.back().slice == tile.slice &&
                       runs.back().coverage == tile.coverage && runs.back().y == tile.y &&
                       runs.back().height == tile.height && runs.back().x + runs.back().width == tile.x;
    if (joins) {
      runs.back().width += tile.width;
    } else {
      runs.push_back(tile);
    }
  }
  return runs;
}

Paint paint_of(Coverage coverage) {
  return Paint::role(coverage == Coverage::kFull ? Role::kTileFull : Role::kTilePartial);
}

/// Where slices go and how large a unit is, in pixels.
struct Layout {
  double unit_x, unit_y;         // pixels of a unit
  double width, height;          // of a slice
  double label, axis_x, axis_y;  // room above a slice, below it, and left of the first in a row
  std::int64_t across;           // slices in a row
  double left, top;

  [[nodiscard]] Box slice(std::int64_t index) const {
    return {left + axis_y + static_cast<double>(index % across) * (width + kSliceGap),
            top + label + static_cast<double>(index / across) * (height + label + axis_x + 10), width,
            height};
  }
};

Layout layout_of(const TileMap& map) {
  Layout layout{};
  const bool several = slices_of(map) > 1;
  const auto columns = static_cast<double>(columns_of(map)), lines = static_cast<double>(lines_of(map));
  const auto width = static_cast<double>(map.width), height = static_cast<double>(map.height);
  // Cells of a matrix are square; slices in one unit keep its proportions.
  const double cell = std::min((several ? 220.0 : 640.0) / columns, several ? 24.0 : 32.0);
  layout.unit_x = cell * columns / width;
  layout.unit_y = map.same_units ? layout.unit_x : std::min(cell * lines, 900.0) / height;
  layout.width = layout.unit_x * width;
  layout.height = std::max(layout.unit_y * height, 2.0);
  layout.unit_y = layout.height / height;
  layout.label = several || !map.slices.empty() ? 18 : 0;
  layout.axis_x = map.tile_axis && map.on_grid ? 14 : 0;
  layout.axis_y = map.tile_axis && map.on_grid ? text_width(std::to_string(lines_of(map)), kAxisSize) + 6 : 0;
  const auto fit = static_cast<std::int64_t>((980 - layout.axis_y) / (layout.width + 18));
  layout.across = std::clamp<std::int64_t>(fit, 1, std::min<std::int64_t>(slices_of(map), 8));
  layout.left = kMargin;
  return layout;
}

/// Every so many tiles have a number, so that the numbers are apart.
std::int64_t number_step(double pixels_a_tile, double needed) {
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t multiple : {1, 2, 5}) {
      if (static_cast<double>(multiple * power) * pixels_a_tile >= needed) return multiple * power;
    }
  }
}

void draw_tile_axis(Document& document, const TileMap& map, const Layout& layout, std::int64_t slice) {
  const Box box = layout.slice(slice);
  const Paint muted = Paint::role(Role::kMutedText);
  const double wide = layout.unit_x * static_cast<double>(map.tile_width);
  const double high = layout.unit_y * static_cast<double>(map.tile_height);
  const double needed = text_width(std::to_string(columns_of(map)), kAxisSize) + 8;
  const auto middle = [](std::int64_t tile, std::int64_t length, std::int64_t whole) {
    const std::int64_t end = std::min((tile + 1) * length, whole);
    return static_cast<double>(tile * length + end) / 2;
  };
  for (std::int64_t tile = 0, step = number_step(wide, needed); tile < columns_of(map); tile += step) {
    document.text(box.x + layout.unit_x * middle(tile, map.tile_width, map.width), box.bottom() + 11,
                  std::to_string(tile), {.size = kAxisSize, .anchor = Anchor::kMiddle, .paint = muted});
  }
  if (slice % layout.across != 0) return;
  for (std::int64_t tile = 0, step = number_step(high, 13); tile < lines_of(map); tile += step) {
    document.text(box.x - 5, box.y + layout.unit_y * middle(tile, map.tile_height, map.height) + 3.5,
                  std::to_string(tile), {.size = kAxisSize, .anchor = Anchor::kEnd, .paint = muted});
  }
}

void draw_grid(Document& document, const TileMap& map, const Layout& layout, const Box& box) {
  constexpr double kLeast = 4;  // pixels of a tile that a line leaves visible
  const double wide = layout.unit_x * static_cast<double>(map.tile_width);
  const double high = layout.unit_y * static_cast<double>(map.tile_height);
  std::string path;
  for (std::int64_t x = map.tile_width; wide >= kLeast && x < map.width; x += map.tile_width) {
    const double at = box.x + layout.unit_x * static_cast<double>(x);
    path += move_to(at, box.y) + "V" + length_text(box.bottom());
  }
  for (std::int64_t y = map.tile_height; high >= kLeast && y < map.height; y += map.tile_height) {
    const double at = box.y + layout.unit_y * static_cast<double>(y);
    path += move_to(box.x, at) + "H" + length_text(box.right());
  }
  document.path(path, {.stroke = Paint::role(Role::kBackground)});
}

/// Draws the runs of one slice, which are `runs` from `next` on, and moves `next` behind them.
void draw_slice(Document& document, const TileMap& map, const Layout& layout, std::int64_t slice,
                const std::vector<MapTile>& runs, std::size_t& next) {
  const Box box = layout.slice(slice);
  if (!map.slices.empty()) {
    document.text(box.x, box.y - 5,
                  shortened(map.slices[static_cast<std::size_t>(slice)], layout.width + 14, 11),
                  {.size = 11});
  }
  document.rect(box, {.fill = Paint::role(Role::kTileSkipped)});
  const auto placed = [&](const auto& r) {
    return Box{box.x + layout.unit_x * static_cast<double>(r.x),
               box.y + layout.unit_y * static_cast<double>(r.y), layout.unit_x * static_cast<double>(r.width),
               layout.unit_y * static_cast<double>(r.height)};
  };
  for (const Coverage coverage : {Coverage::kPartial, Coverage::kFull}) {
    std::string path;
    for (; next < runs.size() && runs[next].slice == slice && runs[next].coverage == coverage; ++next)
      path += rectangle(placed(runs[next]));
    Style style{.fill = paint_of(coverage)};
    if (!map.on_grid) style.stroke = Paint::role(Role::kBackground);
    document.path(path, style);
  }
  if (map.on_grid) draw_grid(document, map, layout, box);
  if (map.on_grid && map.tile_axis) draw_tile_axis(document, map, layout, slice);
  const std::optional<TileOutline>& outline = map.outline;
  if (outline && slice >= outline->first_slice && slice < outline->first_slice + outline->slices)
    document.rect(placed(*outline), {.stroke = Paint::role(Role::kOutline), .stroke_width = 2},
                  outline->label);
}

std::vector<LegendEntry> legend_of(const TileMap& map) {
  std::vector<LegendEntry> legend = {{"full", LegendKey::kSwatch, Paint::role(Role::kTileFull)},
                                     {"partial", LegendKey::kSwatch, Paint::role(Role::kTilePartial)},
                                     {"skipped", LegendKey::kSwatch, Paint::role(Role::kTileSkipped)}};
  if (map.outline) legend.push_back({map.outline->label, LegendKey::kOutline, Paint::role(Role::kOutline)});
  return legend;
}

}  // namespace

void require_drawable(const TileMap& map) {
  require_lengths(map);
  require_at_most("tiles across", columns_of(map), kMaxMapEdge);
  require_at_most("tiles down", lines_of(map), kMaxMapEdge);
  require_at_most("slices", slices_of(map), kMaxMapEdge);
}

void require_printable(const TileMap& map) {
  require_lengths(map);
  require_at_most("columns of text", map.on_grid ? columns_of(map) : map.width, kMaxAsciiColumns);
  require_at_most("lines of text", map.on_grid ? lines_of(map) : map.height, kMaxAsciiLines);
  require_at_most("slices", slices_of(map), kMaxAsciiLines);
}

Picture render(const TileMap& map) {
  require_drawable(map);
  require_inside(map);
  Document document(map.heading.title.empty() ? map.heading.subtitle : map.heading.title);
  Layout layout = layout_of(map);
  const double maps = layout.slice(layout.across - 1).right() + kMargin;
  const double width = std::max(maps, 520.0);
  double top = draw_heading(document, map.heading, kMargin, width - 2 * kMargin);
  top = draw_legend(document, legend_of(map), kMargin, top, width - 2 * kMargin);
  const TextStyle muted{.size = 11, .paint = Paint::role(Role::kMutedText)};
  std::string axes = fmt::format("down: {}, across: {}", map.down, map.across);
  if (map.same_units && map.on_grid && map.tile_axis)
    axes += fmt::format("; edges are numbered in {}s", map.tile_name);
  document.text(kMargin, top + 9, axes, muted);
  layout.top = top + 18;
  const std::vector<MapTile> runs = merged(map);
  std::size_t next = 0;
  for (std::int64_t slice = 0; slice < slices_of(map); ++slice)
    draw_slice(document, map, layout, slice, runs, next);
  const double bottom = layout.slice(slices_of(map) - 1).bottom() + layout.axis_x;
  return std::move(document).finish(width, bottom + 14);
}

std::string ascii(const TileMap& map) {
  require_printable(map);
  require_inside(map);
  const std::int64_t column = map.on_grid ? map.tile_width : 1, line = map.on_grid ? map.tile_height : 1;
  std::vector<std::string> canvas(static_cast<std::size_t>(slices_of(map) * ceil_of(map.height, line)),
                                  std::string(static_cast<std::size_t>(ceil_of(map.width, column)), '.'));
  const std::int64_t lines = ceil_of(map.height, line);
  for (const MapTile& tile : map.tiles) {
    for (std::int64_t y = tile.y / line; y < ceil_of(tile.y + tile.height, line); ++y) {
      for (std::int64_t x = tile.x / column; x < ceil_of(tile.x + tile.width, column); ++x) {
        canvas[static_cast<std::size_t>(tile.slice * lines + y)][static_cast<std::size_t>(x)] =
            tile.coverage == Coverage::kFull ? '#' : '+';
      }
    }
  }
  std::string text;
  for (const std::string& heading : {map.heading.title, map.heading.subtitle})
    if (!heading.empty()) text += printable(heading) + "\n";
  text += fmt::format("# full   + partial   . skipped   (down: {}, across: {}, one character a {})\n",
                      map.down, map.across, map.on_grid ? map.tile_name : map.unit_name);
  for (std::int64_t slice = 0; slice < slices_of(map); ++slice) {
    if (!map.slices.empty()) text += "\n" + printable(map.slices[static_cast<std::size_t>(slice)]) + "\n";
    for (std::int64_t y = 0; y < lines; ++y)
      text += canvas[static_cast<std::size_t>(slice * lines + y)] + "\n";
  }
  return text;
}

}  // namespace natten_sim::draw
