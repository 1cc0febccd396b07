#include <algorithm>

#include <natten_sim/report/draw/text.hpp>

#include "vega/charts.hpp"

namespace natten_sim::report::vega {
namespace {

using draw::Paint;

constexpr double kRow = 20, kDotRadius = 4, kRingRadius = 6, kMargins = 60, kLeastWidth = 240;

/// In a legend a series without a number would name nothing.
bool has_number(const draw::DotPlot& plot, std::size_t series) {
  return std::any_of(plot.rows.begin(), plot.rows.end(), [&](const draw::DotRow& row) {
    return series < row.values.size() && row.values[series];
  });
}

Json series_layer(const std::string& name, Json mark) {
  return {{"transform", Json::array({{{"filter", {{"field", "series"}, {"equal", name}}}}})},
          {"mark", std::move(mark)}};
}

/// A thin line from the least to the greatest number of an item.
Json span_layer() {
  return {{"transform",
           Json::array({{{"aggregate", Json::array({{{"op", "min"}, {"field", "value"}, {"as", "least"}},
                                                    {{"op", "max"}, {"field", "value"}, {"as", "most"}}})},
                         {"groupby", Json::array({"item"})}}})},
          {"mark", {{"type", "rule"}, {"color", color_of(draw::Role::kAxis)}, {"strokeWidth", 1.5}}},
          {"encoding", {{"x", {{"field", "least"}, {"type", "quantitative"}}}, {"x2", {{"field", "most"}}}}}};
}

}  // namespace

Json chart_of(const draw::DotPlot& plot) {
  Json values = Json::array();
  draw::Range range;
  double labels = 0;
  for (const draw::DotRow& row : plot.rows) {
    labels = std::max(labels, draw::text_width(row.label, kLabelSize));
    for (std::size_t s = 0; s < row.values.size(); ++s) {
      if (!row.values[s] || !draw::can_show(plot.value.scale, *row.values[s])) continue;
      range.include(*row.values[s]);
      values.push_back({{"item", row.label}, {"series", plot.series[s]}, {"value", *row.values[s]}});
    }
  }
  std::vector<draw::LegendEntry> entries;
  Json dots = Json::array({span_layer()});
  for (std::size_t s = plot.series.size(); s-- > 0;) {  // the ring, which shows what lies below it, is last
    if (!has_number(plot, s)) continue;
    const Paint paint = Paint::category(s);
    const auto symbol = static_cast<draw::Symbol>(s % draw::kSymbols);
    entries.insert(entries.begin(), {plot.series[s], s == 0 ? draw::LegendKey::kRing : draw::LegendKey::kSymbol,
                                     paint, symbol});
    dots.push_back(series_layer(plot.series[s],
                                s == 0 ? ring_mark(paint, kRingRadius) : symbol_mark(symbol, paint, kDotRadius)));
  }
  const double label_width = std::min(labels + 8, 0.6 * plot.width);
  const double width = std::max(kLeastWidth, plot.width - label_width - kMargins);
  const draw::Axis axis(plot.value, range, 0, width, draw::Side::kBottom);
  Json encoding = {
      {"x", quantity("value", plot.value, axis)},
      {"y",
       {{"field", "item"},
        {"type", "nominal"},
        {"sort", nullptr},
        {"title", nullptr},
        {"axis",
         {{"labelLimit", label_width},
          {"minExtent", label_width},
          {"labelFontSize", kLabelSize},
          {"labelPadding", 10},
          {"labelColor", color_of(draw::Role::kText)},
          {"ticks", false},
          {"grid", false}}}}},
      {"tooltip",
       tooltip({{"item", "item"},
                {"series", "series"},
                {"value", plot.value.label.empty() ? "number" : plot.value.label}})}};
  Json layers = Json::array({{{"encoding", std::move(encoding)}, {"layer", std::move(dots)}}});
  add_legend(layers, entries, width);
  Json chart = chart_of(plot.heading, plot.width);
  chart["data"] = data_of(std::move(values));
  chart["width"] = width;
  chart["height"] = {{"step", kRow}};
  chart["layer"] = std::move(layers);
  return chart;
}

}  // namespace natten_sim::report::vega
