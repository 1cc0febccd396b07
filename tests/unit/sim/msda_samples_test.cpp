// Where samples of deformable attention lie, and orders of queries: each from its definition.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/msda/msda.hpp>

#include "catch.hpp"
#include "property/holds.hpp"
#include "random_values.hpp"
#include "refused.hpp"
#include "random.hpp"

namespace msda_samples_test {

using namespace natten_sim;
using test::RandomValues;
using test::refused;

/// Two images of levels of 5 x 7 and 2 x 3 pixels, 5 heads, 3 points.
MsdaConfig small(std::int64_t queries) {
  MsdaConfig config;
  config.name = "small";
  config.batch = 2;
  config.height = 40;
  config.width = 56;
  config.strides = {8, 16};
  config.channels = 20;
  config.heads = 5;
  config.points = 3;
  config.queries = queries;
  return config;
}

double drawn(std::uint64_t seed, std::uint64_t n) { return random_unit(random_bits(seed, n)); }

TEST_CASE("reference points of a decoder are two draws a query, of an encoder the centres of its pixels") {
  const std::vector<MsdaPoint> decoder = reference_points(small(11), {.seed = 9}, 1);
  REQUIRE(decoder.size() == 11);
  for (std::uint64_t query = 0; query < 11; ++query) {
    const std::uint64_t seed = 9 ^ (std::uint64_t{0x5EFE} << 40);
    CHECK(decoder[query].x == drawn(seed, 2 * (11 + query)));  // of the second image
    CHECK(decoder[query].y == drawn(seed, 2 * (11 + query) + 1));
  }
  const std::vector<MsdaPoint> encoder = reference_points(small(0), {}, 1);
  REQUIRE(encoder.size() == 5 * 7 + 2 * 3);
  CHECK(encoder[0].x == 0.5 / 7);
  CHECK(encoder[0].y == 0.5 / 5);
  CHECK(encoder[8].x == 1.5 / 7);
  CHECK(encoder[8].y == 1.5 / 5);
  CHECK(encoder[35].x == 0.5 / 3);
  CHECK(encoder[40].x == 2.5 / 3);
  CHECK(encoder[40].y == 1.5 / 2);
}

TEST_CASE(
    "learned offsets look in the direction of their head, a pixel further for each point, and stray "
    "normally") {
  const MsdaConfig config = small(4);
  const std::vector<MsdaLevel> levels = pyramid(config);
  for (const OffsetDistribution offsets : {OffsetDistribution::kGaussian, OffsetDistribution::kLearned}) {
    const MsdaSampling sampling{offsets, 1.5, 77};
    const std::vector<float> locations = sample_locations(config, sampling);
    REQUIRE(locations.size() == 2 * 2 * 4 * 5 * 2 * 3);
    std::uint64_t n = 0;
    for (std::int64_t image = 0; image < 2; ++image) {
      for (const MsdaPoint& reference : reference_points(config, sampling, image)) {
        for (int head = 0; head < 5; ++head) {
          for (const MsdaLevel& level : levels) {
            for (int point = 0; point < 3; ++point, n += 2) {
              // Box and Muller.
              const double radius = std::sqrt(-2 * std::log(1 - drawn(77, n)));
              const double angle = 2 * std::numbers::pi * drawn(77, n + 1);
              double x = 1.5 * radius * std::cos(angle), y = 1.5 * radius * std::sin(angle);
              if (offsets == OffsetDistribution::kLearned) {
                // On the edge of the square of half edge 1, 2 or 3, at 72 degrees times the head.
                const double dx = std::cos(head * 72 * std::numbers::pi / 180);
                const double dy = std::sin(head * 72 * std::numbers::pi / 180);
                const double edge = (point + 1) / std::max(std::abs(dx), std::abs(dy));
                x += edge * dx;
                y += edge * dy;
              }
              CHECK(std::abs(locations[n] - (reference.x + x / static_cast<double>(level.width))) < 1e-5);
              CHECK(std::abs(locations[n + 1] - (reference.y + y / static_cast<double>(level.height))) <
                    1e-5);
            }
          }
        }
      }
    }
  }
}

TEST_CASE(
    "a sample reads the corners of its location that lie in its level, with the weights of their distance") {
  const MsdaConfig config = small(9);
  const std::vector<MsdaLevel> levels = pyramid(config);
  const MsdaSampling sampling{OffsetDistribution::kUniform, 4, 21};
  const std::vector<float> locations = sample_locations(config, sampling);
  std::size_t n = 0;
  int cut = 0;
  for_each_sample(config, sampling, QueryOrder::kLinear, [&](const MsdaSample& sample) {
    const MsdaLevel& level = levels[static_cast<std::size_t>(sample.level)];
    const double x = locations[n] * static_cast<double>(level.width) - 0.5;
    const double y = locations[n + 1] * static_cast<double>(level.height) - 0.5;
    n += 2;
    std::map<std::int64_t, double> expected;  // of rows
    for (std::int64_t py = 0; py < level.height; ++py) {
      for (std::int64_t px = 0; px < level.width; ++px) {
        const double dx = std::abs(x - static_cast<double>(px)), dy = std::abs(y - static_cast<double>(py));
        if (dx >= 1 || dy >= 1) continue;
        expected[(sample.image * 41 + level.first + py * level.width + px) * 5 + sample.head] =
            (1 - dx) * (1 - dy);
      }
    }
    std::map<std::int64_t, double> found;
    for (std::int64_t corner = 0; corner < sample.corners; ++corner)
      found[sample.rows[corner]] = sample.weights[corner];
    for (const auto& [row, weight] :
         expected) {  // a location on a pixel's line reads its neighbour for nothing
      if (weight < 1e-4) continue;
      REQUIRE(found.contains(row));
      CHECK(std::abs(found[row] - weight) < 1e-4);
    }
    double rest = 0;
    for (const auto& [row, weight] : found) rest += expected.contains(row) ? 0 : weight;
    CHECK(rest < 1e-4);
    cut += sample.corners < 4;
  });
  CHECK(n == locations.size());
  CHECK(cut > 50);
}

TEST_CASE("an order moves whole queries, each with the samples that it has in any order") {
  const MsdaConfig config = small(30);
  const MsdaSampling sampling{OffsetDistribution::kLearned, 1, 4};
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  const auto key = [](const MsdaSample& s) { return Key{s.image, s.query, s.head, s.level, s.point}; };
  std::map<Key, std::vector<std::int64_t>> rows;
  for_each_sample(config, sampling, QueryOrder::kLinear,
                  [&](const MsdaSample& s) { rows[key(s)].assign(s.rows, s.rows + s.corners); });
  for (const QueryOrder order : values_of<QueryOrder>()) {
    INFO(to_string(order));
    std::vector<Key> expected, met;
    for (std::int64_t image = 0; image < 2; ++image) {
      for (const std::int32_t query : permutation(order, reference_points(config, sampling, image), 4)) {
        for (std::int64_t head = 0; head < 5; ++head) {
          for (std::int64_t level = 0; level < 2; ++level) {
            for (std::int64_t point = 0; point < 3; ++point)
              expected.push_back({image, query, head, level, point});
          }
        }
      }
    }
    bool equal = true;
    for_each_sample(config, sampling, order, [&](const MsdaSample& s) {
      met.push_back(key(s));
      equal = equal && rows.at(key(s)) == std::vector<std::int64_t>(s.rows, s.rows + s.corners);
    });
    CHECK(met == expected);
    CHECK(equal);
  }
}

/// Points of all sizes of neighbourhood: anywhere, within single cells of a curve, on edges, beyond, and
/// equal.
std::vector<MsdaPoint> random_points(RandomValues& random, int count) {
  std::vector<MsdaPoint> points;
  while (std::ssize(points) < count) {
    MsdaPoint point{random.real(0, 1), random.real(0, 1)};
    const int kind = static_cast<int>(random.whole(0, 4));
    if (kind == 1)  // 64 cells of 2^-16
      point = {0.25 + static_cast<double>(random.whole(0, 7)) * 0x1p-16,
               0.75 + static_cast<double>(random.whole(0, 7)) * 0x1p-16};
    if (kind == 2) point = {random.of({0.0, 1.0, -0.5, 1.5, 0.5}), random.of({0.0, 1.0, -0.5, 1.5, 0.5})};
    if (kind == 3)
      point = {static_cast<double>(random.whole(0, 16)) / 16, static_cast<double>(random.whole(0, 64)) / 64};
    if (kind == 4 && !points.empty())
      point = points[static_cast<std::size_t>(random.whole(0, std::ssize(points) - 1))];
    points.push_back(point);
  }
  return points;
}

/// Which of so many cells an edge is divided into; beyond the edge the last one.
double cell_of(double coordinate, double cells) {
  return std::min(std::max(std::floor(coordinate * cells), 0.0), cells - 1);
}

/// Quadrants from coarse to fine: upper left, upper right, lower left, lower right.
std::vector<int> along_z(MsdaPoint point) {
  std::vector<int> path;
  double x = cell_of(point.x, 65536), y = cell_of(point.y, 65536);
  for (double half = 32768; half >= 1; half /= 2) {
    path.push_back((y >= half ? 2 : 0) + (x >= half ? 1 : 0));
    if (x >= half) x -= half;
    if (y >= half) y -= half;
  }
  return path;
}

/// The curve in a square at `at` with the edges a (which it runs along first) and b: four squares, the first
/// and the last of which have their edges exchanged.
struct Square {
  MsdaPoint at, a, b;
  [[nodiscard]] bool holds(MsdaPoint point) const {
    const MsdaPoint to{at.x + a.x + b.x, at.y + a.y + b.y};
    return std::min(at.x, to.x) <= point.x && point.x < std::max(at.x, to.x) &&
           std::min(at.y, to.y) <= point.y && point.y < std::max(at.y, to.y);
  }
  [[nodiscard]] std::array<Square, 4> quarters() const {
    const MsdaPoint p{a.x / 2, a.y / 2}, q{b.x / 2, b.y / 2};
    return {Square{at, q, p}, Square{{at.x + p.x, at.y + p.y}, p, q},
            Square{{at.x + p.x + q.x, at.y + p.y + q.y}, p, q},
            Square{{at.x + p.x + 2 * q.x, at.y + p.y + 2 * q.y}, {-q.x, -q.y}, {-p.x, -p.y}}};
  }
};

std::vector<int> along_hilbert(MsdaPoint point) {
  const MsdaPoint centre{cell_of(point.x, 65536) + 0.5, cell_of(point.y, 65536) + 0.5};
  Square square{{0, 0}, {0, 65536}, {65536, 0}};  // down first, then to the right
  std::vector<int> path;
  for (int level = 0; level < 16; ++level) {
    const auto quarters = square.quarters();
    int quarter = 0;
    while (quarter < 4 && !quarters[static_cast<std::size_t>(quarter)].holds(centre)) ++quarter;
    REQUIRE(quarter < 4);
    path.push_back(quarter);
    square = quarters[static_cast<std::size_t>(quarter)];
  }
  return path;
}

template <class Key>
std::vector<std::int32_t> ordered_by(const std::vector<Key>& keys) {
  std::vector<std::int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

template <class KeyOf>
std::vector<std::int32_t> ordered(const std::vector<MsdaPoint>& points, KeyOf key_of) {
  std::vector<decltype(key_of(points[0]))> keys;
  for (const MsdaPoint& point : points) keys.push_back(key_of(point));
  return ordered_by(keys);
}

double squared(double x) { return x * x; }

/// Clusters by Lloyd's algorithm, eight rounds from evenly spaced points; of equally near centres the first.
std::vector<std::size_t> clusters_of(const std::vector<MsdaPoint>& points) {
  const auto count = std::min<std::size_t>(
      std::max<std::size_t>(
          static_cast<std::size_t>(std::floor(2 * std::sqrt(static_cast<double>(points.size())))), 1),
      points.size());
  std::vector<MsdaPoint> centres;
  for (std::size_t c = 0; c < count; ++c) centres.push_back(points[c * points.size() / count]);
  std::vector<std::size_t> own(points.size());
  for (int round = 0; round < 8; ++round) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::vector<double> distances;
      for (const MsdaPoint& centre : centres)
        distances.push_back(squared(points[i].x - centre.x) + squared(points[i].y - centre.y));
      own[i] =
          static_cast<std::size_t>(std::min_element(distances.begin(), distances.end()) - distances.begin());
    }
    for (std::size_t c = 0; c < count; ++c) {
      MsdaPoint sum;
      double members = 0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (own[i] != c) continue;
        sum = {sum.x + points[i].x, sum.y + points[i].y};
        ++members;
      }
      if (members > 0) centres[c] = {sum.x / members, sum.y / members};
    }
  }
  return own;
}

TEST_CASE("queries in an order lie as its definition says, ties by index") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < 40; ++n) {
    CAPTURE(n);
    const auto points = random_points(random, static_cast<int>(n < 5 ? n + 1 : random.whole(20, 300)));
    CHECK(permutation(QueryOrder::kMorton, points, 0) == ordered(points, along_z));
    CHECK(permutation(QueryOrder::kHilbert, points, 0) == ordered(points, along_hilbert));
    CHECK(permutation(QueryOrder::kScanline, points, 0) == ordered(points, [](MsdaPoint point) {
            return std::pair{cell_of(point.y, 64), cell_of(point.x, 2147483648.0)};
          }));
    CHECK(permutation(QueryOrder::kCentroid, points, 0) == ordered(points, [](MsdaPoint point) {
            const double x = cell_of(point.x, 8), y = cell_of(point.y, 8);
            const double distance = squared(point.x - (x + 0.5) / 8) + squared(point.y - (y + 0.5) / 8);
            return std::tuple{y, x, std::floor(distance * 2147483648.0)};
          }));
    std::vector<std::uint64_t> drawn_keys, in_order;
    for (std::size_t i = 0; i < points.size(); ++i) {
      drawn_keys.push_back(random_bits(5 ^ 0x0DDE2, i));
      in_order.push_back(i);
    }
    CHECK(permutation(QueryOrder::kRandom, points, 5) == ordered_by(drawn_keys));
    CHECK(permutation(QueryOrder::kLinear, points, 5) == ordered_by(in_order));
    CHECK(permutation(QueryOrder::kKmeans, points, 0) == ordered_by(clusters_of(points)));
  }
  for (const QueryOrder order : values_of<QueryOrder>()) CHECK(permutation(order, {}, 1).empty());
}

TEST_CASE("progress is the share of queries done, of every 256th") {
  MsdaConfig config = small(300);
  std::set<double> shares;
  (void)simulate_msda(config, {}, QueryOrder::kLinear, MsdaCache{10, 1},
                      [&](double share) { shares.insert(share); });
  CHECK(shares == std::set<double>{0, 256 / 600.0, 512 / 600.0});
}

TEST_CASE("an encoder's rows of an image are read by its own queries alone, granule by granule") {
  const MsdaConfig config = small(0);
  // No offset: every query reads its pixel's centre in each level.
  const MsdaTraffic traffic =
      simulate_msda(config, {OffsetDistribution::kUniform, 0, 0}, QueryOrder::kLinear, MsdaCache{1000, 5});
  CHECK(traffic.samples == 2 * 41 * 5 * 2 * 3);
  CHECK(traffic.rows == 2 * 41 * 5);
  CHECK(traffic.granules == 2 * 41);  // of the five heads of a pixel
  CHECK(traffic.l2_misses == 2 * 41);
}

TEST_CASE("samplings, caches and configurations beyond their ranges are refused by each function") {
  const MsdaConfig config = small(2);
  const auto refused_by = [](const MsdaConfig& of, const MsdaSampling& sampling) {
    const auto nothing = [](const MsdaSample&) {};
    const std::string name = refused([&] { for_each_sample(of, sampling, QueryOrder::kLinear, nothing); });
    CHECK(name == refused([&] { (void)sample_locations(of, sampling); }));
    CHECK(name == refused([&] { (void)simulate_msda(of, sampling, QueryOrder::kLinear, MsdaCache{1, 1}); }));
    return name;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double spread : {0.0, 1e6})
    CHECK(refused_by(config, {OffsetDistribution::kUniform, spread, 0}).empty());
  for (const double spread : {-1e-9, 1e6 + 1, nan})
    CHECK(refused_by(config, {OffsetDistribution::kUniform, spread, 0}) == "spread");
  MsdaConfig headless = config;
  headless.heads = 0;
  CHECK(refused_by(headless, {}) == "heads");
  const auto with_cache = [&](MsdaCache cache) {
    return refused([&] { (void)simulate_msda(config, {}, QueryOrder::kLinear, cache); });
  };
  CHECK(with_cache({0, 1}).empty());
  CHECK(with_cache({-1, 1}) == "cache");
  CHECK(with_cache({0, 0}) == "cache");
  // 2^15 x 2^14 pixels are too many rows; 2^31 query-heads are too many readers.
  MsdaConfig large = config;
  large.batch = 1;
  large.height = 1 << 15;
  large.width = 1 << 14;
  large.strides = {1};
  large.heads = large.channels = large.points = 1;
  CHECK(refused([&] { (void)simulate_msda(large, {}, QueryOrder::kLinear, MsdaCache{}); }) ==
        "configuration");
  large.height = large.width = 1;
  large.batch = 128;
  large.queries = 1 << 24;
  CHECK(refused([&] { (void)simulate_msda(large, {}, QueryOrder::kLinear, MsdaCache{}); }) ==
        "configuration");
}

}  // namespace msda_samples_test
