#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/draw/legend.hpp>
#include <natten_sim/report/draw/text.hpp>

namespace natten_sim::draw {
namespace {

constexpr double kTop = 14, kTitleSize = 14, kRow = 18, kSymbolWidth = 22, kGap = 18;

void draw_key(Document& document, const LegendEntry& entry, double x, double middle) {
  const auto stroke = [&](Dash dash) {
    document.line(x, middle, x + 18, middle, {.stroke = entry.paint, .stroke_width = 2, .dash = dash});
  };
  switch (entry.key) {
    case LegendKey::kSwatch:
      document.rect({x + 2, middle - 6, 14, 12}, {.fill = entry.paint});
      return;
    case LegendKey::kOutline:
      document.rect({x + 3, middle - 5, 12, 10}, {.stroke = entry.paint, .stroke_width = 2});
      return;
    case LegendKey::kRing:
      document.symbol(Symbol::kCircle, x + 9, middle, 6, {.stroke = entry.paint, .stroke_width = 2});
      return;
    case LegendKey::kLine:
      stroke(Dash::kSolid);
      return;
    case LegendKey::kDashedLine:
      stroke(Dash::kDashed);
      return;
    case LegendKey::kDottedLine:
      stroke(Dash::kDotted);
      return;
    case LegendKey::kLineAndSymbol:
      stroke(Dash::kSolid);
      [[fallthrough]];
    case LegendKey::kSymbol:
      document.symbol(entry.symbol, x + 9, middle, 4, {.fill = entry.paint});
      return;
  }
}

}  // namespace

double draw_heading(Document& document, const Heading& heading, double x, double width) {
  double y = kTop;
  for (const std::string& line : wrapped(heading.title, width, kTitleSize, true)) {
    document.text(x, y + 11, line, {.size = kTitleSize, .bold = true});
    y += 19;
  }
  for (const std::string& line : wrapped(heading.subtitle, width, 12)) {
    document.text(x, y + 10, line, {.paint = Paint::role(Role::kMutedText)});
    y += 16;
  }
  return y + 4;
}

double draw_legend(Document& document, const std::vector<LegendEntry>& entries, double x, double y,
                   double width) {
  if (entries.empty()) return y;
  double at = x;
  for (const LegendEntry& entry : entries) {
    const std::string label = shortened(entry.label, width - kSymbolWidth, 12);
    const double needed = kSymbolWidth + text_width(label, 12);
    if (at > x && at + needed > x + width) {
      at = x;
      y += kRow;
    }
    draw_key(document, entry, at, y + kRow / 2 - 1);
    document.text(at + kSymbolWidth, y + kRow / 2 + 3, label, {});
    at += needed + kGap;
  }
  return y + kRow + 4;
}

std::vector<LegendEntry> group_legend(const std::string& kind, std::size_t groups) {
  std::vector<LegendEntry> entries;
  for (std::size_t color = 0; color < std::min(groups, kCategories); ++color) {
    std::string label = fmt::format("{} {}", kind, color);
    const std::size_t last = color + (groups - 1 - color) / kCategories * kCategories;
    if (last > color) label += fmt::format(", {}", color + kCategories);
    if (last > color + kCategories)
      label += fmt::format("{}{}", last > color + 2 * kCategories ? ", \u2026 " : ", ", last);
    entries.push_back({label, LegendKey::kSwatch, Paint::category(color)});
  }
  return entries;
}

double draw_ramp(Document& document, const RampLegend& ramp, double x, double y, double width) {
  constexpr double kHeight = 10;
  const double note = ramp.low_note.empty() ? 0 : text_width(ramp.low_note, 11) + 8;
  document.text(x, y + 9, ramp.low_note, {.size = 11, .paint = Paint::role(Role::kMutedText)});
  const double left = x + note, cell = width / (kRampSteps + 1);
  for (int step = 0; step <= kRampSteps; ++step) {
    const double fraction = static_cast<double>(step) / kRampSteps;
    document.rect({left + step * cell, y, cell, kHeight},
                  {.fill = ramp.diverging ? Paint::diverging(2 * fraction - 1) : Paint::sequential(fraction),
                   .crisp = true});
  }
  document.text(left + width + 8, y + 9, ramp.high_note,
                {.size = 11, .paint = Paint::role(Role::kMutedText)});
  double free = -1e9;  // right end of the labels so far
  for (const RampLegend::Stop& stop : ramp.stops) {
    const double at = left + cell / 2 + std::clamp(stop.fraction, 0.0, 1.0) * (width - cell);
    const double half = text_width(stop.label, 10) / 2;
    if (at - half < free + 4) continue;
    document.text(at, y + kHeight + 11, stop.label, {.size = 10, .anchor = Anchor::kMiddle});
    free = at + half;
  }
  return y + kHeight + 20;
}

}  // namespace natten_sim::draw
