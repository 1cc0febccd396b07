#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/reuse_report.hpp>
#include <natten_sim/report/draw/chart.hpp>

#include "reuse_numbers.hpp"
#include "reuse_pictures.hpp"

namespace natten_sim::report::pictures {
namespace {

using study::ReuseAnswer;
using study::ReuseResult;

draw::Picture draw_histogram(const ReuseAnswer& answer) {
  draw::Histogram picture{
      .heading = {"LRU stack distances", joined(reuse_subject(answer))},
      .x = {.label = "stack distance", .scale = draw::Scale::kLog, .unit = draw::Unit::kBytes},
      .y = {.label = "sectors"}};
  std::vector<double> counts;
  for (const ReuseResult* result : results_of(answer.results.front())) {
    draw::BucketSeries series{walked_order(*result), {}};
    for (const ReuseProfile::Point& bucket : result->histogram) {
      const auto upto = static_cast<double>(bucket.bytes);
      counts.push_back(static_cast<double>(bucket.count));
      series.buckets.push_back({upto / 2, upto, counts.back()});
    }
    picture.series.push_back(std::move(series));
  }
  require_points(!counts.empty());
  picture.y.scale = draw::scale_for(counts);
  picture.marks = capacity_mark(answer);
  return picture_of(picture);
}

}  // namespace

ReusePicture histogram_picture();
ReusePicture histogram_picture() {
  return {.name = "histogram",
          .position = 10,
          .what = "sectors by their stack distance",
          .details = {.histogram = true},
          .draw = draw_histogram,
          .csv = reuse_histogram_csv};
}

}  // namespace natten_sim::report::pictures
