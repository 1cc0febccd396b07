#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// What the timed model takes from the paces of a kernel, measured with its CTAs alone and beside others.
struct KernelPace {
  std::string device;  ///< profile name
  kernels::AttentionProblem problem;
  kernels::AttentionVariant variant;
  study::MeasuredPace pace;
};

/// The paces of every kernel that was recorded both with all its CTAs on an SM and with one. @throws
/// MalformedData on a suite without paces.
[[nodiscard]] std::vector<KernelPace> kernel_paces(const Recording& recording);

/// The paces of data/recordings/*-pace.json, which are compiled in.
[[nodiscard]] const std::vector<KernelPace>& builtin_paces();

/// A run in time at the built-in pace of that kernel, which loads as many tiles ahead as it has stages. Empty
/// where the kernel has no pace on the device, or its profile lacks what the timed model needs.
[[nodiscard]] std::optional<study::TimedRun> timed_run(const Device& device,
                                                       const kernels::AttentionProblem& problem,
                                                       const kernels::AttentionVariant& variant);

}  // namespace natten_sim::validate
