#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/validate/comparison.hpp>

namespace natten_sim::validate {

/// One curve of a chart.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool line = false;  ///< joined, in the order given
  bool marks = true;
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_x = true;
  bool log_y = true;
  bool diagonal = false;  ///< y = x, for predicted beside measured
  std::vector<Series> series;
  bool y_from_zero = false;  ///< unless logarithmic
};

/// A chart as one SVG element, 640 x 420. Series without points are left out; values that a logarithmic axis
/// cannot show as well. @throws InvalidParameter when no point is left.
[[nodiscard]] std::string svg_chart(const Chart& chart);

/// Several charts in one SVG, so many beside each other. @throws as svg_chart; on none at all.
[[nodiscard]] std::string svg_charts(const std::vector<Chart>& charts, int columns);

/// One self-contained HTML file: what was measured where, summary of errors, predicted against measured, DRAM
/// reads and throughput over the sequence length, every row, every miss and its cause. `views`: HTML that
/// goes before the rows.
[[nodiscard]] std::string html_report(const std::vector<Recording>& recordings, const Comparison& comparison,
                                      const std::string& views = "");

/// Throughput in TFLOP/s of an attention point's median time; empty for others and without timing.
[[nodiscard]] std::optional<double> teraflops(const RecordedRow& row);

}  // namespace natten_sim::validate
