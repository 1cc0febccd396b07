#include "answer_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/draw/bar_chart.hpp>
#include <natten_sim/report/draw/scatter_plot.hpp>

namespace natten_sim::python {
namespace {

using report::Json;

std::string shape_text(const Json& sizes) {
  std::string text;
  for (const Json& size : sizes) text += (text.empty() ? "" : "x") + size.dump();
  return text;
}

/// A bar whose label is window and stride, with its tiles behind it.
draw::Bar bar_of(const Json& choice, double value, std::size_t category) {
  return {shape_text(choice["window"]) + " stride " + shape_text(choice["stride"]), value,
          draw::number_text(value) + ", tiles " + shape_text(choice["q_tile"]) + " " + shape_text(choice["kv_tile"]),
          category};
}

/// The answers of several devices, or of none by name.
std::vector<std::pair<std::string, Json>> by_device(const Json& result) {
  if (!result.contains("devices")) return {{"", result}};
  std::vector<std::pair<std::string, Json>> found;
  for (const Json& one : result["devices"]) found.emplace_back(one["device"].get<std::string>(), one);
  return found;
}

std::string drawn(draw::BarChart chart, const char* what) {
  if (chart.bars.empty()) throw InvalidParameter("picture", std::string("no ") + what, "an answer that has some");
  if (chart.categories.size() < 2) chart.categories.clear();
  return draw::render(chart).svg;
}

/// The series named `label`, added if it is new.
draw::MeasuredSeries& series_of(draw::ScatterPlot& plot, const std::string& label) {
  for (draw::MeasuredSeries& series : plot.series) {
    if (series.label == label) return series;
  }
  return plot.series.emplace_back(draw::MeasuredSeries{label, {}});
}

/// On the scale that the values need.
std::string drawn(draw::ScatterPlot plot) {
  std::vector<double> values;
  for (const draw::MeasuredSeries& series : plot.series) {
    for (const draw::MeasuredPoint& point : series.points) {
      values.push_back(point.measured);
      values.push_back(point.predicted);
    }
  }
  plot.scale = draw::scale_for(values);
  return draw::render(plot).svg;
}

bool is_timed(const Json& choice) { return choice.contains("time_ms") && !choice["time_ms"].is_null(); }

}  // namespace

std::string candidates_svg(const Json& result) {
  const auto answers = by_device(result);
  bool timed = true;
  for (const auto& [device, answer] : answers) {
    for (const Json& candidate : answer["candidates"]) timed = timed && is_timed(candidate);
  }
  draw::BarChart chart{.heading = {"Candidates", timed ? "copies included" : "over dense attention"},
                       .value = {.label = timed ? "predicted time (ms)" : "speedup by multiplied pairs"}};
  for (const auto& [device, answer] : answers) {
    for (const Json& candidate : answer["candidates"]) {
      const Json& value = timed ? candidate["time_ms"]["total"] : candidate["speedup_work"];
      chart.bars.push_back(bar_of(candidate, value.get<double>(), chart.categories.size()));
    }
    chart.categories.push_back(device);
  }
  return drawn(std::move(chart), "candidates");
}

std::string choices_svg(const Json& result) {
  draw::BarChart chart{.heading = {"Advice", "forward pass, copies included"},
                       .value = {.label = "predicted time (ms)"}};
  for (const auto& [device, answer] : by_device(result)) {
    if (!answer.contains("choices")) continue;
    for (const Json& choice : answer["choices"]) {
      if (!is_timed(choice)) continue;
      chart.bars.push_back(bar_of(choice, choice["time_ms"]["total"].get<double>(), chart.categories.size()));
      chart.bars.back().note += ", " + choice["role"].get<std::string>();
    }
    chart.categories.push_back(device);
  }
  return drawn(std::move(chart), "choices");
}

std::string plan_svg(const Json& result) {
  draw::BarChart chart{.heading = {"A layer and a pass", "dense and sparse attention"},
                       .value = {.label = "predicted time (ms)"},
                       .categories = {"dense", "sparse"}};
  for (const auto& [key, label] :
       {std::pair{"attention_ms", "attention, a layer"}, {"communication_ms", "communication, a layer"}, {"rest_ms", "all else, a pass"}}) {
    for (std::size_t which = 0; which < chart.categories.size(); ++which) {
      const Json& value = result[chart.categories[which]][key];
      if (!value.is_null()) chart.bars.push_back({std::string(label) + ", " + chart.categories[which], value.get<double>(), {}, which});
    }
  }
  return drawn(std::move(chart), "times");
}

std::string blocks_svg(const Json& result) {
  const bool timed = is_timed(result);
  draw::BarChart chart{.heading = {"Blocks of a mask", timed ? "forward" : "of all blocks"},
                       .value = {.label = timed ? "predicted time (ms)" : "visited blocks (%)"}};
  const auto add = [&](const Json& blocks) {
    if (timed && !is_timed(blocks)) return;
    chart.bars.push_back({blocks["q_tile"].dump() + "x" + blocks["kv_tile"].dump(),
                          timed ? blocks["time_ms"]["total"].get<double>() : 100 * blocks["visited_share"].get<double>()});
  };
  add(result);
  for (const Json& other : result["others"]) add(other);
  return drawn(std::move(chart), "blocks");
}

std::string time_parts_svg(const Json& result) {
  draw::BarChart chart{.heading = {"Time of one pass", "what takes it"}, .value = {.label = "time (ms)"}};
  if (result.contains("time") && !result["time"].is_null()) {
    for (const auto& [part, value] : result["time"]["parts_ms"].items())
      chart.bars.push_back({part, value.get<double>()});
  }
  if (is_timed(result) && result["time_ms"]["permutation"].is_number())
    chart.bars.push_back({"copies into tiles and back", result["time_ms"]["permutation"].get<double>()});
  return drawn(std::move(chart), "time");
}

std::string runs_svg(const Json& result) {
  draw::ScatterPlot plot{.heading = {"Calibration", "runs that were fitted"}, .quantity = "ms"};
  for (const Json& run : result["runs"]) {
    series_of(plot, run["kernel"].get<std::string>() + " " + run["pass"].get<std::string>())
        .points.push_back({.measured = run["measured_ms"].get<double>(),
                           .predicted = run["predicted_ms"].get<double>(),
                           .detail = shape_text(run["input"]) + " window " + shape_text(run["window"])});
  }
  return drawn(std::move(plot));
}

std::string counter_svg(const Json& result, const std::string& counter) {
  draw::ScatterPlot plot{.heading = {counter, "a point a row"}, .quantity = counter};
  for (const Json& row : result["rows"]) {
    if (row["counter"] != counter) continue;
    const std::string fitted = row["fitted"].get<bool>() ? ", fitted" : "";
    series_of(plot, row["model"].get<std::string>() + fitted)
        .points.push_back({.measured = row["measured"].get<double>(),
                           .predicted = row["predicted"].get<double>(),
                           .detail = row["point"].get<std::string>()});
  }
  return drawn(std::move(plot));
}

}  // namespace natten_sim::python
