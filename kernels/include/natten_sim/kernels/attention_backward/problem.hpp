#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/kernels/attention_backward/token_pairs.hpp>
#include <natten_sim/kernels/attention_forward/problem.hpp>

namespace natten_sim::kernels::attention_backward {

using attention_forward::Band;
using attention_forward::TensorStrides;

/// Attention backward: from Q, K, V, O, LSE and dO to dQ, dK and dV. Sequences (full, causal, windows, any
/// pairs of tokens, any lengths, GQA); tensors as they lie in memory.
struct Problem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t heads_kv = 1;  ///< divides heads
  std::int64_t q_tokens = 0;
  std::int64_t kv_tokens = 0;
  std::int64_t head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  std::optional<double> scale;  ///< of the forward; none: 1 / sqrt(head_dim)
  Band mask;
  /// With these, a query sees a key when the band and the pairs allow it: documents, lists of blocks,
  /// neighborhoods in the order of their tiles. None: the band alone.
  std::shared_ptr<const TokenPairs> pairs;
  TensorStrides q, k, v;  ///< of dQ, dK and dV too
  TensorStrides o;        ///< of dO too

  [[nodiscard]] double softmax_scale() const noexcept;
};

/// Sets the strides of contiguous tensors, (batch, heads, tokens, head_dim).
void lay_out_heads_first(Problem& problem) noexcept;

/// The forward of the same problem, whose O and LSE the backward reads. Without its pairs, which no forward
/// kernel takes: see write_forward.
[[nodiscard]] attention_forward::Problem forward_of(const Problem& problem);

/// Sizes and strides in range. @throws InvalidParameter.
void require_valid(const Problem& problem);

/// What a warpgroup does when: see the ladder in docs/backward-kernel.md.
enum class Pipeline {
  kWaitsApart,     ///< waits for Q before dQ, for dO behind S
  kWaitsTogether,  ///< for both behind dQ
  kWaitsLate,      ///< for Q behind dK, for dO behind S
  kDqInTurn,       ///< each computes the whole dQ of every second task, behind dV and dK
};

[[nodiscard]] const char* to_string(Pipeline pipeline) noexcept;

/// What was compiled: one entry of `built_kernels`. Tiles and element types decide the result's bits; the
/// pipeline does not. A kernel takes head dimensions up to its own.
struct KernelShape {
  int head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  int q_tile = 64;
  int kv_tile = 128;
  Pipeline pipeline = Pipeline::kDqInTurn;
  bool pairs = false;  ///< takes Problem::pairs, and only problems with them
  /// kWgmma runs on sm_90 alone, kMmaSync on sm_80 and later; both run the same tables. The pipeline is
  /// kWgmma's.
  AttentionEngine engine = AttentionEngine::kWgmma;

  friend bool operator==(const KernelShape&, const KernelShape&) = default;
};
[[nodiscard]] std::vector<KernelShape> built_kernels();
/// @throws InvalidParameter when no kernel has the head dimension.
[[nodiscard]] KernelShape best_kernel(const Problem& problem,
                                      AttentionEngine engine = AttentionEngine::kWgmma);

/// Boxes of as many tokens as the kernel's tiles, for neighborhoods of 1 to 3 axes. @throws InvalidParameter.
[[nodiscard]] TilePair neighborhood_tiles(const KernelShape& kernel, std::size_t rank);

/// Which pairs of tiles attend. O(pairs of tiles). @throws InvalidParameter beyond 65,536 tiles an edge.
[[nodiscard]] BlockMask block_mask(const Problem& problem, const KernelShape& kernel);
/// What a scheduler is asked: heads times batch, and this many workers.
[[nodiscard]] BackwardProblem scheduling_problem(const Problem& problem, const KernelShape& kernel,
                                                 std::int32_t workers);

/// The same with fewer and longer chains for GQA: a chain runs over all query heads of its KV head, whose Q
/// tiles stand one head after the other, so that dK and dV stay in registers until they are complete. Without
/// GQA the two are equal.
[[nodiscard]] BackwardProblem grouped_problem(const Problem& problem, const KernelShape& kernel,
                                              std::int32_t workers);

/// Requires that the kernel can run the schedule and that it finishes: the tiles of the problem's mask, and
/// no order in which turns wait for each other in a circle. Dynamic dispatch: every turn waits for a chain
/// that is launched earlier, so it finishes on any number of workers. Static dispatch: run task by task, a
/// reduction before the next task of its worker; the kernel's writers are never stricter than that. `tiles`
/// are those of scheduling_problem or of grouped_problem. O(tasks).
/// @throws InvalidParameter naming the worker or dQ tile that waits for ever, or what does not fit.
void require_runnable(const Problem& problem, const KernelShape& kernel, const BackwardProblem& tiles,
                      const BackwardSchedule& schedule);

}  // namespace natten_sim::kernels::attention_backward
