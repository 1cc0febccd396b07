#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/report.hpp>

#include "html.hpp"

namespace natten_sim::validate {
namespace {

constexpr double kWidth = 640, kHeight = 420, kLeft = 76, kRight = 190, kTop = 34, kBottom = 48;
// Distinguishable by people with colour vision deficiencies (Okabe and Ito, 2008).
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

std::string format(const char* pattern, double a, double b = 0, double c = 0, double d = 0) {
  std::array<char, 256> text{};
  (void)std::snprintf(text.data(), text.size(), pattern, a, b, c, d);
  return text.data();
}

class Axis {
  static constexpr double kMost = 1e300;  // differences of such values are still finite

 public:
  Axis(bool logarithmic, double from, double to) : logarithmic_(logarithmic), from_(from), to_(to) {}

  [[nodiscard]] bool shows(double value) const {
    return std::abs(value) <= kMost && (!logarithmic_ || value > 0);
  }
  void include(double value) {
    low_ = std::min(low_, mapped(value));
    high_ = std::max(high_, mapped(value));
  }
  void widen() {
    const double margin = high_ > low_   ? 0.04 * (high_ - low_)
                          : logarithmic_ ? 0.3
                                         : std::max(1.0, std::abs(low_) * 0.1);
    low_ -= margin;
    high_ += margin;
  }
  [[nodiscard]] bool empty() const { return low_ > high_; }
  [[nodiscard]] double place(double value) const {
    return from_ + (mapped(value) - low_) / (high_ - low_) * (to_ - from_);
  }
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> ticks;
    if (logarithmic_) {
      const double range = high_ - low_;
      const int decades = std::max(1, static_cast<int>(range / 10));
      const std::vector<double> multiples = range > 2.5 ? std::vector<double>{1}
                                            : range > 0.9
                                                ? std::vector<double>{1, 2, 5}
                                                : std::vector<double>{1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9};
      for (int e = static_cast<int>(std::floor(low_)); e <= static_cast<int>(std::ceil(high_));
           e += decades) {
        for (const double m : multiples) {
          const double value = m * std::pow(10.0, e);
          if (mapped(value) >= low_ && mapped(value) <= high_) ticks.push_back(value);
        }
      }
    } else {
      const double raw = (high_ - low_) / 5, power = std::pow(10.0, std::floor(std::log10(raw)));
      const double step = raw / power < 1.5   ? power
                          : raw / power < 3.5 ? 2 * power
                          : raw / power < 7.5 ? 5 * power
                                              : 10 * power;
      // By number: adding a step to a value much larger than it changes nothing.
      const double first = std::ceil(low_ / step);
      for (int i = 0; i < 16 && (first + i) * step <= high_; ++i) ticks.push_back((first + i) * step);
    }
    return ticks;
  }

 private:
  [[nodiscard]] double mapped(double value) const { return logarithmic_ ? std::log10(value) : value; }
  bool logarithmic_;
  double from_, to_;
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();
};

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e12) return format("%.3gT", value / 1e12);
  if (size >= 1e9) return format("%.3gG", value / 1e9);
  if (size >= 1e6) return format("%.3gM", value / 1e6);
  if (size >= 1e3) return format("%.3gk", value / 1e3);
  return format("%.3g", value);
}

std::string grid(const Axis& x, const Axis& y, const Chart& chart) {
  std::string svg;
  const double right = kWidth - kRight, bottom = kHeight - kBottom;
  for (const double tick : x.ticks()) {
    svg += format("<line class='g' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", x.place(tick), x.place(tick),
                  kTop, bottom);
    svg += format("<text x='%.1f' y='%.1f' text-anchor='middle'>", x.place(tick), bottom + 16) +
           tick_text(tick) + "</text>";
  }
  for (const double tick : y.ticks()) {
    svg += format("<line class='g' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", kLeft, right, y.place(tick),
                  y.place(tick));
    svg += format("<text x='%.1f' y='%.1f' text-anchor='end'>", kLeft - 6, y.place(tick) + 4) +
           tick_text(tick) + "</text>";
  }
  svg += format("<text x='%.1f' y='%.1f' text-anchor='middle'>", (kLeft + right) / 2, kHeight - 10) +
         escaped_html(chart.x_label) + "</text>";
  svg +=
      format("<text transform='translate(16 %.1f) rotate(-90)' text-anchor='middle'>", (kTop + bottom) / 2) +
      escaped_html(chart.y_label) + "</text>";
  svg += format("<text class='t' x='%.1f' y='20'>", kLeft) + escaped_html(chart.title) + "</text>";
  return svg;
}

}  // namespace

std::string svg_chart(const Chart& chart) {
  Axis x(chart.log_x, kLeft, kWidth - kRight), y(chart.log_y, kHeight - kBottom, kTop);
  for (const Series& series : chart.series) {
    for (const auto& [px, py] : series.points) {
      if (!x.shows(px) || !y.shows(py)) continue;
      x.include(px);
      y.include(py);
      if (chart.diagonal && y.shows(px) && x.shows(py)) {
        x.include(py);
        y.include(px);
      }
    }
  }
  if (x.empty()) throw InvalidParameter("chart", chart.title, "at least one point that its axes can show");
  if (chart.y_from_zero && y.shows(0)) y.include(0);
  x.widen();
  y.widen();
  std::string svg =
      format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' height='%.0f'>",
             kWidth, kHeight, kWidth, kHeight) +
      "<style>text{font:12px sans-serif;fill:#222}.t{font-weight:bold}.g{stroke:#ddd}</style>"
      "<rect width='100%' height='100%' fill='white'/>" +
      grid(x, y, chart);
  std::size_t place = 0;
  for (const Series& series : chart.series) {
    // The second round of colours has hollow marks and dashed lines.
    const std::string paint = kColours[place % kColours.size()];
    const bool again = place >= kColours.size();
    const std::string style = "fill='" + (again ? "white" : paint) + "' stroke='" + paint + "'/>";
    std::string marks, path;
    for (const auto& [px, py] : series.points) {
      if (!x.shows(px) || !y.shows(py)) continue;
      path += (path.empty() ? "M" : "L") + format("%.1f %.1f", x.place(px), y.place(py));
      marks +=
          format("<circle cx='%.1f' cy='%.1f' r='3' fill-opacity='.75' ", x.place(px), y.place(py)) + style;
    }
    if (path.empty()) continue;
    if (series.line) {
      svg += "<path d='" + path + "' fill='none' stroke='" + paint + "' stroke-width='1.5'" +
             (again ? " stroke-dasharray='5 3'/>" : "/>");
    }
    if (series.marks) svg += marks;
    const double legend = kTop + 14 + 18 * static_cast<double>(place);
    svg += series.marks
               ? format("<circle cx='%.1f' cy='%.1f' r='4' ", kWidth - kRight + 14, legend - 4) + style
               : format("<path d='M%.1f %.1fh8' ", kWidth - kRight + 10, legend - 4) + "stroke='" + paint +
                     "' stroke-width='2'/>";
    svg += format("<text x='%.1f' y='%.1f'>", kWidth - kRight + 24, legend) + escaped_html(series.name) +
           "</text>";
    ++place;
  }
  if (chart.diagonal) {
    const auto corner = [&](double value) { return format("%.1f %.1f", x.place(value), y.place(value)); };
    const std::vector<double> ticks = x.ticks();
    if (ticks.size() >= 2) {
      svg += "<path d='M" + corner(ticks.front()) + "L" + corner(ticks.back()) +
             "' stroke='#888' stroke-dasharray='4 3' fill='none'/>";
    }
  }
  return svg + "</svg>";
}

std::string svg_charts(const std::vector<Chart>& charts, int columns) {
  if (charts.empty()) throw InvalidParameter("charts", "none", "at least one");
  const auto count = static_cast<int>(charts.size());
  const int across = std::clamp(columns, 1, count), down = (count + across - 1) / across;
  std::string svg = format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' ",
                           across * kWidth, down * kHeight) +
                    format("width='%.0f' height='%.0f'>\n", across * kWidth, down * kHeight);
  for (int i = 0; i < count; ++i) {
    svg += format("<g transform='translate(%.0f %.0f)'>", i % across * kWidth, i / across * kHeight) +
           svg_chart(charts[static_cast<std::size_t>(i)]) + "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace natten_sim::validate
