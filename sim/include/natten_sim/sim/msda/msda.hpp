#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>

namespace natten_sim {

/// Where the offset network sends the samples, in pixels of the sampled level around the reference point.
enum class OffsetDistribution {
  kUniform,   ///< uniform in a square of half edge `spread`
  kGaussian,  ///< normal with standard deviation `spread`, independent in x and y
  kLearned,   ///< as initialised: head m looks in direction 2 pi m / M, point k at k + 1 pixels, plus normal
              ///< offsets of standard deviation `spread`
  kImage      ///< uniform over the image, whatever the reference point
};

template <>
struct NamesOf<OffsetDistribution> {
  static constexpr const char* kConcept = "offsets";
  static constexpr Name<OffsetDistribution> kTable[] = {{OffsetDistribution::kUniform, "uniform"},
                                                        {OffsetDistribution::kGaussian, "gaussian"},
                                                        {OffsetDistribution::kLearned, "learned"},
                                                        {OffsetDistribution::kImage, "image"}};
};

struct MsdaSampling {
  OffsetDistribution offsets = OffsetDistribution::kLearned;
  double spread = 1;  ///< pixels
  std::uint64_t seed = 0;
};

struct MsdaPoint {
  double x = 0, y = 0;  ///< fractions of the image, 0..1
};

/// Reference points of the queries of one image: pixel centres of all levels in storage order (encoder), or
/// uniform at random (decoder).
[[nodiscard]] std::vector<MsdaPoint> reference_points(const MsdaConfig& config, const MsdaSampling& sampling,
                                                      std::int64_t image);

/// In which order the queries of an image are dispatched.
enum class QueryOrder { kLinear, kMorton, kHilbert, kScanline, kRandom, kCentroid, kKmeans };

template <>
struct NamesOf<QueryOrder> {
  static constexpr const char* kConcept = "order";
  static constexpr Name<QueryOrder> kTable[] = {
      {QueryOrder::kLinear, "linear"},   {QueryOrder::kMorton, "morton"},
      {QueryOrder::kHilbert, "hilbert"}, {QueryOrder::kScanline, "scanline"},
      {QueryOrder::kRandom, "random"},   {QueryOrder::kCentroid, "centroid"},
      {QueryOrder::kKmeans, "kmeans"}};
};

/// A permutation of the points. Morton and Hilbert: by the curve through a grid of 2^16 cells an edge.
/// Scanline: by y, then x, over 64 lines. Centroid: by the 8 x 8 cell around whose centre a point lies, then
/// by the distance to it. K-means: by cluster, 2 sqrt(n) clusters, 8 rounds of Lloyd's algorithm from evenly
/// spaced points. Ties by index. O(n log n); k-means O(n sqrt(n)).
[[nodiscard]] std::vector<std::int32_t> permutation(QueryOrder order, const std::vector<MsdaPoint>& points,
                                                    std::uint64_t seed);

/// Pixels are hit at integer coordinates plus one half: a location x covers floor(x W - 1/2) and the next.
struct BilinearCorners {
  std::int64_t x = 0, y = 0;  ///< upper left; may lie outside
  double weight[4] = {};      ///< upper left, upper right, lower left, lower right
};
[[nodiscard]] BilinearCorners bilinear_corners(const MsdaLevel& level, MsdaPoint location);

/// The corner reads of one sampled location that fall inside the level.
struct MsdaSample {
  std::int64_t image = 0, query = 0, head = 0, level = 0, point = 0;
  std::int64_t corners = 0;   ///< 0..4 in `rows`
  std::int64_t rows[4] = {};  ///< (image, pixel, head), row-major: rows of head_channels elements
  double weights[4] = {};
};

/// Calls `visit` for every sample: images one after the other, queries in the given order, then heads,
/// levels, points. The same samples in the backward pass, where each corner is one gradient update.
/// @throws InvalidParameter on an invalid configuration or spread.
void for_each_sample(const MsdaConfig& config, const MsdaSampling& sampling, QueryOrder order,
                     const std::function<void(const MsdaSample&)>& visit);

/// The sampled locations (x, y as fractions of the image) of all images in storage order: images, queries,
/// heads, levels, points. Those that `for_each_sample` visits, rounded to fp32. O(samples).
[[nodiscard]] std::vector<float> sample_locations(const MsdaConfig& config, const MsdaSampling& sampling);

struct MsdaTraffic {
  std::int64_t samples = 0;
  std::int64_t reads = 0;  ///< corners inside their level
  std::int64_t rows = 0;   ///< distinct rows of head_channels elements read
  /// Distinct rows within a query and head, summed: the reads that an L1 does not absorb.
  std::int64_t query_reads = 0;
  std::int64_t granules = 0;   ///< distinct granules read
  std::int64_t l2_misses = 0;  ///< granules fetched into an LRU cache that starts empty
  CollisionCount collisions;   ///< collisions of the gradient updates; each read has one update
};

/// The cache in front of the DRAM: its number of granules, and the number of neighbouring rows in each.
struct MsdaCache {
  std::int64_t capacity_granules = 0;
  std::int64_t rows_per_granule = 1;
};

/// One pass over all samples: exact counts, and an exact LRU cache. Time O(samples), about 25 ns a corner;
/// memory 24 bytes a row of the value tensor and 10 a granule. `progress`: fraction of the queries done.
[[nodiscard]] MsdaTraffic simulate_msda(const MsdaConfig& config, const MsdaSampling& sampling,
                                        QueryOrder order, const MsdaCache& cache,
                                        const std::function<void(double)>& progress = {});

/// The same for several caches in one pass; they share all but `granules` and `l2_misses`.
[[nodiscard]] std::vector<MsdaTraffic> simulate_msda(const MsdaConfig& config, const MsdaSampling& sampling,
                                                     QueryOrder order, std::span<const MsdaCache> caches,
                                                     const std::function<void(double)>& progress = {});

}  // namespace natten_sim
