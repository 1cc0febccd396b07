#pragma once

#include <natten_sim/study/count.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {

/// The dense kernel that the question names; none: another one, or none. `fmha` is known by no more than that.
[[nodiscard]] std::optional<TimedKernel> named_dense_kernel(const CountQuestion& question, const Catalog& catalog);

/// Dense kernels have full masks, and causal ones on one axis. @throws InvalidParameter for a mask that is neither.
void require_dense_mask(const std::string& kernel, const NeighborhoodMask& mask);

/// What the question leaves out, for a kernel that NATTEN does not run: no backend, whatever the device.
/// @throws Missing without a device, Conflict with a backend.
[[nodiscard]] Setting setting_of_sequence(const CountQuestion& question, const Catalog& catalog);

/// The question as a library's kernel, or this project's, has it however many axes the layout has: one sequence, in tiles
/// of its own for the device, head dim, type and passes. @throws InvalidParameter for what the kernel does not have.
void take_sequence(const TimedKernel& kernel, const Catalog& catalog, CountQuestion& question);

}  // namespace natten_sim::study
