#include "answer_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/draw/bar_chart.hpp>
#include <natten_sim/report/draw/scatter_plot.hpp>

namespace natten_sim::python {
namespace {

using report::Json;

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

std::string counter_svg(const validate::Comparison& comparison, const std::string& counter) {
  draw::ScatterPlot plot{.heading = {counter, "a point a row"}, .quantity = counter};
  for (const validate::ComparisonRow& row : comparison.rows) {
    if (row.counter != counter || !std::isfinite(row.measured)) continue;
    series_of(plot, row.model + (row.fitted ? ", fitted" : ""))
        .points.push_back({.measured = row.measured, .predicted = row.predicted, .detail = row.point});
  }
  return drawn(std::move(plot));
}

}  // namespace natten_sim::python
