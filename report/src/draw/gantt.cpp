#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/gantt.hpp>
#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/text.hpp>

#include "draw/page_sizes.hpp"

namespace natten_sim::draw {
namespace {

void require_valid(const Gantt& gantt) {
  if (gantt.rows < 1) throw std::invalid_argument("a Gantt chart needs a row");
  if (gantt.span && !(*gantt.span >= 0 && std::isfinite(*gantt.span)))
    throw std::invalid_argument("the span of a Gantt chart is below 0 or not finite");
  for (const Interval& each : gantt.intervals) {
    const bool timed = each.start >= 0 && each.end >= each.start && can_show(Scale::kLinear, each.end);
    if (!timed || each.row < 0 || each.row >= gantt.rows)
      throw std::invalid_argument(
          fmt::format("an interval in row {} from {} to {}", each.row, each.start, each.end));
  }
}

double span_of(const Gantt& gantt) {
  if (gantt.span) return *gantt.span;
  double last = 0;
  for (const Interval& each : gantt.intervals) last = std::max(last, each.end);
  return last;
}

bool has_lanes(const Gantt& gantt) {
  return std::any_of(gantt.intervals.begin(), gantt.intervals.end(),
                     [](const Interval& each) { return each.second_lane; });
}

/// Draws intervals between the row labels and the right border.
class Painter {
 public:
  Painter(Document& document, const Gantt& gantt, const Axis& axis, double top, double row)
      : document_(document), gantt_(gantt), axis_(axis), top_(top), row_(row) {
    lanes_ = has_lanes(gantt);
  }

  void draw() {
    for (const Interval& each : gantt_.intervals) {
      if (each.end > each.start && each.activity == Activity::kWait) wait(each);
    }
    for (const Interval& each : gantt_.intervals) {
      if (each.end > each.start && each.activity != Activity::kWait) bar(each);
    }
    const double width = row_ < 12 ? 1.2 : 2;
    for (const Interval& each : gantt_.intervals) {
      if (each.end > each.start && each.critical)
        document_.rect(box_of(each), {.stroke = Paint::role(Role::kOutline), .stroke_width = width});
    }
  }

 private:
  [[nodiscard]] Box box_of(const Interval& each) const {
    const double x = axis_.clamped(each.start), right = axis_.clamped(each.end);
    const double rim = lanes_ ? std::min(3.0, row_ / 8) : 1;
    const double y = top_ + row_ * static_cast<double>(each.row) + rim, height = row_ - 2 * rim;
    if (!lanes_) return {x, y, right - x, height};
    return each.second_lane ? Box{x, y + 0.64 * height, right - x, 0.36 * height}
                            : Box{x, y, right - x, 0.6 * height};
  }

  void wait(const Interval& each) {
    const Box box = box_of(each);
    document_.line(box.x, box.y + box.height / 2, box.right(), box.y + box.height / 2,
                   {.stroke = Paint::role(Role::kMutedText), .stroke_width = 1.5, .dash = Dash::kDotted});
  }

  void bar(const Interval& each) {
    const Box box = box_of(each);
    const bool computes = each.activity == Activity::kCompute;
    const Paint paint = Paint::category(each.group, computes ? Tone::kSoft : Tone::kStrong);
    Style style{.fill = paint};
    if (box.width >= 4) style.stroke = Paint::role(Role::kBackground);
    document_.rect(box, style, each.detail);
    const double size = lanes_ ? 10 : 11;
    if (!computes || box.height < 10 || text_width(each.label, size) + 4 > box.width) return;
    document_.text(box.x + box.width / 2, box.y + box.height / 2 + size * 0.36, each.label,
                   {.size = size, .anchor = Anchor::kMiddle, .paint = paint.ink()});
  }

  Document& document_;
  const Gantt& gantt_;
  const Axis& axis_;
  double top_, row_;
  bool lanes_ = false;
};

std::vector<LegendEntry> legend_of(const Gantt& gantt) {
  std::vector<LegendEntry> legend;
  if (gantt.groups > 1) legend = group_legend(gantt.group_name, gantt.groups);
  const auto any = [&](auto&& holds) {
    return std::any_of(gantt.intervals.begin(), gantt.intervals.end(), holds);
  };
  legend.push_back({gantt.label_name.empty() ? "light: compute" : "light: compute (" + gantt.label_name + ")",
                    LegendKey::kSwatch, Paint::category(0, Tone::kSoft)});
  if (any([](const Interval& i) { return i.activity == Activity::kReduce; }))
    legend.push_back({"dark: reduction", LegendKey::kSwatch, Paint::category(0, Tone::kStrong)});
  if (any([](const Interval& i) { return i.activity == Activity::kWait; }))
    legend.push_back({"waits", LegendKey::kDottedLine, Paint::role(Role::kMutedText)});
  if (any([](const Interval& i) { return i.critical; }))
    legend.push_back({"critical path", LegendKey::kOutline, Paint::role(Role::kOutline)});
  return legend;
}

void draw_rows(Document& document, const Gantt& gantt, double left, double right, double top, double row) {
  const auto every = static_cast<std::int64_t>(row >= 12 ? 1 : row >= 6 ? 2 : row >= 3 ? 5 : 10);
  const Paint muted = Paint::role(Role::kMutedText);
  std::string path;
  for (std::int64_t i = 0; i < gantt.rows; ++i) {
    const double y = top + row * static_cast<double>(i);
    if (i > 0 && row >= 6) path += move_to(left, y) + "H" + length_text(right);
    if (i % every != 0) continue;
    document.text(left - 6, y + row / 2 + 4, std::to_string(i),
                  {.size = kTickSize, .anchor = Anchor::kEnd, .paint = muted});
  }
  document.path(path, {.stroke = Paint::role(Role::kGrid)});
}

/// A whole number with commas between its thousands, else six digits.
std::string unit_text(double unit) {
  if (unit != std::floor(unit) || unit > 1e15) return fmt::format("{:.6g}", unit);
  std::string digits = fmt::format("{:.0f}", unit);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace

Picture render(const Gantt& gantt) {
  require_at_most("intervals", static_cast<std::int64_t>(gantt.intervals.size()), kMaxIntervals);
  require_at_most("rows", gantt.rows, kMaxGanttRows);
  require_valid(gantt);
  if (!(gantt.width >= 360)) throw std::invalid_argument("a Gantt chart needs a width of at least 360");
  Document document(gantt.heading.title);
  const double inner = gantt.width - 2 * kMargin;
  double top = draw_heading(document, gantt.heading, kMargin, inner);
  top = draw_legend(document, legend_of(gantt), kMargin, top, inner);
  const Paint muted = Paint::role(Role::kMutedText);
  document.text(kMargin, top + 9, gantt.row_name, {.size = kTickSize, .paint = muted});
  top += 22;
  const bool lanes = has_lanes(gantt);
  const double row = gantt.rows <= 40 ? (lanes ? 30 : 22) : gantt.rows <= 160 ? 8 : gantt.rows <= 400 ? 4 : 2;
  const double left = kMargin + std::max(22.0, text_width(std::to_string(gantt.rows - 1), kTickSize)) + 8;
  const double right = gantt.width - kMargin - 8, bottom = top + row * static_cast<double>(gantt.rows);
  const double span = span_of(gantt);
  const Axis axis({.from = 0, .to = span}, {}, left, right, Side::kBottom, kTickSize);
  for (const Tick& tick : axis.ticks()) {
    const double x = axis.place(tick.value);
    document.line(x, top, x, bottom + 4, {.stroke = Paint::role(Role::kGrid)});
    document.text(x, bottom + 17, tick.label, {.size = kTickSize, .anchor = Anchor::kMiddle, .paint = muted});
  }
  draw_rows(document, gantt, left, right, top, row);
  Painter(document, gantt, axis, top, row).draw();
  document.line(left, bottom, right, bottom, {.stroke = Paint::role(Role::kAxis)});
  document.text((left + right) / 2, bottom + 34, gantt.time_label,
                {.anchor = Anchor::kMiddle, .paint = muted});
  return std::move(document).finish(gantt.width, bottom + 44);
}

std::string ascii(const Gantt& gantt) {
  constexpr std::size_t kColumns = 160;
  require_at_most("rows", gantt.rows, kMaxAsciiRows);
  require_valid(gantt);
  const double span = span_of(gantt);
  const bool whole =
      span <= kColumns && std::all_of(gantt.intervals.begin(), gantt.intervals.end(), [](const Interval& i) {
        return i.start == std::floor(i.start) && i.end == std::floor(i.end);
      });
  const std::size_t width = span <= 0 ? 0 : whole ? static_cast<std::size_t>(span) : kColumns;
  const double unit = width == 0 ? 1.0 : span / static_cast<double>(width);
  std::vector<std::string> rows(static_cast<std::size_t>(gantt.rows), std::string(width, ' '));
  for (const Interval& each : gantt.intervals) {
    const bool computes = each.activity == Activity::kCompute;
    const char mark = each.activity == Activity::kReduce ? '='
                      : each.activity == Activity::kWait ? '.'
                      : each.label.empty()               ? '#'
                                                         : each.label.back();
    std::string& row = rows[static_cast<std::size_t>(each.row)];
    for (auto column = static_cast<std::size_t>(each.start / unit); column < width; ++column) {
      const double middle = (static_cast<double>(column) + 0.5) * unit;
      if (middle >= each.end) break;
      if (middle >= each.start && (computes || row[column] == ' ')) row[column] = mark;
    }
  }
  std::string text =
      fmt::format("{} {} of time a column; digits: {} (last digit) computes, = reduces, . waits\n",
                  unit_text(unit), unit == 1 ? "unit" : "units", gantt.label_name);
  const std::size_t label = std::to_string(gantt.rows - 1).size();
  for (std::size_t row = 0; row < rows.size(); ++row)
    text += fmt::format("{:>{}} |{}|\n", row, label, printable(rows[row]));
  return text;
}

}  // namespace natten_sim::draw
