#include "draw/xy_frame.hpp"

#include <algorithm>
#include <stdexcept>

#include "draw/page_sizes.hpp"

namespace natten_sim::draw {
namespace {

constexpr double kRight = 28, kTickLength = 5, kLeastLeft = 44;

}  // namespace

XyFrame::XyFrame(const FrameSpec& spec)
    : document_(spec.heading.title),
      marks_(spec.marks),
      bands_(spec.bands),
      x_label_(spec.x.label),
      y_label_(spec.y.label),
      labels_({}),
      width_(spec.width) {
  if (!(spec.width >= 240) || !(spec.plot_height >= 60 || spec.plot_height == 0))
    throw std::invalid_argument("a plot needs a width of at least 240 and a height of at least 60");
  layout(spec);
  draw_bands();
  draw_grid();
}

void XyFrame::layout(const FrameSpec& spec) {
  const double inner = spec.width - 2 * kMargin;
  double top = draw_heading(document_, spec.heading, kMargin, inner);
  top = draw_legend(document_, spec.legend, kMargin, top, inner);
  document_.text(kMargin, top + 10, y_label_, {.paint = Paint::role(Role::kMutedText)});
  top += y_label_.empty() ? 6 : 22;
  // The labels of the y axis need no more room on a square plot of any size than on this one.
  double height = spec.plot_height > 0 ? spec.plot_height : inner - kLeastLeft;
  const auto y_axis = [&] { return Axis(spec.y, spec.ys, top + height, top, Side::kLeft, kTickSize); };
  const double left = kMargin + std::max(kLeastLeft - kMargin, y_axis().widest_label() + kTickLength + 3);
  plot_ = {left, top, spec.width - left - kRight, height};
  if (spec.plot_height == 0) plot_.height = height = plot_.width;
  y_.push_back(y_axis());
  x_.emplace_back(spec.x, spec.xs, plot_.x, plot_.right(), Side::kBottom, kTickSize);
  labels_ = LabelPlacer(plot_);
}

void XyFrame::draw_bands() {
  const Style style{.fill = Paint::role(Role::kBand)};
  for (const Band& band : bands_) {
    const bool across = band.direction == Direction::kAcross;
    const Axis& axis = across ? x() : y();
    const double from = axis.clamped(band.from), to = axis.clamped(band.to);
    const double low = std::min(from, to), high = std::max(from, to);
    if (!(high > low)) continue;
    document_.rect(
        across ? Box{low, plot_.y, high - low, plot_.height} : Box{plot_.x, low, plot_.width, high - low},
        style);
  }
}

void XyFrame::draw_grid() {
  const Style grid{.stroke = Paint::role(Role::kGrid)}, axis{.stroke = Paint::role(Role::kAxis)};
  const Paint ink = Paint::role(Role::kMutedText);
  for (const Tick& tick : y().ticks()) {
    const double at = y().place(tick.value);
    document_.line(plot_.x, at, plot_.right(), at, grid);
    document_.text(plot_.x - kTickLength - 2, at + 4, tick.label,
                   {.size = kTickSize, .anchor = Anchor::kEnd, .paint = ink});
  }
  for (const Tick& tick : x().ticks()) {
    const double at = x().place(tick.value);
    document_.line(at, plot_.y, at, plot_.bottom(), grid);
    document_.line(at, plot_.bottom(), at, plot_.bottom() + kTickLength, axis);
    document_.text(at, plot_.bottom() + kTickLength + 12, tick.label,
                   {.size = kTickSize, .anchor = Anchor::kMiddle, .paint = ink});
  }
  document_.text(plot_.x + plot_.width / 2, plot_.bottom() + 36, x_label_,
                 {.anchor = Anchor::kMiddle, .paint = ink});
}

void XyFrame::draw_marks() {
  const Style dashed{.stroke = Paint::role(Role::kMark), .stroke_width = 1.5, .dash = Dash::kDashed};
  // All lines first: no line crosses a label.
  for (const Mark& mark : marks_) {
    const bool across = mark.direction == Direction::kAcross;
    const Axis& axis = across ? x() : y();
    if (!axis.shows(mark.at)) continue;
    const double at = axis.place(mark.at);
    if (across) {
      document_.line(at, plot_.y, at, plot_.bottom(), dashed);
      labels_.avoid({at - 1, plot_.y, 2, plot_.height});
    } else {
      document_.line(plot_.x, at, plot_.right(), at, dashed);
      labels_.avoid({plot_.x, at - 1, plot_.width, 2});
    }
  }
  for (const Mark& mark : marks_) {
    const bool across = mark.direction == Direction::kAcross;
    const Axis& axis = across ? x() : y();
    if (!axis.shows(mark.at)) continue;
    const double at = axis.place(mark.at);
    labels_.down_from(document_, across ? at : plot_.right(),
                      across ? plot_.y + 14 : std::max(at - 6, plot_.y + 14), 6, mark.label);
  }
  for (const Band& band : bands_) {
    const bool across = band.direction == Direction::kAcross;
    const Axis& axis = across ? x() : y();
    const double from = axis.clamped(band.from), to = axis.clamped(band.to), low = std::min(from, to);
    if (from == to) continue;
    labels_.down_from(document_, across ? low : plot_.x, across ? plot_.y + 14 : low + 14, 6, band.label);
  }
}

void XyFrame::note_empty() {
  document_.text(
      plot_.x + plot_.width / 2, plot_.y + plot_.height / 2, "nothing to show",
      {.size = 13, .anchor = Anchor::kMiddle, .paint = Paint::role(Role::kMutedText), .halo = true});
}

Picture XyFrame::finish() && {
  const Style axis{.stroke = Paint::role(Role::kAxis)};
  document_.line(plot_.x, plot_.bottom(), plot_.right(), plot_.bottom(), axis);
  document_.line(plot_.x, plot_.y, plot_.x, plot_.bottom(), axis);
  draw_marks();
  return std::move(document_).finish(width_, plot_.bottom() + (x_label_.empty() ? 28 : 46));
}

}  // namespace natten_sim::draw
