#pragma once

#include <cstdint>
#include <string>

#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::study {

/// Which runs tell most about what a kernel costs on a device, before any is measured?
struct CalibrationPlanQuestion {
  std::string kernel, device;
  std::int64_t head_dim = 128;
  Dtype dtype = kDefaultDtype;
  std::size_t runs = 6;  ///< a pass
};

/// A pass of the answer for each that the kernel has, without runs: its suggestions are the plan, each after those
/// before it are measured. From the costs that the catalog has or derives for the cell, and the priors' spreads.
/// @throws UnknownName; InvalidParameter where the kernel does not exist on the device, or no costs can be derived.
[[nodiscard]] CalibrateAnswer plan_calibration(const CalibrationPlanQuestion& question, const Context& context);

}  // namespace natten_sim::study
