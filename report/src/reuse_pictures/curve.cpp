#include <algorithm>

#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/reuse_report.hpp>
#include <natten_sim/report/draw/chart.hpp>

#include "reuse_numbers.hpp"
#include "reuse_pictures.hpp"

namespace natten_sim::report::pictures {
namespace {

/// Points of a miss curve that a picture can show.
constexpr std::size_t kMaxCurveSteps = 512;

using study::ReuseAnswer;
using study::ReuseResult;

/// Thinned evenly; capacity 0 has no place on a logarithmic axis.
std::vector<draw::Point> curve_points(const std::vector<ReuseProfile::Point>& curve) {
  std::vector<draw::Point> points;
  const std::size_t every = std::max<std::size_t>(1, curve.size() / kMaxCurveSteps);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if ((i % every != 0 && i + 1 != curve.size()) || curve[i].bytes == 0) continue;
    points.push_back({static_cast<double>(curve[i].bytes), static_cast<double>(curve[i].count)});
  }
  return points;
}

draw::Picture draw_curve(const ReuseAnswer& answer) {
  draw::CurvePlot picture{.heading = {"Misses at every capacity", joined(reuse_subject(answer))},
                          .x = {.label = "capacity", .scale = draw::Scale::kLog, .unit = draw::Unit::kBytes},
                          .y = {.label = "miss sectors", .scale = draw::Scale::kLog}};
  bool any = false;
  for (const ReuseResult* result : results_of(answer.results.front())) {
    picture.series.push_back({.label = walked_order(*result),
                              .points = curve_points(result->curve),
                              .style = draw::SeriesStyle::kSteps});
    any = any || !picture.series.back().points.empty();
  }
  require_points(any);
  picture.marks = capacity_mark(answer);
  return picture_of(picture);
}

}  // namespace

ReusePicture curve_picture();
ReusePicture curve_picture() {
  return {.name = "curve",
          .position = 20,
          .what = "misses over capacities",
          .details = {.curve = true},
          .draw = draw_curve,
          .csv = reuse_curve_csv};
}

}  // namespace natten_sim::report::pictures
