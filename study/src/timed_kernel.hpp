#pragma once

#include <optional>
#include <string>

#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// A kernel that times are known by.
struct TimedKernel {
  std::string name;
  NattenBackend family = NattenBackend::kHopperFna;
  bool dense = false;
  bool in_place = false;  ///< reads tokens where they lie: no copies into tiles
};

/// @throws UnknownName. `fmha` is that of the device's backend; natten_fmha() looks at sizes too.
[[nodiscard]] TimedKernel timed_kernel(const std::string& name, const Device& device);

/// The dense kernel that NATTEN runs on the device for the question's sizes and type; none: it runs none, or does not
/// know the device.
[[nodiscard]] std::optional<std::string> natten_fmha(const TimeQuestion& question, const Device& device,
                                                     const Catalog& catalog);

/// The dense kernel that the family's speedups are counted over: NATTEN's own if it is calibrated on the
/// device, else cuDNN's, else none.
[[nodiscard]] std::optional<TimedKernel> dense_kernel(const TimedKernel& kernel, const Device& device,
                                                      std::int64_t head_dim, Dtype dtype,
                                                      const Catalog& catalog);

}  // namespace natten_sim::study
