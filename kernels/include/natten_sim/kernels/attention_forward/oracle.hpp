#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/attention_forward/problem.hpp>

namespace natten_sim::kernels::attention_forward {

/// What the kernel should have written, in double, for every element: naive kernels on the GPU that share
/// nothing with the one under test, and the same in plain loops on the CPU to check those. Inputs are read
/// from the tensors themselves.

/// All of O and LSE, contiguous: (batch, heads, q_tokens, head_dim) and (batch, heads, q_tokens).
struct Reference {
  DeviceBuffer o;         // double
  DeviceBuffer absolute;  // double: sum of p |v|, what rounding of P and V is relative to (see Deviation)
  DeviceBuffer lse;       // double
};

/// O(batch * heads * q_tokens * keys in tiles of 32 that some query of 32 sees * head_dim) in double
/// precision. Asynchronous. @throws InvalidParameter, OutOfDeviceMemory.
[[nodiscard]] Reference reference_on_gpu(const Problem& problem, const Tensors& tensors);

/// The number that 16 bits of bf16 or fp16 stand for.
[[nodiscard]] double value_of_bits(std::uint16_t bits, Dtype dtype) noexcept;

/// One row in plain loops: the rule token by token, softmax in two passes.
struct ReferenceRow {
  std::vector<double> o;
  std::vector<double> absolute;
  double lse = 0;
};
/// Host copies of Q, K, V and the extra K and V as they lie in memory, 16-bit elements.
/// @throws InvalidParameter.
struct HostTensors {
  std::vector<std::uint16_t> q, k, v;
  std::vector<std::uint16_t> extra_k = {}, extra_v = {};
};
[[nodiscard]] ReferenceRow reference_row(const Problem& problem, const HostTensors& tensors,
                                         std::int64_t batch, std::int64_t head, std::int64_t query);

/// Deviation of all of O and LSE from the reference. An element's bound is what rounding explains: u (|o| +
/// sum p |v|) with u = 2^-8 (bf16) or 2^-11 (fp16), half a unit of the element type for O and for each p (of
/// its smallest normal number where those lie below, p relative to the row's maximum), plus 4e-6 sum p |v|
/// for arithmetic in fp32 and ex2.approx.
struct Deviation {
  double relative_norm = 0;    ///< ||o - reference|| / ||reference||
  double worst_element = 0;    ///< largest |o - reference| in units of the element's bound
  double worst_lse = 0;        ///< largest |lse - reference|, absolute
  std::int64_t wrong = 0;      ///< elements that are NaN or beyond their bound
  std::int64_t wrong_lse = 0;  ///< beyond their bound, see kLseTolerance, or not both -inf
  [[nodiscard]] bool within_bound() const noexcept { return wrong == 0 && wrong_lse == 0; }
};
/// Of LSE, plus what its scores were cut off by: tensor cores add 16 columns at a time and drop what lies
/// below the last bit of the sum, so head_dim / 16 times 2^-23 of the score.
inline constexpr double kLseTolerance = 1e-4;
/// Waits.
[[nodiscard]] Deviation deviation(const Problem& problem, const Tensors& tensors, const Reference& reference);

}  // namespace natten_sim::kernels::attention_forward
