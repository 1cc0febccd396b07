// Tile maps, Gantt charts and heat maps.
#include <algorithm>
#include <cmath>

#include <natten_sim/report/draw/gantt.hpp>
#include <natten_sim/report/draw/heat_map.hpp>
#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/tile_map.hpp>

#include "catch.hpp"
#include "unit/report/draw_document.hpp"

namespace draw_maps_test {

using namespace natten_sim::draw;
using natten_sim::test::count_of;
using natten_sim::test::overprints;
using natten_sim::test::read_xml;

/// Two Q tiles, four KV tiles of 4 tokens, the last one cut off at token 14.
TileMap two_rows() {
  TileMap map{.heading = {"input 14"}, .width = 14, .height = 2, .tile_width = 4};
  map.tiles = {{.x = 0, .y = 0, .width = 4},
               {.x = 4, .y = 0, .width = 4, .coverage = Coverage::kPartial},
               {.x = 8, .y = 1, .width = 4},
               {.x = 12, .y = 1, .width = 2}};
  return map;
}

TEST_CASE("ascii shows a character a tile, below the heading and the meaning of the characters") {
  CHECK(ascii(two_rows()) ==
        "input 14\n"
        "# full   + partial   . skipped   (down: Q tiles, across: KV tiles, one character a KV tile)\n"
        "#+..\n"
        "..##\n");
}

TEST_CASE("tiles that are off the grid show a character a unit") {
  TileMap map{.heading = {}, .width = 6, .height = 1, .tile_width = 4, .on_grid = false};
  map.tiles = {{.x = 1, .width = 4, .coverage = Coverage::kPartial}};
  CHECK(ascii(map) ==
        "# full   + partial   . skipped   (down: Q tiles, across: KV tiles, one character a token)\n"
        ".++++.\n");
}

TEST_CASE("slices follow each other under their labels") {
  TileMap map{.heading = {}, .across = "axis 2", .down = "axis 1", .width = 2, .height = 1};
  map.slices = {"axis 0 from 0", "axis 0 from 2"};
  map.tiles = {{.slice = 1, .x = 1}};
  CHECK(ascii(map) ==
        "# full   + partial   . skipped   (down: axis 1, across: axis 2, one character a KV tile)\n"
        "\naxis 0 from 0\n..\n\naxis 0 from 2\n.#\n");
}

/// Number of rectangles in the path of a class: each is one run of tiles.
std::size_t runs(const Picture& picture, const std::string& name) {
  std::size_t count = 0;
  for (const auto& each : read_xml(picture.svg)) {
    if (each.name != "path" || each.attributes.at("class") != name) continue;
    for (const char c : each.attributes.at("d")) count += c == 'Z' ? 1 : 0;
  }
  return count;
}

TEST_CASE("the picture of a map draws touching tiles of a row and coverage as one") {
  const Picture picture = render(two_rows());
  CHECK(runs(picture, "ns-f-full") == 2);  // row 0: one tile; row 1: two that touch
  CHECK(runs(picture, "ns-f-partial") == 1);
  CHECK(overprints(picture).empty());
  CHECK(render(two_rows()).svg == picture.svg);
}

TEST_CASE("the order of the tiles does not matter") {
  TileMap map = two_rows();
  std::swap(map.tiles[0], map.tiles[3]);
  CHECK(render(map).svg == render(two_rows()).svg);
  CHECK(ascii(map) == ascii(two_rows()));
}

TEST_CASE("maps from one tile to the largest have labels that do not overprint") {
  for (const std::int64_t edge : {1, 7, 40, 300, 4096}) {
    TileMap map{
        .heading = {"Tiles visited", "a problem with a long description: window 18x24x24, stride 1x8x8"},
        .width = edge,
        .height = edge};
    for (std::int64_t i = 0; i < edge; ++i) map.tiles.push_back({.x = i, .y = i});
    const Picture picture = render(map);
    INFO(edge);
    CHECK(overprints(picture).empty());
    CHECK(picture.width <= 1000);
    CHECK(runs(picture, "ns-f-full") == static_cast<std::size_t>(edge));
  }
}

TEST_CASE("an outline is drawn in the slices that it reaches into") {
  TileMap map{.heading = {"slices"}, .width = 4, .height = 4, .same_units = true};
  map.slices = {"0", "2", "4", "6", "8"};
  map.outline = TileOutline{.first_slice = 1, .slices = 3, .x = 1, .y = 1, .width = 2, .height = 2};
  CHECK(count_of(read_xml(render(map).svg), "rect", "ns-s-outline") == 3 + 1);  // and the legend
}

TEST_CASE("maps that are too large or wrong are refused before they are drawn") {
  TileMap wide{.heading = {}, .width = 4097};
  CHECK_THROWS_AS(require_drawable(wide), LimitExceeded);
  CHECK_THROWS_AS(render(wide), LimitExceeded);
  wide.tile_width = 2;
  CHECK_NOTHROW(require_drawable(wide));
  CHECK_THROWS_AS(require_printable(wide), LimitExceeded);
  CHECK_NOTHROW(require_printable(TileMap{.heading = {}, .width = 400, .height = 4000}));
  CHECK_THROWS_AS(require_printable(TileMap{.heading = {}, .width = 401}), LimitExceeded);
  CHECK_THROWS_AS(require_printable(TileMap{.heading = {}, .height = 4001}), LimitExceeded);
  CHECK_THROWS_AS(render(TileMap{.heading = {}, .width = 0}), std::invalid_argument);
  TileMap outside{.heading = {}, .width = 4, .height = 4};
  outside.tiles = {{.x = 3, .width = 2}};
  CHECK_THROWS_AS(render(outside), std::invalid_argument);
  outside.tiles = {{.slice = 1}};
  CHECK_THROWS_AS(ascii(outside), std::invalid_argument);
}

/// Worker 0 computes, reduces and computes; worker 1 computes, waits for worker 0, and reduces.
Gantt two_workers() {
  Gantt gantt{.heading = {"Ascending"}, .rows = 2, .groups = 2};
  gantt.intervals = {
      {.row = 0, .start = 0, .end = 3, .label = "10", .critical = true},
      {.row = 0, .start = 3, .end = 4, .activity = Activity::kReduce, .critical = true},
      {.row = 0, .start = 4, .end = 7, .group = 1, .label = "1"},
      {.row = 1, .start = 0, .end = 3, .group = 1, .label = "2"},
      {.row = 1, .start = 3, .end = 5, .activity = Activity::kWait, .group = 1},
      {.row = 1, .start = 5, .end = 6, .activity = Activity::kReduce, .group = 1},
  };
  return gantt;
}

TEST_CASE("ascii shows the last digit of computes, = for reductions and . for waits") {
  CHECK(ascii(two_workers()) ==
        "1 unit of time a column; digits: Q tile (last digit) computes, = reduces, . waits\n"
        "0 |000=111|\n"
        "1 |222..= |\n");
}

TEST_CASE("ascii scales a span of more than 160 to 160 columns") {
  Gantt gantt{.heading = {}, .rows = 1};
  gantt.intervals = {{.start = 0, .end = 160, .label = "7"},
                     {.start = 160, .end = 320, .activity = Activity::kReduce}};
  CHECK(ascii(gantt) ==
        "2 units of time a column; digits: Q tile (last digit) computes, = reduces, . waits\n0 |" +
            std::string(80, '7') + std::string(80, '=') + "|\n");
  gantt.span = 640'000;
  CHECK(ascii(gantt).starts_with("4,000 units of time a column"));
}

TEST_CASE("a chart outlines the critical path and colours computes light and reductions dark") {
  const auto elements = read_xml(render(two_workers()).svg);
  constexpr std::size_t kLegend = 1;
  CHECK(count_of(elements, "rect", "ns-s-outline") == 2 + kLegend);
  CHECK(count_of(elements, "rect", "ns-f-c0-soft") == 1 + kLegend);
  CHECK(count_of(elements, "rect", "ns-f-c0-strong") == 1 + kLegend);
  CHECK(count_of(elements, "rect", "ns-f-c1-soft") == 2);
  CHECK(count_of(elements, "rect", "ns-f-c1-strong") == 1);
  CHECK(render(two_workers()).svg == render(two_workers()).svg);
}

TEST_CASE("charts of 1 to 500 rows and 1 to 100 groups have labels that do not overprint") {
  for (const std::int64_t rows : {1, 8, 132, 500}) {
    for (const std::size_t groups : {std::size_t{1}, std::size_t{9}, std::size_t{100}}) {
      Gantt gantt{.heading = {"Shift", "128 x 128 tiles"}, .rows = rows, .groups = groups};
      for (std::int64_t row = 0; row < rows; ++row) {
        for (int i = 0; i < 10; ++i)
          gantt.intervals.push_back({.row = row,
                                     .start = i * 1234.5,
                                     .end = i * 1234.5 + 1200,
                                     .group = i % groups,
                                     .label = std::to_string(100 + i)});
      }
      INFO(rows << " rows, " << groups << " groups");
      CHECK(overprints(render(gantt)) == std::vector<std::string>{});
    }
  }
}

TEST_CASE("a chart without intervals has an axis") {
  const Gantt gantt{.heading = {"nothing"}, .rows = 3};
  CHECK(overprints(render(gantt)).empty());
  CHECK(ascii(gantt).ends_with("\n0 ||\n1 ||\n2 ||\n"));
}

TEST_CASE("charts that are too large or wrong are refused") {
  CHECK_THROWS_AS(ascii(Gantt{.heading = {}, .rows = kMaxAsciiRows + 1}), LimitExceeded);
  CHECK_THROWS_AS(render(Gantt{.heading = {}, .rows = kMaxGanttRows + 1}), LimitExceeded);
  Gantt many{.heading = {}, .rows = 1};
  many.intervals.resize(kMaxIntervals + 1);
  CHECK_THROWS_AS(render(many), LimitExceeded);
  for (const Interval& wrong : {Interval{.row = 1, .start = 0, .end = 1}, Interval{.start = -1, .end = 1},
                                Interval{.start = 2, .end = 1}, Interval{.start = 0, .end = std::nan("")}}) {
    CHECK_THROWS_AS(render(Gantt{.heading = {}, .intervals = {wrong}}), std::invalid_argument);
  }
}

const ColorScale kFactorOfFour = {.low = 0.25, .middle = 1, .high = 4, .axis = Scale::kLog};

TEST_CASE("colours diverge from the middle in proportion of the logarithm") {
  CHECK(fraction_of(kFactorOfFour, 1) == 0);
  CHECK(std::abs(fraction_of(kFactorOfFour, 2) - 0.5) < 1e-12);
  CHECK(std::abs(fraction_of(kFactorOfFour, 0.5) + 0.5) < 1e-12);
  CHECK(fraction_of(kFactorOfFour, 100) == 1);
  CHECK(fraction_of(kFactorOfFour, 0) == -1);
  CHECK(fraction_of({.low = 10, .high = 20}, 15) == 0.5);
  CHECK(fraction_of({.low = 10, .high = 20}, 0) == 0);
}

HeatMap map_of(const std::vector<HeatCell>& cells) {
  HeatMap map{
      .heading = {"Throughput"}, .scale = kFactorOfFour, .row_name = "tokens", .column_name = "head dim"};
  map.lines = {{"bf16", {{"flash", {"512", "1024"}, {"64", "128"}, cells}}}};
  return map;
}

TEST_CASE("a cell without a number is grey and says why, whole in its tooltip") {
  const HeatMap map =
      map_of({{.value = 1}, {.value = 2}, {.reason = "refused: out of shared memory"}, {.value = NAN}});
  const auto elements = read_xml(render(map).svg);
  CHECK(count_of(elements, "rect", "ns-f-missing") == 2);
  CHECK(std::count_if(elements.begin(), elements.end(), [](const auto& each) {
          return each.name == "title" && each.text == "refused: out of shared memory";
        }) == 1);
  CHECK(overprints(render(map)).empty());
}

TEST_CASE("maps of no line and of several panels have labels that do not overprint") {
  HeatMap map = map_of({{.value = 1}, {.value = 2}, {.value = 0.3}, {.reason = "out of memory"}});
  map.lines.front().panels.resize(5, map.lines.front().panels.front());
  map.lines.push_back(map.lines.front());
  CHECK(overprints(render(map)).empty());
  map.lines.clear();
  CHECK(overprints(render(map)).empty());
}

TEST_CASE("a map with missing cells or a scale out of order is refused") {
  CHECK_THROWS_AS(render(map_of({{.value = 1}})), std::invalid_argument);
  HeatMap map = map_of({{}, {}, {}, {}});
  map.scale.middle = 5;
  CHECK_THROWS_AS(render(map), std::invalid_argument);
  map.scale = {.low = 0, .high = 1, .axis = Scale::kLog};
  CHECK_THROWS_AS(render(map), std::invalid_argument);
  map.scale = {.low = 1, .high = 1};
  CHECK_THROWS_AS(render(map), std::invalid_argument);
}

}  // namespace draw_maps_test
