#include <algorithm>
#include <stdexcept>

#include <natten_sim/report/draw/dot_plot.hpp>
#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/text.hpp>

#include "draw/page_sizes.hpp"

namespace natten_sim::draw {
namespace {

constexpr double kMostLabels = 0.6;  // of the width; longer ones are cut
constexpr double kDotRow = 20, kDotText = 12, kDotRadius = 4, kRingRadius = 6;

Symbol dot_symbol(std::size_t series) { return static_cast<Symbol>(series % kSymbols); }

/// The numbers of one item: a thin line between the outermost, then the symbols, the ring on top.
void draw_dots(Document& document, const DotPlot& plot, const DotRow& row, const Axis& axis, double y) {
  Range places;
  for (const std::optional<double>& value : row.values)
    if (value && can_show(plot.value.scale, *value)) places.include(axis.clamped(*value));
  if (places.empty()) return;
  document.line(places.low, y, places.high, y, {.stroke = Paint::role(Role::kAxis), .stroke_width = 1.5});
  for (std::size_t s = row.values.size(); s-- > 0;) {
    const std::optional<double>& value = row.values[s];
    if (!value || !can_show(plot.value.scale, *value)) continue;
    const Paint paint = Paint::category(s);
    const std::string tip = row.label + ", " + plot.series[s] + ": " + number_text(*value, plot.value.unit);
    if (s == 0) {
      document.symbol(Symbol::kCircle, axis.clamped(*value), y, kRingRadius,
                      {.stroke = paint, .stroke_width = 2}, tip);
    } else {
      document.symbol(dot_symbol(s), axis.clamped(*value), y, kDotRadius, {.fill = paint}, tip);
    }
  }
}

Axis dot_axis(const DotPlot& plot, double left, double right) {
  Range range;
  for (const DotRow& row : plot.rows) {
    if (row.values.size() > plot.series.size()) throw std::invalid_argument("more numbers than series");
    for (const std::optional<double>& value : row.values)
      if (value && can_show(plot.value.scale, *value)) range.include(*value);
  }
  return {plot.value, range, left, right, Side::kBottom, kTickSize};
}

/// Series without a number are not named.
std::vector<LegendEntry> dot_legend(const DotPlot& plot) {
  std::vector<LegendEntry> legend;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    if (std::none_of(plot.rows.begin(), plot.rows.end(),
                     [&](const DotRow& row) { return s < row.values.size() && row.values[s]; }))
      continue;
    legend.push_back(
        {plot.series[s], s == 0 ? LegendKey::kRing : LegendKey::kSymbol, Paint::category(s), dot_symbol(s)});
  }
  return legend;
}

}  // namespace

Picture render(const DotPlot& plot) {
  require_at_most("rows of dots", static_cast<std::int64_t>(plot.rows.size()), kMaxDotRows);
  if (!(plot.width >= 360)) throw std::invalid_argument("a dot plot needs a width of at least 360");
  Document document(plot.heading.title);
  const double inner = plot.width - 2 * kMargin;
  const double head = draw_heading(document, plot.heading, kMargin, inner);
  const double top = draw_legend(document, dot_legend(plot), kMargin, head, inner) + 4;
  double labels = 40;
  for (const DotRow& row : plot.rows) labels = std::max(labels, text_width(row.label, kDotText));
  const double left = kMargin + std::min(labels, kMostLabels * inner) + 14, right = plot.width - kMargin - 14;
  const double bottom = top + kDotRow * static_cast<double>(std::max<std::size_t>(plot.rows.size(), 1));
  const Axis axis = dot_axis(plot, left, right);
  for (const Tick& tick : axis.ticks()) {
    const double x = axis.place(tick.value);
    document.line(x, top, x, bottom, {.stroke = Paint::role(Role::kGrid)});
    document.text(x, bottom + 15, tick.label,
                  {.size = kTickSize, .anchor = Anchor::kMiddle, .paint = Paint::role(Role::kMutedText)});
  }
  for (std::size_t i = 0; i < plot.rows.size(); ++i) {
    const double y = top + kDotRow * (static_cast<double>(i) + 0.5);
    document.text(left - 12, y + 4, shortened(plot.rows[i].label, left - 12 - kMargin, kDotText),
                  {.size = kDotText, .anchor = Anchor::kEnd});
    draw_dots(document, plot, plot.rows[i], axis, y);
  }
  document.line(left, bottom, right, bottom, {.stroke = Paint::role(Role::kAxis)});
  document.text((left + right) / 2, bottom + 34, plot.value.label,
                {.anchor = Anchor::kMiddle, .paint = Paint::role(Role::kMutedText)});
  return std::move(document).finish(plot.width, bottom + (plot.value.label.empty() ? 26 : 46));
}

}  // namespace natten_sim::draw
