#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <natten_sim/report/draw/bar_chart.hpp>
#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/text.hpp>

#include "draw/page_sizes.hpp"

namespace natten_sim::draw {
namespace {

constexpr double kBarRow = 24, kTextSize = 12;

/// The axis of the values; a logarithmic one starts below the smallest.
Axis axis_of(const BarChart& chart, const std::vector<PlacedBar>& bars, double left, double right) {
  AxisSpec spec = chart.value;
  Range range;
  for (const Bar& bar : chart.bars) {
    if (!std::isfinite(bar.value)) throw std::invalid_argument("a bar that is not finite: " + bar.label);
  }
  for (const PlacedBar& bar : bars) {
    if (can_show(spec.scale, bar.to)) range.include(bar.to);
  }
  if (spec.scale == Scale::kLinear) {
    spec.from_zero = true;
  } else if (!range.empty()) {
    range.low /= 2;
  }
  return {spec, range, left, right, Side::kBottom, kTickSize};
}

void draw_grid(Document& document, const Axis& axis, double top, double bottom) {
  for (const Tick& tick : axis.ticks()) {
    const double x = axis.place(tick.value);
    document.line(x, top, x, bottom, {.stroke = Paint::role(Role::kGrid)});
    document.text(x, bottom + 15, tick.label,
                  {.size = kTickSize, .anchor = Anchor::kMiddle, .paint = Paint::role(Role::kMutedText)});
  }
}

void draw_bar(Document& document, const BarChart& chart, const Bar& bar, const PlacedBar& placed, const Axis& axis,
              double labels, double y) {
  const double zero = axis.clamped(placed.from), end = axis.clamped(placed.to);
  const bool shown = can_show(chart.value.scale, bar.value) && bar.value != 0;
  if (shown) {
    document.rect({std::min(zero, end), y + 4, std::max(std::abs(end - zero), 1.0), kBarRow - 8},
                  {.fill = Paint::category(bar.category)},
                  bar.label + ": " + (chart.stacked ? number_text(bar.value, chart.value.unit) : placed.note));
  }
  if (placed.note.empty()) return;
  document.text(labels - 8, y + kBarRow / 2 + 4, shortened(bar.label, labels - kMargin - 8, kTextSize),
                {.anchor = Anchor::kEnd});
  const double note_at = std::max(zero, end) + 6;
  document.text(note_at, y + kBarRow / 2 + 4, shortened(placed.note, chart.width - kMargin / 2 - note_at, kTextSize),
                {.paint = Paint::role(Role::kMutedText), .halo = true});
}

}  // namespace

std::vector<PlacedBar> placed_bars(const BarChart& chart) {
  std::vector<PlacedBar> placed;
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const auto same = [&](std::size_t other) { return chart.stacked && chart.bars[other].label == bar.label; };
    const bool continues = i > 0 && same(i - 1), goes_on = i + 1 < chart.bars.size() && same(i + 1);
    const double from = continues ? placed.back().to : 0;
    const std::string note = bar.note.empty() ? number_text(from + bar.value, chart.value.unit) : bar.note;
    placed.push_back({from, from + bar.value, goes_on ? "" : note, continues});
  }
  return placed;
}

Picture render(const BarChart& chart) {
  require_at_most("bars", static_cast<std::int64_t>(chart.bars.size()), kMaxBars);
  if (!(chart.width >= 360)) throw std::invalid_argument("a bar chart needs a width of at least 360");
  Document document(chart.heading.title);
  const double inner = chart.width - 2 * kMargin;
  std::vector<LegendEntry> legend;
  for (std::size_t i = 0; i < chart.categories.size(); ++i)
    legend.push_back({chart.categories[i], LegendKey::kSwatch, Paint::category(i)});
  const double head = draw_heading(document, chart.heading, kMargin, inner);
  const double top = draw_legend(document, legend, kMargin, head, inner);
  double labels = 40, notes = 20;
  const std::vector<PlacedBar> placed = placed_bars(chart);
  for (const Bar& bar : chart.bars) labels = std::max(labels, text_width(bar.label, kTextSize));
  for (const PlacedBar& bar : placed) notes = std::max(notes, text_width(bar.note, kTextSize));
  const auto lines = std::count_if(placed.begin(), placed.end(), [](const PlacedBar& bar) { return !bar.continues; });
  const double left = kMargin + std::min(labels, 0.35 * inner) + 8;
  const double right = chart.width - kMargin - std::min(notes, 0.3 * inner) - 10;
  const double bottom = top + kBarRow * static_cast<double>(std::max<std::ptrdiff_t>(lines, 1));
  const Axis axis = axis_of(chart, placed, left, right);
  draw_grid(document, axis, top, bottom);
  double y = top - kBarRow;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (!placed[i].continues) y += kBarRow;
    draw_bar(document, chart, chart.bars[i], placed[i], axis, left, y);
  }
  const double zero = axis.clamped(0);
  document.line(zero, top, zero, bottom, {.stroke = Paint::role(Role::kAxis)});
  if (chart.bars.empty()) {
    document.text((left + right) / 2, top + kBarRow / 2 + 4, "nothing to show",
                  {.anchor = Anchor::kMiddle, .paint = Paint::role(Role::kMutedText), .halo = true});
  }
  document.text((left + right) / 2, bottom + 34, chart.value.label,
                {.anchor = Anchor::kMiddle, .paint = Paint::role(Role::kMutedText)});
  return std::move(document).finish(chart.width, bottom + (chart.value.label.empty() ? 26 : 46));
}

}  // namespace natten_sim::draw
