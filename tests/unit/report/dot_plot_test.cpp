// Tables that are compared: one line an item, a symbol a series.
#include <optional>
#include <stdexcept>
#include <string>

#include <natten_sim/report/draw/dot_plot.hpp>
#include <natten_sim/report/draw/limit.hpp>

#include "catch.hpp"

namespace dot_plot_test {

using namespace natten_sim::draw;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

DotPlot speedups() {
  DotPlot plot{.heading = {"Table 4.4", "FLUX"},
               .value = {.label = "speedup"},
               .series = {"published", "ours", "here"}};
  plot.rows = {{"stride 1x1", {1.76, 1.7639}}, {"stride 16x1", {1.84, std::nullopt}}, {"stride 16x16", {}}};
  return plot;
}

TEST_CASE("an item's numbers stand on its line, and a series without any is not in the legend") {
  const std::string svg = render(speedups()).svg;
  for (const char* text : {">stride 1x1<", ">stride 16x1<", ">stride 16x16<", ">published<", ">ours<"})
    CHECK(count(svg, text) == 1);
  CHECK(count(svg, ">here<") == 0);
  // Three numbers, each with a tooltip.
  CHECK(count(svg, "<title>stride 1x1, published: 1.76</title>") == 1);
  CHECK(count(svg, "<title>stride 1x1, ours: 1.76</title>") == 1);
  CHECK(count(svg, "<title>stride 16x1, published: 1.84</title>") == 1);
}

TEST_CASE("numbers that a logarithmic axis cannot show are left out") {
  DotPlot plot = speedups();
  plot.value.scale = Scale::kLog;
  plot.rows = {{"zero", {0.0, 2.0}}};
  CHECK(count(render(plot).svg, "<title>zero, ") == 1);
}

TEST_CASE("what cannot be drawn is refused") {
  DotPlot plot = speedups();
  plot.rows = {{"four", {1.0, 2.0, 3.0, 4.0}}};
  CHECK_THROWS_AS(render(plot), std::invalid_argument);
  plot.rows.clear();
  plot.width = 100;
  CHECK_THROWS_AS(render(plot), std::invalid_argument);
  plot.width = 400;
  plot.rows.resize(kMaxDotRows + 1);
  CHECK_THROWS_AS(render(plot), LimitExceeded);
}

}  // namespace dot_plot_test
