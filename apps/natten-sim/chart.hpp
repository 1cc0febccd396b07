#pragma once

#include <string>
#include <vector>

namespace natten_sim::cli {

struct ChartPoint {
  double x = 0, y = 0;
  std::string label;  ///< empty: none
};

/// Points over two logarithmic axes, and lines between given ends. Coordinates must be positive.
struct LogLogChart {
  std::string title, x_label, y_label;
  std::vector<ChartPoint> points;
  std::vector<std::vector<ChartPoint>> lines;  ///< each a polyline; the label of its first point is shown
};

struct Bar {
  std::string label;
  double value = 0;
  std::string note;
};

/// Horizontal bars over a logarithmic axis, from the first down.
struct BarChart {
  std::string title, value_label;
  std::vector<Bar> bars;
};

/// Self-contained SVG documents; the same input gives the same text.
[[nodiscard]] std::string svg_chart(const LogLogChart& chart);
[[nodiscard]] std::string svg_chart(const BarChart& chart);

}  // namespace natten_sim::cli
