#include "chart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace natten_sim::cli {
namespace {

constexpr double kLeft = 80, kTop = 40, kWidth = 520, kHeight = 340;

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string text_at(double x, double y, const std::string& text, const char* anchor, const char* extra = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, extra,
                     escaped(text));
}

std::string opening(double width, double height, const std::string& title) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
             "{0:.0f} {1:.0f}\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n<title>{2}</title>\n<rect width=\"100%\" "
             "height=\"100%\" "
             "fill=\"white\"/>\n",
             width, height, escaped(title)) +
         text_at(kLeft, 22, title, "start", " font-size=\"14\"");
}

/// A logarithmic axis over whole decades.
struct Decades {
  int first = 0, last = 1;
  void include(double value) {
    const double exponent = std::log10(value);
    if (empty_) {
      first = static_cast<int>(std::floor(exponent));
      last = first + 1;
      empty_ = false;
    }
    first = std::min(first, static_cast<int>(std::floor(exponent)));
    last = std::max(last, static_cast<int>(std::ceil(exponent)));
  }
  [[nodiscard]] double fraction(double value) const { return (std::log10(value) - first) / (last - first); }

 private:
  bool empty_ = true;
};

std::string decade(int exponent) {
  return exponent >= 0 && exponent <= 3 ? fmt::format("{:.0f}", std::pow(10.0, exponent))
                                        : fmt::format("1e{}", exponent);
}

}  // namespace

std::string svg_chart(const LogLogChart& chart) {
  Decades xs, ys;
  const auto include = [&](const ChartPoint& point) {
    xs.include(point.x);
    ys.include(point.y);
  };
  std::for_each(chart.points.begin(), chart.points.end(), include);
  for (const auto& line : chart.lines) std::for_each(line.begin(), line.end(), include);
  const auto across = [&](double x) { return kLeft + kWidth * xs.fraction(x); };
  const auto down = [&](double y) { return kTop + kHeight * (1 - ys.fraction(y)); };
  std::string svg = opening(kLeft + kWidth + 40, kTop + kHeight + 60, chart.title);
  for (int e = xs.first; e <= xs.last; ++e) {
    const double x = across(std::pow(10.0, e));
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#ddd\"/>\n", x, kTop, kTop + kHeight);
    svg += text_at(x, kTop + kHeight + 18, decade(e), "middle");
  }
  for (int e = ys.first; e <= ys.last; ++e) {
    const double y = down(std::pow(10.0, e));
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" stroke=\"#ddd\"/>\n", kLeft, y, kLeft + kWidth);
    svg += text_at(kLeft - 8, y + 4, decade(e), "end");
  }
  svg += text_at(kLeft + kWidth / 2, kTop + kHeight + 42, chart.x_label, "middle");
  svg +=
      fmt::format("<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                  kTop + kHeight / 2, escaped(chart.y_label));
  for (const auto& line : chart.lines) {
    std::string path;
    for (const ChartPoint& point : line)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", across(point.x), down(point.y));
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#555\" stroke-width=\"1.5\"/>\n", path);
    if (!line.empty() && !line.front().label.empty())
      svg += text_at(across(line.back().x) - 4, down(line.back().y) - 6, line.front().label, "end");
  }
  for (const ChartPoint& point : chart.points) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#1f77b4\"/>\n", across(point.x),
                       down(point.y));
    if (!point.label.empty()) svg += text_at(across(point.x) + 6, down(point.y) + 14, point.label, "start");
  }
  return svg + "</svg>\n";
}

std::string svg_chart(const BarChart& chart) {
  constexpr double kLabels = 170, kRow = 26;
  Decades axis;
  for (const Bar& bar : chart.bars) axis.include(bar.value);
  const double height = kRow * static_cast<double>(chart.bars.size());
  const double bottom = kTop + height;
  std::string svg = opening(kLabels + kWidth + 170, bottom + 50, chart.title);
  for (int e = axis.first; e <= axis.last; ++e) {
    const double x = kLabels + kWidth * axis.fraction(std::pow(10.0, e));
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#ddd\"/>\n", x, kTop, bottom);
    svg += text_at(x, bottom + 16, decade(e), "middle");
  }
  svg += text_at(kLabels + kWidth / 2, bottom + 38, chart.value_label, "middle");
  double y = kTop;
  for (const Bar& bar : chart.bars) {
    const double width = kWidth * axis.fraction(bar.value);
    svg +=
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#1f77b4\"/>\n",
                    kLabels, y + 4, std::max(width, 1.0), kRow - 8);
    svg += text_at(kLabels - 8, y + 17, bar.label, "end");
    svg += text_at(kLabels + std::max(width, 1.0) + 6, y + 17, bar.note, "start");
    y += kRow;
  }
  return svg + "</svg>\n";
}

}  // namespace natten_sim::cli
