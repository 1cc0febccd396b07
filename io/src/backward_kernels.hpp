#pragma once

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/strict_object.hpp>

namespace natten_sim {

/// The files of data/backward-kernels/.
void add_backward_kernels(Catalog& catalog);

/// The member "backward" of a kernel: what such a file has, without what the kernel says itself. Release, dtypes, order
/// of dK and dV and architectures may be left out. @throws MalformedData
[[nodiscard]] BackwardKernel read_backward_member(const StrictObject& kernel_fields, const AttentionKernel& kernel);
[[nodiscard]] Json backward_member(const BackwardKernel& backward);

}  // namespace natten_sim
