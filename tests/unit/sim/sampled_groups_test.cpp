// Estimates from a sample once more: lists of blocks, and sums over groups.
#include <algorithm>
#include <cmath>
#include <list>
#include <optional>
#include <vector>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/sampled_stack_distance.hpp>

#include "catch.hpp"
#include "random_values.hpp"
#include "random.hpp"

namespace sampled_groups_test {

using namespace natten_sim;
using test::RandomValues;

struct Access {
  std::uint64_t block;
  std::int64_t bytes, weight;
};

/// Of a sampled access: its group, and its distances among all sampled blocks and among those without a
/// group.
struct Sampled {
  std::size_t group = 0;
  std::int64_t weight = 0;
  std::optional<double> distance;
  std::vector<std::optional<double>> without = std::vector<std::optional<double>>(8);
};

/// Most recent first; the distance is in bytes, the block itself not scaled.
std::optional<double> distance_of(std::list<Access>& stack, const Access& access, double rate) {
  double above = 0;
  for (auto at = stack.begin(); at != stack.end(); ++at) {
    if (at->block == access.block) {
      stack.erase(at);
      stack.push_front(access);
      return static_cast<double>(access.bytes) + static_cast<double>(std::llround(above / rate));
    }
    above += static_cast<double>(at->bytes);
  }
  stack.push_front(access);
  return std::nullopt;
}

struct Totals {
  double misses = 0, accesses = 0;
};

double slope_without(const std::vector<Totals>& groups, std::size_t left_out) {
  std::vector<Totals> used;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g != left_out) used.push_back(groups[g]);
  }
  const double count = static_cast<double>(used.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const Totals& each : used) x += each.accesses, y += each.misses;
  for (const Totals& each : used) {
    xx += (each.accesses - x / count) * (each.accesses - x / count);
    xy += (each.accesses - x / count) * (each.misses - y / count);
  }
  return xx == 0 ? 0 : std::min(std::max(xy / xx, 0.0), 1.0);
}

double ratio_of(const Totals& sample, double expected, double slope) {
  return std::min(std::max((sample.misses - slope * (sample.accesses - expected)) / expected, 0.0), 1.0);
}

TEST_CASE(
    "a sampled miss ratio and its error are the regression and the jackknife over eight groups of blocks") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < 60; ++n) {
    CAPTURE(n);
    const double rate = random.of({1.0, 0.7, 0.3, 0.05});
    const auto sample_seed = static_cast<std::uint64_t>(random.whole(0, 1000));
    const std::int64_t blocks = random.whole(1, 150);
    SampledStackDistances sampled(rate, sample_seed);
    std::vector<std::int64_t> size;
    for (std::int64_t block = 0; block < blocks; ++block)
      size.push_back(random.of<std::int64_t>({1, 32, 100}));
    std::list<Access> all;
    std::vector<std::list<Access>> without(8);
    std::vector<Sampled> accesses;
    std::int64_t total = 0;
    for (std::int64_t left = random.whole(0, 500); left > 0; --left) {
      const std::int64_t block = random.whole(0, blocks - 1);
      const Access access{static_cast<std::uint64_t>(block), size[static_cast<std::size_t>(block)],
                          random.whole(1, 3)};
      sampled.access(access.block, access.bytes, access.weight);
      total += access.weight;
      const std::uint64_t hash = hashed_bits(access.block ^ hashed_bits(sample_seed));
      if (static_cast<double>(hash >> 8) >= std::ceil(rate * std::ldexp(1, 56))) continue;
      Sampled each;
      each.group = hash % 8;
      each.weight = access.weight;
      each.distance = distance_of(all, access, rate);
      for (std::size_t g = 0; g < 8; ++g) {
        if (g != each.group) each.without[g] = distance_of(without[g], access, rate * 7 / 8);
      }
      accesses.push_back(each);
    }
    REQUIRE(sampled.accesses() == total);
    REQUIRE(sampled.sampled_blocks() == std::ssize(all));
    REQUIRE(sampled.rate() == rate);
    for (const std::int64_t capacity :
         {std::int64_t{0}, std::int64_t{32}, random.whole(0, 3000), random.whole(0, 30000)}) {
      const auto misses = [&](const std::optional<double>& distance) {
        return !distance || *distance > static_cast<double>(capacity);
      };
      std::vector<Totals> groups(8), others(8);
      Totals whole;
      for (const Sampled& each : accesses) {
        const double weight = static_cast<double>(each.weight);
        whole.accesses += weight;
        groups[each.group].accesses += weight;
        if (misses(each.distance)) whole.misses += weight, groups[each.group].misses += weight;
        for (std::size_t g = 0; g < 8; ++g) {
          if (g == each.group) continue;
          others[g].accesses += weight;
          if (misses(each.without[g])) others[g].misses += weight;
        }
      }
      const MissRatioEstimate estimate = sampled.miss_ratio(capacity);
      REQUIRE(estimate.sampled_accesses == static_cast<std::int64_t>(whole.accesses));
      double ratio = 0, error = 0;
      if (accesses.empty()) {
        error = 1;  // nothing is known
      } else if (rate == 1) {
        ratio = whole.misses / whole.accesses;
      } else {
        const double expected = rate * static_cast<double>(total);
        ratio = ratio_of(whole, expected, slope_without(groups, 8));
        std::vector<double> left_out;
        double mean = 0;
        for (std::size_t g = 0; g < 8; ++g) {
          left_out.push_back(ratio_of(others[g], expected * 7 / 8, slope_without(groups, g)));
          mean += left_out.back() / 8;
        }
        for (const double each : left_out) error += (each - mean) * (each - mean) * 7 / 8;
        error = std::sqrt(error);
      }
      REQUIRE(std::abs(estimate.miss_ratio - ratio) < 1e-9);
      REQUIRE(std::abs(estimate.standard_error - error) < 1e-7);
    }
    // All sampled accesses in one profile.
    const ReuseProfile pooled = sampled.pooled();
    std::int64_t cold = 0, weights = 0;
    double sum = 0;
    for (const Sampled& each : accesses) {
      weights += each.weight;
      if (each.distance) {
        sum += *each.distance * static_cast<double>(each.weight);
      } else {
        cold += each.weight;
      }
    }
    REQUIRE(pooled.accesses() == weights);
    REQUIRE(pooled.cold() == cold);
    if (weights > cold)
      REQUIRE(std::abs(*pooled.mean_bytes() - sum / static_cast<double>(weights - cold)) < 1e-6);
  }
}

}  // namespace sampled_groups_test
