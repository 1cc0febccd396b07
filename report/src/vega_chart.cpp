#include <algorithm>
#include <vector>

#include <natten_sim/report/draw/palette.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/vega_chart.hpp>

namespace natten_sim::report {
namespace {

constexpr const char* kSchema = "https://vega.github.io/schema/vega-lite/v6.json";

/// Vega's names of draw::Symbol, in its order.
constexpr const char* kShapes[] = {"circle", "square", "triangle-up", "diamond", "cross"};

Json chart_of(const draw::Heading& heading) {
  Json chart = {{"$schema", kSchema}};
  if (!heading.title.empty() || !heading.subtitle.empty())
    chart["title"] = {{"text", heading.title}, {"subtitle", heading.subtitle}};
  return chart;
}

/// An axis: its quantity, and logarithmic where the plot is.
Json quantity(const char* field, const std::string& title, const draw::AxisSpec& axis) {
  Json scale = {{"type", axis.scale == draw::Scale::kLog ? "log" : "linear"}, {"zero", axis.from_zero}};
  Json result = {{"field", field}, {"type", "quantitative"}, {"title", title}, {"scale", std::move(scale)}};
  if (axis.unit == draw::Unit::kPercent) result["axis"] = {{"format", ".0%"}};
  return result;
}

/// Colour and shape by `field`, with the names in the order of the palette.
void add_series(Json& encoding, const std::vector<std::string>& names) {
  std::vector<std::string> shapes;
  for (std::size_t i = 0; i < names.size(); ++i) shapes.emplace_back(kShapes[i % std::size(kShapes)]);
  encoding["color"] = {
      {"field", "series"}, {"type", "nominal"}, {"title", nullptr}, {"scale", {{"domain", names}}}};
  encoding["shape"] = {{"field", "series"},
                       {"type", "nominal"},
                       {"title", nullptr},
                       {"scale", {{"domain", names}, {"range", shapes}}}};
}

Json tooltip(const std::vector<std::pair<std::string, std::string>>& fields) {
  Json shown = Json::array();
  for (const auto& [field, title] : fields) shown.push_back({{"field", field}, {"title", title}});
  return shown;
}

std::string text_of(const Json& chart) { return json_text(chart, JsonLayout::kOneLine); }

std::string hex_of(const draw::Paint& paint, Scheme scheme) {
  return to_hex(scheme == Scheme::kLight ? paint.shade().light : paint.shade().dark);
}

}  // namespace

std::string vega_lite(const draw::DotPlot& plot) {
  Json chart = chart_of(plot.heading), values = Json::array();
  std::vector<std::string> named;  // in Vega-Lite a domain is a legend: series without a number are left out
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    if (std::any_of(plot.rows.begin(), plot.rows.end(),
                    [&](const draw::DotRow& row) { return s < row.values.size() && row.values[s]; }))
      named.push_back(plot.series[s]);
  }
  for (const draw::DotRow& row : plot.rows) {
    for (std::size_t s = 0; s < row.values.size(); ++s) {
      if (row.values[s] && draw::can_show(plot.value.scale, *row.values[s]))
        values.push_back({{"item", row.label}, {"series", plot.series[s]}, {"value", *row.values[s]}});
    }
  }
  chart["data"] = {{"values", std::move(values)}};
  chart["width"] = 480;
  chart["height"] = {{"step", 18}};
  chart["mark"] = {{"type", "point"}, {"size", 60}, {"strokeWidth", 2}};
  Json encoding = {
      {"x", quantity("value", plot.value.label, plot.value)},
      {"y",
       {{"field", "item"},
        {"type", "nominal"},
        {"sort", nullptr},
        {"title", nullptr},
        {"axis", {{"labelLimit", 480}, {"grid", true}}}}},
      {"tooltip", tooltip({{"item", "item"}, {"series", "series"}, {"value", plot.value.label}})}};
  add_series(encoding, named);
  chart["encoding"] = std::move(encoding);
  return text_of(chart);
}

std::string vega_lite(const draw::CurvePlot& plot) {
  Json chart = chart_of(plot.heading), layers = Json::array();
  std::vector<std::string> names;
  for (const draw::Series& series : plot.series) names.push_back(series.label);
  for (const draw::Series& series : plot.series) {
    Json values = Json::array();
    for (const draw::Point& point : series.points) {
      if (draw::can_show(plot.x.scale, point.x) && draw::can_show(plot.y.scale, point.y))
        values.push_back({{"x", point.x}, {"y", point.y}, {"series", series.label}});
    }
    const bool points = series.style == draw::SeriesStyle::kPoints;
    Json mark = {{"type", points ? "point" : "line"}};
    if (points) mark.update({{"size", 60}, {"strokeWidth", 2}});
    if (!points) mark["point"] = series.style == draw::SeriesStyle::kLineAndPoints;
    if (series.style == draw::SeriesStyle::kSteps) mark["interpolate"] = "step-after";
    if (series.dashed) mark["strokeDash"] = {5, 4};
    Json encoding = {
        {"x", quantity("x", plot.x.label, plot.x)},
        {"y", quantity("y", plot.y.label, plot.y)},
        {"color",
         {{"field", "series"}, {"type", "nominal"}, {"title", nullptr}, {"scale", {{"domain", names}}}}},
        {"tooltip", tooltip({{"series", "series"}, {"x", plot.x.label}, {"y", plot.y.label}})}};
    layers.push_back({{"data", {{"values", std::move(values)}}},
                      {"mark", std::move(mark)},
                      {"encoding", std::move(encoding)}});
  }
  chart["width"] = 640;
  chart["height"] = 300;
  chart["layer"] = std::move(layers);
  return text_of(chart);
}

std::string vega_lite(const draw::ScatterPlot& plot) {
  Json chart = chart_of(plot.heading), values = Json::array();
  std::vector<std::string> names;
  draw::Range range;
  for (const draw::MeasuredSeries& series : plot.series) {
    names.push_back(series.label);
    for (const draw::MeasuredPoint& point : series.points) {
      if (!draw::can_show(plot.scale, point.measured) || !draw::can_show(plot.scale, point.predicted))
        continue;
      range.include(point.measured);
      range.include(point.predicted);
      values.push_back(
          {{"x", point.measured}, {"y", point.predicted}, {"series", series.label}, {"point", point.detail}});
    }
  }
  const std::string unit = plot.quantity.empty() ? "" : " (" + plot.quantity + ")";
  const draw::AxisSpec axis{.label = "", .scale = plot.scale, .unit = plot.unit};
  Json encoding = {
      {"x", quantity("x", plot.across + unit, axis)},
      {"y", quantity("y", plot.up + unit, axis)},
      {"tooltip",
       tooltip(
           {{"point", "point"}, {"series", "series"}, {"x", plot.across + unit}, {"y", plot.up + unit}})}};
  add_series(encoding, names);
  Json layers = Json::array();
  if (!range.empty()) {
    const Json ends =
        Json::array({{{"x", range.low}, {"y", range.low}}, {{"x", range.high}, {"y", range.high}}});
    layers.push_back(
        {{"data", {{"values", ends}}},
         {"mark", {{"type", "line"}, {"strokeDash", {5, 4}}, {"strokeWidth", 1}, {"color", "#888888"}}},
         {"encoding",
          {{"x", quantity("x", plot.across + unit, axis)}, {"y", quantity("y", plot.up + unit, axis)}}}});
  }
  layers.push_back({{"data", {{"values", std::move(values)}}},
                    {"mark", {{"type", "point"}, {"size", 40}, {"filled", true}, {"opacity", 0.85}}},
                    {"encoding", std::move(encoding)}});
  chart["width"] = 420;
  chart["height"] = 420;
  chart["layer"] = std::move(layers);
  return text_of(chart);
}

std::string vega_config(Scheme scheme) {
  const auto role = [&](draw::Role each) { return hex_of(draw::Paint::role(each), scheme); };
  const std::string text = role(draw::Role::kText), muted = role(draw::Role::kMutedText);
  std::vector<std::string> categories;
  for (std::size_t i = 0; i < draw::kCategories; ++i)
    categories.push_back(hex_of(draw::Paint::category(i), scheme));
  return text_of({{"background", role(draw::Role::kBackground)},
                  {"font", "system-ui, sans-serif"},
                  {"title", {{"color", text}, {"subtitleColor", muted}, {"anchor", "start"}}},
                  {"axis",
                   {{"labelColor", muted},
                    {"titleColor", muted},
                    {"domainColor", role(draw::Role::kAxis)},
                    {"tickColor", role(draw::Role::kAxis)},
                    {"gridColor", role(draw::Role::kGrid)}}},
                  {"legend", {{"labelColor", text}, {"orient", "top"}, {"labelLimit", 400}}},
                  {"view", {{"stroke", nullptr}}},
                  {"range", {{"category", categories}}}});
}

}  // namespace natten_sim::report
