#include "vega/parts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/draw/text.hpp>

namespace natten_sim::report::vega {
namespace {

using draw::LegendKey;
using draw::Paint;
using draw::Role;

constexpr double kTitleSize = 14;

/// Vega draws a path of size s at sqrt(s) / 2 pixels a unit.
double size_of(double pixels_a_unit) { return 4 * pixels_a_unit * pixels_a_unit; }

std::string circle(double r) { return fmt::format("M{0},0A{0},{0},0,1,1,-{0},0A{0},{0},0,1,1,{0},0Z", r); }

/// As draw::Document::symbol has them, around (0, 0).
std::string symbol_path(draw::Symbol symbol, double r) {
  const auto polygon = [r](std::initializer_list<std::pair<double, double>> corners) {
    std::string path;
    for (const auto& [x, y] : corners)
      path += fmt::format("{}{:.4g},{:.4g}", path.empty() ? 'M' : 'L', x * r, y * r);
    return path + "Z";
  };
  switch (symbol) {
    case draw::Symbol::kCircle:
      return circle(r);
    case draw::Symbol::kSquare:
      return polygon({{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}});
    case draw::Symbol::kTriangle:
      return polygon({{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}});
    case draw::Symbol::kDiamond:
      return polygon({{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}});
    case draw::Symbol::kCross:
      return fmt::format("M-{0},-{0}L{0},{0}M-{0},{0}L{0},-{0}", r);
    case draw::Symbol::kDownTriangle:
      return polygon({{0, 1.2}, {1.2, -1}, {-1.2, -1}});
    case draw::Symbol::kPlus:
      return fmt::format("M-{0:.4g},0L{0:.4g},0M0,-{0:.4g}L0,{0:.4g}", 1.2 * r);
    case draw::Symbol::kBowTie:
      return polygon({{-1.2, -1}, {1.2, 1}, {1.2, -1}, {-1.2, 1}});
  }
  return circle(r);
}

/// The key of a legend as a path, one unit wide to each side.
std::string key_path(const draw::LegendEntry& entry) {
  constexpr double kSymbol = 0.5, kRing = 0.7;
  switch (entry.key) {
    case LegendKey::kSwatch:
    case LegendKey::kOutline:
      return "M-0.8,-0.6H0.8V0.6H-0.8Z";
    case LegendKey::kRing:
      return circle(kRing);
    case LegendKey::kLine:
      return "M-1,0H1";
    case LegendKey::kDashedLine:
      return "M-1,0H-0.2M0.2,0H1";
    case LegendKey::kDottedLine:
      return "M-1,0H-0.7M-0.15,0H0.15M0.7,0H1";
    case LegendKey::kLineAndSymbol:
      return "M-1,0H1" + symbol_path(entry.symbol, kSymbol);
    case LegendKey::kSymbol:
      return symbol_path(entry.symbol, kSymbol);
  }
  return circle(kSymbol);
}

Json by_series(const std::vector<std::string>& names, Json range) {
  return {{"field", "series"}, {"type", "nominal"}, {"scale", {{"domain", names}, {"range", std::move(range)}}}};
}

/// One text, or an array of lines.
Json lines_of(const std::string& text, double width, double size, bool bold) {
  std::vector<std::string> lines = draw::wrapped(text, width, size, bold);
  if (lines.empty()) return "";
  return lines.size() == 1 ? Json(lines.front()) : Json(lines);
}

Json label_layer(const std::string& label, const char* along, double at, const char* other, double pixels,
                 const char* align) {
  Json encoding = {{along, datum(at)}, {other, constant(pixels)}, {"text", constant(label)}};
  return {{"data", data_of(Json::array({Json::object()}))},
          {"mark",
           {{"type", "text"},
            {"align", align},
            {"baseline", "top"},
            {"dx", std::string(align) == "left" ? 5 : -5},
            {"color", color_of(Role::kText)}}},
          {"encoding", std::move(encoding)}};
}

/// Labels of things across stand below each other; those in the right third stand left of their line.
void add_label(Json& layers, const std::string& label, draw::Direction direction, double at, const draw::Axis& x,
               std::size_t place) {
  if (label.empty()) return;
  constexpr double kLine = 15, kTop = 5;
  const double below = kTop + kLine * static_cast<double>(place);
  if (direction == draw::Direction::kUp) {
    layers.push_back(label_layer(label, "y", at, "x", 0, "left"));
    return;
  }
  const double share = (x.place(at) - x.place(x.low())) / (x.place(x.high()) - x.place(x.low()));
  layers.push_back(label_layer(label, "x", at, "y", below, share > 2.0 / 3 ? "right" : "left"));
}

}  // namespace

std::string parameter_name(const Paint& paint) {
  std::string name = paint.name();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Json color_of(const Paint& paint) { return {{"expr", parameter_name(paint)}}; }
Json color_of(Role role) { return color_of(Paint::role(role)); }

Json chart_of(const draw::Heading& heading, double width) {
  Json chart = Json::object();
  if (heading.title.empty() && heading.subtitle.empty()) return chart;
  Json title = {{"text", lines_of(heading.title, width, kTitleSize, true)}};
  if (!heading.subtitle.empty()) title["subtitle"] = lines_of(heading.subtitle, width, kLabelSize, false);
  chart["title"] = std::move(title);
  return chart;
}

Json data_of(Json values) { return {{"values", std::move(values)}}; }

Json quantity(const char* field, const draw::AxisSpec& spec, const draw::Axis& axis) {
  Json values = Json::array(), labels = Json::array();
  for (const draw::Tick& tick : axis.ticks()) {
    values.push_back(tick.value);
    labels.push_back(tick.label);
  }
  const std::string label = json_text(labels) + "[indexof(" + json_text(values) + ",datum.value)]";
  return {{"field", field},
          {"type", "quantitative"},
          {"title", spec.label.empty() ? Json() : Json(spec.label)},
          {"scale",
           {{"type", spec.scale == draw::Scale::kLog ? "log" : "linear"},
            {"domain", Json::array({axis.low(), axis.high()})},
            {"nice", false},
            {"zero", false}}},
          {"axis",
           {{"values", std::move(values)},
            {"labelExpr", label},
            {"labelOverlap", false},
            {"labelFlush", false}}}};
}

Json datum(double value) { return {{"datum", value}, {"type", "quantitative"}}; }
Json constant(Json value) {
  Json object = Json::object();
  object["value"] = std::move(value);
  return object;
}

Json symbol_mark(draw::Symbol symbol, const Paint& paint, double radius) {
  return {{"type", "point"},
          {"shape", symbol_path(symbol, 1)},
          {"size", size_of(radius)},
          {"fill", color_of(paint)},
          {"stroke", color_of(paint)},
          {"strokeWidth", 1},
          {"opacity", 1}};
}

Json ring_mark(const Paint& paint, double radius) {
  return {{"type", "point"},
          {"shape", circle(1)},
          {"size", size_of(radius)},
          {"fill", "transparent"},
          {"stroke", color_of(paint)},
          {"strokeWidth", 2},
          {"opacity", 1}};
}

void add_legend(Json& layers, const std::vector<draw::LegendEntry>& entries, double width) {
  constexpr double kKey = 36;           // the key and the gaps around it
  constexpr double kWiderFont = 0.15;  // the reader's font may be wider than the one that Vega measures
  std::vector<std::string> names;
  Json fills = Json::array(), strokes = Json::array(), shapes = Json::array();
  double widest = 0;
  for (const draw::LegendEntry& entry : entries) {
    if (entry.label.empty() || std::find(names.begin(), names.end(), entry.label) != names.end()) continue;
    const bool open = entry.key == LegendKey::kRing || entry.key == LegendKey::kOutline;
    names.push_back(entry.label);
    fills.push_back(open ? Json("transparent") : color_of(entry.paint));
    strokes.push_back(color_of(entry.paint));
    shapes.push_back(key_path(entry));
    widest = std::max(widest, draw::text_width(entry.label, kLabelSize));
  }
  if (names.empty()) return;
  const auto columns = static_cast<std::int64_t>(
      std::clamp(width / (widest + kKey), 1.0, static_cast<double>(names.size())));
  const double padding = 10 + kWiderFont * widest;
  Json encoding = {{"fill", by_series(names, std::move(fills))},
                   {"stroke", by_series(names, std::move(strokes))},
                   {"shape", by_series(names, std::move(shapes))}};
  for (const char* channel : {"fill", "stroke", "shape"}) {
    encoding[channel]["title"] = nullptr;
    encoding[channel]["legend"] = {{"columns", columns}, {"columnPadding", padding}};
  }
  layers.push_back({{"data", data_of(Json::array())},
                    {"mark", {{"type", "point"}, {"strokeWidth", 2}, {"opacity", 1}}},
                    {"encoding", std::move(encoding)}});
}

Json tooltip(const std::vector<std::pair<std::string, std::string>>& fields) {
  Json shown = Json::array();
  for (const auto& [field, title] : fields) shown.push_back({{"field", field}, {"title", title}});
  return shown;
}

void add_marks(Json& layers, const std::vector<draw::Mark>& marks, const draw::Axis& x, const draw::Axis& y) {
  std::size_t labels = 0;
  for (const draw::Mark& mark : marks) {
    const bool across = mark.direction == draw::Direction::kAcross;
    if (!(across ? x : y).shows(mark.at)) continue;
    layers.push_back({{"data", data_of(Json::array({Json::object()}))},
                      {"mark",
                       {{"type", "rule"},
                        {"color", color_of(Role::kMark)},
                        {"strokeWidth", 1.5},
                        {"strokeDash", {6, 4}}}},
                      {"encoding", {{across ? "x" : "y", datum(mark.at)}}}});
    add_label(layers, mark.label, mark.direction, mark.at, x, labels++);
  }
}

void add_bands(Json& layers, const std::vector<draw::Band>& bands, const draw::Axis& x, const draw::Axis& y) {
  std::size_t labels = 0;
  for (const draw::Band& band : bands) {
    const bool across = band.direction == draw::Direction::kAcross;
    const draw::Axis& axis = across ? x : y;
    const double from = std::max(std::min(band.from, band.to), axis.low()),
                 to = std::min(std::max(band.from, band.to), axis.high());
    if (!(from < to)) continue;
    layers.push_back({{"data", data_of(Json::array({Json::object()}))},
                      {"mark", {{"type", "rect"}, {"color", color_of(Role::kBand)}}},
                      {"encoding", {{across ? "x" : "y", datum(from)}, {across ? "x2" : "y2", {{"datum", to}}}}}});
    add_label(layers, band.label, band.direction, across ? from : to, x, labels++);
  }
}

}  // namespace natten_sim::report::vega
