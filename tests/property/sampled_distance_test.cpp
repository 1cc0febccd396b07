// The standard error of a sampled miss ratio is honest: over many random traces the truth lies within one of
// it about as often as within one standard deviation of a normal variable, 0.68.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <natten_sim/sim/reuse/sampled_stack_distance.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>

#include "catch.hpp"

namespace sampled_distance_test {

using namespace natten_sim;

using Trace = std::vector<std::uint64_t>;

double between(double lo, double hi, std::mt19937_64& random) {
  return lo + (hi - lo) * std::uniform_real_distribution<>()(random);
}

/// Any number below `end`.
std::uint64_t below(std::uint64_t end, std::mt19937_64& random) { return random() % end; }

struct Shape {
  std::uint64_t blocks = 0;    ///< at most so many distinct ones
  std::uint64_t accesses = 0;  ///< at least so many
};

Trace uniform(const Shape& shape, std::mt19937_64& random) {
  Trace trace;
  while (trace.size() < shape.accesses) trace.push_back(below(shape.blocks, random));
  return trace;
}

/// Block k with a probability proportional to (k + 1)^-s.
Trace zipf(const Shape& shape, std::mt19937_64& random) {
  const double exponent = between(0.4, 1.4, random);
  std::vector<double> upto;
  for (std::uint64_t k = 0; k < shape.blocks; ++k)
    upto.push_back((upto.empty() ? 0 : upto.back()) + std::pow(static_cast<double>(k + 1), -exponent));
  Trace trace;
  while (trace.size() < shape.accesses) {
    const auto at = std::lower_bound(upto.begin(), upto.end(), between(0, upto.back(), random));
    trace.push_back(static_cast<std::uint64_t>(at - upto.begin()));
  }
  return trace;
}

/// Stretches of the blocks, each read one to three times.
Trace loops(const Shape& shape, std::mt19937_64& random) {
  Trace trace;
  while (trace.size() < shape.accesses) {
    const std::uint64_t length = 1 + below(shape.blocks, random);
    const std::uint64_t first = below(shape.blocks - length + 1, random);
    for (std::uint64_t pass = 1 + below(3, random); pass > 0; --pass) {
      for (std::uint64_t i = 0; i < length; ++i) trace.push_back(first + i);
    }
  }
  return trace;
}

/// There and back, over lengths that vary.
Trace sawtooth(const Shape& shape, std::mt19937_64& random) {
  Trace trace;
  while (trace.size() < shape.accesses) {
    const std::uint64_t length = 1 + below(shape.blocks, random);
    for (std::uint64_t i = 0; i < length; ++i) trace.push_back(i);
    for (std::uint64_t i = length; i > 0; --i) trace.push_back(i - 1);
  }
  return trace;
}

/// Most accesses go to a few blocks, which change slowly.
Trace drifting(const Shape& shape, std::mt19937_64& random) {
  const double share = between(0.3, 0.9, random);
  const std::uint64_t hot = 1 + shape.blocks / (4 + below(40, random));
  Trace trace;
  while (trace.size() < shape.accesses) {
    const std::uint64_t from = trace.size() * shape.blocks / shape.accesses;
    const bool near = between(0, 1, random) < share;
    trace.push_back(near ? (from + below(hot, random)) % shape.blocks : below(shape.blocks, random));
  }
  return trace;
}

struct Coverage {
  int traces = 0, within_one = 0, within_two = 0;
  double squared_error = 0;
};

/// One capacity and one rate of each trace.
void sample_one(const Trace& trace, std::mt19937_64& random, Coverage& coverage) {
  StackDistances distances;
  ReuseProfile profile;
  for (const std::uint64_t block : trace) profile.add(distances.access(static_cast<std::int64_t>(block)));
  const double rate = std::exp(between(std::log(0.03), std::log(0.3), random));
  const auto capacity =
      static_cast<std::int64_t>(static_cast<double>(distances.distinct_blocks()) * between(0.05, 1, random));
  SampledStackDistances sample(rate, random());
  for (const std::uint64_t block : trace) sample.access(block);
  const MissRatioEstimate estimate = sample.miss_ratio(capacity);
  const double truth = static_cast<double>(profile.misses(capacity)) / static_cast<double>(trace.size());
  const double error = std::abs(estimate.miss_ratio - truth);
  ++coverage.traces;
  coverage.within_one += error <= estimate.standard_error ? 1 : 0;
  coverage.within_two += error <= 2 * estimate.standard_error ? 1 : 0;
  coverage.squared_error += error * error;
}

TEST_CASE("the truth is within one standard error of 0.68 of the sampled miss ratios, give or take 0.1") {
  constexpr std::array<Trace (*)(const Shape&, std::mt19937_64&), 5> kKinds = {uniform, zipf, loops, sawtooth,
                                                                               drifting};
  constexpr std::uint64_t kTraces = 1000;
  Coverage all;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    Coverage coverage;
    for (std::uint64_t seed = kind; seed < kTraces; seed += kKinds.size()) {
      std::mt19937_64 random(seed);
      Shape shape{.blocks =
                      static_cast<std::uint64_t>(std::exp(between(std::log(1000), std::log(8000), random)))};
      shape.accesses = shape.blocks * (5 + below(10, random));
      sample_one(kKinds[kind](shape, random), random, coverage);
    }
    const auto share = [&](int of) { return static_cast<double>(of) / coverage.traces; };
    INFO("kind " << kind << ": within one standard error " << share(coverage.within_one) << ", within two "
                 << share(coverage.within_two) << ", root mean square error "
                 << std::sqrt(coverage.squared_error / coverage.traces));
    CHECK(coverage.traces == 200);
    CHECK(share(coverage.within_one) >= 0.58);
    CHECK(share(coverage.within_one) <= 0.78);
    CHECK(share(coverage.within_two) >= 0.85);
    CHECK(coverage.squared_error / coverage.traces < 0.1 * 0.1);
    all.traces += coverage.traces;
    all.within_one += coverage.within_one;
  }
  CHECK(all.traces == kTraces);
  const double share = static_cast<double>(all.within_one) / all.traces;
  CHECK(share >= 0.62);
  CHECK(share <= 0.74);
}

}  // namespace sampled_distance_test
