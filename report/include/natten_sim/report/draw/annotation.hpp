#pragma once

#include <string>

namespace natten_sim::draw {

/// Marks and bands in a plot with two axes. Values are on the axis that the direction crosses.
///
///     plot.marks.push_back({.at = 50e6, .label = "L2 capacity"});
///     plot.bands.push_back({.from = 8192, .to = 16384, .label = "fitted"});
///
/// Outside the axes nothing is drawn; marks and bands do not widen them.

enum class Direction {
  kAcross,  ///< a value of the x axis: a vertical line or strip
  kUp,      ///< a value of the y axis: a horizontal line or strip
};

/// A dashed line with a label.
struct Mark {
  double at = 0;
  std::string label;
  Direction direction = Direction::kAcross;
};

/// A shaded strip with a label.
struct Band {
  double from = 0, to = 0;
  std::string label;
  Direction direction = Direction::kAcross;
};

}  // namespace natten_sim::draw
