#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <natten_sim/kernels/gpu.hpp>
#include <natten_sim/validate/clocks.hpp>

namespace natten_sim::validate {

/// What is in the L2 when a repetition starts.
enum class L2State { kFlushed, kWarm };
[[nodiscard]] const char* to_string(L2State state) noexcept;
/// @throws UnknownName.
[[nodiscard]] L2State l2_state_of(const std::string& name);

/// Median, 95th percentile (nearest rank) and the smallest of some values. Requires at least one.
struct Spread {
  double median = 0;
  double p95 = 0;
  double smallest = 0;
  double largest = 0;
};
/// @throws InvalidParameter when `values` is empty.
[[nodiscard]] Spread spread_of(std::span<const double> values);

/// Calls the first, then the second, and so on, the first again after the last. Requires one or more.
[[nodiscard]] std::function<void()> in_turn(std::vector<std::function<void()>> each);

inline constexpr int kMostInputs = 64;

struct TimingOptions {
  int repetitions = 20;  ///< at least 1; recordings that are compared need 20
  int warm_up = 3;
  int inputs = 1;  ///< sets of inputs that repetitions take in turn, in 1..kMostInputs
  L2State l2 = L2State::kFlushed;
};

struct Timing {
  Spread milliseconds;
  int repetitions = 0;
  int inputs = 1;  ///< sets of inputs that the repetitions took in turn
  L2State l2 = L2State::kFlushed;
  std::optional<Clocks> before;
  std::optional<Clocks> after;
};

/// Times `work`, which launches on the default stream and takes the next set of inputs each time it is
/// called, with CUDA events. @throws InvalidParameter, CudaError.
[[nodiscard]] Timing time_kernel(const kernels::GpuInfo& gpu, const ClockReader& clocks,
                                 const std::function<void()>& work, const TimingOptions& options);

}  // namespace natten_sim::validate
