#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// Tables of coloured numbers: lines of panels side by side, each with rows and columns.
///
///     HeatMap map{.heading = {"TFLOP/s in % of PyTorch", "H200"},
///                 .scale = {.low = 0.25, .middle = 1, .high = 4, .axis = Scale::kLog, .unit =
///                 Unit::kPercent,
///                           .low_note = "slower", .high_note = "faster"}};
///     map.lines.push_back({"bf16", {{"flash", {"512", "1024"}, {"64"}, {{.value = 0.8}, {.reason = "no
///     kernel"}}}}}); std::string svg = render(map).svg;
///
/// With `middle` colours diverge from it, orange below, blue above; without they run from low to high.
/// A cell without a number is grey and says why.

struct ColorScale {
  double low = 0;
  std::optional<double> middle{};  ///< low < middle < high
  double high = 1;
  Scale axis = Scale::kLinear;  ///< logarithmic: all three positive
  Unit unit = Unit::kNumber;    ///< of the labels below the ramp
  std::string low_note{}, high_note{};
};

struct HeatCell {
  std::optional<double> value{};
  std::string text{};    ///< what the cell shows; empty: the value
  std::string reason{};  ///< why there is no value: shown shortened, whole in the tooltip
};

struct HeatPanel {
  std::string title;
  std::vector<std::string> rows, columns;
  std::vector<HeatCell> cells;  ///< row by row: rows x columns
};

struct HeatLine {
  std::string title;
  std::vector<HeatPanel> panels;
};

struct HeatMap {
  Heading heading;
  ColorScale scale;
  std::string row_name, column_name;  ///< what the labels are: "tokens", "head dim"
  std::vector<HeatLine> lines;
};

inline constexpr std::size_t kMaxHeatCells = 20'000;

/// O(cells). @throws LimitExceeded beyond kMaxHeatCells; std::invalid_argument when a panel's cells are not
/// rows x columns or the scale is out of order.
[[nodiscard]] Picture render(const HeatMap& map);

/// Where a value lies on the scale: -1 to 1 when it diverges, else 0 to 1. Clamped; a value that a
/// logarithmic scale cannot show is at its low end.
[[nodiscard]] double fraction_of(const ColorScale& scale, double value);

}  // namespace natten_sim::draw
