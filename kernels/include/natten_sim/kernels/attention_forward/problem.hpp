#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/kernels/gpu/item_interval.hpp>

namespace natten_sim::kernels::attention_forward {

/// Attention forward for sm_90a: O = softmax(scale * Q K^T) V, and the log-sum-exp of every row. Sequences
/// (full, causal, windows) and neighborhoods of one to four axes run in one engine, straight from the
/// tensors as they lie in memory: nothing is permuted or padded. Queries of neighborhoods may see extra keys
/// besides, which lie in tensors of their own.

/// Elements from one batch element, head and token to the next. Elements of a head are contiguous. Multiples
/// of 8.
struct TensorStrides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t token = 0;
};
/// (batch, heads, tokens, head_dim).
[[nodiscard]] TensorStrides heads_first(std::int64_t heads, std::int64_t tokens,
                                        std::int64_t head_dim) noexcept;
/// (batch, tokens, heads, head_dim).
[[nodiscard]] TensorStrides heads_last(std::int64_t heads, std::int64_t tokens,
                                       std::int64_t head_dim) noexcept;

/// A sequence. Query i sees keys d - left .. d + right around its diagonal d = i + kv_tokens - q_tokens (both
/// ends aligned); none: no limit. Full: neither. Causal: right 0. Queries without a key get O = 0 and LSE =
/// -inf.
struct Band {
  std::optional<std::int64_t> left;
  std::optional<std::int64_t> right;
};

/// A pair of tiles that the kernel multiplies. Origins are coordinates of the dilation group. `full`: every
/// query of the tile sees every key of it, and all of them exist.
struct VisitedTile {
  std::int64_t group = 0;  ///< row-major residue of the dilation
  Extents q_origin;
  Extents kv_origin;
  bool full = false;
};

/// Neighborhood attention. `visits`: every pair of tiles in which some query sees some key, each once; pairs
/// of a Q tile one after the other. A Q tile without any stays unwritten. Tiles of four axes have side 1
/// along the outermost one: TMA fetches boxes of three axes of a head.
struct Neighborhood {
  NeighborhoodMask mask;
  Extents q_tile;
  Extents kv_tile;
  std::vector<VisitedTile> visits;
  /// One axis without dilation: the keys of each query, instead of the mask's window. Begins and ends do not
  /// decrease, and no query is without a key: documents, or windows within them.
  std::vector<TokenRange> intervals;
};

struct Problem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t heads_kv = 1;   ///< divides heads
  std::int64_t q_tokens = 0;   ///< any
  std::int64_t kv_tokens = 0;  ///< any; equal to q_tokens for neighborhoods
  std::int64_t head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  std::optional<double> scale;  ///< positive; none: 1 / sqrt(head_dim)
  TensorStrides q, k, v, o;
  std::variant<Band, Neighborhood> mask;
  /// Keys that every query of a neighborhood sees besides: (batch, heads_kv, extra_tokens, head_dim), in the
  /// same softmax. Sequences have none: their keys can be appended.
  std::int64_t extra_tokens = 0;
  TensorStrides extra_k, extra_v;

  [[nodiscard]] double softmax_scale() const noexcept;
};

/// How CTAs get Q tiles. kStatic: CTA w takes items w, w + CTAs, .. kTicket: whoever is free draws the next
/// one. kGrid: a CTA an item.
enum class Dispatch { kStatic, kTicket, kGrid };

/// What exponents of a row are relative to, and when the output so far is multiplied to follow it. kAlways and
/// kRisen: the row's maximum so far; kRisen leaves out multiplications by 1. kFar: a maximum that lags by up to 8
/// binary orders, so that probabilities go up to 256 and round as before. kOnOverflow: the maximum of the first
/// tiles, so that tiles without a mask need none; an item whose sums pass 2^64 is computed again, as kFar.
enum class Rescale { kAlways, kRisen, kFar, kOnOverflow };

/// What was compiled: one entry of `built_kernels`.
struct KernelShape {
  int head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  bool neighborhood = false;
  int q_tile = 128;
  int kv_tile = 128;
  int stages = 2;          ///< K tiles in shared memory
  int v_stages = 2;        ///< V tiles
  int q_stages = 2;        ///< Q tiles in shared memory
  bool overlap = true;     ///< softmax of a tile runs beside the products of its neighbours, in one warpgroup
  bool ping_pong = false;  ///< warpgroups issue their products in turns
  Rescale rescale = Rescale::kFar;
  int early = 1;        ///< rows whose exponentials come before the wait for the product beside them
  bool joined = false;  ///< the first scores of an item are computed beside the last product of the one before
  /// Neighborhoods: products of 16 coordinates that hide pairs of partial tiles; 0: an element is selected at
  /// a time.
  int mask_products = 0;

  friend bool operator==(const KernelShape&, const KernelShape&) = default;
};
[[nodiscard]] std::vector<KernelShape> built_kernels();

/// Whatever the reuse models vary, at run time.
struct Schedule {
  Dispatch dispatch = Dispatch::kStatic;
  KvOrder walk = KvOrder::kDescending;  ///< sequences; neighborhoods walk their lists
  bool last_q_tile_first = false;
  std::int64_t heads_a_section =
      1;         ///< 1: all Q tiles of a head, then the next head; more: tile by tile over these
  int ctas = 0;  ///< kStatic, kTicket: at most one an SM; 0: one an SM
  /// kStatic, sequences, head_dim to 192 (to 128 where items are joined): the last Q tiles, which do not fill
  /// a round, are split along their keys among all CTAs, where that is faster; see split_tail.hpp. Whichever
  /// part comes last adds up all of them, in order of keys.
  bool split_tail = false;
};

/// Tensors on the GPU, in the problem's strides; LSE (batch, heads, q_tokens), fp32, natural logarithm.
struct Tensors {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
  float* lse = nullptr;
  const void* extra_k = nullptr;
  const void* extra_v = nullptr;
};

/// Sizes and strides in range, mask consistent with them. @throws InvalidParameter, OverflowError.
void require_valid(const Problem& problem);

/// The kernel and schedule that were fastest for such a problem on an H200. @throws InvalidParameter when no
/// kernel has its head dimension or tiles.
[[nodiscard]] KernelShape best_kernel(const Problem& problem);
[[nodiscard]] Schedule best_schedule(const Problem& problem);

/// A launch, prepared once: tensor maps, tables, grid. Tensors must outlive it. Where q is null they come with
/// each launch_on() instead.
class Plan {
 public:
  /// @throws InvalidParameter, HardwareAbsent (not an sm_90 GPU), CudaError.
  Plan(const GpuInfo& gpu, const Problem& problem, const KernelShape& kernel, const Schedule& schedule,
       const Tensors& tensors);
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  /// Asynchronous. Launches of one plan must not overlap. With `intervals`, room for
  /// one ItemInterval an item, it also writes those, by item: (head * batches + batch) * Q tiles + Q tile in
  /// launch order, where heads_a_section is 1 and no item is split. @throws InvalidParameter, CudaError.
  void launch(DeviceBuffer* intervals = nullptr) const;

  /// The same for these tensors, in memory of the caller, aligned to 256 bytes: such launches may overlap.
  /// Asynchronous. @throws CudaError.
  void launch_on(const Tensors& tensors, void* workspace) const;
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace natten_sim::kernels::attention_forward

namespace natten_sim {

template <>
struct NamesOf<kernels::attention_forward::Dispatch> {
  using Dispatch = kernels::attention_forward::Dispatch;
  static constexpr const char* kConcept = "dispatch";
  static constexpr Name<Dispatch> kTable[] = {
      {Dispatch::kStatic, "static"}, {Dispatch::kTicket, "ticket"}, {Dispatch::kGrid, "grid"}};
};

template <>
struct NamesOf<kernels::attention_forward::Rescale> {
  using Rescale = kernels::attention_forward::Rescale;
  static constexpr const char* kConcept = "rescale";
  static constexpr Name<Rescale> kTable[] = {
      {Rescale::kAlways, "always"},
      {Rescale::kRisen, "risen"},
      {Rescale::kFar, "far"},
      {Rescale::kOnOverflow, "overflow"}};
};

}  // namespace natten_sim
