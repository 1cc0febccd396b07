#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/models/scatter/contention.hpp>

namespace natten_sim {

/// What one pass of multi-scale deformable attention moves. Counted by `simulate_msda`, or estimated by
/// `in_bounds_work`.
struct MsdaWork {
  double reads = 0;       ///< corners inside their level: rows of head_channels elements
  double read_bytes = 0;  ///< bytes of one row
  double dram_bytes = 0;  ///< DRAM bytes, given what the L2 misses
};

/// kL2: corner reads, by the L2 or, of this project's kernels, by the L1's lines.
enum class MsdaBound { kL2, kMemoryParallelism, kDram, kAtomics, kChain, kIssue, kLaunch };

template <>
struct NamesOf<MsdaBound> {
  static constexpr const char* kConcept = "bound";
  static constexpr Name<MsdaBound> kTable[] = {
      {MsdaBound::kL2, "l2"},        {MsdaBound::kMemoryParallelism, "memory-parallelism"},
      {MsdaBound::kDram, "dram"},    {MsdaBound::kAtomics, "atomics"},
      {MsdaBound::kChain, "chain"},  {MsdaBound::kIssue, "issue"},
      {MsdaBound::kLaunch, "launch"}};
};

struct MsdaTime {
  double time_ns = 0;     ///< time of the kernel
  double latency_ns = 0;  ///< latency in eager mode: at least what the host takes
  MsdaBound bound = MsdaBound::kL2;
  double l2_ns = 0;           ///< corner reads: requests and bytes
  double parallelism_ns = 0;  ///< Little's law: DRAM bytes over what resident warps keep in flight
  double dram_ns = 0;
  double atomics_ns = 0;                    ///< backward: gradient updates
  // Of this project's kernels (msda_run.hpp).
  double chain_ns = 0;                      ///< what a warp waits for, step by step
  double issue_ns = 0;                      ///< instructions
  double launch_ns = 0;                     ///< launches, zeroing and conversion
  double achieved_bytes_per_ns = 0;         ///< DRAM bytes over kernel time
  double bandwidth_limit_bytes_per_ns = 0;  ///< what Little's law allows
};

/// Forward: the largest of three bounds. Backward: the corner reads again, then the gradient updates, whose
/// contention `updates` describes, overlapped with DRAM traffic.
/// @throws as predict_contention.
[[nodiscard]] MsdaTime predict_msda_forward(const MsdaWork& work, const MsdaKernel& kernel,
                                            const ContentionProfile& profile);
[[nodiscard]] MsdaTime predict_msda_backward(const MsdaWork& work, const ContentionPrediction& updates,
                                             const MsdaKernel& kernel, const ContentionProfile& profile);

/// The work if every corner lies inside its level. The bounds of fitted encoder cells need no more.
[[nodiscard]] MsdaWork in_bounds_work(const MsdaConfig& config, Dtype type);

/// Bytes that each variant holds at its peak, exact from shapes: value (B, S, C), sampling locations
/// (B, Q, M, L, K, 2), attention weights (B, Q, M, L, K), output and its gradient (B, Q, C).
struct MsdaMemory {
  std::int64_t forward_alloc_bytes = 0;    ///< value, locations, weights, queries, output
  std::int64_t forward_peak_bytes = 0;     ///< the same, the normalised weights and one more output
  std::int64_t backward_native_bytes = 0;  ///< all inputs, output gradient, three gradients in their type
  std::int64_t backward_fp32_accumulator_bytes = 0;  ///< the same and a value gradient in fp32
  std::int64_t backward_fp32_cast_bytes = 0;         ///< inputs in their type and in fp32, gradients in fp32
};
/// `type` is that of the tensors. O(levels). @throws OverflowError.
[[nodiscard]] MsdaMemory msda_memory(const MsdaConfig& config, Dtype type);

/// Constants of one device and both tilings, and the reduction rate of its L2, fitted on the published
/// latencies that are marked fitted by linear least squares on relative errors (Eigen).
struct MsdaFit {
  MsdaKernel block, point;
  double slice_sectors_per_ns = 0;
};
[[nodiscard]] MsdaFit fit_msda(const std::string& device, const MsdaKernel& block, const MsdaKernel& point,
                               const std::vector<MsdaLatency>& latencies,
                               const std::vector<MsdaConfig>& configs);

}  // namespace natten_sim
