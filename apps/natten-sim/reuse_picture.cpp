#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>

#include "reuse_report.hpp"

namespace natten_sim::cli {
namespace {

constexpr double kWidth = 720, kHeight = 420, kLeft = 90, kRight = 24, kTop = 44, kBottom = 58;
constexpr const char* kColours[] = {"#1f5fa8", "#c8561b", "#4a4a4a", "#9a9a9a"};
constexpr std::size_t kMostPoints = 512;

struct Series {
  std::string label;
  std::vector<std::pair<double, double>> points;
};

/// What is drawn: series over an axis from x_lo to x_hi, logarithmic or not.
struct Chart {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false, bars = false, x_bytes = false;
  double x_lo = 0, x_hi = 1, y_lo = 0, y_hi = 1;
  std::vector<Series> series;
  std::optional<double> mark;
  std::string mark_label;

  [[nodiscard]] double x(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * share(value, x_lo, x_hi, log_x);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * share(value, y_lo, y_hi, log_y);
  }

 private:
  static double share(double value, double lo, double hi, bool log) {
    if (hi <= lo) return 0.5;
    const double s = log ? std::log(std::max(value, lo) / lo) / std::log(hi / lo) : (value - lo) / (hi - lo);
    return std::clamp(s, 0.0, 1.0);
  }
};

std::string short_number(double value) {
  for (const auto& [unit, name] : {std::pair{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}) {
    if (value >= unit) return fmt::format("{:.3g}{}", value / unit, name);
  }
  return fmt::format("{:.3g}", value);
}

std::string short_bytes(double value) {
  for (const auto& [unit, name] :
       {std::pair{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}}) {
    if (value >= unit) return fmt::format("{:.3g} {}", value / unit, name);
  }
  return fmt::format("{:.3g} B", value);
}

/// Powers of ten (of two for bytes) on a logarithmic axis, else five even steps.
std::vector<double> ticks(double lo, double hi, bool log, bool bytes) {
  std::vector<double> at;
  if (!log) {
    for (int i = 0; i <= 5; ++i) at.push_back(lo + (hi - lo) * i / 5);
    return at;
  }
  const double base = bytes ? 2 : 10;
  const double first = std::ceil(std::log(lo) / std::log(base) - 1e-9);
  const double last = std::floor(std::log(hi) / std::log(base) + 1e-9);
  const double step = std::max(1.0, std::ceil((last - first + 1) / 8));
  for (double power = first; power <= last; power += step) at.push_back(std::pow(base, power));
  return at;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* extra = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, extra,
                     text);
}

std::string axes(const Chart& chart) {
  std::string svg =
      fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\" stroke=\"#333\" fill=\"none\"/>\n", kLeft,
                  kTop, kHeight - kBottom, kWidth - kRight);
  for (const double tick : ticks(chart.x_lo, chart.x_hi, chart.log_x, chart.x_bytes)) {
    svg +=
        fmt::format("<path d=\"M{0:.1f} {1:.1f}v5\" stroke=\"#333\"/>\n", chart.x(tick), kHeight - kBottom);
    svg += text_at(chart.x(tick), kHeight - kBottom + 18, "middle",
                   chart.x_bytes ? short_bytes(tick) : short_number(tick));
  }
  for (const double tick : ticks(chart.y_lo, chart.y_hi, chart.log_y, false)) {
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" stroke=\"#ddd\"/>\n", kLeft, chart.y(tick),
                       kWidth - kRight);
    svg += text_at(kLeft - 6, chart.y(tick) + 4, "end", short_number(tick));
  }
  svg += text_at((kLeft + kWidth - kRight) / 2, kHeight - 16, "middle", chart.x_label);
  return svg;
}

std::string bars(const Chart& chart) {
  std::string svg;
  const auto count = static_cast<double>(chart.series.size());
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    for (const auto& [upto, value] : chart.series[s].points) {
      if (value <= 0) continue;
      const double left = chart.x(upto / 2), width = (chart.x(upto) - left - 2) / count;
      svg += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                         left + 1 + static_cast<double>(s) * width, chart.y(value), std::max(width, 0.5),
                         kHeight - kBottom - chart.y(value), kColours[s % 4]);
    }
  }
  return svg;
}

std::string lines(const Chart& chart) {
  std::string svg;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    std::string path;
    for (const auto& [x, y] : chart.series[s].points)
      path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", chart.x(x), chart.y(y));
    svg += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"2\" fill=\"none\"{}/>\n", path,
                       kColours[s % 4], s >= 2 ? " stroke-dasharray=\"5 4\"" : "");
  }
  return svg;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return safe;
}

std::string drawn(const Chart& chart) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<title>{2}</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight, escaped(chart.title));
  svg +=
      text_at(kLeft, 18, "start", escaped(chart.title + " (" + chart.y_label + ")"), " font-weight=\"bold\"");
  svg += axes(chart) + (chart.bars ? bars(chart) : lines(chart));
  if (chart.mark && *chart.mark >= chart.x_lo && *chart.mark <= chart.x_hi) {
    svg += fmt::format("<path d=\"M{0:.2f} {1:.1f}V{2:.1f}\" stroke=\"#000\" stroke-dasharray=\"4 3\"/>\n",
                       chart.x(*chart.mark), kTop, kHeight - kBottom);
    svg += text_at(chart.x(*chart.mark) - 4, kHeight - kBottom - 8, "end", escaped(chart.mark_label));
  }
  double y = kTop - 10;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const double x = kWidth - kRight - 150 * static_cast<double>(chart.series.size() - s) + 10;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", x, y - 9,
                       kColours[s % 4]);
    svg += text_at(x + 14, y, "start", escaped(chart.series[s].label));
  }
  return svg + "</svg>\n";
}

void fit_ranges(Chart& chart) {
  bool first = true;
  for (const Series& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      const double lo = chart.bars ? x / 2 : x;
      chart.x_lo = first ? lo : std::min(chart.x_lo, lo);
      chart.x_hi = first ? x : std::max(chart.x_hi, x);
      chart.y_hi = first ? y : std::max(chart.y_hi, y);
      if (y > 0) chart.y_lo = first || chart.y_lo <= 0 ? y : std::min(chart.y_lo, y);
      first = false;
    }
  }
  if (first)
    throw InvalidParameter("svg", "nothing to draw", "a fidelity that gives these numbers, such as lru");
  if (!chart.log_y) chart.y_lo = 0;
  if (chart.log_y) chart.y_lo = std::max(chart.y_lo, 1e-9) / 2;
  if (chart.y_hi <= chart.y_lo) chart.y_hi = chart.y_lo + 1;
  if (chart.x_hi <= chart.x_lo) chart.x_hi = chart.x_lo + 1;
}

/// Steps of a miss curve, thinned evenly to what a picture can show.
Series steps(const ReuseAnswer& answer) {
  Series series{answer.order, {}};
  const std::size_t size = answer.curve.size();
  const std::size_t every = std::max<std::size_t>(1, size / kMostPoints);
  double level = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (i % every != 0 && i + 1 != size) continue;
    const auto bytes = static_cast<double>(answer.curve[i].bytes);
    const auto misses = static_cast<double>(answer.curve[i].count);
    if (i > 0 && bytes > 0) {
      if (!series.points.empty()) series.points.emplace_back(bytes, level);
      series.points.emplace_back(bytes, misses);
    }
    level = misses;
  }
  return series;
}

Chart picture_of_answer(const ReusePair& pair, ReusePicture picture) {
  Chart chart;
  chart.log_x = chart.x_bytes = true;
  chart.bars = picture == ReusePicture::kHistogram;
  chart.log_y = !chart.bars;
  chart.title = chart.bars ? "LRU stack distances" : "Misses at every capacity";
  chart.x_label = chart.bars ? "stack distance up to" : "capacity";
  chart.y_label = chart.bars ? "sectors" : "miss sectors";
  const auto add = [&](const ReuseAnswer& answer) {
    if (!chart.bars) {
      chart.series.push_back(steps(answer));
      return;
    }
    Series series{answer.order, {}};
    for (const ReuseProfile::Point& bucket : answer.histogram)
      series.points.emplace_back(static_cast<double>(bucket.bytes), static_cast<double>(bucket.count));
    chart.series.push_back(series);
  };
  add(pair.first);
  if (pair.second) add(*pair.second);
  if (pair.first.effective_capacity_bytes)
    chart.mark = static_cast<double>(*pair.first.effective_capacity_bytes);
  return chart;
}

Chart picture_of_sweep(const std::vector<ReusePair>& pairs) {
  Chart chart;
  chart.title = "Misses and sectors over the sequence length";
  chart.x_label = "sequence length";
  chart.y_label = "sectors";
  chart.log_y = true;
  const auto series = [&](const std::string& label, auto value) {
    Series line{label, {}};
    for (const ReusePair& pair : pairs) {
      const std::optional<std::int64_t> y = value(pair);
      if (y && *y > 0) line.points.emplace_back(static_cast<double>(pair.seqlen), static_cast<double>(*y));
    }
    if (!line.points.empty()) chart.series.push_back(line);
  };
  series("misses, " + pairs.front().first.order, [](const ReusePair& p) { return p.first.miss_sectors; });
  if (pairs.front().second) {
    series("misses, " + pairs.front().second->order,
           [](const ReusePair& p) { return p.second->miss_sectors; });
  }
  series("sectors", [](const ReusePair& p) { return std::optional(p.first.sectors.total); });
  series("cold", [](const ReusePair& p) { return std::optional(p.first.cold_sectors); });
  if (pairs.front().first.first_noncompulsory_seqlen) {
    chart.mark = static_cast<double>(*pairs.front().first.first_noncompulsory_seqlen);
    chart.mark_label = "beyond capacity";
  }
  return chart;
}

}  // namespace

std::string reuse_svg(const ReuseRequest& request, const std::vector<ReusePair>& pairs,
                      ReusePicture picture) {
  Chart chart =
      picture == ReusePicture::kSweep ? picture_of_sweep(pairs) : picture_of_answer(pairs.front(), picture);
  if (picture != ReusePicture::kSweep && chart.mark)
    chart.mark_label =
        (request.device ? request.device->name + ": " : std::string()) + short_bytes(*chart.mark);
  fit_ranges(chart);
  return drawn(chart);
}

}  // namespace natten_sim::cli
