#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// Predicted against measured values, with the diagonal and bands of tolerance. Both axes have the same ends.
///
///     ScatterPlot plot{.heading = {"DRAM reads", "H200, suite sawtooth"}, .quantity = "bytes",
///                      .scale = Scale::kLog, .unit = Unit::kBytes, .tolerances = {{.relative = 0.05}}};
///     plot.series.push_back({"lockstep model", {{.measured = 1e9, .predicted = 1.02e9, .detail = "8k"}}});
///     std::string svg = render(plot).svg;
///
/// Points outside the widest tolerance have a rim. Values that the scale cannot show are left out, and the
/// picture says how many.

struct MeasuredPoint {
  double measured = 0, predicted = 0;
  std::string detail{};  ///< a tooltip: which point this is
};

struct MeasuredSeries {
  std::string label;
  std::vector<MeasuredPoint> points;
};

/// |predicted - measured| <= relative * |measured| + absolute.
struct Tolerance {
  double relative = 0, absolute = 0;  ///< 0 or more
};

struct ScatterPlot {
  Heading heading;
  std::string quantity;  ///< and its unit: the axes are "measured (quantity)", "predicted (quantity)" unless
                         ///< `across` and `up` say otherwise
  Scale scale = Scale::kLinear;
  Unit unit = Unit::kNumber;
  std::vector<Tolerance> tolerances;
  std::vector<MeasuredSeries> series;
  double size = 480;  ///< width of the picture, at least 240
  std::string across = "measured", up = "predicted";  ///< what the axes show
};

inline constexpr std::size_t kMaxMeasuredPoints = 50'000;

/// O(points). @throws LimitExceeded beyond kMaxMeasuredPoints in all series together; std::invalid_argument
/// for a negative tolerance or a small size.
[[nodiscard]] Picture render(const ScatterPlot& plot);

}  // namespace natten_sim::draw
