#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/schedule_mask.hpp>
#include <natten_sim/core/tiling.hpp>
#include <natten_sim/core/wide_integer.hpp>

namespace natten_sim {

/// A sequence of queries and one of keys, cut into tiles; the last tile may be shorter. All sizes are in
/// tokens, from 1 to 2^40.
struct SequenceTiling {
  std::int64_t q_tokens = 1;
  std::int64_t kv_tokens = 1;
  std::int64_t q_tile = 1;
  std::int64_t kv_tile = 1;
};

/// The keys that query i attends to, relative to its diagonal i + kv_tokens - q_tokens (queries and keys are
/// aligned at their ends: bottom-right): from `left` tokens before it to `right` tokens after it. An absent
/// side has no limit. A full mask has neither, a causal mask has right = 0, and a sliding window L,R has
/// both.
struct SequenceWindow {
  std::optional<std::int64_t> left;
  std::optional<std::int64_t> right;
};

/// Most tiles along an edge of a block mask, and most pairs of tiles.
inline constexpr std::int64_t kMostMaskEdge = 65536, kMostMaskPairs = std::int64_t{1} << 28;

/// Block masks of at most kMostMaskEdge tiles on each edge and kMostMaskPairs pairs. A pair is partial if some of its token pairs
/// attend and some do not.
/// @throws InvalidParameter naming the size at fault.
[[nodiscard]] BlockMask window_mask(const SequenceTiling& tiling, const SequenceWindow& window);

/// Documents of these lengths one after the other (variable-length batches packed into one sequence): a query
/// attends to the keys of its own document. q_tokens and kv_tokens must both be the sum of the lengths.
[[nodiscard]] BlockMask document_mask(const SequenceTiling& tiling, const std::vector<std::int64_t>& lengths);

struct SequenceLengths {
  std::int64_t q_tokens = 1, kv_tokens = 1;
};

/// Sequences with tiles of their own, on a block diagonal, and with a window each. Every sequence has as many
/// KV tiles as the longest: those beyond its end have no tasks, like CTAs that exit at once. The tokens of
/// `tiling` must be the sums of the lengths.
[[nodiscard]] BlockMask varlen_mask(const SequenceTiling& tiling,
                                    const std::vector<SequenceLengths>& sequences,
                                    const SequenceWindow& window);

/// The tiles of a mask, and how many pairs of tokens attend.
struct TilesOfRules {
  BlockMask tiles;
  Int128 pairs = 0;
};

/// Most queries, and most keys, of a mask of joined rules: its keys are listed query by query.
inline constexpr std::int64_t kMostJoinedTokens = std::int64_t{1} << 24;

/// Most rules joined by | where one is dilated: their overlaps are counted one by one.
inline constexpr std::size_t kMostDilatedRules = 8;

/// Lengths of documents must add up to the tokens of both sequences; a prefix has at most all keys.
/// O(queries * rules * log documents + pairs of tiles); with dilated rules O(queries * overlaps * KV tiles). @throws InvalidParameter naming the size at fault.
[[nodiscard]] TilesOfRules joined_mask(const SequenceTiling& tiling, const JoinedMask& mask);

/// The mask of pairs of neighbouring KV tiles: full where both are, partial where one of them attends.
[[nodiscard]] BlockMask paired_kv_tiles(const BlockMask& mask);

/// The Q tiles so many times, one copy below the other: query heads that share a KV tile.
[[nodiscard]] BlockMask stacked_q_tiles(const BlockMask& mask, std::int32_t times);

/// Any neighborhood-attention problem of static multi-dimensional tiling (dilation groups one after the
/// other, tiles of a group row-major) or single-dimensional tiling, as `for_each_tile_visit` enumerates it.
/// @throws InvalidParameter for dynamic KV tiling, whose tiles are not shared by Q tiles.
[[nodiscard]] BlockMask neighborhood_mask(const TilingProblem& problem);

}  // namespace natten_sim
