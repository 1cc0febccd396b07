#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/draw/curve.hpp>
#include <natten_sim/report/draw/limit.hpp>

#include "draw/xy_frame.hpp"

namespace natten_sim::draw {
namespace {

bool has_line(SeriesStyle style) { return style != SeriesStyle::kPoints; }
bool has_symbols(SeriesStyle style) {
  return style == SeriesStyle::kPoints || style == SeriesStyle::kLineAndPoints;
}

Symbol symbol_of(std::size_t category) { return static_cast<Symbol>(category % kSymbols); }

LegendEntry entry_of(const Series& series, std::size_t category) {
  const LegendKey key = !has_line(series.style)     ? LegendKey::kSymbol
                        : series.dashed             ? LegendKey::kDashedLine
                        : has_symbols(series.style) ? LegendKey::kLineAndSymbol
                                                    : LegendKey::kLine;
  return {series.label, key, Paint::category(category), symbol_of(category)};
}

/// Draws one series between the axes.
class SeriesPainter {
 public:
  SeriesPainter(XyFrame& frame, const CurvePlot& plot) : frame_(frame), plot_(plot) {}

  void draw(const Series& series, std::size_t category) {
    const Paint paint = Paint::category(category);
    if (has_line(series.style)) {
      // The second round of colours has dashed lines.
      const bool dashed = series.dashed || category / kCategories % 2 == 1;
      frame_.document().path(
          path_of(series),
          {.stroke = paint, .stroke_width = 2, .dash = dashed ? Dash::kDashed : Dash::kSolid});
    }
    if (!has_symbols(series.style)) return;
    for (const Point& point : series.points) {
      if (!shown(point)) continue;
      frame_.document().symbol(symbol_of(category), frame_.x().place(point.x), frame_.y().place(point.y), 4,
                               {.fill = paint}, tooltip(series, point));
    }
  }

 private:
  [[nodiscard]] bool shown(const Point& point) const {
    return can_show(plot_.x.scale, point.x) && can_show(plot_.y.scale, point.y);
  }

  [[nodiscard]] std::string path_of(const Series& series) {
    std::string path;
    const Point* before = nullptr;
    double x_before = 0, y_before = 0;
    for (const Point& point : series.points) {
      if (!shown(point)) {
        before = nullptr;
        continue;
      }
      const double x = frame_.x().place(point.x), y = frame_.y().place(point.y);
      if (before == nullptr) {
        path += move_to(x, y);
      } else if (series.style == SeriesStyle::kSteps) {
        path += "H" + length_text(x) + "V" + length_text(y);
        avoid(x_before, y_before, x, y_before);
        avoid(x, y_before, x, y);
      } else {
        path += line_to(x, y);
        avoid(x_before, y_before, x, y);
      }
      before = &point;
      x_before = x;
      y_before = y;
    }
    return path;
  }

  /// Keeps labels off a piece of a line, as far as there is room elsewhere.
  void avoid(double x1, double y1, double x2, double y2) {
    constexpr double kPiece = 12;
    const double length = std::hypot(x2 - x1, y2 - y1);
    const int pieces = static_cast<int>(std::min(length / kPiece, 100.0)) + 1;
    for (int i = 0; i < pieces; ++i) {
      const double from = static_cast<double>(i) / pieces, to = (i + 1.0) / pieces;
      const double xs[] = {x1 + (x2 - x1) * from, x1 + (x2 - x1) * to},
                   ys[] = {y1 + (y2 - y1) * from, y1 + (y2 - y1) * to};
      frame_.labels().avoid({std::min(xs[0], xs[1]) - 1, std::min(ys[0], ys[1]) - 1,
                             std::abs(xs[1] - xs[0]) + 2, std::abs(ys[1] - ys[0]) + 2});
    }
  }

  [[nodiscard]] std::string tooltip(const Series& series, const Point& point) const {
    return fmt::format("{}{}{}, {}", series.label, series.label.empty() ? "" : ": ",
                       number_text(point.x, plot_.x.unit), number_text(point.y, plot_.y.unit));
  }

  XyFrame& frame_;
  const CurvePlot& plot_;
};

}  // namespace

Picture render(const CurvePlot& plot) {
  FrameSpec spec{.heading = plot.heading,
                 .legend = {},
                 .x = plot.x,
                 .y = plot.y,
                 .xs = {},
                 .ys = {},
                 .marks = plot.marks,
                 .bands = plot.bands,
                 .width = plot.width,
                 .plot_height = plot.plot_height};
  std::size_t points = 0;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    points += series.points.size();
    if (!series.label.empty()) spec.legend.push_back(entry_of(series, series.category.value_or(i)));
    for (const Point& point : series.points) {
      if (!can_show(plot.x.scale, point.x) || !can_show(plot.y.scale, point.y)) continue;
      spec.xs.include(point.x);
      spec.ys.include(point.y);
    }
  }
  require_at_most("points of a curve", static_cast<std::int64_t>(points), kMaxCurvePoints);
  XyFrame frame(spec);
  const Box& area = frame.plot();
  constexpr double kRim = 5;  // a symbol on the border is drawn whole
  frame.document().begin_clip({area.x - kRim, area.y - kRim, area.width + 2 * kRim, area.height + 2 * kRim});
  SeriesPainter painter(frame, plot);
  for (std::size_t i = 0; i < plot.series.size(); ++i)
    painter.draw(plot.series[i], plot.series[i].category.value_or(i));
  frame.document().end_clip();
  if (spec.xs.empty()) frame.note_empty();
  return std::move(frame).finish();
}

}  // namespace natten_sim::draw
