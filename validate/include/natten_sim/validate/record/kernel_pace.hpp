#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// What the timed model takes from the paces of a kernel, measured with its CTAs alone and beside others.
struct KernelPace {
  std::string device;  ///< profile name
  kernels::AttentionProblem problem;
  kernels::AttentionVariant variant;
  double sm_pairs_per_ns = 0;  ///< token pairs that an SM multiplies, all its CTAs at work
  double lone_share = 1;       ///< share of that rate that a CTA alone on its SM reaches
  double slot_skew = 0;        ///< (last - first) / mean time of a tile
  double jitter = 0;
};

/// The paces of every kernel that was recorded both with all its CTAs on an SM and with one. @throws
/// MalformedData on a suite without paces.
[[nodiscard]] std::vector<KernelPace> kernel_paces(const Recording& recording);

/// The paces of data/recordings/*-pace.json, which are compiled in.
[[nodiscard]] const std::vector<KernelPace>& builtin_paces();

/// The device in front of that kernel's CTAs, at the built-in pace. Empty where the kernel has no pace there,
/// or the device's profile lacks what the timed model needs.
[[nodiscard]] std::optional<WavefrontDevice> wavefront_device(const Device& device,
                                                              const kernels::AttentionProblem& problem,
                                                              const kernels::AttentionVariant& variant);

}  // namespace natten_sim::validate
