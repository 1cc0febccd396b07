#include <algorithm>
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/msda/oracle.hpp>

#include "catch.hpp"

namespace msda_oracle_test {

using namespace natten_sim;
using namespace natten_sim::kernels::msda;
namespace scatter_add = natten_sim::kernels::scatter_add;

/// Levels of 4x8, 2x4 and 1x2 pixels.
Problem small_problem() {
  Problem problem;
  problem.batch = 2;
  problem.queries = 3;
  problem.heads = 2;
  problem.head_channels = 4;
  problem.points = 2;
  problem.levels = {{4, 8, 0}, {2, 4, 32}, {1, 2, 40}};
  problem.dtype = problem.parameters = Dtype::kFp32;
  return problem;
}

/// One query, head and location in one level of 2x2 pixels with the values 1, 2, 3, 4, a weight of 10.
HostOutputs one_sample(double x, double y) {
  Problem problem;
  problem.heads = problem.points = 1;
  problem.head_channels = 4;
  problem.levels = {{2, 2, 0}};
  problem.dtype = problem.parameters = Dtype::kFp32;
  const HostInputs inputs = {
      {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4}, {x, y}, {10}, {1, 0, 0, 0}, {}};
  return oracle(problem, inputs);
}

double scalar_of(const Problem& problem, const HostInputs& inputs) {
  const HostOutputs outputs = oracle(problem, inputs);
  double sum = 0;
  for (std::size_t i = 0; i < outputs.output.size(); ++i)
    sum += outputs.output[i] * inputs.output_gradient[i];
  return sum;
}

TEST_CASE("a location between four pixels averages them, one on a pixel reads it alone") {
  CHECK(one_sample(0.5, 0.5).output[0] == 25);    // 10 * (1 + 2 + 3 + 4) / 4
  CHECK(one_sample(0.25, 0.75).output[0] == 30);  // the lower left pixel's centre
  CHECK(one_sample(0.75, 0.5).output[0] == 30);   // 10 * (2 + 4) / 2
}

TEST_CASE("corners outside of a level count as zero") {
  CHECK(one_sample(0, 0).output[0] == 2.5);  // a quarter of the upper left pixel
  CHECK(one_sample(1, 1).output[0] == 10);   // a quarter of the lower right one
  CHECK(one_sample(-0.25, 0.5).output[0] == 0);
  CHECK(one_sample(7, 0.5).output[0] == 0);
}

TEST_CASE("a sample's gradients are those of the bilinear form") {
  const HostOutputs outputs = one_sample(0.5, 0.5);
  CHECK(outputs.value_gradient[0] == 2.5);  // weight times share, of each pixel's first channel
  CHECK(outputs.value_gradient[12] == 2.5);
  CHECK(outputs.value_gradient[1] == 0);
  CHECK(outputs.weight_gradient[0] == 2.5);
  CHECK(outputs.location_gradient == std::vector<double>{20, 40});  // 10 * 2 pixels an edge * (1 | 2) a pixel
}

TEST_CASE("all three gradients are finite differences of the output") {
  const Problem problem = small_problem();
  HostInputs inputs = draw_inputs(problem, CheckValues::kRandom, 11);
  const HostOutputs outputs = oracle(problem, inputs);
  constexpr double kStep = 1e-5;  // the output is bilinear: only rounding is left of a central difference
  std::size_t moved = 0;
  const auto compare = [&](std::vector<double>& input, const std::vector<double>& gradient) {
    REQUIRE(input.size() == gradient.size());
    for (std::size_t i = 0; i < input.size(); ++i) {
      const double before = input[i];
      input[i] = before + kStep;
      const double above = scalar_of(problem, inputs);
      input[i] = before - kStep;
      const double below = scalar_of(problem, inputs);
      input[i] = before;
      INFO(i << " of " << input.size());
      CHECK(std::abs((above - below) / (2 * kStep) - gradient[i]) < 1e-8);
      moved += gradient[i] != 0 ? 1 : 0;
    }
  };
  compare(inputs.values, outputs.value_gradient);
  compare(inputs.locations, outputs.location_gradient);
  compare(inputs.weights, outputs.weight_gradient);
  CHECK(moved > 100);
}

TEST_CASE("sums of drawn integers are whole 16ths, so any order gives the same bits") {
  Problem problem = small_problem();
  problem.levels = {{4, 8, 0}, {2, 4, 32}, {2, 2, 40}};
  const HostOutputs outputs = oracle(problem, draw_inputs(problem, CheckValues::kIntegers, 5));
  for (const auto* tensor : {&outputs.output, &outputs.value_gradient, &outputs.weight_gradient}) {
    for (const double sum : *tensor) CHECK(16 * sum == std::round(16 * sum));
  }
}

TEST_CASE("no random sample lies where the pixels around it change: gradients of locations jump there") {
  const Problem problem = small_problem();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<double> locations = draw_inputs(problem, CheckValues::kRandom, seed).locations;
    double nearest = 1;  // pixels
    for (std::size_t i = 0; i < locations.size(); ++i) {
      const MsdaLevel& level = problem.levels[i / 2 / 2 % 3];  // two points of each level
      const double edge = static_cast<double>(i % 2 == 0 ? level.width : level.height);
      const double pixel = locations[i] * edge - 0.5;
      nearest = std::min(nearest, std::abs(pixel - std::round(pixel)));
    }
    INFO("seed " << seed);
    CHECK(nearest > 0.03);  // 1/32, but for rounding to fp32
  }
}

TEST_CASE("one update that is lost or doubled is outside of the bounds of rounding") {
  Problem problem = small_problem();
  problem.queries = 12;
  HostInputs inputs = draw_inputs(problem, CheckValues::kRandom, 3);
  const HostOutputs right = oracle(problem, inputs), bounds = error_bounds(problem, inputs);
  const auto beyond = [&](const HostOutputs& wrong) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < right.value_gradient.size(); ++i)
      count += std::abs(wrong.value_gradient[i] - right.value_gradient[i]) > bounds.value_gradient[i] ? 1 : 0;
    return count;
  };
  CHECK(beyond(right) == 0);
  std::size_t noticed = 0, samples = 0;
  for (std::size_t sample = 0; sample < inputs.weights.size(); ++sample) {
    const double weight = inputs.weights[sample];
    if (std::abs(weight) < 0.25 || right.weight_gradient[sample] == 0) continue;
    for (const double factor : {0.0, 2.0}) {
      inputs.weights[sample] = factor * weight;
      noticed += beyond(oracle(problem, inputs)) > 0 ? 1 : 0;
      ++samples;
    }
    inputs.weights[sample] = weight;
  }
  CHECK(samples > 50);
  CHECK(noticed == samples);
}

TEST_CASE("deformable attention refuses rows, types and paths that no kernel takes") {
  Problem problem = small_problem();
  CHECK_NOTHROW(require_valid(problem));
  problem.head_channels = 6;  // 24 bytes
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
  problem.head_channels = 12;  // 48 bytes: 3 lanes
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
  problem = small_problem();
  problem.parameters = Dtype::kBf16;  // of fp32 values
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
  problem = small_problem();
  problem.path = scatter_add::Path::kSorted;
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
  problem = small_problem();
  problem.levels[1].first = 31;
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
}

TEST_CASE("accumulators and copies are counted as scratch") {
  Problem problem = small_problem();  // 2 images of 42 pixels, 2 heads of 4 channels
  problem.dtype = Dtype::kBf16;
  problem.head_channels = 8;
  constexpr std::size_t kElements = 2 * 42 * 2 * 8;
  CHECK(tensor_bytes(problem).values == kElements * 2);
  CHECK(scratch_bytes(problem, MsdaPhase::kBackward) == 0);
  problem.path = scatter_add::Path::kAccumulator;
  CHECK(scratch_bytes(problem, MsdaPhase::kBackward) == kElements * 4);
  problem.path = scatter_add::Path::kPrivate;
  CHECK(scratch_bytes(problem, MsdaPhase::kBackward) == kElements * 2 * 8);
}

}  // namespace msda_oracle_test
