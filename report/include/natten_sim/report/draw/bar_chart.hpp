#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// Horizontal bars, from the first down, each with a label before and a note behind it.
///
///     BarChart chart{.heading = {"Remedies", "1M updates of 4096 rows"},
///                    .value = {.label = "predicted time (us)", .scale = Scale::kLog}};
///     chart.bars = {{"as-is", 812.5, "812 us"}, {"sorted", 40.2, "40.2 us"}};
///     std::string svg = render(chart).svg;
///
/// A linear axis includes 0, and negative bars run to the left of it; a logarithmic one starts below the
/// smallest positive value, and values that it cannot show have a note but no bar.

struct Bar {
  std::string label;
  double value = 0;
  std::string note{};        ///< behind the bar; empty: the value
  std::size_t category = 0;  ///< its colour
};

struct BarChart {
  Heading heading;
  AxisSpec value;
  std::vector<Bar> bars;
  /// On a linear axis: bars with the label of the one before continue it, and only the last has a note.
  bool stacked = false;
  std::vector<std::string> categories;  ///< names for the legend; empty: no legend
  double width = 720;                   ///< of the picture, at least 360
};

inline constexpr std::size_t kMaxBars = 2'000;

/// Where a bar lies on the axis, and what stands behind it.
struct PlacedBar {
  double from = 0, to = 0;
  std::string note;         ///< empty: another bar continues this one
  bool continues = false;  ///< the one before
};
/// One a bar. O(bars).
[[nodiscard]] std::vector<PlacedBar> placed_bars(const BarChart& chart);

/// O(bars). @throws LimitExceeded beyond kMaxBars; std::invalid_argument for a value that is not finite or a
/// small width.
[[nodiscard]] Picture render(const BarChart& chart);

}  // namespace natten_sim::draw
