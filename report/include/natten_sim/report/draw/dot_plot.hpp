#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// Several numbers of each item on one line: for tables that are compared.
///
///     DotPlot plot{.heading = {"Table 4.4", "FLUX, 4K"}, .value = {.label = "speedup"},
///                  .series = {"published", "ours"}};
///     plot.rows.push_back({"stride 16x16", {1.88, 1.8769}});
///     std::string svg = render(plot).svg;
///
/// A line of an item joins its numbers. The first series is drawn as a ring, which shows what lies below it.
/// Numbers that the axis cannot show are left out.

struct DotRow {
  std::string label;
  std::vector<std::optional<double>> values;  ///< one a series; missing ones at the end are absent
};

struct DotPlot {
  Heading heading;
  AxisSpec value;
  std::vector<std::string> series;
  std::vector<DotRow> rows;  ///< from the first down
  double width = 860;        ///< of the picture, at least 360
};

inline constexpr std::size_t kMaxDotRows = 2'000;

/// O(numbers). @throws LimitExceeded beyond kMaxDotRows; std::invalid_argument for more numbers in a row than
/// series, or a small width.
[[nodiscard]] Picture render(const DotPlot& plot);

}  // namespace natten_sim::draw
