#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <natten_sim/report/draw/heat_map.hpp>
#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/text.hpp>

#include "draw/page_sizes.hpp"

namespace natten_sim::draw {
namespace {

constexpr double kCellHeight = 20, kNumberSize = 11, kReasonSize = 9, kPanelGap = 18;
constexpr double kLeastCell = 34, kMaxCell = 84;

void require_valid(const HeatMap& map) {
  const ColorScale& scale = map.scale;
  const bool shown = can_show(scale.axis, scale.low) && can_show(scale.axis, scale.high) &&
                     (!scale.middle || can_show(scale.axis, *scale.middle));
  const bool ordered =
      scale.middle ? scale.low < *scale.middle && *scale.middle < scale.high : scale.low < scale.high;
  if (!shown || !ordered) throw std::invalid_argument("a scale of colours that is out of order");
  std::size_t cells = 0;
  for (const HeatLine& line : map.lines) {
    for (const HeatPanel& panel : line.panels) {
      if (panel.cells.size() != panel.rows.size() * panel.columns.size())
        throw std::invalid_argument("a heat map whose cells are not rows times columns: " + panel.title);
      cells += panel.cells.size();
    }
  }
  require_at_most("cells of a heat map", static_cast<std::int64_t>(cells), kMaxHeatCells);
}

bool has_value(const HeatCell& cell) { return cell.value && std::isfinite(*cell.value); }

std::string text_of(const HeatCell& cell, Unit unit) {
  if (!has_value(cell)) return cell.reason.empty() ? "-" : cell.reason;
  return cell.text.empty() ? number_text(*cell.value, unit) : cell.text;
}

/// Widths in pixels, the same for all panels so that lines stand under each other.
struct Widths {
  double cell = kLeastCell, rows = 24;
};

Widths widths_of(const HeatMap& map) {
  Widths widths;
  widths.rows = std::max(widths.rows, text_width(map.row_name, kNumberSize));
  for (const HeatLine& line : map.lines) {
    for (const HeatPanel& panel : line.panels) {
      for (const std::string& row : panel.rows)
        widths.rows = std::max(widths.rows, text_width(row, kNumberSize));
      for (const std::string& column : panel.columns)
        widths.cell = std::max(widths.cell, text_width(column, kNumberSize) + 8);
      for (const HeatCell& cell : panel.cells) {
        const double size = has_value(cell) ? kNumberSize : kReasonSize;
        widths.cell = std::max(widths.cell, text_width(text_of(cell, map.scale.unit), size) + 8);
      }
    }
  }
  return {std::min(widths.cell, kMaxCell), std::min(widths.rows, 160.0)};
}

double panel_width(const HeatPanel& panel, const Widths& widths) {
  const double cells = widths.cell * static_cast<double>(panel.columns.size());
  return std::max({cells, text_width(panel.title, kNumberSize, true), 1.0});
}

void draw_cell(Document& document, const HeatMap& map, const HeatCell& cell, const Box& box) {
  const bool known = has_value(cell);
  const Paint paint = !known             ? Paint::role(Role::kMissing)
                      : map.scale.middle ? Paint::diverging(fraction_of(map.scale, *cell.value))
                                         : Paint::sequential(fraction_of(map.scale, *cell.value));
  const std::string text = text_of(cell, map.scale.unit);
  const double size = known ? kNumberSize : kReasonSize;
  document.rect({box.x, box.y, box.width - 1, box.height - 1}, {.fill = paint, .crisp = true},
                known ? "" : cell.reason);
  document.text(box.x + (box.width - 1) / 2, box.y + (box.height - 1) / 2 + size * 0.36,
                shortened(text, box.width - 4, size),
                {.size = size, .anchor = Anchor::kMiddle, .paint = paint.ink()});
}

/// Cells and labels of one panel with its upper left cell at (x, y).
void draw_panel(Document& document, const HeatMap& map, const HeatPanel& panel, const Widths& widths,
                double x, double y, bool row_labels) {
  const Paint muted = Paint::role(Role::kMutedText);
  document.text(x, y - 22, panel.title, {.size = kNumberSize, .bold = true});
  for (std::size_t column = 0; column < panel.columns.size(); ++column) {
    document.text(x + widths.cell * (static_cast<double>(column) + 0.5), y - 6,
                  shortened(panel.columns[column], widths.cell - 4, kNumberSize),
                  {.size = kNumberSize, .anchor = Anchor::kMiddle, .paint = muted});
  }
  for (std::size_t row = 0; row < panel.rows.size(); ++row) {
    const double top = y + kCellHeight * static_cast<double>(row);
    if (row_labels) {
      document.text(x - 6, top + kCellHeight / 2 + 4, shortened(panel.rows[row], widths.rows, kNumberSize),
                    {.size = kNumberSize, .anchor = Anchor::kEnd, .paint = muted});
    }
    for (std::size_t column = 0; column < panel.columns.size(); ++column) {
      draw_cell(document, map, panel.cells[row * panel.columns.size() + column],
                {x + widths.cell * static_cast<double>(column), top, widths.cell, kCellHeight});
    }
  }
}

/// Returns the right end.
double draw_line(Document& document, const HeatMap& map, const HeatLine& line, const Widths& widths,
                 double top) {
  document.text(kMargin, top + 11, line.title, {.bold = true});
  const double y = top + (line.title.empty() ? 0 : 20) + 34;
  double x = kMargin, right = kMargin;
  for (std::size_t i = 0; i < line.panels.size(); ++i) {
    const HeatPanel& panel = line.panels[i];
    const bool labels = i == 0 || panel.rows != line.panels.front().rows;
    x += labels ? widths.rows + 6 : 0;
    draw_panel(document, map, panel, widths, x, y, labels);
    right = x + panel_width(panel, widths);
    x = right + kPanelGap;
  }
  return right;
}

double line_height(const HeatLine& line) {
  std::size_t rows = 0;
  for (const HeatPanel& panel : line.panels) rows = std::max(rows, panel.rows.size());
  return (line.title.empty() ? 0 : 20) + 34 + kCellHeight * static_cast<double>(rows) + 14;
}

/// The width of the widest line.
double width_of(const HeatMap& map, const Widths& widths) {
  double widest = 480;
  for (const HeatLine& line : map.lines) {
    double width = 2 * kMargin;
    for (std::size_t i = 0; i < line.panels.size(); ++i) {
      const bool labels = i == 0 || line.panels[i].rows != line.panels.front().rows;
      width += panel_width(line.panels[i], widths) + (labels ? widths.rows + 6 : 0) + (i > 0 ? kPanelGap : 0);
    }
    widest = std::max(widest, width);
  }
  return widest;
}

/// The ends, the middle, and what lies halfway between them.
RampLegend ramp_of(const ColorScale& scale) {
  RampLegend ramp{.diverging = scale.middle.has_value(),
                  .stops = {},
                  .low_note = scale.low_note,
                  .high_note = scale.high_note};
  const auto between = [&](double a, double b) {
    return scale.axis == Scale::kLog ? std::sqrt(a) * std::sqrt(b) : a / 2 + b / 2;
  };
  const double middle = scale.middle.value_or(between(scale.low, scale.high));
  for (const auto& [fraction, value] : {std::pair{0.0, scale.low},
                                        {0.25, between(scale.low, middle)},
                                        {0.5, middle},
                                        {0.75, between(middle, scale.high)},
                                        {1.0, scale.high}})
    ramp.stops.push_back({fraction, number_text(value, scale.unit)});
  return ramp;
}

}  // namespace

double fraction_of(const ColorScale& scale, double value) {
  const auto share = [&](double from, double to) {
    if (scale.axis == Scale::kLog) return std::log(value / from) / std::log(to / from);
    return (value - from) / (to - from);
  };
  if (!can_show(scale.axis, value)) return scale.middle ? -1 : 0;
  if (!scale.middle) return std::clamp(share(scale.low, scale.high), 0.0, 1.0);
  return value >= *scale.middle ? std::min(share(*scale.middle, scale.high), 1.0)
                                : std::max(-share(*scale.middle, scale.low), -1.0);
}

Picture render(const HeatMap& map) {
  require_valid(map);
  Document document(map.heading.title);
  const Widths widths = widths_of(map);
  const double width = width_of(map, widths);
  double y = draw_heading(document, map.heading, kMargin, width - 2 * kMargin);
  y = draw_ramp(document, ramp_of(map.scale), kMargin, y + 2, 264);
  std::string axes = map.row_name.empty() ? "" : "down: " + map.row_name;
  if (!map.column_name.empty()) axes += (axes.empty() ? "across: " : ", across: ") + map.column_name;
  document.text(kMargin, y + 9, axes, {.size = kNumberSize, .paint = Paint::role(Role::kMutedText)});
  y += axes.empty() ? 0 : 20;
  for (const HeatLine& line : map.lines) {
    draw_line(document, map, line, widths, y);
    y += line_height(line);
  }
  if (map.lines.empty())
    document.text(kMargin, y + 20, "nothing to show", {.paint = Paint::role(Role::kMutedText)});
  return std::move(document).finish(width, y + (map.lines.empty() ? 36 : 6));
}

}  // namespace natten_sim::draw
