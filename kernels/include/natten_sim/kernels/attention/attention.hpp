#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/kernels/gpu/item_interval.hpp>

namespace natten_sim::kernels {

/// Attention forward, split-Q (FlashAttention): each CTA keeps a Q tile and streams K and V tiles past it
/// with an online softmax, in fp32. Whatever the reuse models vary is a parameter here.
///
/// Tensors are contiguous: Q and O (batch, heads, tokens, head_dim), K and V (batch, heads_kv, tokens,
/// head_dim). O = softmax(Q K^T / sqrt(head_dim)) V; causal: token i attends to tokens 0..i.
///
/// Two engines run the same problems and variants. kMmaSync: mma.sync and cp.async, from sm_80 on, one to
/// three CTAs an SM. kWgmma: wgmma and TMA, sm_90 alone, one CTA an SM; of attention_forward, which takes
/// more problems.
enum class AttentionEngine { kMmaSync, kWgmma };

struct AttentionProblem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t heads_kv = 1;  ///< divides heads
  std::int64_t tokens = 0;    ///< any; the last tiles are masked
  std::int64_t head_dim = 128;
  Dtype dtype = Dtype::kBf16;  ///< or kFp16
  bool causal = false;

  [[nodiscard]] std::int64_t query_elements() const noexcept { return batch * heads * tokens * head_dim; }
  [[nodiscard]] std::int64_t key_elements() const noexcept { return batch * heads_kv * tokens * head_dim; }
  /// Operations that throughput is counted in: 4 * tokens^2 * head_dim a head, half of that if causal.
  [[nodiscard]] double operations() const noexcept;
};

struct AttentionVariant {
  int q_tile = 128;
  int kv_tile = 64;
  int stages = 1;  ///< pairs of K and V tiles that shared memory holds
  int ctas_per_sm = 2;
  CtaSchedule schedule = CtaSchedule::kPersistent;
  KvOrder walk = KvOrder::kCyclic;
  bool last_q_tile_first = false;
  int ctas = 0;  ///< kPersistent: CTAs in all, at most what runs at once; 0: as many as run at once
  AttentionEngine engine = AttentionEngine::kMmaSync;

  /// CTAs that run at once on a GPU with so many SMs. With one CTA an SM, `ctas` is the number of active SMs.
  [[nodiscard]] constexpr std::int64_t resident_ctas(std::int64_t sms) const noexcept {
    return ctas != 0 ? ctas : sms * ctas_per_sm;
  }
};

/// A combination of compile-time parameters that is built, for both dtypes.
struct AttentionTiles {
  int head_dim = 0;
  int q_tile = 0;
  int kv_tile = 0;
  int warps = 0;
  int stages = 0;
  int max_ctas_per_sm = 0;  ///< CTAs an SM that the registers and shared memory of sm_90 allow
  AttentionEngine engine = AttentionEngine::kMmaSync;

  /// Q tile, K and V stages; what kWgmma has besides is not counted.
  [[nodiscard]] constexpr std::int64_t shared_memory_bytes() const noexcept {
    return std::int64_t{2} * head_dim * (q_tile + 2 * stages * kv_tile);
  }
};

/// Every combination that is built, whether or not this build has CUDA.
[[nodiscard]] std::span<const AttentionTiles> attention_tiles() noexcept;

/// Sizes alone, whether or not such a kernel is built: positive, in range, heads_kv divides heads.
/// @throws InvalidParameter, OverflowError.
void require_valid_sizes(const AttentionProblem& problem, const AttentionVariant& variant);

/// The entry for problem and variant. @throws InvalidParameter naming those that exist.
[[nodiscard]] const AttentionTiles& require_valid(const AttentionProblem& problem,
                                                  const AttentionVariant& variant);

/// CTAs that the launch starts. Requires a valid variant.
[[nodiscard]] std::int64_t grid_size(const AttentionProblem& problem, const AttentionVariant& variant,
                                     std::int32_t sms);

struct AttentionBuffers {
  DeviceBuffer q, k, v, o;
  DeviceBuffer lse;  ///< (batch, heads, tokens), fp32, which kWgmma writes
};
/// Allocates the tensors, fills Q, K and V with random values from the seed, and poisons O and LSE with NaN.
/// @throws OutOfDeviceMemory.
[[nodiscard]] AttentionBuffers random_attention_buffers(const AttentionProblem& problem, std::uint64_t seed);

/// Starts the kernel; with a buffer that has room for one ItemInterval an item, it also writes those: item
/// = (head * batches + batch) * Q tiles + Q tile in launch order. @throws InvalidParameter, CudaError.
using AttentionLaunch = std::function<void(DeviceBuffer* intervals)>;

/// Everything that can be made once for many launches. `buffers` must outlive it. With `middles` intervals
/// have those of tiles too, of kMmaSync and bf16.
/// @throws InvalidParameter, HardwareAbsent when the GPU lacks the instructions or the shared memory,
/// CudaError.
[[nodiscard]] AttentionLaunch prepare_attention(const GpuInfo& gpu, const AttentionProblem& problem,
                                                const AttentionVariant& variant,
                                                const AttentionBuffers& buffers, bool middles = false);

/// The same for one launch.
void launch_attention(const GpuInfo& gpu, const AttentionProblem& problem, const AttentionVariant& variant,
                      const AttentionBuffers& buffers, DeviceBuffer* intervals = nullptr);

/// Rows of O to compare: (batch, head, token) in one number, row-major.
[[nodiscard]] std::vector<std::int64_t> sampled_rows(const AttentionProblem& problem, std::int64_t most,
                                                     std::uint64_t seed);

/// ||out - reference|| / ||reference|| over rows, the reference in double.
struct AttentionError {
  double kernel = 0;  ///< error of O as the kernel wrote it
  /// Error of a naive computation on the same inputs: fp32 scores, P rounded to the dtype, O rounded.
  double naive = 0;
  std::int64_t unwritten = 0;  ///< elements of all of O that are NaN, as they were before the launch
  /// Everything written, and the kernel's error within twice the naive one.
  [[nodiscard]] bool within_bound() const noexcept { return unwritten == 0 && kernel <= 2 * naive; }
};

/// Compares rows of O with the CPU oracle (Eigen, double). Inputs are the buffers' own contents, copied back,
/// so the check does not rest on how they were made. O(rows * tokens * head_dim). Waits.
[[nodiscard]] AttentionError check_attention(const AttentionProblem& problem, const AttentionBuffers& buffers,
                                             const std::vector<std::int64_t>& rows);

/// One row by both methods, for tests: `q` has head_dim elements, `k` and `v` keys * head_dim.
struct AttentionRow {
  std::vector<double> exact;
  std::vector<double> naive;
};
[[nodiscard]] AttentionRow attention_row_oracle(std::span<const float> q, std::span<const float> k,
                                                std::span<const float> v, Dtype dtype);

}  // namespace natten_sim::kernels

namespace natten_sim {

template <>
struct NamesOf<kernels::AttentionEngine> {
  using Engine = kernels::AttentionEngine;
  static constexpr const char* kConcept = "engine";
  static constexpr Name<Engine> kTable[] = {{Engine::kMmaSync, "mma.sync"}, {Engine::kWgmma, "wgmma"}};
};

}  // namespace natten_sim
