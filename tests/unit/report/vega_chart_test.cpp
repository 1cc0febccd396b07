// Vega-Lite specifications: the same numbers, ends, ticks and colours as the pictures.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/vega_chart.hpp>

#include "catch.hpp"

namespace vega_chart_test {

using namespace natten_sim;
using report::picture_of;

/// 1 KiB to 64 KiB across, and a mark at 4 KiB.
draw::CurvePlot misses() {
  draw::CurvePlot plot{.heading = {"Misses", "64k tokens"},
                       .x = {.label = "capacity", .scale = draw::Scale::kLog, .unit = draw::Unit::kBytes},
                       .y = {.label = "sectors"}};
  plot.series.push_back({.label = "cyclic", .points = {{1024, 8}, {65536, 2}}});
  plot.series.push_back({.label = "sawtooth", .points = {{1024, 4}, {0, 3}, {65536, 1}}, .dashed = true});
  plot.marks.push_back({.at = 4096, .label = "L2"});
  return plot;
}

/// Every object below `part` that has the key, in order.
void find_all(const Json& part, const std::string& key, std::vector<Json>& found) {
  if (part.is_object()) {
    if (part.contains(key)) found.push_back(part[key]);
    for (const auto& [name, inner] : part.items()) find_all(inner, key, found);
  } else if (part.is_array()) {
    for (const Json& inner : part) find_all(inner, key, found);
  }
}

std::vector<Json> all(const Json& part, const std::string& key) {
  std::vector<Json> found;
  find_all(part, key, found);
  return found;
}

TEST_CASE("a specification has the points, the ends and the ticks of the picture") {
  const Json chart = parse_json(picture_of(misses()).specification);
  std::size_t points = 0;
  for (const Json& values : all(chart["layer"], "values")) {
    for (const Json& value : values)
      points += value.is_object() && value.contains("y") && !value["y"].is_null() ? 1 : 0;
  }
  CHECK(points == 4);  // a capacity of 0 has no place on a logarithmic axis
  std::vector<Json> across = all(chart["layer"], "x");
  const Json& x = *std::find_if(across.begin(), across.end(), [](const Json& each) { return each.contains("field"); });
  CHECK(x["title"] == Json("capacity"));
  CHECK(x["scale"]["type"] == Json("log"));
  CHECK(x["scale"]["domain"][0].get<double>() == 1024);
  CHECK(x["scale"]["domain"][1].get<double>() == 65536);
  CHECK(x["axis"]["labelExpr"].get<std::string>().find("\"1 KiB\"") != std::string::npos);
  CHECK(x["axis"]["labelExpr"].get<std::string>().find("\"64 KiB\"") != std::string::npos);
}

TEST_CASE("every colour that a specification names is defined for light and dark, and no other") {
  draw::HeatMap map{.heading = {"Shares", ""}, .scale = {.low = 0.25, .middle = 1, .high = 4, .axis = draw::Scale::kLog}};
  map.lines.push_back({"bf16", {{"flash", {"512"}, {"64", "128"}, {{.value = 0.5}, {.reason = "no kernel"}}}}});
  for (const std::string& text : {picture_of(misses()).specification, picture_of(map).specification}) {
    const Json chart = parse_json(text);
    std::set<std::string> named;
    for (const Json& expression : all(chart, "expr")) named.insert(expression.get<std::string>());
    for (const Json& scheme : {chart["config"], chart["usermeta"]["dark"]}) {
      std::set<std::string> defined;
      for (const Json& parameter : scheme["params"]) defined.insert(parameter["name"].get<std::string>());
      CHECK(defined == named);
    }
    CHECK_FALSE(chart["config"] == chart["usermeta"]["dark"]);
  }
}

TEST_CASE("heat maps side by side keep their own colours") {
  // A scale that is shared joins the names of all panels and takes the colours of the first.
  draw::HeatMap map{.heading = {"Shares", ""},
                    .scale = {.low = 0.25, .middle = 1, .high = 4, .axis = draw::Scale::kLog}};
  map.lines.push_back(
      {"bf16", {{"flash", {"512"}, {"64"}, {{.value = 0.5}}}, {"math", {"512"}, {"64"}, {{.value = 4}}}}});
  const Json chart = parse_json(picture_of(map).specification);
  std::size_t joined = 0;
  const std::function<void(const Json&)> walk = [&](const Json& part) {
    for (const char* kind : {"hconcat", "vconcat"}) {
      if (!part.contains(kind)) continue;
      ++joined;
      for (const char* scale : {"fill", "color"}) CHECK(part["resolve"]["scale"][scale] == "independent");
      for (const Json& inner : part[kind]) walk(inner);
    }
  };
  walk(chart);
  CHECK(joined == 2);
}

TEST_CASE("a legend names each series once, in their order, and a mark outside the axes is left out") {
  draw::CurvePlot plot = misses();
  plot.marks.push_back({.at = 1 << 30, .label = "far"});
  plot.series.push_back({.points = {{2048, 3}}});  // without a label
  const std::string text = picture_of(plot).specification;
  CHECK(text.find(R"("domain":["cyclic","sawtooth"])") != std::string::npos);
  CHECK(text.find(R"({"value":"L2"})") != std::string::npos);
  CHECK(text.find("far") == std::string::npos);
}

TEST_CASE("a logarithmic histogram divides a bucket among its series as the eye sees it") {
  draw::Histogram histogram{.heading = {"Distances", ""}, .x = {.label = "distance", .scale = draw::Scale::kLog}};
  histogram.series = {{"cyclic", {{1, 4, 10}}}, {"sawtooth", {{1, 4, 20}}}};
  const Json chart = parse_json(picture_of(histogram).specification);
  std::vector<double> starts;
  for (const Json& values : all(chart["layer"], "values")) {
    for (const Json& value : values)
      if (value.is_object() && value.contains("from")) starts.push_back(value["from"].get<double>());
  }
  CHECK(starts == std::vector<double>{1, 2});  // the middle of 1 and 4, by ratio
}

TEST_CASE("charts that stand together are one specification, and pictures that no library draws have none") {
  const std::vector<report::Chart> charts = {misses(), misses()};
  const draw::Picture both = picture_of(charts, 2, {.title = "Two", .subtitle = ""});
  const Json chart = parse_json(both.specification);
  CHECK(chart["concat"].size() == 2);
  CHECK(chart["columns"].get<int>() == 2);
  CHECK(both.title == "Two");
  const draw::Picture untitled = picture_of(charts, 1);
  CHECK(untitled.title == "Misses; Misses");
  CHECK(untitled.svg.find("<title>Misses; Misses</title>") != std::string::npos);
  CHECK(draw::render(misses()).specification.empty());
}

}  // namespace vega_chart_test
