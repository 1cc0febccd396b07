#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim::kernels::attention_backward {

/// Which query sees which key, pair by pair, the same for every head: one bit a pair, rows of whole words.
/// The kernel never reads them: it reads a pattern for each different partial tile.
class TokenPairs {
 public:
  /// Nobody sees anything. @throws InvalidParameter: sizes below 1, or more than 2^36 pairs (8 GiB).
  TokenPairs(std::int64_t q_tokens, std::int64_t kv_tokens);

  [[nodiscard]] std::int64_t q_tokens() const noexcept { return q_tokens_; }
  [[nodiscard]] std::int64_t kv_tokens() const noexcept { return kv_tokens_; }
  /// Keys 64 * i .. 64 * i + 63 are the bits of word i, the first one lowest. Bits behind the last key are 0.
  [[nodiscard]] std::span<const std::uint64_t> row(std::int64_t query) const noexcept;
  [[nodiscard]] std::int64_t words() const noexcept { return words_; }
  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const noexcept;
  /// Lets the query see these keys too.
  void show(std::int64_t query, TokenRange keys) noexcept;
  /// The same, as bits of a row. Requires words() of them, none set behind the last key.
  void show(std::int64_t query, std::span<const std::uint64_t> keys) noexcept;

 private:
  std::int64_t q_tokens_, kv_tokens_, words_;
  std::vector<std::uint64_t> bits_;
};

/// Documents one after the other. @throws InvalidParameter: a length below 1, or none.
[[nodiscard]] TokenPairs document_pairs(std::span<const std::int64_t> lengths);

/// All pairs of the tiles that attend, full or partial: a list of blocks.
/// @throws InvalidParameter when the tokens do not make as many tiles.
[[nodiscard]] TokenPairs block_pairs(const BlockMask& blocks, std::int64_t q_tokens, std::int64_t kv_tokens,
                                     std::int64_t q_tile, std::int64_t kv_tile);

/// Tokens in the order of their tiles: dilation groups one after the other, in each its tiles row by row, in
/// each tile its tokens row by row. A tile that reaches beyond the group has places without a token, -1. This
/// is how neighborhoods of several axes become a sequence.
[[nodiscard]] std::vector<std::int64_t> tile_order(const NeighborhoodMask& mask, const Extents& tile);

/// A neighborhood mask over queries in the order of their Q tiles and keys in that of their KV tiles. Places
/// without a token see nothing and are not seen.
[[nodiscard]] TokenPairs neighborhood_pairs(const NeighborhoodMask& mask, const TilePair& tiles);

}  // namespace natten_sim::kernels::attention_backward
