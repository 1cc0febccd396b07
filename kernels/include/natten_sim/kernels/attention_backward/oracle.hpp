#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/attention_backward/plan.hpp>

namespace natten_sim::kernels::attention_backward {

/// What the kernel should have written, in double, for every element: naive kernels on the GPU, which share
/// nothing with the one under test, and plain loops on the CPU to check those.

/// One gradient, contiguous: (batch, heads or KV heads, tokens, head_dim).
struct ReferenceGradient {
  DeviceBuffer value;     // double
  DeviceBuffer absolute;  // double: what its rounding errors are relative to, see Deviation
};
struct Reference {
  ReferenceGradient dq, dk, dv;
};
/// From Q, K, V and dO; O and LSE of `tensors` are not read. Waits. @throws InvalidParameter,
/// OutOfDeviceMemory.
[[nodiscard]] Reference reference_on_gpu(const Problem& problem, const Tensors& tensors);

/// O and LSE as a forward kernel would write them, from Q, K and V in double: for masks that no forward
/// kernel takes. Waits. @throws InvalidParameter, OutOfDeviceMemory.
void write_forward(const Problem& problem, const Tensors& inputs, void* o, float* lse);

/// Host copies of Q, K, V and dO as they lie in memory, 16-bit elements.
struct HostTensors {
  std::vector<std::uint16_t> q, k, v, d_o;
};
/// The same layout as Reference. O(batch * heads * q_tokens * kv_tokens * head_dim): for short sequences.
struct HostGradients {
  std::vector<double> dq, dk, dv;
};
[[nodiscard]] HostGradients reference_on_host(const Problem& problem, const HostTensors& tensors);

/// Deviation of one whole gradient. An element's bound is what rounding explains, with u = 2^-8 (bf16) or
/// 2^-11 (fp16): u of itself, u of every dS or P it sums, and u |O||dO| for the O that delta was computed
/// from; plus 2e-5 of the same sums for arithmetic in fp32, ex2.approx and the LSE. Below the smallest normal
/// number of the type, errors are absolute: u times that number.
struct GradientDeviation {
  double relative_norm = 0;  ///< ||x - reference|| / ||reference||
  double worst_element = 0;  ///< largest |x - reference| in units of the element's bound
  std::int64_t wrong = 0;    ///< elements that are NaN or beyond their bound
};
struct Deviation {
  GradientDeviation dq, dk, dv;
  [[nodiscard]] bool within_bound() const noexcept { return dq.wrong + dk.wrong + dv.wrong == 0; }
};
/// Waits.
[[nodiscard]] Deviation deviation(const Problem& problem, const Tensors& tensors, const Reference& reference);

}  // namespace natten_sim::kernels::attention_backward
