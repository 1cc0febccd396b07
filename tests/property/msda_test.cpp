#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <numeric>
#include <set>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/models/msda/msda_time.hpp>
#include <natten_sim/sim/msda/msda.hpp>

#include "catch.hpp"

namespace msda_test {

using namespace natten_sim;

const Device& msda_device(const std::string& name) {
  static const Catalog catalog = builtin_catalog();
  return catalog.device(name);
}

MsdaConfig named(const std::string& name) {
  for (const MsdaConfig& config : builtin_msda_configs()) {
    if (config.name == name) return config;
  }
  throw std::runtime_error(name);
}

MsdaConfig small() {
  MsdaConfig config;
  config.name = "small";
  config.batch = 2;
  config.height = 40;
  config.width = 56;
  config.strides = {8, 16};
  config.channels = 64;
  config.heads = 4;
  config.points = 3;
  config.queries = 11;
  config.source = "test";
  return config;
}

TEST_CASE("the paper's configurations are there by name, with their pyramids") {
  CHECK(builtin_msda_configs().size() == 12);
  // 1536 x 2048 over 8, 16, 32, 64: 192 x 256 + 96 x 128 + 48 x 64 + 24 x 32.
  CHECK(pixels_per_image(named("B2_1536x2048_d256_L4_enc")) == 49152 + 12288 + 3072 + 768);
  CHECK(queries_per_image(named("B2_1536x2048_d256_L4_enc")) == 65280);
  // 800 x 1333: 100 x 166 + 50 x 83 + 25 x 41 + 12 x 20.
  CHECK(pixels_per_image(named("B4_800x1333_d256_L4")) == 16600 + 4150 + 1025 + 240);
  CHECK(queries_per_image(named("B4_800x1333_d256_L4")) == 300);
  CHECK(named("B2_800x1333_d512_L4").head_channels() == 64);
  CHECK(named("B2_800x1333_d256_L5").levels() == 5);
  CHECK(named("B2_800x1333_d256_L2").levels() == 2);
}

TEST_CASE("bilinear corners reconstruct a linear function, and lie around the location") {
  const MsdaLevel level{7, 9, 0};
  for (const double x : {0.0, 0.1, 0.5, 0.77, 1.0}) {
    for (const double y : {0.03, 0.5, 0.99}) {
      const BilinearCorners corners = bilinear_corners(level, {x, y});
      double sum = 0, px = 0, py = 0;
      for (int corner = 0; corner < 4; ++corner) {
        CHECK(corners.weight[corner] >= 0);
        sum += corners.weight[corner];
        px += corners.weight[corner] * static_cast<double>(corners.x + corner % 2);
        py += corners.weight[corner] * static_cast<double>(corners.y + corner / 2);
      }
      CHECK(std::abs(sum - 1) < 1e-12);
      CHECK(std::abs(px - (x * 9 - 0.5)) < 1e-12);
      CHECK(std::abs(py - (y * 7 - 0.5)) < 1e-12);
    }
  }
}

TEST_CASE("samples come query by query, corners outside a level are left out") {
  const MsdaConfig config = small();
  const std::vector<MsdaLevel> levels = pyramid(config);
  const std::int64_t pixels = pixels_per_image(config);
  std::int64_t samples = 0, last = -1;
  for_each_sample(
      config, {OffsetDistribution::kGaussian, 4, 1}, QueryOrder::kLinear, [&](const MsdaSample& sample) {
        const std::int64_t position =
            (((sample.image * 11 + sample.query) * 4 + sample.head) * 2 + sample.level) * 3 + sample.point;
        CHECK(position == last + 1);
        last = position;
        ++samples;
        double weight = 0;
        for (std::int64_t corner = 0; corner < sample.corners; ++corner) {
          CHECK(sample.rows[corner] % 4 == sample.head);
          const std::int64_t pixel = sample.rows[corner] / 4 - sample.image * pixels -
                                     levels[static_cast<std::size_t>(sample.level)].first;
          CHECK(pixel >= 0);
          CHECK(pixel < levels[static_cast<std::size_t>(sample.level)].pixels());
          weight += sample.weights[corner];
        }
        CHECK(weight <= 1 + 1e-12);
        if (sample.corners == 4) CHECK(std::abs(weight - 1) < 1e-12);
      });
  CHECK(samples == 2 * 11 * 4 * 2 * 3);
}

TEST_CASE("locations lie in storage order, and each draws its own two numbers of the seed") {
  const MsdaConfig config = small();
  const std::vector<MsdaLevel> levels = pyramid(config);
  const auto drawn = [](std::uint64_t n) { return random_unit(random_bits(9, n)); };
  const std::vector<float> image = sample_locations(config, {OffsetDistribution::kImage, 0, 9});
  const std::vector<float> uniform = sample_locations(config, {OffsetDistribution::kUniform, 3, 9});
  REQUIRE(image.size() == 2 * 2 * 11 * 4 * 2 * 3);  // x and y of images, queries, heads, levels, points
  REQUIRE(uniform.size() == image.size());
  std::uint64_t n = 0;
  for (std::int64_t i = 0; i < 2; ++i) {
    for (const MsdaPoint& reference : reference_points(config, {OffsetDistribution::kUniform, 3, 9}, i)) {
      for (std::int64_t head = 0; head < 4; ++head) {
        for (const MsdaLevel& level : levels) {
          for (std::int64_t point = 0; point < 3; ++point, n += 2) {
            CHECK(image[n] == static_cast<float>(drawn(n)));
            CHECK(image[n + 1] == static_cast<float>(drawn(n + 1)));
            // From 3 pixels before the reference point to 3 behind it.
            const double x = reference.x + (6 * drawn(n) - 3) / static_cast<double>(level.width);
            const double y = reference.y + (6 * drawn(n + 1) - 3) / static_cast<double>(level.height);
            CHECK(std::abs(uniform[n] - x) < 1e-6);
            CHECK(std::abs(uniform[n + 1] - y) < 1e-6);
          }
        }
      }
    }
  }
}

TEST_CASE("the corners of a sample surround its location") {
  const MsdaConfig config = small();
  const std::vector<MsdaLevel> levels = pyramid(config);
  const std::int64_t pixels = pixels_per_image(config);
  const MsdaSampling sampling{OffsetDistribution::kLearned, 1, 3};
  const std::vector<float> locations = sample_locations(config, sampling);
  std::size_t n = 0, inside = 0;
  for_each_sample(config, sampling, QueryOrder::kLinear, [&](const MsdaSample& sample) {
    const MsdaLevel& level = levels[static_cast<std::size_t>(sample.level)];
    const double x = locations[n], y = locations[n + 1];
    n += 2;
    if (sample.corners < 4) return;
    ++inside;
    double mean_x = 0, mean_y = 0;  // weights reconstruct what is linear
    for (std::int64_t corner = 0; corner < 4; ++corner) {
      const std::int64_t pixel = sample.rows[corner] / 4 - sample.image * pixels - level.first;
      mean_x += sample.weights[corner] * (static_cast<double>(pixel % level.width) + 0.5);
      mean_y += sample.weights[corner] * (static_cast<double>(pixel / level.width) + 0.5);
    }
    CHECK(std::abs(mean_x - x * static_cast<double>(level.width)) < 1e-4);
    CHECK(std::abs(mean_y - y * static_cast<double>(level.height)) < 1e-4);
  });
  CHECK(n == locations.size());
  CHECK(inside > 100);
}

TEST_CASE("without offsets an encoder query reads its own pixel centre") {
  MsdaConfig config = small();
  config.queries = 0;
  config.strides = {8};
  // The centre of a pixel has weight 1 on that pixel and 0 on the three others.
  for_each_sample(config, {OffsetDistribution::kUniform, 0, 0}, QueryOrder::kLinear,
                  [&](const MsdaSample& sample) {
                    double best = 0;
                    std::int64_t row = -1;
                    for (std::int64_t corner = 0; corner < sample.corners; ++corner) {
                      if (sample.weights[corner] > best) row = sample.rows[corner];
                      best = std::max(best, sample.weights[corner]);
                    }
                    CHECK(best > 1 - 1e-9);
                    CHECK(row == (sample.image * 35 + sample.query) * 4 + sample.head);
                  });
}

/// A textbook LRU cache.
struct SlowCache {
  std::size_t capacity;
  std::list<std::int64_t> recent;
  bool access(std::int64_t key) {
    const auto found = std::find(recent.begin(), recent.end(), key);
    const bool hit = found != recent.end();
    if (hit) recent.erase(found);
    if (capacity > 0) recent.push_front(key);
    if (recent.size() > capacity) recent.pop_back();
    return hit;
  }
};

TEST_CASE("traffic agrees with a brute force over the samples, for several caches at once") {
  const MsdaConfig config = small();
  for (const OffsetDistribution offsets :
       {OffsetDistribution::kUniform, OffsetDistribution::kLearned, OffsetDistribution::kImage}) {
    const MsdaSampling sampling{offsets, 2, 5};
    const std::vector<MsdaCache> caches = {{0, 1}, {1, 1}, {1, 16}, {40, 1}, {10, 4}, {100000, 2}};
    const std::vector<MsdaTraffic> traffic = simulate_msda(config, sampling, QueryOrder::kMorton, caches);
    for (std::size_t i = 0; i < caches.size(); ++i) {
      SlowCache cache{static_cast<std::size_t>(caches[i].capacity_granules), {}};
      std::map<std::int64_t, std::int64_t> updates;
      std::set<std::int64_t> granules, in_head;
      std::int64_t reads = 0, query_reads = 0, misses = 0, samples = 0, head = -1;
      for_each_sample(config, sampling, QueryOrder::kMorton, [&](const MsdaSample& sample) {
        ++samples;
        const std::int64_t current = (sample.image * 11 + sample.query) * 4 + sample.head;
        if (current != head) in_head.clear();
        head = current;
        for (std::int64_t corner = 0; corner < sample.corners; ++corner) {
          ++reads;
          ++updates[sample.rows[corner]];
          if (!in_head.insert(sample.rows[corner]).second) continue;
          ++query_reads;
          const std::int64_t granule = sample.rows[corner] / caches[i].rows_per_granule;
          granules.insert(granule);
          if (!cache.access(granule)) ++misses;
        }
      });
      INFO(to_string(offsets) << " cache " << i);
      CHECK(traffic[i].samples == samples);
      CHECK(traffic[i].reads == reads);
      CHECK(traffic[i].query_reads == query_reads);
      CHECK(traffic[i].rows == static_cast<std::int64_t>(updates.size()));
      CHECK(traffic[i].granules == static_cast<std::int64_t>(granules.size()));
      CHECK(traffic[i].l2_misses == misses);
      std::int64_t hottest = 0;
      for (const auto& [row, count] : updates) hottest = std::max(hottest, count);
      CHECK(traffic[i].collisions.max_multiplicity == hottest);
      CHECK(traffic[i].collisions.updates == reads);
    }
  }
}

TEST_CASE("every order is a permutation, and changes nothing but the order of the samples") {
  const MsdaConfig config = small();
  const auto points = reference_points(config, {}, 1);
  const MsdaTraffic linear = simulate_msda(config, {}, QueryOrder::kLinear, MsdaCache{1000, 1});
  for (const QueryOrder order : values_of<QueryOrder>()) {
    INFO(to_string(order));
    std::vector<std::int32_t> sorted = permutation(order, points, 3);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < points.size(); ++i) CHECK(sorted[i] == static_cast<std::int32_t>(i));
    const MsdaTraffic traffic = simulate_msda(config, {}, order, MsdaCache{1000, 1});
    CHECK(traffic.reads == linear.reads);
    CHECK(traffic.rows == linear.rows);
    CHECK(traffic.collisions.histogram == linear.collisions.histogram);
    CHECK(parse_name<QueryOrder>(to_string(order)) == order);
    CHECK(permutation(order, {}, 0).empty());
  }
}

TEST_CASE("neighbours on the Hilbert curve are neighbours in the plane, Morton jumps") {
  std::vector<MsdaPoint> grid;
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) grid.push_back({(x + 0.5) / 16, (y + 0.5) / 16});
  }
  const auto longest = [&](QueryOrder order) {
    const auto queries = permutation(order, grid, 0);
    double most = 0;
    for (std::size_t i = 1; i < queries.size(); ++i) {
      const MsdaPoint a = grid[static_cast<std::size_t>(queries[i - 1])],
                      b = grid[static_cast<std::size_t>(queries[i])];
      most = std::max(most, 16 * (std::abs(a.x - b.x) + std::abs(a.y - b.y)));
    }
    return most;
  };
  CHECK(std::abs(longest(QueryOrder::kHilbert) - 1) < 1e-9);
  CHECK(longest(QueryOrder::kMorton) > 8);
  // Morton: the first four are the upper left 2 x 2 block.
  const auto morton = permutation(QueryOrder::kMorton, grid, 0);
  CHECK(std::vector<std::int32_t>(morton.begin(), morton.begin() + 4) ==
        std::vector<std::int32_t>{0, 1, 16, 17});
}

TEST_CASE("peak memory follows from shapes: printed figures in MiB") {
  constexpr double kMib = 1024 * 1024;
  // B4_800x1333: value 4 x 22015 x 256, locations 4 x 300 x 256, weights 4 x 300 x 128, output 4 x 300 x 256.
  const std::int64_t value = 4 * 22015 * 256, locations = 4 * 300 * 256, weights = 4 * 300 * 128,
                     output = 4 * 300 * 256;
  const MsdaMemory decoder = msda_memory(named("B4_800x1333_d256_L4"), Dtype::kBf16);
  CHECK(decoder.forward_alloc_bytes == 2 * (value + locations + weights + 2 * output));
  CHECK(decoder.forward_peak_bytes == decoder.forward_alloc_bytes + 2 * (weights + output));
  CHECK(decoder.backward_fp32_cast_bytes ==
        decoder.forward_alloc_bytes + 4 * (2 * value + 2 * locations + 2 * weights + output));
  // Table 5: 45.0 allocated, 45.9 and (CUDA, backward) 221.7 at the peak.
  CHECK(std::abs(static_cast<double>(decoder.forward_alloc_bytes) / kMib - 45.0) <= 0.051);
  CHECK(std::abs(static_cast<double>(decoder.forward_peak_bytes) / kMib - 45.9) <= 0.051);
  CHECK(std::abs(static_cast<double>(decoder.backward_fp32_cast_bytes) / kMib - 221.7) <= 0.051);
  // Encoder: 447.9, 575.9 and 1055.9, within half a percent; the buffer that the fp32 accumulator adds:
  // 127.5.
  const MsdaMemory encoder = msda_memory(named("B2_1536x2048_d256_L4_enc"), Dtype::kBf16);
  CHECK(std::abs(static_cast<double>(encoder.backward_native_bytes) / kMib / 447.9 - 1) < 0.005);
  CHECK(std::abs(static_cast<double>(encoder.backward_fp32_accumulator_bytes) / kMib / 575.9 - 1) < 0.005);
  CHECK(std::abs(static_cast<double>(encoder.backward_fp32_cast_bytes) / kMib / 1055.9 - 1) < 0.005);
  CHECK(static_cast<double>(encoder.backward_fp32_accumulator_bytes - encoder.backward_native_bytes) / kMib ==
        127.5);
}

TEST_CASE("stored kernel constants are what the fit gives") {
  for (const char* device : {"a100-40gb", "h100"}) {
    const MsdaKernel block = msda_kernel(msda_device(device), MsdaTiling::kBlock),
                     point = msda_kernel(msda_device(device), MsdaTiling::kPoint);
    const MsdaFit fit = fit_msda(device, block, point, msda_latencies(), builtin_msda_configs());
    const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); };
    INFO(device);
    CHECK(same(fit.block.read_request_ns, block.read_request_ns));
    CHECK(same(fit.block.read_byte_ns, block.read_byte_ns));
    CHECK(same(fit.block.host_forward_ns, block.host_forward_ns));
    CHECK(same(fit.block.host_backward_ns, block.host_backward_ns));
    CHECK(same(fit.point.read_request_ns, point.read_request_ns));
    CHECK(same(fit.point.write_request_ns, point.write_request_ns));
    CHECK(same(fit.slice_sectors_per_ns, contention_profile(msda_device(device)).slice_sectors_per_ns));
  }
  // Table 1, A100: bandwidth over resident warps.
  CHECK(std::abs(msda_kernel(msda_device("a100-40gb"), MsdaTiling::kBlock).bytes_in_flight /
                     (0.363 * 1555 * 600 / (0.171 * 64 * 108)) -
                 1) < 1e-5);
  CHECK(std::abs(msda_kernel(msda_device("a100-40gb"), MsdaTiling::kPoint).bytes_in_flight /
                     (0.051 * 1555 * 600 / (0.852 * 64 * 108)) -
                 1) < 1e-5);
}

TEST_CASE("invalid configurations, samplings and caches are refused") {
  MsdaConfig config = small();
  config.channels = 63;
  CHECK_THROWS_AS(simulate_msda(config, {}, QueryOrder::kLinear, MsdaCache{}), InvalidParameter);
  config = small();
  config.strides = {41};
  CHECK_THROWS_AS(simulate_msda(config, {}, QueryOrder::kLinear, MsdaCache{}), InvalidParameter);
  config = small();
  CHECK_THROWS_AS(simulate_msda(config, {OffsetDistribution::kUniform, std::nan(""), 0}, QueryOrder::kLinear,
                                MsdaCache{}),
                  InvalidParameter);
  CHECK_THROWS_AS(simulate_msda(config, {}, QueryOrder::kLinear, MsdaCache{1, 0}), InvalidParameter);
  // 2^31 query-heads, one too many, of a configuration that is valid elsewhere.
  config.strides = {40};
  config.points = 1;
  config.batch = 32;
  config.queries = (std::int64_t{1} << 31) / (config.batch * config.heads);
  CHECK_NOTHROW(require_valid(config));
  try {
    (void)simulate_msda(config, {}, QueryOrder::kLinear, MsdaCache{});
    FAIL("2^31 query-heads are taken");
  } catch (const InvalidParameter& error) {
    CHECK(error.parameter() == "configuration");
  }
  CHECK_THROWS_AS(
      read_msda_configs("{\"schema\": \"natten-sim.msda-configs/1\", \"configs\": [{\"name\": \"x\"}]}",
                        "test"),
      MalformedData);
  CHECK_THROWS_AS(msda_kernel(msda_device("b200"), MsdaTiling::kBlock), InvalidParameter);
}

}  // namespace msda_test
