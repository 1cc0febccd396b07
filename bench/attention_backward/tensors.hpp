#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/kernels/attention_backward/oracle.hpp>

namespace natten_sim::bench {

namespace backward = natten_sim::kernels::attention_backward;

/// All tensors of a problem. Q, K, V and dO are random by seed, O and LSE come from the forward kernel (or,
/// where that does not run, from the oracle's forward); every other element of their buffers, behind the last
/// token of each head (`padding` tokens) and behind the last head, is NaN, and so are the gradients.
class Storage {
 public:
  Storage(const kernels::GpuInfo& gpu, backward::Problem& problem, std::int64_t padding, std::uint64_t seed);

  [[nodiscard]] backward::Tensors tensors() const;
  /// Gradients are NaN again.
  void poison();
  /// Elements of the gradients that no token owns and that are no longer NaN.
  [[nodiscard]] std::int64_t overwritten(const backward::Problem& problem) const;
  [[nodiscard]] backward::HostTensors host_inputs() const;
  /// Each gradient's bits in one number (FNV-1a, 64 bits).
  struct Bits {
    std::uint64_t dq = 0, dk = 0, dv = 0;
    friend bool operator==(const Bits&, const Bits&) = default;
  };
  [[nodiscard]] Bits bits() const;
  /// Writes the gradients as they lie in memory to FOLDER/NAME.{dq,dk,dv}.
  void dump(const std::string& folder, const std::string& name) const;

 private:
  kernels::DeviceBuffer q_, k_, v_, o_, d_o_, lse_, dq_, dk_, dv_;
};

/// kWgmma: on sm_90; kMmaSync: wherever this bench runs.
[[nodiscard]] bool runs_on(const kernels::GpuInfo& gpu, kernels::AttentionEngine engine);
/// The faster one that runs.
[[nodiscard]] kernels::AttentionEngine best_engine(const kernels::GpuInfo& gpu);

[[nodiscard]] backward::Problem sequence(std::int64_t heads, std::int64_t tokens, std::int64_t head_dim,
                                         bool causal);

}  // namespace natten_sim::bench
