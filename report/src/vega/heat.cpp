#include <algorithm>
#include <cmath>

#include <natten_sim/report/draw/text.hpp>

#include "vega/charts.hpp"

namespace natten_sim::report::vega {
namespace {

using draw::Paint;

constexpr double kCellHeight = 20, kNumberSize = 11, kLeastCell = 34, kMaxCell = 100;

bool has_value(const draw::HeatCell& cell) { return cell.value && std::isfinite(*cell.value); }

std::string text_of(const draw::HeatCell& cell, draw::Unit unit) {
  if (!has_value(cell)) return cell.reason.empty() ? "-" : cell.reason;
  return cell.text.empty() ? draw::number_text(*cell.value, unit) : cell.text;
}

Paint paint_of(const draw::ColorScale& scale, double fraction) {
  return scale.middle ? Paint::diverging(fraction) : Paint::sequential(fraction);
}

Paint paint_of(const draw::HeatMap& map, const draw::HeatCell& cell) {
  if (!has_value(cell)) return Paint::role(draw::Role::kMissing);
  return paint_of(map.scale, draw::fraction_of(map.scale, *cell.value));
}

double cell_width(const draw::HeatMap& map) {
  double width = kLeastCell;
  for (const draw::HeatLine& line : map.lines) {
    for (const draw::HeatPanel& panel : line.panels) {
      for (const draw::HeatCell& cell : panel.cells)
        width = std::max(width, draw::text_width(text_of(cell, map.scale.unit), kNumberSize) + 8);
    }
  }
  return std::min(width, kMaxCell);
}

/// Fields of data whose values are names of colours.
class NamedColors {
 public:
  const std::string& add(const Paint& paint) {
    const std::string name = parameter_name(paint);
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
      names_.push_back(name);
      colors_.push_back(color_of(paint));
    }
    return *std::find(names_.begin(), names_.end(), name);
  }
  [[nodiscard]] Json channel(const char* field) const {
    return {{"field", field},
            {"type", "nominal"},
            {"legend", nullptr},
            {"scale", {{"domain", names_}, {"range", colors_}}}};
  }

 private:
  std::vector<std::string> names_;
  Json colors_ = Json::array();
};

/// Of charts side by side: each keeps its own names of colours.
Json own_colors() { return {{"scale", {{"color", "independent"}, {"fill", "independent"}}}}; }

Json labels_axis(const char* field, const std::string& title, bool shown) {
  Json axis = {{"domain", false}, {"ticks", false}, {"grid", false}, {"labelAngle", 0}, {"labels", shown}};
  return {{"field", field},
          {"type", "nominal"},
          {"sort", nullptr},
          {"title", shown && !title.empty() ? Json(title) : Json()},
          {"axis", std::move(axis)}};
}

/// Room for the labels of the rows, by the widths of the widest font.
double row_room(const draw::HeatPanel& panel) {
  double room = 0;
  for (const std::string& row : panel.rows) room = std::max(room, draw::text_width(row, kNumberSize));
  return room + 6;
}

Json panel_chart(const draw::HeatMap& map, const draw::HeatPanel& panel, double width, bool row_labels) {
  NamedColors fills, inks;
  Json values = Json::array();
  for (std::size_t row = 0; row < panel.rows.size(); ++row) {
    for (std::size_t column = 0; column < panel.columns.size(); ++column) {
      const draw::HeatCell& cell = panel.cells[row * panel.columns.size() + column];
      const Paint paint = paint_of(map, cell);
      values.push_back(
          {{"row", panel.rows[row]},
           {"column", panel.columns[column]},
           {"text", draw::shortened(text_of(cell, map.scale.unit), width - 4, kNumberSize)},
           {"fill", fills.add(paint)},
           {"ink", inks.add(paint.ink())}});
    }
  }
  Json across = labels_axis("column", map.column_name, true);
  across["axis"]["orient"] = "top";
  Json down = labels_axis("row", map.row_name, row_labels);
  if (row_labels) down["axis"]["minExtent"] = row_room(panel);
  Json cells = {{"mark", {{"type", "rect"}}}, {"encoding", {{"fill", fills.channel("fill")}}}};
  Json texts = {{"mark", {{"type", "text"}, {"fontSize", kNumberSize}}},
                {"encoding", {{"text", {{"field", "text"}}}, {"color", inks.channel("ink")}}}};
  return {{"title", {{"text", panel.title}, {"fontSize", kNumberSize}}},
          {"data", data_of(std::move(values))},
          {"width", {{"step", width}}},
          {"height", {{"step", kCellHeight}}},
          {"encoding", {{"x", std::move(across)}, {"y", std::move(down)}}},
          {"layer", Json::array({std::move(cells), std::move(texts)})}};
}

/// The scale of colours with the numbers at its ends, its middle and halfway between.
Json ramp_chart(const draw::ColorScale& scale) {
  constexpr double kWidth = 264, kHeight = 10, kSteps = 33;
  const auto between = [&](double a, double b) {
    return scale.axis == draw::Scale::kLog ? std::sqrt(a) * std::sqrt(b) : a / 2 + b / 2;
  };
  const double middle = scale.middle.value_or(between(scale.low, scale.high));
  Json labels = Json::array(), values = Json::array(), places = Json::array({0.0, 0.25, 0.5, 0.75, 1.0});
  for (const double value : {scale.low, between(scale.low, middle), middle, between(middle, scale.high), scale.high})
    labels.push_back(draw::number_text(value, scale.unit));
  NamedColors fills;
  for (double step = 0; step < kSteps; ++step) {
    const double share = step / (kSteps - 1);
    values.push_back({{"from", step / kSteps},
                      {"to", (step + 1) / kSteps},
                      {"fill", fills.add(paint_of(scale, scale.middle ? 2 * share - 1 : share))}});
  }
  std::string title = scale.low_note;
  if (!scale.high_note.empty()) title += " \u2190 \u2192 " + scale.high_note;
  const std::string label = json_text(labels) + "[indexof(" + json_text(places) + ",datum.value)]";
  return {{"data", data_of(std::move(values))},
          {"width", kWidth},
          {"height", kHeight},
          {"mark", {{"type", "rect"}}},
          {"encoding",
           {{"x",
             {{"field", "from"},
              {"type", "quantitative"},
              {"title", title},
              {"scale", {{"domain", Json::array({0, 1})}, {"nice", false}}},
              {"axis",
               {{"values", places}, {"labelExpr", label}, {"grid", false}, {"domain", false}, {"ticks", false}}}}},
            {"x2", {{"field", "to"}}},
            {"fill", fills.channel("fill")}}}};
}

}  // namespace

Json chart_of(const draw::HeatMap& map) {
  const double width = cell_width(map);
  Json lines = Json::array({ramp_chart(map.scale)});
  double widest = 480;
  for (const draw::HeatLine& line : map.lines) {
    Json panels = Json::array();
    double across = 0;
    for (std::size_t i = 0; i < line.panels.size(); ++i) {
      const draw::HeatPanel& panel = line.panels[i];
      const bool labels = i == 0 || panel.rows != line.panels.front().rows;
      panels.push_back(panel_chart(map, panel, width, labels));
      across += width * static_cast<double>(panel.columns.size());
    }
    widest = std::max(widest, across);
    lines.push_back({{"title", {{"text", line.title}}},
                     {"hconcat", std::move(panels)},
                     {"spacing", 14},
                     {"resolve", own_colors()}});
  }
  Json chart = chart_of(map.heading, widest);
  chart["vconcat"] = std::move(lines);
  chart["resolve"] = own_colors();
  return chart;
}

}  // namespace natten_sim::report::vega
