#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/validate/measure/clocks.hpp>

namespace natten_sim::validate {

/// State of the L2 when a repetition starts.
enum class L2State { kFlushed, kWarm };

/// Median, 95th percentile (nearest rank) and the smallest of some values. Requires at least one.
struct Spread {
  double median = 0;
  double p95 = 0;
  double smallest = 0;
  double largest = 0;
};
/// @throws InvalidParameter when `values` is empty.
[[nodiscard]] Spread spread_of(std::span<const double> values);

/// A function that calls the first of `each`, then the second, and so on; after the last comes the first
/// again. Requires one or more.
[[nodiscard]] std::function<void()> in_turn(std::vector<std::function<void()>> each);

inline constexpr int kMaxInputs = 64;

struct TimingOptions {
  int repetitions = 20;  ///< at least 1; recordings that are compared need 20
  int warm_up = 3;
  int warm_up_ms =
      0;           ///< launches before go on for so long: until clocks have settled for this kernel's power
  int inputs = 1;  ///< sets of inputs that repetitions take in turn, in 1..kMaxInputs
  L2State l2 = L2State::kFlushed;
  /// Without work before each repetition, in durations of a launch: so that the power limit, which acts on
  /// the mean of tens of milliseconds, lowers no clock. At least 0.
  double rest = 0;
};

struct Timing {
  Spread milliseconds;
  int repetitions = 0;
  int inputs = 1;  ///< sets of inputs that the repetitions took in turn
  L2State l2 = L2State::kFlushed;
  std::optional<Clocks> before;
  std::optional<Clocks> after;
  std::optional<double> rest_ms;  ///< between one launch and the next, in which the GPU did something lighter
};

/// Times `work`, which launches on the default stream and takes the next set of inputs each time it is
/// called, with CUDA events. @throws InvalidParameter, CudaError.
[[nodiscard]] Timing time_kernel(const kernels::GpuInfo& gpu, const ClockReader& clocks,
                                 const std::function<void()>& work, const TimingOptions& options);

}  // namespace natten_sim::validate

namespace natten_sim {

template <>
struct NamesOf<validate::L2State> {
  using State = validate::L2State;
  static constexpr const char* kConcept = "l2";
  static constexpr Name<State> kTable[] = {{State::kFlushed, "flushed"}, {State::kWarm, "warm"}};
};

}  // namespace natten_sim
