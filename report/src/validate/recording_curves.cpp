#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include <natten_sim/validate/compare/saving.hpp>

#include "validate/validation_pictures.hpp"

namespace natten_sim::report {
namespace {

using validate::OrderCurve;
using validate::OrderedPoint;

constexpr const char* kOverCompulsory = "DRAM reads over the compulsory ones";

template <typename Value>
draw::Series series_over_tokens(const std::string& label, const std::vector<OrderedPoint>& points,
                                draw::SeriesStyle style, std::size_t category, Value value) {
  draw::Series series{.label = label, .points = {}, .style = style, .category = category};
  for (const OrderedPoint& point : points) {
    if (const std::optional<double> y = std::invoke(value, point))
      series.points.push_back({static_cast<double>(point.tokens), *y});
  }
  return series;
}

draw::CurvePlot plot_over_tokens(const OrderCurve& curve, const std::string& y_label) {
  draw::CurvePlot plot;
  plot.heading.title = curve.name;
  plot.x.label = "tokens";
  plot.y.label = y_label;
  return plot;
}

/// Adds one value of a point to its curve.
using CurvePlots = std::map<std::string, draw::CurvePlot>;
void add_to_curve(CurvePlots& plots, const validate::CurvePlace& place, const std::string& title,
                  const std::string& y_label, double y) {
  draw::CurvePlot& plot = plots[place.chart];
  plot.heading = {title, place.chart};
  plot.x = {.label = place.x_label, .scale = draw::Scale::kLog};
  plot.y = {.label = y_label, .scale = draw::Scale::kLog};
  auto series = std::find_if(plot.series.begin(), plot.series.end(),
                             [&](const draw::Series& each) { return each.label == place.series; });
  if (series == plot.series.end()) {
    series = plot.series.insert(series, {.label = place.series,
                                         .points = {},
                                         .style = draw::SeriesStyle::kLineAndPoints});
  }
  series->points.push_back({place.x, y});
}

void add_long_curves(CurvePlots& plots, std::vector<draw::CurvePlot>& found) {
  constexpr std::size_t kMinPoints = 3;
  for (auto& [chart, plot] : plots) {
    std::size_t longest = 0;
    for (draw::Series& series : plot.series) {
      std::sort(series.points.begin(), series.points.end(),
                [](const draw::Point& a, const draw::Point& b) { return a.x < b.x; });
      longest = std::max(longest, series.points.size());
    }
    if (longest >= kMinPoints) found.push_back(plot);
  }
}

draw::CurvePlot plot_over_sms(const std::string& title, const std::string& y_label, draw::Scale y_scale) {
  draw::CurvePlot plot;
  plot.heading.title = title;
  plot.x = {.label = "SMs at work", .scale = draw::Scale::kLog};
  plot.y = {.label = y_label, .scale = y_scale};
  return plot;
}

}  // namespace

draw::Picture miss_curves(std::span<const OrderCurve> curves) {
  using enum draw::SeriesStyle;
  std::vector<draw::Chart> charts;
  for (const OrderCurve& curve : curves) {
    draw::CurvePlot plot = plot_over_tokens(curve, kOverCompulsory);
    plot.series = {
        series_over_tokens("cyclic, measured", curve.points, kPoints, 0, &OrderedPoint::cyclic_misses),
        series_over_tokens("sawtooth, measured", curve.points, kPoints, 1, &OrderedPoint::sawtooth_misses),
        series_over_tokens("cyclic, predicted", curve.predicted, kLine, 0, &OrderedPoint::cyclic_predicted),
        series_over_tokens("sawtooth, predicted", curve.predicted, kLine, 1,
                           &OrderedPoint::sawtooth_predicted)};
    charts.push_back(std::move(plot));
  }
  return picture_of(charts, 2, {"DRAM reads of cyclic and sawtooth walks over the length", ""});
}

std::optional<draw::Picture> throughput_curves(std::span<const OrderCurve> curves) {
  using enum draw::SeriesStyle;
  std::vector<draw::Chart> charts;
  for (const OrderCurve& curve : curves) {
    draw::CurvePlot plot = plot_over_tokens(curve, "TFLOP/s");
    plot.y.from_zero = true;
    plot.series = {
        series_over_tokens("cyclic", curve.points, kLineAndPoints, 0, &OrderedPoint::cyclic_tflops),
        series_over_tokens("sawtooth", curve.points, kLineAndPoints, 1, &OrderedPoint::sawtooth_tflops)};
    if (plot.series[0].points.empty() && plot.series[1].points.empty()) continue;
    charts.push_back(std::move(plot));
  }
  if (charts.empty()) return std::nullopt;
  return picture_of(charts, 2, {"Throughput of cyclic and sawtooth walks over the length", ""});
}

std::vector<draw::Chart> active_sms_curves(std::span<const validate::ActiveSmsPoint> points,
                                             std::span<const validate::StreamCapacity> capacities) {
  using enum draw::SeriesStyle;
  std::vector<draw::Chart> charts;
  if (!points.empty()) {
    draw::CurvePlot rate = plot_over_sms("Hit rate", "hit rate", draw::Scale::kLinear);
    rate.series = {{.label = "1 - DRAM / loads", .points = {}, .style = kPoints},
                   {.label = "1 - L2 misses / loads", .points = {}, .style = kPoints},
                   {.label = "1 - 1/SMs", .points = {}, .dashed = true},
                   {.label = "lockstep model", .points = {}}};
    draw::CurvePlot reads = plot_over_sms("Misses", kOverCompulsory, draw::Scale::kLog);
    reads.series = {{.label = "measured", .points = {}, .style = kLineAndPoints}};
    for (const validate::ActiveSmsPoint& p : points) {
      const auto x = static_cast<double>(p.sms);
      rate.series[0].points.push_back({x, p.dram_hit_rate});
      if (p.l2_hit_rate) rate.series[1].points.push_back({x, *p.l2_hit_rate});
      rate.series[2].points.push_back({x, p.lockstep});
      if (p.predicted) rate.series[3].points.push_back({x, *p.predicted});
      reads.series[0].points.push_back({x, p.misses});
    }
    charts = {std::move(rate), std::move(reads)};
  }
  if (!capacities.empty()) {
    draw::CurvePlot kept =
        plot_over_sms("What the L2 keeps of a sawtooth stream", "MiB", draw::Scale::kLinear);
    std::map<std::int64_t, draw::Series> by_buffer;
    for (const validate::StreamCapacity& each : capacities) {
      draw::Series& series = by_buffer[each.buffer_mib];
      series.label = "of " + std::to_string(each.buffer_mib) + " MiB";
      series.style = kLineAndPoints;
      series.points.push_back({static_cast<double>(each.sms), each.kept_mib});
    }
    for (auto& [mib, series] : by_buffer) kept.series.push_back(std::move(series));
    charts.push_back(std::move(kept));
  }
  return charts;
}

std::vector<draw::ScatterPlot> comparison_plots(const validate::Comparison& comparison) {
  std::map<std::string, draw::ScatterPlot> plots;
  for (const validate::ComparisonRow& row : comparison.rows) {
    draw::ScatterPlot& plot = plots[row.suite + " on " + row.device + ": " + row.counter];
    const bool saving = validate::compares_by_difference(row.counter);
    plot.heading = {row.counter, row.suite + " on " + row.device};
    plot.quantity = row.counter;
    plot.scale = saving ? draw::Scale::kLinear : draw::Scale::kLog;
    plot.unit = saving ? draw::Unit::kPercent : draw::Unit::kNumber;
    auto series = std::find_if(plot.series.begin(), plot.series.end(),
                               [&](const draw::MeasuredSeries& each) { return each.label == row.model; });
    if (series == plot.series.end()) series = plot.series.insert(series, {row.model, {}});
    series->points.push_back({row.measured, row.predicted, row.point});
  }
  std::vector<draw::ScatterPlot> found;
  for (const auto& [title, plot] : plots) found.push_back(plot);
  return found;
}

std::vector<draw::CurvePlot> recorded_curves(const validate::Recording& recording) {
  CurvePlots reads, rates;
  for (const validate::RecordedRow& row : recording.rows) {
    const std::optional<validate::CurvePlace> place = row.point->curve();
    if (!place) continue;
    const auto counted = row.counters.find("dram_read_bytes");
    if (counted != row.counters.end())
      add_to_curve(reads, *place, "DRAM reads", "bytes", counted->second.spread.median);
    if (const std::optional<double> rate = validate::teraflops(row))
      add_to_curve(rates, *place, "Throughput", "TFLOP/s", *rate);
  }
  std::vector<draw::CurvePlot> found;
  add_long_curves(reads, found);
  add_long_curves(rates, found);
  return found;
}

}  // namespace natten_sim::report
