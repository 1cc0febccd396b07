#include "vega/charts.hpp"

namespace natten_sim::report::vega {
namespace {

using draw::Paint;
using draw::Series;
using draw::SeriesStyle;

constexpr double kSymbolRadius = 4;

draw::Symbol symbol_of(std::size_t category) { return static_cast<draw::Symbol>(category % draw::kSymbols); }

bool has_line(const Series& series) { return series.style != SeriesStyle::kPoints; }
bool has_symbols(const Series& series) {
  return series.style == SeriesStyle::kPoints || series.style == SeriesStyle::kLineAndPoints;
}

/// The second round of colours has dashed lines.
bool is_dashed(const Series& series, std::size_t category) {
  return series.dashed || category / draw::kCategories % 2 == 1;
}

draw::LegendEntry legend_entry(const Series& series, std::size_t category) {
  using enum draw::LegendKey;
  const draw::LegendKey key = !has_line(series)             ? kSymbol
                              : is_dashed(series, category) ? kDashedLine
                              : has_symbols(series)         ? kLineAndSymbol
                                                            : kLine;
  return {series.label, key, Paint::category(category), symbol_of(category)};
}

bool shown(const draw::CurvePlot& plot, const draw::Point& point) {
  return draw::can_show(plot.x.scale, point.x) && draw::can_show(plot.y.scale, point.y);
}

/// Its line, if it has one, and its symbols on top.
void add_series(Json& layers, const draw::CurvePlot& plot, const Series& series, std::size_t category) {
  Json values = Json::array();
  for (const draw::Point& point : series.points) {
    if (shown(plot, point)) {
      values.push_back({{"x", point.x}, {"y", point.y}});
    } else if (has_line(series) && draw::can_show(plot.x.scale, point.x)) {
      values.push_back({{"x", point.x}, {"y", nullptr}});  // interrupts the line
    }
  }
  const Paint paint = Paint::category(category);
  Json marks = Json::array();
  if (has_line(series)) {
    Json line = {{"type", "line"}, {"color", color_of(paint)}, {"strokeWidth", 2}};
    if (series.style == SeriesStyle::kSteps) line["interpolate"] = "step-after";
    if (is_dashed(series, category)) line["strokeDash"] = {6, 4};
    marks.push_back(std::move(line));
  }
  if (has_symbols(series)) marks.push_back(symbol_mark(symbol_of(category), paint, kSymbolRadius));
  Json drawn = Json::array();
  for (std::size_t i = 0; i < marks.size(); ++i) drawn.push_back({{"mark", marks[i]}});
  Json layer = {{"data", data_of(std::move(values))}};
  if (!series.label.empty()) {
    layer["transform"] =
        Json::array({{{"calculate", json_text(Json(series.label))}, {"as", "series"}}});
  }
  layer["layer"] = std::move(drawn);
  layers.push_back(std::move(layer));
}

}  // namespace

Json chart_of(const draw::CurvePlot& plot) {
  const double width = plot.width - kAxisRoom;
  draw::Range xs, ys;
  std::vector<draw::LegendEntry> entries;
  Json curves = Json::array(), layers = Json::array();
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    const std::size_t category = series.category.value_or(i);
    entries.push_back(legend_entry(series, category));
    add_series(curves, plot, series, category);
    for (const draw::Point& point : series.points) {
      if (!shown(plot, point)) continue;
      xs.include(point.x);
      ys.include(point.y);
    }
  }
  const draw::Axis x(plot.x, xs, 0, width, draw::Side::kBottom), y(plot.y, ys, plot.plot_height, 0, draw::Side::kLeft);
  add_bands(layers, plot.bands, x, y);
  layers.push_back(
      {{"encoding",
        {{"x", quantity("x", plot.x, x)},
         {"y", quantity("y", plot.y, y)},
         {"tooltip", tooltip({{"series", "series"}, {"x", plot.x.label}, {"y", plot.y.label}})}}},
       {"layer", std::move(curves)}});
  add_marks(layers, plot.marks, x, y);
  add_legend(layers, entries, width);
  Json chart = chart_of(plot.heading, plot.width);
  chart["width"] = width;
  chart["height"] = plot.plot_height;
  chart["layer"] = std::move(layers);
  return chart;
}

}  // namespace natten_sim::report::vega
