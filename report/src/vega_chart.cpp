#include <algorithm>
#include <type_traits>
#include <vector>

#include <natten_sim/report/draw/palette.hpp>
#include <natten_sim/report/draw/panels.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/vega_chart.hpp>

#include "vega/charts.hpp"

namespace natten_sim::report {
namespace {

using draw::Paint;
using draw::Role;

constexpr const char* kSchema = "https://vega.github.io/schema/vega-lite/v6.json";

Json json_of(const Chart& chart) {
  return std::visit([](const auto& each) { return vega::chart_of(each); }, chart);
}

/// Every colour that a chart may name.
std::vector<Paint> chart_paints() {
  std::vector<Paint> paints;
  for (const Role role : {Role::kBackground, Role::kText, Role::kMutedText, Role::kAxis, Role::kGrid,
                          Role::kOutline, Role::kMark, Role::kBand, Role::kMissing})
    paints.push_back(Paint::role(role));
  for (std::size_t i = 0; i < draw::kCategories; ++i) paints.push_back(Paint::category(i));
  std::vector<Paint> inks;
  for (int step = 0; step <= draw::kRampSteps; ++step) {
    const double share = static_cast<double>(step) / draw::kRampSteps;
    for (const Paint& paint : {Paint::sequential(share), Paint::diverging(2 * share - 1)}) {
      paints.push_back(paint);
      inks.push_back(paint.ink());
    }
  }
  inks.push_back(Paint::role(Role::kMissing).ink());
  for (const Paint& ink : inks) {
    if (std::none_of(paints.begin(), paints.end(), [&](const Paint& each) { return each.name() == ink.name(); }))
      paints.push_back(ink);
  }
  return paints;
}

std::string hex_of(const Paint& paint, Scheme scheme) {
  return to_hex(scheme == Scheme::kLight ? paint.shade().light : paint.shade().dark);
}

/// The colours that `charts` names become parameters.
Json config_of(Scheme scheme, const std::string& charts) {
  const auto role = [&](Role each) { return hex_of(Paint::role(each), scheme); };
  Json parameters = Json::array();
  for (const Paint& paint : chart_paints()) {
    const std::string name = vega::parameter_name(paint);
    if (charts.find("\"expr\":\"" + name + "\"") != std::string::npos)
      parameters.push_back({{"name", name}, {"value", hex_of(paint, scheme)}});
  }
  const std::string text = role(Role::kText), muted = role(Role::kMutedText);
  return {{"background", role(Role::kBackground)},
          {"font", "sans-serif"},
          {"padding", 14},
          {"params", std::move(parameters)},
          {"title",
           {{"color", text},
            {"subtitleColor", muted},
            {"anchor", "start"},
            {"frame", "bounds"},
            {"fontSize", 14},
            {"subtitleFontSize", 12},
            {"subtitlePadding", 5},
            {"offset", 12}}},
          {"axis",
           {{"labelColor", muted},
            {"labelFontSize", 11},
            {"titleColor", muted},
            {"titleFontSize", 12},
            {"titleFontWeight", "normal"},
            {"domainColor", role(Role::kAxis)},
            {"tickColor", role(Role::kAxis)},
            {"gridColor", role(Role::kGrid)}}},
          {"legend",
           {{"labelColor", text},
            {"labelFontSize", 12},
            {"labelLimit", 600},
            {"labelOffset", 6},
            {"orient", "top"},
            {"rowPadding", 5},
            {"symbolSize", 256}}},
          {"view", {{"stroke", nullptr}}}};
}

/// A file of its own.
std::string specification(Json chart) {
  const std::string text = json_text(chart);
  Json file = {{"$schema", kSchema}};
  file.update(chart);
  file["config"] = config_of(Scheme::kLight, text);
  file["usermeta"] = {{"dark", config_of(Scheme::kDark, text)}};
  return json_text(file) + "\n";
}

/// A narrow plot is lower too.
template <typename Plot>
void resize(Plot& plot, double width) {
  if constexpr (requires { plot.plot_height; })
    plot.plot_height = std::clamp(plot.plot_height * width / plot.width, 180.0, std::max(180.0, plot.plot_height));
  if constexpr (requires { plot.width; }) {
    plot.width = width;
  } else {
    plot.size = width;
  }
}

template <typename Plot>
draw::Picture with_specification(const Plot& plot) {
  draw::Picture picture = draw::render(plot);
  picture.specification = specification(vega::chart_of(plot));
  if constexpr (!std::is_same_v<Plot, draw::HeatMap>) {
    picture.at_width = [plot](double width) {
      Plot other = plot;
      resize(other, width);
      return with_specification(other);
    };
  }
  return picture;
}

}  // namespace

std::string vega_lite(const Chart& chart) {
  Json file = {{"$schema", kSchema}};
  file.update(json_of(chart));
  return json_text(file);
}

draw::Picture picture_of(const draw::BarChart& chart) { return with_specification(chart); }
draw::Picture picture_of(const draw::CurvePlot& plot) { return with_specification(plot); }
draw::Picture picture_of(const draw::DotPlot& plot) { return with_specification(plot); }
draw::Picture picture_of(const draw::HeatMap& map) { return with_specification(map); }
draw::Picture picture_of(const draw::Histogram& histogram) { return with_specification(histogram); }
draw::Picture picture_of(const draw::ScatterPlot& plot) { return with_specification(plot); }

draw::Picture picture_of(std::span<const Chart> charts, int columns, const draw::Heading& heading) {
  if (charts.size() == 1 && heading.title.empty())
    return std::visit([](const auto& each) { return with_specification(each); }, charts.front());
  std::vector<draw::Picture> pictures;
  Json parts = Json::array();
  for (const Chart& chart : charts) {
    pictures.push_back(std::visit([](const auto& each) { return draw::render(each); }, chart));
    parts.push_back(json_of(chart));
  }
  draw::Picture picture = draw::beside(pictures, columns, heading);
  Json whole = vega::chart_of(heading, picture.width);
  whole["concat"] = std::move(parts);
  whole["columns"] = columns;
  whole["spacing"] = 28;
  Json independent = {{"fill", "independent"}, {"stroke", "independent"}, {"shape", "independent"}};
  whole["resolve"] = {{"scale", independent}, {"legend", independent}};
  picture.specification = specification(std::move(whole));
  return picture;
}

std::string vega_config(Scheme scheme) {
  std::string all;
  for (const Paint& paint : chart_paints()) all += json_text(vega::color_of(paint));
  return json_text(config_of(scheme, all));
}

}  // namespace natten_sim::report
