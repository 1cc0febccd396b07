#include "validate/scatter_curves.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/draw/chart.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

constexpr std::size_t kCurves = 6, kFewestPoints = 4;

/// Keeps the first point at each x.
using ScatterCurve = std::map<double, const RecordedRow*>;
struct NamedCurve {
  std::string name;
  ScatterCurve points;
};

/// In the order of the text, so that legends count upwards.
std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) continue;
    double number = 0;  // stays so where there are too many digits
    i = static_cast<std::size_t>(std::from_chars(&text[i], text.data() + text.size(), number).ptr -
                                 text.data());
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<NamedCurve> longest_curves(const Recording& recording, const ScatterAxis& axis) {
  std::map<std::string, ScatterCurve> all;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = row.point.as<ScatterCase>();
    if (point == nullptr || !row.timing) continue;
    if (const std::optional<double> x = axis.x(*point)) all[axis.series(*point)].emplace(*x, &row);
  }
  std::vector<NamedCurve> curves;
  for (auto& [name, points] : all) {
    if (points.size() >= kFewestPoints) curves.push_back({name, std::move(points)});
  }
  std::stable_sort(curves.begin(), curves.end(), [](const NamedCurve& a, const NamedCurve& b) {
    return a.points.size() > b.points.size();
  });
  curves.resize(std::min(curves.size(), kCurves));
  std::sort(curves.begin(), curves.end(), [](const NamedCurve& a, const NamedCurve& b) {
    return std::pair(numbers_in(a.name), a.name) < std::pair(numbers_in(b.name), b.name);
  });
  return curves;
}

std::optional<double> predicted_ms(const RecordedRow& row, const Device& device) {
  constexpr double kNsOfMs = 1e6;
  for (const Prediction& each : predict(row.point, device)) {
    if (each.counter == kLaunchTime) return each.value / kNsOfMs;
  }
  return std::nullopt;
}

struct CurvePoint {
  std::string curve;
  double x, measured_ms;
  std::optional<double> predicted_ms;
};

/// The members of a point on this axis.
auto on(const ScatterAxis& axis) {
  return [&axis](auto& m) {
    m.put("curve", &CurvePoint::curve, "All other parameters");
    m.put(axis.key, &CurvePoint::x, axis.label);
    m.put("measured_ms", &CurvePoint::measured_ms, "Measured time, the median");
    m.put("predicted_ms", &CurvePoint::predicted_ms, "Predicted time; null: no model answers");
  };
}

}  // namespace

Json scatter_schema(const ScatterAxis& axis) { return described::value_schema<CurvePoint>(on(axis)); }

std::optional<ValidationView> scatter_curves(const RecordedData& data, const ScatterAxis& axis) {
  ValidationView view;
  draw::CurvePlot plot{.heading = {"PyTorch's scatter_add, measured (symbols) and predicted (lines)", ""},
                       .x = {.label = axis.label, .scale = axis.scale},
                       .y = {.label = "time (ms)", .scale = draw::Scale::kLog}};
  plot.plot_height = 420;
  for (const Recording& recording : data.recordings) {
    if (recording.head.suite != "scatter" || !view.rows.empty()) continue;
    const Device device = device_of(recording, data.devices);
    plot.heading.subtitle = recording.head.device.name + ", third of four accumulating runs";
    for (const NamedCurve& curve : longest_curves(recording, axis)) {
      const std::size_t category = plot.series.size() / 2;
      draw::Series measured{.label = curve.name, .style = draw::SeriesStyle::kPoints, .category = category};
      draw::Series predicted{.style = draw::SeriesStyle::kLine, .category = category};
      Cells table = {{axis.label, "measured, ms", "predicted, ms"}};
      for (const auto& [x, row] : curve.points) {
        const double ms = row->timing->milliseconds.median;
        const std::optional<double> model = predicted_ms(*row, device);
        view.rows.push_back(described::value_json(CurvePoint{curve.name, x, ms, model}, on(axis)));
        table.push_back({fmt::format("{:g}", x), fmt::format("{:.4g}", ms), cell(model, "{:.4g}")});
        measured.points.push_back({x, ms});
        if (model) predicted.points.push_back({x, *model});
      }
      append_table(table, view.text, curve.name);
      plot.series.push_back(std::move(measured));
      plot.series.push_back(std::move(predicted));
    }
  }
  if (view.rows.empty()) return std::nullopt;
  view.picture = picture_of(plot);
  return view;
}

}  // namespace natten_sim::report::views
