#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/draw/annotation.hpp>
#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// Series of points over two axes, each a line, steps or symbols.
///
///     CurvePlot plot{.heading = {"Misses at every capacity", "64k tokens, head dim 128"},
///                    .x = {.label = "capacity", .scale = Scale::kLog, .unit = Unit::kBytes},
///                    .y = {.label = "miss sectors", .scale = Scale::kLog}};
///     plot.series.push_back({.label = "cyclic", .points = {{1048576, 2e6}, {2097152, 1e6}}});
///     std::string svg = render(plot).svg;
///
/// Points are drawn in the order given. One that its axes cannot show (not finite; not positive on a
/// logarithmic axis) is left out and interrupts its line. Without any point the axes are drawn and say so.

struct Point {
  double x = 0, y = 0;
};

enum class SeriesStyle {
  kLine,
  kSteps,  ///< a value holds until the next point's x
  kPoints,
  kLineAndPoints,
};

struct Series {
  std::string label;  ///< empty: not in the legend
  std::vector<Point> points;
  SeriesStyle style = SeriesStyle::kLine;
  std::optional<std::size_t> category{};  ///< its colour and symbol; the place in `series` unless given, so
                                          ///< that measured and predicted can share one
  bool dashed = false;
};

struct CurvePlot {
  Heading heading;
  AxisSpec x, y;
  std::vector<Series> series;
  std::vector<Mark> marks;
  std::vector<Band> bands;
  double width = 720;        ///< of the picture, at least 240
  double plot_height = 300;  ///< of the area between the axes, at least 60
};

inline constexpr std::size_t kMaxCurvePoints = 200'000;

/// O(points). @throws LimitExceeded beyond kMaxCurvePoints in all series together; std::invalid_argument for
/// sizes below the least.
[[nodiscard]] Picture render(const CurvePlot& plot);

}  // namespace natten_sim::draw
