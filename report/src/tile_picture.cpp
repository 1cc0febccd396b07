#include <fmt/format.h>
#include <fmt/ranges.h>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/report/draw/tile_map.hpp>
#include <natten_sim/report/tile_picture.hpp>
#include <natten_sim/study/visited_tiles.hpp>

namespace natten_sim::report {
namespace {

/// `, causal on axis 0 and 2`
std::string axes_with(const char* what, const PerAxis<bool>& flags) {
  std::string text;
  for (std::size_t axis = 0; axis < flags.rank(); ++axis) {
    if (flags[axis])
      text += (text.empty() ? std::string(", ") + what + " on axis " : " and ") + std::to_string(axis);
  }
  return text;
}

std::string describe(const TilingProblem& problem) {
  const std::string causal = axes_with("causal", causal_of(problem.mask)) +
                             axes_with("cyclic", cyclic_of(problem.mask));
  return fmt::format("input {}, window {}, stride {}, dilation {}{}, Q tile {}, KV tile {} ({}, {})",
                     to_string(input_of(problem.mask)), to_string(window_of(problem.mask)),
                     to_string(stride_of(problem.mask)), to_string(dilation_of(problem.mask)), causal,
                     to_string(problem.tiles.q_tile), to_string(problem.tiles.kv_tile),
                     to_string(problem.kv_tiling), to_string(problem.tiling));
}

draw::TileMap to_map(const std::string& title, const TilingProblem& problem,
                     const study::VisitedTiles& visited) {
  draw::TileMap map;
  map.heading = {title, describe(problem)};
  map.width = visited.width;
  map.height = visited.height;
  map.tile_width = visited.tile_width;
  map.tile_height = visited.tile_height;
  map.on_grid = visited.on_grid;
  if (visited.q_tile) {
    const std::size_t rank = problem.mask.rank();
    map.heading.subtitle += fmt::format(", Q tile at ({})", fmt::join(visited.q_tile->tile, ", "));
    map.across = fmt::format("axis {}", rank - 1);
    map.down = fmt::format("axis {}", rank - 2);
    map.same_units = true;
    if (rank == 3) {
      for (const std::int64_t origin : visited.slice_origins)
        map.slices.push_back(fmt::format("axis 0 from token {}", origin));
    }
    const study::QTilePlace& place = *visited.q_tile;
    map.outline = draw::TileOutline{.first_slice = place.first_slice,
                                    .slices = place.slices,
                                    .x = place.x,
                                    .y = place.y,
                                    .width = place.width,
                                    .height = place.height};
  }
  for (const study::VisitedTile& tile : visited.tiles) {
    map.tiles.push_back({tile.slice, tile.x, tile.y, tile.width, tile.height,
                         tile.full ? draw::Coverage::kFull : draw::Coverage::kPartial});
  }
  return map;
}

}  // namespace

std::string tile_ascii(const TilingProblem& problem, const Extents& at_q_tile) {
  study::VisitedTiles visited = study::plan_visited_tiles(problem, at_q_tile);
  // One character a tile on the static grid, one a token otherwise.
  const std::int64_t columns = ceil_divide(visited.width, visited.on_grid ? visited.tile_width : 1);
  const std::int64_t lines = ceil_divide(visited.height, visited.on_grid ? visited.tile_height : 1);
  if (columns > draw::kMaxAsciiColumns || lines > draw::kMaxAsciiLines ||
      visited.slices > draw::kMaxAsciiLines) {
    throw InvalidParameter("ascii picture",
                           fmt::format("{} of {} x {} characters", visited.slices, lines, columns),
                           fmt::format("{} columns, {} lines and {} slices or fewer; {} draws larger ones",
                                       draw::kMaxAsciiColumns, draw::kMaxAsciiLines, draw::kMaxAsciiLines,
                                       mention("picture")));
  }
  study::walk_visited_tiles(visited);
  return draw::ascii(to_map("", problem, visited));
}

draw::Picture tile_picture(const TilingProblem& problem, const Extents& at_q_tile) {
  study::VisitedTiles visited = study::plan_visited_tiles(problem, at_q_tile);
  const std::int64_t columns = ceil_divide(visited.width, visited.tile_width);
  const std::int64_t lines = ceil_divide(visited.height, visited.tile_height);
  if (columns > draw::kMaxMapEdge || lines > draw::kMaxMapEdge || visited.slices > draw::kMaxMapEdge) {
    throw InvalidParameter(
        "picture", fmt::format("{} of {} x {} tiles", visited.slices, lines, columns),
        fmt::format("{} tiles an edge and {} slices or fewer", draw::kMaxMapEdge, draw::kMaxMapEdge));
  }
  study::walk_visited_tiles(visited);
  return draw::render(to_map("Tiles visited", problem, visited));
}

}  // namespace natten_sim::report
