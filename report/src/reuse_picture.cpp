#include <algorithm>
#include <functional>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/draw/curve.hpp>
#include <natten_sim/report/draw/histogram.hpp>
#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/reuse_report.hpp>

#include "reuse_numbers.hpp"

namespace natten_sim::report {
namespace {

using study::ReuseAnswer;
using study::ReuseComparison;
using study::ReuseResult;

/// Points of a miss curve that a picture can show.
constexpr std::size_t kMaxCurveSteps = 512;

void require_points(bool any) {
  if (!any)
    throw InvalidParameter("svg", "nothing to draw", "a fidelity that gives these numbers, such as lru");
}

std::vector<const ReuseResult*> results_of(const ReuseComparison& comparison) {
  std::vector<const ReuseResult*> results = {&comparison.first};
  if (comparison.second) results.push_back(&*comparison.second);
  return results;
}

std::vector<draw::Mark> capacity_mark(const ReuseAnswer& answer) {
  if (!answer.question.capacity_bytes) return {};
  const auto bytes = static_cast<double>(*answer.question.capacity_bytes);
  const std::string device = answer.device ? answer.device->name + ": " : std::string();
  return {{.at = bytes, .label = device + draw::number_text(bytes, draw::Unit::kBytes)}};
}

std::string draw_histogram(const ReuseAnswer& answer) {
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
  return draw::render(picture).svg;
}

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

std::string draw_curve(const ReuseAnswer& answer) {
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
  return draw::render(picture).svg;
}

std::string draw_sweep(const ReuseAnswer& answer) {
  draw::CurvePlot picture{
      .heading = {"Misses and sectors over the sequence length", joined(reuse_subject(answer))},
      .x = {.label = "sequence length", .unit = draw::Unit::kBinary},
      .y = {.label = "sectors", .scale = draw::Scale::kLog}};
  using Value = std::function<std::optional<std::int64_t>(const ReuseComparison&)>;
  const auto add = [&](const std::string& label, bool dashed, const Value& value) {
    draw::Series series{.label = label, .dashed = dashed};
    for (const ReuseComparison& at : answer.results) {
      const std::optional<std::int64_t> sectors = value(at);
      if (at.seqlen && sectors && *sectors > 0)
        series.points.push_back({static_cast<double>(*at.seqlen), static_cast<double>(*sectors)});
    }
    if (!series.points.empty()) picture.series.push_back(std::move(series));
  };
  const ReuseComparison& head = answer.results.front();
  add("misses, " + walked_order(head.first), false, [](const auto& at) { return at.first.miss_sectors; });
  if (head.second) {
    add("misses, " + walked_order(*head.second), false,
        [](const auto& at) { return at.second->miss_sectors; });
  }
  add("sectors", true, [](const auto& at) { return at.first.sectors.total; });
  add("cold", true, [](const auto& at) { return at.first.cold_sectors; });
  require_points(!picture.series.empty());
  if (head.first.first_noncompulsory_seqlen) {
    picture.marks = {
        {.at = static_cast<double>(*head.first.first_noncompulsory_seqlen), .label = "beyond capacity"}};
  }
  return draw::render(picture).svg;
}

}  // namespace

std::string reuse_svg(const ReuseAnswer& answer, ReusePicture picture) {
  switch (picture) {
    case ReusePicture::kHistogram:
      return draw_histogram(answer);
    case ReusePicture::kCurve:
      return draw_curve(answer);
    case ReusePicture::kSweep:
      return draw_sweep(answer);
  }
  return "";
}

}  // namespace natten_sim::report
