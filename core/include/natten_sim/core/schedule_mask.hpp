#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// Which keys the queries of a scheduled backward pass attend to. Causal and sliding-window masks align the
/// ends of both sequences (bottom-right). Lengths count what the sizes count: tokens or tiles.

struct FullMask {};

struct CausalMask {};

/// Keys from `left` before the diagonal to `right` after it, both 0 or more.
struct SlidingWindowMask {
  std::int64_t left = 0;
  std::int64_t right = 0;
};

/// Documents of these lengths one after the other; a query attends to its own document. The lengths, 1 or
/// more, must add up to both sequences.
struct DocumentMask {
  std::vector<std::int64_t> lengths;
};

/// The first keys, as many as `length` says, whatever the query: the prompt of a prefix language model.
struct PrefixMask {
  std::int64_t length = 1;
};

/// Keys whose distance from the diagonal is a multiple of `step`, 1 or more: with a window a dilated one.
struct DilatedMask {
  std::int64_t step = 1;
};

/// Rules of one sequence whose pairs of tokens can be joined.
using SequenceRule = std::variant<FullMask, CausalMask, SlidingWindowMask, DocumentMask, PrefixMask, DilatedMask>;

/// A pair of tokens attends if it does under all rules of one of these lists, each of at least one rule.
struct JoinedMask {
  std::vector<std::vector<SequenceRule>> any;
};

/// One sequence of a batch of variable length.
struct VarlenSequence {
  std::int64_t q = 1, kv = 1;

  friend bool operator==(const VarlenSequence&, const VarlenSequence&) = default;
};

/// Sequences of different lengths, each with a mask of its own and tiles of its own, as kernels for variable
/// lengths run them: a CTA for every KV tile of the longest sequence, and those beyond the end of theirs exit
/// at once. Lengths add up to both sequences.
struct VarlenMask {
  std::vector<VarlenSequence> sequences;
  std::variant<FullMask, CausalMask, SlidingWindowMask> rule = FullMask{};  ///< of every sequence
};

/// Generalized neighborhood attention over `layout`, which brings its own sizes.
struct GnaMask {
  Extents layout;
  Extents window;                 ///< empty: dense
  Extents stride;                 ///< empty: 1
  Extents dilation;               ///< empty: 1
  PerAxis<bool> causal;           ///< empty: none
  std::optional<TilePair> tiles;  ///< none: the backward tiles of the default backend at head dim 128
};

/// A rule, or the tiles themselves.
struct ScheduleMask {
  std::variant<FullMask, CausalMask, SlidingWindowMask, DocumentMask, JoinedMask, VarlenMask, GnaMask, BlockMask>
      rule = FullMask{};
  std::string origin = {};  ///< of the tiles of a block mask, as answers name it: a file; empty: none
};

/// Whether the mask says how many tiles there are: gna and block masks do.
[[nodiscard]] inline bool brings_sizes(const ScheduleMask& mask) {
  return std::holds_alternative<GnaMask>(mask.rule) || std::holds_alternative<BlockMask>(mask.rule);
}

/// A mask for all heads, or one for each: then its tiles are a block mask, those of a head below those of the one
/// before it.
struct GivenMask {
  ScheduleMask mask;
  std::int64_t masks = 1;  ///< heads that it has a mask of, those of a batch after each other; 1: all share it
  std::int64_t batches = 1;  ///< of these masks
  std::optional<std::int64_t> q_tile, kv_tile;          ///< tokens of its blocks, where it says so
  std::optional<std::int64_t> q_tokens, kv_tokens;      ///< of the sequences, where it says so
};

}  // namespace natten_sim
