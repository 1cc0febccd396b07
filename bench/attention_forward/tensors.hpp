#pragma once

#include <cstdint>

#include <natten_sim/kernels/attention_forward/oracle.hpp>

namespace natten_sim::bench {

namespace forward = natten_sim::kernels::attention_forward;

enum class HeadLayout { kHeadsFirst, kHeadsLast };

/// Q, K, V, extra K and V, O and LSE of a problem. Inputs are random by seed; every other element of their
/// buffers, behind the last token of each head (`padding` tokens, heads first only) and behind the last head,
/// is NaN, and so are O and LSE.
class Storage {
 public:
  Storage(forward::Problem& problem, HeadLayout layout, std::int64_t padding, std::uint64_t seed);

  [[nodiscard]] forward::Tensors tensors() const;
  /// NaN again.
  void poison();
  /// Inputs of which products take the least power.
  void zero_inputs();
  /// Elements of O and LSE that no token owns and that are no longer NaN.
  [[nodiscard]] std::int64_t overwritten(const forward::Problem& problem) const;
  [[nodiscard]] forward::HostTensors host_inputs() const;
  /// All of O's and LSE's bits in one number (FNV-1a, 64 bits).
  [[nodiscard]] std::uint64_t output_bits() const;

 private:
  kernels::DeviceBuffer q_, k_, v_, extra_k_, extra_v_, o_, lse_;
};

/// One head's worth of a sequence or a neighborhood; strides are set by Storage.
[[nodiscard]] forward::Problem sequence(std::int64_t heads, std::int64_t tokens, std::int64_t head_dim,
                                        bool causal);
[[nodiscard]] forward::Problem neighborhood(std::int64_t heads, std::int64_t head_dim,
                                            const NeighborhoodMask& mask, const Extents& q_tile,
                                            const Extents& kv_tile);

}  // namespace natten_sim::bench
