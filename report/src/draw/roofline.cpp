#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <natten_sim/report/draw/limit.hpp>
#include <natten_sim/report/draw/roofline.hpp>

#include "draw/xy_frame.hpp"

namespace natten_sim::draw {
namespace {

constexpr double kTera = 1000;  // GFLOP/s in a TFLOP/s

/// "989 TFLOP/s" of 989e12 and "FLOP/s".
std::string rate_text(double value, const char* unit) {
  std::string text = number_text(value);
  if (text.back() >= 'A') text.insert(text.size() - 1, " ");
  return text + (text.back() >= 'A' ? "" : " ") + unit;
}

struct Extremes {
  double slowest, fastest;  // bandwidths
  double least, most;       // peaks
};

Extremes extremes_of(const Roofline& roofline) {
  if (roofline.bandwidths.empty() || roofline.peaks.empty())
    throw std::invalid_argument("a roofline needs a bandwidth and a peak rate");
  Range bandwidths, peaks;
  const auto checked = [](double value, const std::string& label) {
    if (!can_show(Scale::kLog, value)) throw std::invalid_argument("not a positive rate: " + label);
    return value;
  };
  for (const Bandwidth& each : roofline.bandwidths) bandwidths.include(checked(each.gb_per_s, each.label));
  for (const PeakRate& each : roofline.peaks) peaks.include(checked(each.gflop_per_s, each.label));
  return {bandwidths.low, bandwidths.high, peaks.low, peaks.high};
}

bool shown(const RooflinePoint& point) {
  return can_show(Scale::kLog, point.intensity) && can_show(Scale::kLog, point.rate);
}

/// All ridges and points, with a part of every slope and every flat roof beside them.
FrameSpec frame_of(const Roofline& roofline, const Extremes& extremes) {
  FrameSpec spec{.heading = roofline.heading,
                 .legend = {},
                 .x = {.label = roofline.intensity_label, .scale = Scale::kLog},
                 .y = {.label = "GFLOP/s", .scale = Scale::kLog},
                 .xs = {},
                 .ys = {},
                 .marks = {},
                 .bands = {},
                 .width = roofline.width,
                 .plot_height = 340};
  spec.xs.include(extremes.least / extremes.fastest / 10);
  spec.xs.include(extremes.most / extremes.slowest * 6);
  spec.ys.include(extremes.most * 1.6);
  for (const RooflinePoint& point : roofline.points) {
    if (!shown(point)) continue;
    spec.xs.include(point.intensity / 1.5);
    spec.xs.include(point.intensity * 1.5);
    spec.ys.include(point.rate / 1.5);
    spec.ys.include(point.rate * 1.5);
  }
  spec.ys.include(spec.xs.low * extremes.slowest);
  if (extremes.most >= 2 * kTera) {
    spec.y.label = "TFLOP/s";
    spec.ys = {spec.ys.low / kTera, spec.ys.high / kTera};
  }
  return spec;
}

void draw_roofs(XyFrame& frame, const Roofline& roofline, const Extremes& extremes, double unit) {
  const Style roof{.stroke = Paint::role(Role::kMark), .stroke_width = 2};
  const Axis &x = frame.x(), &y = frame.y();
  const auto draw = [&](double x1, double y1, double x2, double y2) {
    frame.document().line(x1, y1, x2, y2, roof);
    constexpr int kPieces = 60;  // small boxes along the line that labels keep off
    for (int i = 0; i <= kPieces; ++i) {
      const double share = static_cast<double>(i) / kPieces;
      frame.labels().block({x1 + share * (x2 - x1) - 2, y1 + share * (y2 - y1) - 2, 4, 4});
    }
  };
  frame.document().begin_clip(frame.plot());
  for (const Bandwidth& each : roofline.bandwidths) {
    const double ridge = extremes.most / each.gb_per_s;
    draw(x.place(x.low()), y.place(x.low() * each.gb_per_s / unit), x.place(ridge),
         y.place(extremes.most / unit));
  }
  for (const PeakRate& each : roofline.peaks) {
    const double at = y.place(each.gflop_per_s / unit);
    draw(x.place(each.gflop_per_s / extremes.fastest), at, frame.plot().right(), at);
  }
  frame.document().end_clip();
}

void label_roofs(XyFrame& frame, const Roofline& roofline, const Extremes& extremes, double unit) {
  const Axis &x = frame.x(), &y = frame.y();
  for (const PeakRate& each : roofline.peaks) {
    frame.labels().beside(frame.document(), frame.plot().right(), y.place(each.gflop_per_s / unit) - 10, 6,
                          each.label + ": " + rate_text(each.gflop_per_s * 1e9, "FLOP/s"));
  }
  for (const Bandwidth& each : roofline.bandwidths) {
    // The first place with room, from a quarter up the part of the slope that is shown.
    const double low = std::max(x.low(), y.low() * unit / each.gb_per_s),
                 ridge = extremes.most / each.gb_per_s;
    const std::string label = each.label + ": " + rate_text(each.gb_per_s * 1e9, "B/s");
    for (const double share : {0.25, 0.4, 0.55, 0.7, 0.1}) {
      const double intensity = low * std::pow(ridge / low, share);
      if (frame.labels().beside(frame.document(), x.place(intensity),
                                y.place(intensity * each.gb_per_s / unit) + 5, 12, label))
        break;
    }
  }
}

}  // namespace

Picture render(const Roofline& roofline) {
  require_at_most("points of a roofline", static_cast<std::int64_t>(roofline.points.size()),
                  kMaxRooflinePoints);
  const Extremes extremes = extremes_of(roofline);
  FrameSpec spec = frame_of(roofline, extremes);
  const double unit = extremes.most >= 2 * kTera ? kTera : 1;
  XyFrame frame(spec);
  draw_roofs(frame, roofline, extremes, unit);
  const auto place = [&](const RooflinePoint& point) {
    return std::pair(frame.x().place(point.intensity), frame.y().place(point.rate / unit));
  };
  for (std::size_t i = 0; i < roofline.points.size(); ++i) {
    const RooflinePoint& point = roofline.points[i];
    if (!shown(point)) continue;
    const auto [x, y] = place(point);
    frame.labels().block({x - 5, y - 5, 10, 10});
    const std::string rate =
        rate_text(point.rate * 1e9, "FLOP/s") + " at " + number_text(point.intensity) + " FLOP/byte";
    frame.document().symbol(static_cast<Symbol>(i % kSymbols), x, y, 5,
                            {.fill = Paint::category(i), .stroke = Paint::role(Role::kBackground)},
                            point.label + ": " + rate + (point.detail.empty() ? "" : "; ") + point.detail);
  }
  label_roofs(frame, roofline, extremes, unit);
  for (const RooflinePoint& point : roofline.points) {
    if (!shown(point)) continue;
    const auto [x, y] = place(point);
    frame.labels().beside(frame.document(), x, y, 9, point.label);
  }
  return std::move(frame).finish();
}

}  // namespace natten_sim::draw
