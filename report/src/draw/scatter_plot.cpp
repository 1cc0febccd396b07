#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/scatter_plot.hpp>

#include "draw/xy_frame.hpp"

namespace natten_sim::draw {
namespace {

double room(const Tolerance& tolerance, double measured) {
  return tolerance.relative * std::abs(measured) + tolerance.absolute;
}

/// Widest first, so that the narrower ones are drawn over them.
std::vector<Tolerance> sorted(std::vector<Tolerance> tolerances) {
  for (const Tolerance& each : tolerances) {
    if (!(each.relative >= 0) || !(each.absolute >= 0)) throw std::invalid_argument("a tolerance below 0");
  }
  std::stable_sort(tolerances.begin(), tolerances.end(), [](const Tolerance& a, const Tolerance& b) {
    return std::pair(a.relative, a.absolute) > std::pair(b.relative, b.absolute);
  });
  return tolerances;
}

std::string name_of(const Tolerance& tolerance, Unit unit) {
  if (tolerance.absolute == 0) return number_text(tolerance.relative, Unit::kPercent);
  if (tolerance.relative == 0) return number_text(tolerance.absolute, unit);
  return number_text(tolerance.relative, Unit::kPercent) + " + " + number_text(tolerance.absolute, unit);
}

/// The area within a tolerance, sampled evenly along the axis.
std::string area_of(const XyFrame& frame, const Tolerance& tolerance, Scale scale) {
  constexpr int kSamples = 64;
  const double low = frame.x().low(), high = frame.x().high();
  std::string there, back;
  for (int i = 0; i <= kSamples; ++i) {
    const double share = static_cast<double>(i) / kSamples;
    const double measured =
        scale == Scale::kLog ? low * std::pow(high / low, share) : low + (high - low) * share;
    const double x = frame.x().place(measured), margin = room(tolerance, measured);
    const double above = frame.y().clamped(measured + margin), below = frame.y().clamped(measured - margin);
    there += there.empty() ? move_to(x, above) : line_to(x, above);
    back = line_to(x, below) + back;
  }
  return there + back + "Z";
}

void draw_tolerances(XyFrame& frame, const std::vector<Tolerance>& tolerances, Scale scale) {
  for (std::size_t i = 0; i < tolerances.size(); ++i) {
    frame.document().path(area_of(frame, tolerances[i], scale),
                          {.fill = Paint::role(Role::kMark), .opacity = i == 0 ? 0.12 : 0.16});
  }
  frame.document().line(frame.plot().x, frame.plot().bottom(), frame.plot().right(), frame.plot().y,
                        {.stroke = Paint::role(Role::kMark), .stroke_width = 1.2, .dash = Dash::kDashed});
}

std::vector<LegendEntry> legend_of(const ScatterPlot& plot, const std::vector<Tolerance>& tolerances,
                                   bool outside) {
  std::vector<LegendEntry> legend;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    legend.push_back(
        {plot.series[s].label, LegendKey::kSymbol, Paint::category(s), static_cast<Symbol>(s % kSymbols)});
  }
  if (!tolerances.empty()) {
    std::string names;
    for (auto each = tolerances.rbegin(); each != tolerances.rend(); ++each)
      names += (names.empty() ? "" : " / ") + name_of(*each, plot.unit);
    legend.push_back({"within " + names, LegendKey::kSwatch, Paint::role(Role::kMissing)});
  }
  legend.push_back({"equal", LegendKey::kDashedLine, Paint::role(Role::kMark)});
  if (outside) legend.push_back({"outside", LegendKey::kOutline, Paint::role(Role::kOutline)});
  return legend;
}

bool shown(const ScatterPlot& plot, const MeasuredPoint& point) {
  return can_show(plot.scale, point.measured) && can_show(plot.scale, point.predicted);
}

/// Whether the point lies outside the widest tolerance, which is the first.
bool is_outside(const std::vector<Tolerance>& tolerances, const MeasuredPoint& point) {
  return !tolerances.empty() &&
         std::abs(point.predicted - point.measured) > room(tolerances.front(), point.measured);
}

void draw_points(XyFrame& frame, const ScatterPlot& plot, const std::vector<Tolerance>& tolerances) {
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    for (const MeasuredPoint& point : plot.series[s].points) {
      if (!shown(plot, point)) continue;
      Style style{.fill = Paint::category(s), .opacity = 0.85};
      if (is_outside(tolerances, point)) style.stroke = Paint::role(Role::kOutline);
      frame.document().symbol(static_cast<Symbol>(s % kSymbols), frame.x().place(point.measured),
                              frame.y().place(point.predicted), 3.5, style,
                              fmt::format("{}{}{} {}, {} {}", point.detail, point.detail.empty() ? "" : ": ",
                                          plot.across, number_text(point.measured, plot.unit), plot.up,
                                          number_text(point.predicted, plot.unit)));
    }
  }
}

}  // namespace

Picture render(const ScatterPlot& plot) {
  const std::vector<Tolerance> tolerances = sorted(plot.tolerances);
  Range range;
  std::size_t points = 0, left_out = 0, outside = 0;
  for (const MeasuredSeries& series : plot.series) {
    points += series.points.size();
    for (const MeasuredPoint& point : series.points) {
      if (shown(plot, point)) {
        range.include(point.measured);
        range.include(point.predicted);
        outside += is_outside(tolerances, point) ? 1 : 0;
      } else {
        ++left_out;
      }
    }
  }
  require_at_most("points of a scatter plot", static_cast<std::int64_t>(points), kMaxMeasuredPoints);
  const std::string unit = plot.quantity.empty() ? "" : " (" + plot.quantity + ")";
  Heading heading = plot.heading;
  if (left_out > 0) {
    heading.subtitle += fmt::format("{}{} {} off the axes", heading.subtitle.empty() ? "" : "; ", left_out,
                                    left_out == 1 ? "point" : "points");
  }
  XyFrame frame({.heading = heading,
                 .legend = legend_of(plot, tolerances, outside > 0),
                 .x = {.label = plot.across + unit, .scale = plot.scale, .unit = plot.unit},
                 .y = {.label = plot.up + unit, .scale = plot.scale, .unit = plot.unit},
                 .xs = range,
                 .ys = range,
                 .marks = {},
                 .bands = {},
                 .width = plot.size,
                 .plot_height = 0});
  draw_tolerances(frame, tolerances, plot.scale);
  draw_points(frame, plot, tolerances);
  if (range.empty()) frame.note_empty();
  return std::move(frame).finish();
}

}  // namespace natten_sim::draw
