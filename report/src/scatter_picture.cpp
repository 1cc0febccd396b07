#include <algorithm>

#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/report/draw/chart.hpp>

#include "scatter_picture.hpp"

namespace natten_sim::report {
namespace {

/// Up to this number of updates of a row, each number has its own bar; beyond it, bars double in width.
constexpr std::int64_t kMaxSingleBars = 64;

std::vector<draw::Bucket> single_buckets(const CollisionCount& collisions) {
  std::vector<draw::Bucket> buckets;
  for (const MultiplicityCount& bin : collisions.histogram) {
    const double middle = static_cast<double>(bin.multiplicity);
    buckets.push_back({middle - 0.5, middle + 0.5, static_cast<double>(bin.rows)});
  }
  return buckets;
}

std::vector<draw::Bucket> doubling_buckets(const CollisionCount& collisions) {
  std::vector<draw::Bucket> buckets;
  std::int64_t end = 1;
  for (const MultiplicityCount& bin : collisions.histogram) {
    while (end <= bin.multiplicity) {
      buckets.push_back({static_cast<double>(end), static_cast<double>(2 * end), 0});
      end *= 2;
    }
    buckets.back().count += static_cast<double>(bin.rows);
  }
  return buckets;
}

}  // namespace

draw::Picture collision_picture(const CollisionCount& collisions, const std::string& subject) {
  const std::int64_t hottest = collisions.max_multiplicity;
  const bool single = hottest <= kMaxSingleBars;
  draw::Histogram histogram{.heading = {"Collisions", subject},
                            .x = {.label = "updates of a row",
                                  .scale = single ? draw::Scale::kLinear : draw::Scale::kLog,
                                  .unit = single ? draw::Unit::kNumber : draw::Unit::kBinary},
                            .y = {.label = "rows", .scale = draw::Scale::kLog}};
  histogram.series.push_back({"", single ? single_buckets(collisions) : doubling_buckets(collisions)});
  if (hottest > 0)
    histogram.marks.push_back(
        {.at = static_cast<double>(hottest), .label = "hottest: " + std::to_string(hottest)});
  return picture_of(histogram);
}

draw::Picture remedies_picture(const std::vector<Remedy>& remedies, const std::string& subject) {
  draw::BarChart chart{.heading = {"Remedies", subject}, .value = {.label = "predicted time (us)"}};
  const bool long_ones = std::any_of(remedies.begin(), remedies.end(),
                                     [](const Remedy& remedy) { return remedy.time_ns >= 1e6; });
  if (long_ones) chart.value.label = "predicted time (ms)";
  for (const Remedy& remedy : remedies)
    chart.bars.push_back({remedy.name, remedy.time_ns * (long_ones ? 1e-6 : 1e-3), time_text(remedy.time_ns)});
  return picture_of(chart);
}

const PictureKinds<study::ScatterAnswer>& scatter_pictures() {
  using study::ScatterAnswer;
  static const PictureKinds<ScatterAnswer> kinds = {
      {.name = "histogram",
       .what = kHistogramDraws,
       .draw = [](const ScatterAnswer& answer, const study::Context&) {
         return collision_picture(answer.collisions, scatter_title(answer));
       }},
      {.name = "remedies",
       .what = kRemediesDraw,
       .draw = [](const ScatterAnswer& answer, const study::Context&) {
         return remedies_picture(*answer.cost.remedies, scatter_title(answer));
       }}};
  return kinds;
}

}  // namespace natten_sim::report
