#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/study/cell_costs.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// A kernel that times are known by.
struct TimedKernel {
  std::string name;
  NattenBackend family = NattenBackend::kHopperFna;
  bool dense = false;
  bool in_place = false;  ///< reads tokens where they lie: no copies into tiles
  bool library = false;   ///< a dense kernel that NATTEN does not run
  bool longest_first = false;  ///< takes Q tiles of a causal mask from the last
  /// This project's on sequences: divides its last Q tiles along their keys under full masks, takes sections of heads
  /// under causal ones, and looks for maxima in all tiles of a causal mask in fp16.
  bool sequences = false;
  const AttentionKernel* own = nullptr;  ///< of a kernel file: takes lists of blocks as FlexAttention does
};

/// FlexAttention by itself, as PyTorch compiles it.
inline constexpr const char* kFlexAttention = "flexattention";

/// @throws UnknownName. `fmha` is that of the device's backend; natten_fmha() looks at sizes too. Kernels of files live
/// as long as the catalog.
[[nodiscard]] TimedKernel timed_kernel(const std::string& name, const Device& device, const Catalog& catalog);

/// A dense kernel of a library: cudnn, fa2, fa3 or fa4.
[[nodiscard]] bool is_library(const std::string& kernel);

/// The prior of that name, or `absent`.
[[nodiscard]] double prior_value(const std::vector<CostPrior>& priors, const std::string& name, double absent);

/// The dense kernel that NATTEN runs on the device for the question's sizes and type; none: it runs none, or does not
/// know the device.
[[nodiscard]] std::optional<std::string> natten_fmha(const TimeQuestion& question, const Device& device,
                                                     const Catalog& catalog);

/// The dense kernel that serves the family's additional keys: of NATTEN's own and cuDNN's the one whose times rest on
/// better evidence, NATTEN's if both are alike; none: no times.
[[nodiscard]] std::optional<TimedKernel> additional_kernel(const TimedKernel& kernel, const Device& device, CostCell cell,
                                                           const Catalog& catalog);

/// The dense kernels that speedups may be counted over: NATTEN's of the kernel's family and of the device, and those of
/// libraries. Not all have times.
[[nodiscard]] std::vector<TimedKernel> dense_kernels(const TimedKernel& kernel, const Device& device);

}  // namespace natten_sim::study
