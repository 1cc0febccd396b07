#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/msda/msda.hpp>

#include "msda/lru_rows.hpp"

namespace natten_sim {
namespace {

/// Two independent standard normal numbers from two uniform ones (Box and Muller).
MsdaPoint normal_pair(std::uint64_t seed, std::uint64_t index) {
  const double u = 1 - random_unit(random_bits(seed, 2 * index)),
               v = random_unit(random_bits(seed, 2 * index + 1));
  const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Direction of a head, scaled to the unit square, as deformable attention initialises it.
std::vector<MsdaPoint> head_directions(std::int64_t heads) {
  std::vector<MsdaPoint> directions;
  for (std::int64_t head = 0; head < heads; ++head) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(head) / static_cast<double>(heads);
    const double x = std::cos(angle), y = std::sin(angle), scale = std::max(std::abs(x), std::abs(y));
    directions.push_back({x / scale, y / scale});
  }
  return directions;
}

void require_valid(const MsdaSampling& sampling) {
  if (!(sampling.spread >= 0 && sampling.spread <= 1e6))
    throw InvalidParameter("spread", std::to_string(sampling.spread), "0..1000000 pixels");
}

/// Samples of a configuration; a template so that the visitor is inlined.
class Sampler {
 public:
  Sampler(const MsdaConfig& config, const MsdaSampling& sampling)
      : config_(config),
        sampling_(sampling),
        levels_(pyramid(config)),
        directions_(head_directions(config.heads)),
        pixels_(pixels_per_image(config)),
        queries_(queries_per_image(config)) {}

  [[nodiscard]] std::vector<float> locations() const {
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(2 * config_.batch * queries_ * config_.heads * config_.levels() *
                                         config_.points));
    MsdaSample sample;
    for (sample.image = 0; sample.image < config_.batch; ++sample.image) {
      const std::vector<MsdaPoint> references = reference_points(config_, sampling_, sample.image);
      for (sample.query = 0; sample.query < queries_; ++sample.query) {
        for (sample.head = 0; sample.head < config_.heads; ++sample.head) {
          for (sample.level = 0; sample.level < config_.levels(); ++sample.level) {
            for (sample.point = 0; sample.point < config_.points; ++sample.point) {
              poll();
              const MsdaPoint at = location(references[static_cast<std::size_t>(sample.query)],
                                            levels_[static_cast<std::size_t>(sample.level)], sample);
              all.push_back(static_cast<float>(at.x));
              all.push_back(static_cast<float>(at.y));
            }
          }
        }
      }
    }
    return all;
  }

  template <typename Visit, typename Between>
  void run(QueryOrder order, Visit&& visit, Between&& after_query) const {
    MsdaSample sample;
    for (sample.image = 0; sample.image < config_.batch; ++sample.image) {
      const std::vector<MsdaPoint> references = reference_points(config_, sampling_, sample.image);
      const std::vector<std::int32_t> queries = permutation(order, references, sampling_.seed);
      for (std::size_t position = 0; position < queries.size(); ++position) {
        sample.query = queries[position];
        for (sample.head = 0; sample.head < config_.heads; ++sample.head) {
          for (sample.level = 0; sample.level < config_.levels(); ++sample.level) {
            for (sample.point = 0; sample.point < config_.points; ++sample.point) {
              poll();
              locate(references[static_cast<std::size_t>(sample.query)], sample);
              visit(sample);
            }
          }
          after_query(sample.image * queries_ + static_cast<std::int64_t>(position), sample.head);
        }
      }
    }
  }

 private:
  [[nodiscard]] MsdaPoint location(MsdaPoint reference, const MsdaLevel& level,
                                   const MsdaSample& sample) const {
    const auto index = static_cast<std::uint64_t>(
        (((sample.image * queries_ + sample.query) * config_.heads + sample.head) * config_.levels() +
         sample.level) *
            config_.points +
        sample.point);
    const std::uint64_t seed = sampling_.seed;
    MsdaPoint offset;
    switch (sampling_.offsets) {
      case OffsetDistribution::kImage:
        return {random_unit(random_bits(seed, 2 * index)), random_unit(random_bits(seed, 2 * index + 1))};
      case OffsetDistribution::kUniform:
        offset = {(2 * random_unit(random_bits(seed, 2 * index)) - 1) * sampling_.spread,
                  (2 * random_unit(random_bits(seed, 2 * index + 1)) - 1) * sampling_.spread};
        break;
      case OffsetDistribution::kGaussian:
      case OffsetDistribution::kLearned:
        offset = normal_pair(seed, index);
        offset = {offset.x * sampling_.spread, offset.y * sampling_.spread};
        if (sampling_.offsets == OffsetDistribution::kLearned) {
          const MsdaPoint& direction = directions_[static_cast<std::size_t>(sample.head)];
          const double steps = static_cast<double>(sample.point + 1);
          offset = {offset.x + direction.x * steps, offset.y + direction.y * steps};
        }
        break;
    }
    return {reference.x + offset.x / static_cast<double>(level.width),
            reference.y + offset.y / static_cast<double>(level.height)};
  }

  void locate(MsdaPoint reference, MsdaSample& sample) const {
    const MsdaLevel& level = levels_[static_cast<std::size_t>(sample.level)];
    const BilinearCorners corners = bilinear_corners(level, location(reference, level, sample));
    sample.corners = 0;
    for (int corner = 0; corner < 4; ++corner) {
      const std::int64_t x = corners.x + corner % 2, y = corners.y + corner / 2;
      if (x < 0 || x >= level.width || y < 0 || y >= level.height) continue;
      const std::int64_t pixel = sample.image * pixels_ + level.first + y * level.width + x;
      sample.weights[sample.corners] = corners.weight[corner];
      sample.rows[sample.corners++] = pixel * config_.heads + sample.head;
    }
  }

  const MsdaConfig& config_;
  const MsdaSampling& sampling_;
  std::vector<MsdaLevel> levels_;
  std::vector<MsdaPoint> directions_;
  std::int64_t pixels_, queries_;
};

/// Granules of neighbouring rows in an LRU cache, and which were ever read.
class GranuleCache {
 public:
  GranuleCache(std::int64_t rows, const MsdaCache& shape)
      : rows_per_granule_(checked_rows(shape)),
        holds_all_(shape.capacity_granules >= ceil_divide(rows, rows_per_granule_)),
        cache_(holds_all_ ? 0 : ceil_divide(rows, rows_per_granule_), shape.capacity_granules),
        fetched_(static_cast<std::size_t>(ceil_divide(rows, rows_per_granule_))) {
    const auto size = static_cast<std::uint64_t>(rows_per_granule_);
    if (std::has_single_bit(size)) shift_ = std::countr_zero(size);
  }
  void read(std::int64_t row) {
    const std::int64_t granule = shift_ ? row >> *shift_ : row / rows_per_granule_;
    std::uint8_t& fetched = fetched_[static_cast<std::size_t>(granule)];
    const bool first = fetched == 0;
    granules_ += first ? 1 : 0;
    fetched = 1;
    // What is never evicted misses once.
    if (holds_all_ ? first : !cache_.access(static_cast<std::int32_t>(granule))) ++misses_;
  }
  [[nodiscard]] std::int64_t granules() const { return granules_; }
  [[nodiscard]] std::int64_t misses() const { return misses_; }

 private:
  static std::int64_t checked_rows(const MsdaCache& shape) {
    if (shape.rows_per_granule >= 1 && shape.capacity_granules >= 0) return shape.rows_per_granule;
    throw InvalidParameter("cache",
                           std::to_string(shape.capacity_granules) + " granules of " +
                               std::to_string(shape.rows_per_granule) + " rows",
                           "0 or more granules of 1 or more rows");
  }

  std::int64_t rows_per_granule_;
  std::optional<int> shift_;  // where the rows of a granule are a power of two
  bool holds_all_;
  LruRows cache_;
  std::vector<std::uint8_t> fetched_;
  std::int64_t granules_ = 0, misses_ = 0;
};

}  // namespace

std::vector<MsdaPoint> reference_points(const MsdaConfig& config, const MsdaSampling& sampling,
                                        std::int64_t image) {
  std::vector<MsdaPoint> points;
  if (config.encoder()) {
    for (const MsdaLevel& level : pyramid(config)) {
      for (std::int64_t y = 0; y < level.height; ++y) {
        poll();
        for (std::int64_t x = 0; x < level.width; ++x) {
          points.push_back({(static_cast<double>(x) + 0.5) / static_cast<double>(level.width),
                            (static_cast<double>(y) + 0.5) / static_cast<double>(level.height)});
        }
      }
    }
    return points;
  }
  constexpr std::uint64_t kReferences = 0x5EFEull << 40;  // apart from the samples' numbers
  for (std::int64_t query = 0; query < config.queries; ++query) {
    poll();
    const std::uint64_t index = 2 * static_cast<std::uint64_t>(image * config.queries + query);
    points.push_back({random_unit(random_bits(sampling.seed ^ kReferences, index)),
                      random_unit(random_bits(sampling.seed ^ kReferences, index + 1))});
  }
  return points;
}

BilinearCorners bilinear_corners(const MsdaLevel& level, MsdaPoint location) {
  const double x = location.x * static_cast<double>(level.width) - 0.5;
  const double y = location.y * static_cast<double>(level.height) - 0.5;
  const double left = std::floor(x), top = std::floor(y), right_share = x - left, lower_share = y - top;
  BilinearCorners corners;
  corners.x = static_cast<std::int64_t>(left);
  corners.y = static_cast<std::int64_t>(top);
  corners.weight[0] = (1 - right_share) * (1 - lower_share);
  corners.weight[1] = right_share * (1 - lower_share);
  corners.weight[2] = (1 - right_share) * lower_share;
  corners.weight[3] = right_share * lower_share;
  return corners;
}

void for_each_sample(const MsdaConfig& config, const MsdaSampling& sampling, QueryOrder order,
                     const std::function<void(const MsdaSample&)>& visit) {
  require_valid(config);
  require_valid(sampling);
  Sampler(config, sampling).run(order, visit, [](std::int64_t, std::int64_t) {});
}

std::vector<float> sample_locations(const MsdaConfig& config, const MsdaSampling& sampling) {
  require_valid(config);
  require_valid(sampling);
  return Sampler(config, sampling).locations();
}

MsdaTraffic simulate_msda(const MsdaConfig& config, const MsdaSampling& sampling, QueryOrder order,
                          const MsdaCache& cache, const std::function<void(double)>& progress) {
  return std::move(simulate_msda(config, sampling, order, std::span(&cache, 1), progress).front());
}

std::vector<MsdaTraffic> simulate_msda(const MsdaConfig& config, const MsdaSampling& sampling,
                                       QueryOrder order, std::span<const MsdaCache> shapes,
                                       const std::function<void(double)>& progress) {
  require_valid(config);
  require_valid(sampling);
  const std::int64_t rows = config.batch * pixels_per_image(config) * config.heads;
  const std::int64_t queries = config.batch * queries_per_image(config);
  if (rows > kMaxRows || queries * config.heads > std::numeric_limits<std::int32_t>::max())
    throw InvalidParameter("configuration", std::to_string(rows) + " rows",
                           "at most 2^28 rows and fewer than 2^31 query-heads");
  std::vector<GranuleCache> caches;
  for (const MsdaCache& shape : shapes) {
    poll_now();  // up to 2^28 rows each
    caches.emplace_back(rows, shape);
  }
  poll_now();
  RowTally tally(rows);
  poll_now();
  std::vector<std::int32_t> seen_by(static_cast<std::size_t>(rows),
                                    -1);  // the last (query, head) that read it
  MsdaTraffic traffic;
  std::int32_t reader = 0;
  const auto visit = [&](const MsdaSample& sample) {
    ++traffic.samples;
    for (std::int64_t corner = 0; corner < sample.corners; ++corner) {
      tally.add(sample.rows[corner]);
      std::int32_t& seen = seen_by[static_cast<std::size_t>(sample.rows[corner])];
      if (seen == reader) continue;
      seen = reader;
      ++traffic.query_reads;
      for (GranuleCache& cache : caches) cache.read(sample.rows[corner]);
    }
  };
  Sampler(config, sampling).run(order, visit, [&](std::int64_t query, std::int64_t) {
    ++reader;
    if (progress && query % 256 == 0) progress(static_cast<double>(query) / static_cast<double>(queries));
  });
  traffic.collisions = tally.result();
  traffic.reads = traffic.collisions.updates;
  traffic.rows = traffic.collisions.rows_touched;
  std::vector<MsdaTraffic> results;
  for (const GranuleCache& cache : caches) {
    results.push_back(traffic);
    results.back().granules = cache.granules();
    results.back().l2_misses = cache.misses();
  }
  return results;
}

}  // namespace natten_sim
