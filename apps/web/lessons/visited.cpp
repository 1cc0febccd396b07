#include <natten_sim/core/error.hpp>
#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/visited_tiles.hpp>

#include "cli/context.hpp"
#include "cli/described.hpp"
#include "cli/reply.hpp"
#include "commands/rows/setting_values.hpp"

namespace natten_sim::cli {
namespace {

/// Rectangles beyond this are too many to draw.
constexpr std::size_t kMostRectangles = 40'000;

struct VisitedFlags {
  study::CountQuestion question;
  Extents at_q_tile;
  OutputFlags output;
};

Options<VisitedFlags> visited_rows() {
  Options<VisitedFlags> rows;
  rows.include(options_of<study::CountQuestion>().only({"preset", "device", "input", "window", "stride", "dilation",
                                                        "causal", "q_tile", "kv_tile", "kv_tiling"}),
               &VisitedFlags::question);
  rows.add("--at-q-tile", &VisitedFlags::at_q_tile,
           {.value = "INDEX", .help = "Q tile, one index an axis from 0 [the middle one]", .range = {.lo = 0}});
  return rows.include(output_rows(), &VisitedFlags::output);
}

Json rectangles(const study::VisitedTiles& visited) {
  Json tiles = Json::array();
  for (const study::VisitedTile& tile : visited.tiles) {
    Json row = Json::array();
    for (const std::int64_t value : {tile.slice, tile.x, tile.y, tile.width, tile.height, std::int64_t{tile.full}})
      row.push_back(value);
    tiles.push_back(row);
  }
  return tiles;
}

int run_visited(const VisitedFlags& flags, Reply& reply) {
  const study::CountAnswer answer = study::count(flags.question, make_context({}));
  study::VisitedTiles visited = study::plan_visited_tiles(answer.forward.problem, flags.at_q_tile);
  study::walk_visited_tiles(visited);
  if (visited.tiles.size() > kMostRectangles) {
    throw InvalidParameter("input", std::to_string(visited.tiles.size()) + " tiles",
                           "a problem of which at most " + std::to_string(kMostRectangles) + " are drawn");
  }
  Json place;
  if (visited.q_tile) {
    place = {{"tile", report::to_json(visited.q_tile->tile)},
             {"first_slice", visited.q_tile->first_slice},
             {"slices", visited.q_tile->slices},
             {"x", visited.q_tile->x},
             {"y", visited.q_tile->y},
             {"width", visited.q_tile->width},
             {"height", visited.q_tile->height}};
  }
  Json origins = Json::array();
  for (const std::int64_t origin : visited.slice_origins) origins.push_back(origin);
  const TilingProblem& problem = visited.problem;
  Json result = {{"count", report::count_result(answer)},
                 {"length", report::to_json(input_of(problem.mask))},
                 {"q_tile", report::to_json(problem.tiles.q_tile)},
                 {"kv_tile", report::to_json(problem.tiles.kv_tile)},
                 {"width", visited.width},
                 {"height", visited.height},
                 {"slice_origins", origins},
                 {"tile_width", visited.tile_width},
                 {"tile_height", visited.tile_height},
                 {"on_grid", visited.on_grid},
                 {"place", place},
                 {"tiles", rectangles(visited)}};
  put_answer(flags.output, reply, JsonAnswer("visited", Json::object(), std::move(result)));
  return kExitDone;
}

}  // namespace

Command visited_lesson();
Command visited_lesson() {
  Command command{.name = "visited", .summary = "The tiles that a Q tile visits, as rectangles"};
  bind(command, visited_rows(), run_visited);
  return command;
}

}  // namespace natten_sim::cli
