#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/draw/annotation.hpp>
#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// Bars over buckets of a quantity, such as bytes; several series stand side by side in each bucket.
///
///     Histogram histogram{.heading = {"LRU stack distances", "64k tokens, head dim 128"},
///                         .x = {.label = "stack distance", .scale = Scale::kLog, .unit = Unit::kBytes},
///                         .y = {.label = "sectors"}};
///     histogram.series.push_back({"cyclic", {{32768, 65536, 12e6}, {65536, 131072, 3e6}}});
///     std::string svg = render(histogram).svg;
///
/// Buckets need not touch nor be of one width. On a logarithmic x axis a bucket from 0 starts at half its
/// end. A linear y axis starts at 0, a logarithmic one below the smallest bar; empty buckets have no bar.

struct Bucket {
  double from = 0, to = 0;  ///< from < to
  double count = 0;         ///< 0 or more
};

struct BucketSeries {
  std::string label;  ///< empty: not in the legend
  std::vector<Bucket> buckets;
};

struct Histogram {
  Heading heading;
  AxisSpec x, y;
  std::vector<BucketSeries> series;
  std::vector<Mark> marks;
  double width = 720;        ///< of the picture, at least 240
  double plot_height = 300;  ///< of the area between the axes, at least 60
};

inline constexpr std::size_t kMaxBuckets = 20'000;

/// O(buckets). @throws LimitExceeded beyond kMaxBuckets in all series together; std::invalid_argument for a
/// bucket whose end is not beyond its start, a negative count, a value that is not finite, or a small size.
[[nodiscard]] Picture render(const Histogram& histogram);

}  // namespace natten_sim::draw
