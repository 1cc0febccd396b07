#include <fmt/format.h>

#include "vega/charts.hpp"

namespace natten_sim::report::vega {

using draw::Paint;

Json chart_of(const draw::ScatterPlot& plot) {
  constexpr double kRadius = 3.5;
  const double side = plot.size - kSquareRoom;
  const std::string unit = plot.quantity.empty() ? "" : " (" + plot.quantity + ")";
  const draw::AxisSpec across{.label = plot.across + unit, .scale = plot.scale, .unit = plot.unit},
      up{.label = plot.up + unit, .scale = plot.scale, .unit = plot.unit};
  draw::Range range;
  std::size_t left_out = 0;
  std::vector<draw::LegendEntry> entries;
  Json clouds = Json::array(), layers = Json::array();
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const draw::MeasuredSeries& series = plot.series[s];
    const auto symbol = static_cast<draw::Symbol>(s % draw::kSymbols);
    Json values = Json::array();
    for (const draw::MeasuredPoint& point : series.points) {
      if (!draw::can_show(plot.scale, point.measured) || !draw::can_show(plot.scale, point.predicted)) {
        ++left_out;
        continue;
      }
      range.include(point.measured);
      range.include(point.predicted);
      values.push_back({{"x", point.measured}, {"y", point.predicted}, {"point", point.detail}});
    }
    Json mark = symbol_mark(symbol, Paint::category(s), kRadius);
    mark["opacity"] = 0.85;
    clouds.push_back({{"data", data_of(std::move(values))}, {"mark", std::move(mark)}});
    entries.push_back({series.label, draw::LegendKey::kSymbol, Paint::category(s), symbol});
  }
  entries.push_back({"equal", draw::LegendKey::kDashedLine, Paint::role(draw::Role::kMark)});
  const draw::Axis x(across, range, 0, side, draw::Side::kBottom), y(up, range, side, 0, draw::Side::kLeft);
  const Json ends =
      Json::array({{{"x", x.low()}, {"y", x.low()}}, {{"x", x.high()}, {"y", x.high()}}});
  clouds.push_back({{"data", data_of(ends)},
                    {"mark",
                     {{"type", "line"},
                      {"color", color_of(draw::Role::kMark)},
                      {"strokeWidth", 1.2},
                      {"strokeDash", {6, 4}}}}});
  layers.push_back({{"encoding",
                     {{"x", quantity("x", across, x)},
                      {"y", quantity("y", up, y)},
                      {"tooltip", tooltip({{"point", "point"}, {"x", across.label}, {"y", up.label}})}}},
                    {"layer", std::move(clouds)}});
  add_legend(layers, entries, side);
  draw::Heading heading = plot.heading;
  if (left_out > 0)
    heading.subtitle += fmt::format("{}{} {} off the axes", heading.subtitle.empty() ? "" : "; ", left_out,
                                    left_out == 1 ? "point" : "points");
  Json chart = chart_of(heading, plot.size);
  chart["width"] = side;
  chart["height"] = side;
  chart["layer"] = std::move(layers);
  return chart;
}

}  // namespace natten_sim::report::vega
