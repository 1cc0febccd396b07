#pragma once

#include <memory>

#include <natten_sim/kernels/attention_backward/draws.hpp>
#include <natten_sim/kernels/attention_backward/problem.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels::attention_backward {

/// Tensors on the GPU, in the problem's strides. LSE (batch, heads, q_tokens), fp32, natural logarithm.
struct Tensors {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  const void *o = nullptr, *d_o = nullptr;
  const float* lse = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

/// kOrdered: additions to dQ in the order of the schedule, the same bits every time. kUnordered: the same
/// kernel and lists, additions as they come.
enum class Turns { kOrdered, kUnordered };

/// For tests: what should not change the result, and what must not go unnoticed.
struct FaultInjection {
  unsigned delay_ns = 0;                     ///< writers sleep up to this long before they ask for their turn
  std::optional<std::int32_t> dropped_tile;  ///< (batch, head, Q tile) that never passes a turn on
  unsigned turn_tries = 1u << 21;  ///< looks at a turn, half a microsecond each, before the kernel traps
  std::optional<Draws> draws;      ///< instead of best_draws
};

/// When one task added to dQ, in nanoseconds of the GPU's clock.
struct TurnTimes {
  std::uint64_t ready_ns = 0;  ///< its part of dQ was there (kMmaSync: its dS, and it asks for its turn)
  std::uint64_t turn_ns = 0;   ///< its turn had come; 0 for the first one of a tile, which does not ask
  std::uint64_t end_ns = 0;    ///< its addition had been made and the turn was passed on
  std::uint32_t worker = 0;
  std::uint32_t reserved = 0;
};

/// A launch, prepared once: tensor maps, lists of tasks, memory for dQ in fp32. Tensors must outlive it. Where q
/// is null they come with each launch_on() instead.
class Plan {
 public:
  /// @throws InvalidParameter as require_runnable, or when a static schedule has more workers than the GPU
  /// has SMs; HardwareAbsent (a GPU that cannot run the kernel's engine); CudaError.
  Plan(const GpuInfo& gpu, const Problem& problem, const KernelShape& kernel, const BackwardProblem& tiles,
       const BackwardSchedule& schedule, Turns turns, const Tensors& tensors,
       const FaultInjection& faults = {});
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  /// Asynchronous: preprocessing, the kernel, postprocessing. Launches of one plan
  /// must not overlap. With `times`, room for heads * batch * Q tiles * KV tiles TurnTimes, it also writes
  /// those of each task. @throws CudaError.
  void launch(DeviceBuffer* times = nullptr) const;
  /// The kernel alone, after a launch(): for timing. Its dQ is not converted.
  void launch_kernel() const;
  /// launch() for these tensors, in memory of the caller, aligned to 256 bytes: such launches may overlap.
  /// @throws CudaError.
  void launch_on(const Tensors& tensors, void* workspace) const;
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace natten_sim::kernels::attention_backward
