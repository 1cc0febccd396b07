#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// What split-Q attention (FlashAttention's forward pass) loads and stores: every Q tile stays on chip while
/// the K and V tiles that its queries attend to are streamed past it, and its O tile is stored once.
///
/// Assumptions: multi-dimensional static tiling without dilation; Q and O, K and V in (batch, head, token,
/// dim) order, so that a tile is one contiguous run of bytes; the data of each head begin on a sector.

/// Sizes that turn tiles into bytes and sectors. All positive; heads_kv divides heads.
struct OperandSizes {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t heads_kv = 1;
  std::int64_t head_dim = 64;        ///< head dim of Q and K
  std::int64_t head_dim_value = 64;  ///< head dim of V and O
  std::int64_t element_bytes = 2;
  std::int64_t sector_bytes = 32;

  [[nodiscard]] std::int64_t key_row_bytes() const noexcept { return head_dim * element_bytes; }
  [[nodiscard]] std::int64_t value_row_bytes() const noexcept { return head_dim_value * element_bytes; }
  /// Q heads that share one K and V.
  [[nodiscard]] std::int64_t group() const noexcept { return heads / heads_kv; }
};

/// KV tiles that each Q tile visits, ascending or none, of masks that are given tile by tile.
struct VisitedRows {
  std::int64_t heads = 1, batches = 1;                 ///< with masks of their own: divisors of the problem's
  std::vector<std::vector<std::int32_t>> kv_of_q = {};  ///< [batch][head][Q tile]

  [[nodiscard]] std::int64_t masks() const noexcept { return heads * batches; }
  /// The mask of a head: head h of a batch has that of head h modulo `heads`.
  [[nodiscard]] std::int64_t mask_of(std::int64_t batch, std::int64_t head) const noexcept {
    return batch % batches * heads + head % heads;
  }
};

struct SplitQProblem {
  NeighborhoodMask mask;  ///< dense attention: window = length; no dilation
  TilePair tiles;
  OperandSizes sizes;
  /// Number of keys, if different from the number of queries: of one axis, dense or causal. A causal mask ends at the
  /// last key for the last query, so it needs as many keys or more.
  std::optional<std::int64_t> keys = {};
  /// Of one axis whose `mask` is dense: the tiles that are visited in place of all. None: those of `mask`.
  std::shared_ptr<const VisitedRows> rows = {};
};

/// Keys along one axis.
[[nodiscard]] std::int64_t key_length(const SplitQProblem& problem, std::size_t axis);

/// Whether every Q tile visits all KV tiles, by its window alone.
[[nodiscard]] bool is_dense(const SplitQProblem& problem);

/// @throws InvalidParameter naming the parameter; OverflowError when a tensor has 2^62 bytes or more.
/// Layouts of several axes, and given rows of tiles, require rows of whole sectors (`head_dim`, `head_dim_value`).
void require_valid(const SplitQProblem& problem);

/// Tiles begin, begin+1, .., end-1 along one axis.
struct TileRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
  friend constexpr bool operator==(const TileRange&, const TileRange&) = default;
};

/// KV tiles that Q tile `q_index` of one undilated axis visits; never empty. Both bounds do not decrease with
/// `q_index`. O(1). Requires a valid axis and an index below ceil(length / q_tile).
[[nodiscard]] TileRange visited_kv_tiles(const AxisMask& axis, std::int64_t q_tile, std::int64_t kv_tile,
                                         std::int64_t q_index);
/// As above, of an axis of a valid problem.
[[nodiscard]] TileRange visited_kv_tiles(const SplitQProblem& problem, std::size_t axis,
                                         std::int64_t q_index);

/// Sectors that bytes begin .. end-1 of an operand touch; its first byte begins a sector.
[[nodiscard]] constexpr std::int64_t touched_sectors(std::int64_t begin_byte, std::int64_t end_byte,
                                                     std::int64_t sector_bytes) noexcept {
  return end_byte <= begin_byte ? 0 : (end_byte - 1) / sector_bytes - begin_byte / sector_bytes + 1;
}

}  // namespace natten_sim
