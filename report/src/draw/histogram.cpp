#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include <natten_sim/report/draw/histogram.hpp>
#include <natten_sim/report/draw/limit.hpp>

#include "draw/xy_frame.hpp"

namespace natten_sim::draw {
namespace {

void require_valid(const Histogram& histogram) {
  std::size_t buckets = 0;
  for (const BucketSeries& series : histogram.series) {
    buckets += series.buckets.size();
    for (const Bucket& bucket : series.buckets) {
      if (!can_show(Scale::kLinear, bucket.from) || !can_show(histogram.x.scale, bucket.to) ||
          !(bucket.from < bucket.to))
        throw std::invalid_argument(fmt::format("a bucket from {} to {}", bucket.from, bucket.to));
      if (!can_show(Scale::kLinear, bucket.count) || bucket.count < 0)
        throw std::invalid_argument(fmt::format("a bucket of {}", bucket.count));
    }
  }
  require_at_most("buckets of a histogram", static_cast<std::int64_t>(buckets), kMaxBuckets);
}

double start_of(const Bucket& bucket, Scale scale) {
  return can_show(scale, bucket.from) ? bucket.from : bucket.to / 2;
}

/// The axes' ranges: whole buckets across, from the base line of the bars up.
void fit(FrameSpec& spec, const Histogram& histogram) {
  double least = 0;  // positive count
  for (const BucketSeries& series : histogram.series) {
    for (const Bucket& bucket : series.buckets) {
      spec.xs.include(start_of(bucket, histogram.x.scale));
      spec.xs.include(bucket.to);
      if (bucket.count <= 0) continue;
      spec.ys.include(bucket.count);
      least = least == 0 ? bucket.count : std::min(least, bucket.count);
    }
  }
  const bool single = histogram.series.size() == 1 && histogram.series.front().buckets.size() == 1;
  if (single && histogram.x.scale == Scale::kLog) {
    spec.xs = {spec.xs.low / 2, spec.xs.high * 2};
  } else if (single) {
    const double width = spec.xs.high - spec.xs.low;
    spec.xs = {spec.xs.low - width, spec.xs.high + width};
  }
  if (histogram.y.scale == Scale::kLinear) {
    spec.y.from = 0;
  } else if (least > 0 && !spec.y.from) {
    spec.y.from = least / 2;
  }
}

void draw_bars(XyFrame& frame, const Histogram& histogram) {
  const auto count = static_cast<double>(histogram.series.size());
  const Axis& x = frame.x();
  const double base = frame.plot().bottom();
  for (std::size_t s = 0; s < histogram.series.size(); ++s) {
    const Paint paint = Paint::category(s);
    for (const Bucket& bucket : histogram.series[s].buckets) {
      if (bucket.count <= 0) continue;
      const double left = x.clamped(start_of(bucket, histogram.x.scale)), right = x.clamped(bucket.to);
      const double gap = right - left > 6 ? 1 : 0;
      const double width = std::max((right - left - 2 * gap) / count, 0.5),
                   top = frame.y().clamped(bucket.count);
      const std::string& label = histogram.series[s].label;
      const Box bar{left + gap + static_cast<double>(s) * width, top, width, std::max(base - top, 0.0)};
      frame.labels().avoid(bar);
      frame.document().rect(
          bar, {.fill = paint},
          fmt::format("{}{}{} to {}: {}", label, label.empty() ? "" : ", ",
                      number_text(bucket.from, histogram.x.unit), number_text(bucket.to, histogram.x.unit),
                      number_text(bucket.count, histogram.y.unit)));
    }
  }
}

}  // namespace

Picture render(const Histogram& histogram) {
  require_valid(histogram);
  FrameSpec spec{.heading = histogram.heading,
                 .legend = {},
                 .x = histogram.x,
                 .y = histogram.y,
                 .xs = {},
                 .ys = {},
                 .marks = histogram.marks,
                 .bands = {},
                 .width = histogram.width,
                 .plot_height = histogram.plot_height};
  fit(spec, histogram);
  for (std::size_t s = 0; s < histogram.series.size(); ++s) {
    if (!histogram.series[s].label.empty())
      spec.legend.push_back({histogram.series[s].label, LegendKey::kSwatch, Paint::category(s)});
  }
  XyFrame frame(spec);
  draw_bars(frame, histogram);
  if (spec.ys.empty()) frame.note_empty();
  return std::move(frame).finish();
}

}  // namespace natten_sim::draw
