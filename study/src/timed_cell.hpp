#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <natten_sim/study/many_times.hpp>
#include <natten_sim/study/time.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {

/// A kernel's pass on a device with the costs of tiles of these sizes: what questions have in common that differ in
/// mask, layout, numbers of heads and shapes of such tiles alone. It refers to the context.
struct TimedCell {
  const Context* context = nullptr;
  const Device* device = nullptr;
  TimedKernel kernel;
  KernelCosts costs;
  PassCosts pass, rested, back_to_back;  ///< that pass; with the question's rest, and without one; `pass` alone has evidence
  /// Shares of the time that priors leave open, and what runs had.
  double masked_spread = 0, bounds_spread = 0, axis_spread = 0;
  bool unmasked_known = false, bounds_known = false, masked_known = false;
  std::array<bool, 3> axes_known = {};
  bool schedule_unmeasured = false;
  /// The kernels that a speedup is counted over.
  std::vector<std::pair<TimedKernel, PassCosts>> dense;
};

/// The question is resolved. @throws as time()
[[nodiscard]] std::variant<TimedCell, MissingTime> timed_cell(const TimeQuestion& question, const Context& context);

struct Copies {
  double ms = 0;
  std::optional<CopyEvidence> evidence;
};

/// What is run around a launch, and in its place: no window matters to it but one that is the axis.
struct Surroundings {
  std::optional<double> added_ms;       ///< the pass over additional keys; none: no times of a kernel that serves them
  std::optional<Copies> copies;         ///< none: their rate is not known
  std::optional<double> repetition_ms;  ///< as in PassTime
  double dense_ms = 0;
  std::string dense_kernel;
  bool dense_unordered = false, dense_masked = false;
  bool dense_itself = false;  ///< the question's own launch, whose time is not known yet: no dense_ms
};
[[nodiscard]] Surroundings surroundings_of(const TimeQuestion& question, const TimedCell& cell);
[[nodiscard]] MissingTime missing_additional(const TimeQuestion& question, const TimedKernel& kernel);

/// A launch of costs with a mask function that is not tables; `instructions` of a pair, 0: none is evaluated.
struct FunctionCosts {
  std::optional<PassCosts> costs;  ///< in place of the cell's
  std::string name;
  double instructions = 0;
};
[[nodiscard]] FunctionCosts function_costs(const TimeQuestion& question, const TimedCell& cell);

/// Of a launch of `work`, whose waves are set.
[[nodiscard]] TimeNumbers numbers_of(const TimeQuestion& question, const TimedCell& cell, const Surroundings& around,
                                     const LaunchWork& work, const FunctionCosts& function);

}  // namespace natten_sim::study
