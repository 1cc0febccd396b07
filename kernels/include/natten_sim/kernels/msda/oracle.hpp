#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/kernels/msda/msda.hpp>

namespace natten_sim::kernels::msda {

/// Inputs of both passes in the layouts of TensorBytes, rounded to their types beforehand.
struct HostInputs {
  std::vector<double> values, locations, weights, output_gradient;
  std::vector<std::int32_t> order;  ///< empty: as stored
};

/// What both passes give, in double.
struct HostOutputs {
  std::vector<double> output, value_gradient, location_gradient, weight_gradient;
};

/// Follows the definition, sample by sample. O(samples * head_channels).
[[nodiscard]] HostOutputs oracle(const Problem& problem, const HostInputs& inputs);

/// kIntegers: values, weights and gradients of 1 and -1, locations on quarters of a pixel. On levels of
/// power-of-two sizes all sums are exact, whatever the order, and must agree bit for bit. kRandom: anything,
/// held to rounding bounds.
using CheckValues = scatter_add::CheckValues;

/// Inputs from the seed, a random dispatch order included. Samples lie on all sides of the levels' edges; the
/// first query's lie far outside.
[[nodiscard]] HostInputs draw_inputs(const Problem& problem, CheckValues kind, std::uint64_t seed);

/// How far each output may be off: roundings of each type times the sums of magnitudes.
[[nodiscard]] HostOutputs error_bounds(const Problem& problem, const HostInputs& inputs);

struct Check {
  double error = 0;   ///< largest |difference| over its bound; with integers 0 or 1
  std::string worst;  ///< the tensor that it was found in
  bool guards_intact = false;
  bool passed = false;
};
/// Runs both passes between poisoned guards, into poisoned outputs, and compares all outputs with the oracle.
/// @throws InvalidParameter where sums of integers would not be exact.
[[nodiscard]] Check check(const GpuInfo& gpu, const Problem& problem, CheckValues kind, std::uint64_t seed);

}  // namespace natten_sim::kernels::msda
