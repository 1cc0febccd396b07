#pragma once

#include <cstdint>

#include <natten_sim/core/split_q.hpp>

namespace natten_sim {

/// Sectors that cross between L1 and L2. Q, K and V are loads, O is stores.
struct SectorCounts {
  std::int64_t q = 0;
  std::int64_t k = 0;
  std::int64_t v = 0;
  std::int64_t o = 0;
  std::int64_t total = 0;

  friend constexpr bool operator==(const SectorCounts&, const SectorCounts&) = default;
};

struct AttentionTraffic {
  SectorCounts sectors;  ///< every load and store
  SectorCounts cold;     ///< every sector of every operand once
};

/// Exact sectors of split-Q attention: each Q tile loads its own rows once, K and V rows of every KV tile
/// that it visits (whole tiles on the diagonal of a causal mask; a trailing tile only its own rows), and
/// stores its rows of O once. Loads do not hit in L1.
///
/// Formula, one head: rows * row bytes / sector bytes, where the streamed rows are, over axes, the product of
/// `visited tiles * KV tile - padding * Q tiles that visit the last KV tile`; visited tiles are
/// `count_axis`'s. If rows are not whole sectors, two tiles that meet inside a sector both touch it. That is
/// one sector more for each visited tile that begins inside one; those are summed tile by tile. Dense, square
/// tiles T, D = Dv, r = D * E / C sectors a row: 2*S*r + 2*ceil(S/T)*S*r (Sawtooth paper, section 3.2, with
/// ceil for floor).
///
/// Of masks that are given tile by tile (`rows`) every visited tile is added, and only tiles that are visited are cold:
/// O(visits).
///
/// Cost: that of `count_axis` plus O(log tiles) an axis for rows of whole sectors, else O(Q tiles) (at most
/// 2^28).
/// @throws InvalidParameter, OverflowError.
[[nodiscard]] AttentionTraffic attention_traffic(const SplitQProblem& problem);

/// Bytes of K and V that one pass over a whole KV head reads.
[[nodiscard]] std::int64_t kv_head_bytes(const SplitQProblem& problem);

}  // namespace natten_sim
