#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/report/draw/text.hpp>

namespace natten_sim::draw {
namespace {

constexpr double kAscent = 0.93, kDescent = 0.24;  // of a font size, DejaVu Sans

std::string tooltip_of(std::string_view tooltip) {
  return tooltip.empty() ? std::string() : "<title>" + escape(tooltip) + "</title>";
}

/// Style of a mark that has lines and no face.
Style as_stroke(Style style) {
  if (style.fill) style.stroke = style.fill;
  style.stroke_width = 2;
  return style;
}

}  // namespace

bool Box::overlaps(const Box& other) const {
  return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
}

Box text_box(double x, double y, std::string_view text, const TextStyle& style) {
  const double width = text_width(text, style.size, style.bold);
  const double left = style.anchor == Anchor::kStart ? x
                      : style.anchor == Anchor::kEnd ? x - width
                                                     : x - width / 2;
  return {left, y - kAscent * style.size, width, (kAscent + kDescent) * style.size};
}

std::string length_text(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("a length in a picture is not finite");
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string move_to(double x, double y) { return "M" + length_text(x) + " " + length_text(y); }
std::string line_to(double x, double y) { return "L" + length_text(x) + " " + length_text(y); }
std::string rectangle(const Box& box) {
  return move_to(box.x, box.y) + "H" + length_text(box.right()) + "V" + length_text(box.bottom()) + "H" +
         length_text(box.x) + "Z";
}

Document::Document(std::string_view title) : title_(title) {}

std::string Document::use(const char* property, const Paint& paint) {
  const std::string name = fmt::format("ns-{}-{}", property[0], paint.name());
  rules_.try_emplace(name, Rule{property, paint.shade()});
  return name;
}

std::string Document::classes(const Style& style) {
  std::string names;
  if (style.fill) names = use("fill", *style.fill);
  if (style.stroke) names += (names.empty() ? "" : " ") + use("stroke", *style.stroke);
  return names;
}

std::string Document::attributes(const Style& style) const {
  std::string text;
  if (!style.fill) text += " fill=\"none\"";
  if (style.stroke && style.stroke_width != 1)
    text += " stroke-width=\"" + length_text(style.stroke_width) + "\"";
  if (style.dash == Dash::kDashed) text += " stroke-dasharray=\"6 4\"";
  if (style.dash == Dash::kDotted) text += " stroke-dasharray=\"1.5 3\"";
  if (style.opacity != 1) text += " opacity=\"" + length_text(style.opacity) + "\"";
  if (style.crisp) text += " shape-rendering=\"crispEdges\"";
  return text;
}

void Document::element(const std::string& start, const Style& style, std::string_view tooltip) {
  const std::string names = classes(style);
  const std::size_t end = start.find(' ');
  body_ += start + (names.empty() ? "" : " class=\"" + names + "\"") + attributes(style);
  body_ += tooltip.empty() ? "/>\n" : ">" + tooltip_of(tooltip) + "</" + start.substr(1, end - 1) + ">\n";
}

void Document::rect(const Box& box, const Style& style, std::string_view tooltip) {
  element("<rect x=\"" + length_text(box.x) + "\" y=\"" + length_text(box.y) + "\" width=\"" +
              length_text(box.width) + "\" height=\"" + length_text(box.height) + "\"",
          style, tooltip);
}

void Document::line(double x1, double y1, double x2, double y2, const Style& style) {
  path(move_to(x1, y1) + line_to(x2, y2), style);
}

void Document::path(const std::string& data, const Style& style, std::string_view tooltip) {
  if (!data.empty()) element("<path d=\"" + data + "\"", style, tooltip);
}

void Document::symbol(Symbol symbol, double x, double y, double radius, const Style& style,
                      std::string_view tooltip) {
  const double r = radius;
  switch (symbol) {
    case Symbol::kCircle:
      element(
          "<circle cx=\"" + length_text(x) + "\" cy=\"" + length_text(y) + "\" r=\"" + length_text(r) + "\"",
          style, tooltip);
      return;
    case Symbol::kSquare:
      path(rectangle({x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r}), style, tooltip);
      return;
    case Symbol::kTriangle:
      path(move_to(x, y - 1.2 * r) + line_to(x + 1.1 * r, y + 0.8 * r) + line_to(x - 1.1 * r, y + 0.8 * r) +
               "Z",
           style, tooltip);
      return;
    case Symbol::kDiamond:
      path(move_to(x, y - 1.3 * r) + line_to(x + 1.3 * r, y) + line_to(x, y + 1.3 * r) +
               line_to(x - 1.3 * r, y) + "Z",
           style, tooltip);
      return;
    case Symbol::kCross:
      path(move_to(x - r, y - r) + line_to(x + r, y + r) + move_to(x - r, y + r) + line_to(x + r, y - r),
           as_stroke(style), tooltip);
      return;
    case Symbol::kDownTriangle:
      path(move_to(x, y + 1.2 * r) + line_to(x + 1.2 * r, y - r) + line_to(x - 1.2 * r, y - r) + "Z", style,
           tooltip);
      return;
    case Symbol::kPlus:
      path(move_to(x - 1.2 * r, y) + line_to(x + 1.2 * r, y) + move_to(x, y - 1.2 * r) +
               line_to(x, y + 1.2 * r),
           as_stroke(style), tooltip);
      return;
    case Symbol::kBowTie:
      path(move_to(x - 1.2 * r, y - r) + line_to(x + 1.2 * r, y + r) + line_to(x + 1.2 * r, y - r) +
               line_to(x - 1.2 * r, y + r) + "Z",
           style, tooltip);
      return;
  }
}

void Document::text(double x, double y, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  std::string attributes = " class=\"" + use("fill", style.paint);
  if (style.halo) attributes += " " + use("stroke", Paint::role(Role::kBackground));
  attributes += "\"";
  if (style.halo) attributes += " stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
  if (style.size != 12) attributes += " font-size=\"" + length_text(style.size) + "\"";
  if (style.anchor == Anchor::kMiddle) attributes += " text-anchor=\"middle\"";
  if (style.anchor == Anchor::kEnd) attributes += " text-anchor=\"end\"";
  if (style.bold) attributes += " font-weight=\"bold\"";
  body_ += "<text x=\"" + length_text(x) + "\" y=\"" + length_text(y) + "\"" + attributes + ">" +
           escape(text) + "</text>\n";
}

void Document::begin_clip(const Box& box) {
  const std::string x = length_text(box.x), y = length_text(box.y), w = length_text(box.width),
                    h = length_text(box.height);
  body_ += "<svg x=\"" + x + "\" y=\"" + y + "\" width=\"" + w + "\" height=\"" + h + "\" viewBox=\"" + x +
           " " + y + " " + w + " " + h + "\" overflow=\"hidden\">\n";
}

void Document::end_clip() { body_ += "</svg>\n"; }

void Document::picture(double x, double y, const Picture& inner) {
  body_ +=
      "<g transform=\"translate(" + length_text(x) + " " + length_text(y) + ")\">\n" + inner.svg + "</g>\n";
}

Picture Document::finish(double width, double height) && {
  if (!(width > 0) || !(height > 0)) throw std::invalid_argument("a picture needs a positive size");
  const std::string ground = use("fill", Paint::role(Role::kBackground));
  std::string light, dark;
  for (const auto& [name, rule] : rules_) {
    light += fmt::format(".{}{{{}:{}}}\n", name, rule.property, to_hex(rule.shade.light));
    dark += fmt::format(".{}{{{}:{}}}\n", name, rule.property, to_hex(rule.shade.dark));
  }
  const std::string w = length_text(std::ceil(width)), h = length_text(std::ceil(height));
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
                    "\" viewBox=\"0 0 " + w + " " + h +
                    "\" role=\"img\" font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,"
                    "sans-serif\" font-size=\"12\">\n<title>" +
                    escape(title_) + "</title>\n<style>\n" + light + "@media (prefers-color-scheme:dark){\n" +
                    dark + "}\n</style>\n<rect width=\"" + w + "\" height=\"" + h + "\" class=\"" + ground +
                    "\"/>\n" + body_ + "</svg>\n";
  return {.svg = std::move(svg), .width = std::ceil(width), .height = std::ceil(height), .title = title_};
}

}  // namespace natten_sim::draw
