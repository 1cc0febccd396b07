// Masks made of masks: sequences on a block diagonal, pairs of KV tiles, copies of the Q tiles.
#include <algorithm>
#include <numeric>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "schedules/mask_sizes.hpp"

namespace natten_sim {
namespace {

void require_sum(const char* parameter, std::int64_t sum, std::int64_t tokens) {
  if (sum == tokens) return;
  throw InvalidParameter("varlen", "lengths whose sum is " + std::to_string(sum),
                         std::string("a sum of ") + std::to_string(tokens) + ", the " + parameter);
}

}  // namespace

BlockMask varlen_mask(const SequenceTiling& tiling, const std::vector<SequenceLengths>& sequences,
                      const SequenceWindow& window) {
  require_size("q_tile", tiling.q_tile);
  require_size("kv_tile", tiling.kv_tile);
  if (sequences.empty()) throw InvalidParameter("varlen", "no sequences", "one or more");
  std::int64_t q_tiles = 0, kv_tiles = 0, q_tokens = 0, kv_tokens = 0;  // kv_tiles: of the longest
  for (const SequenceLengths& sequence : sequences) {
    require_size("varlen", sequence.q_tokens);
    require_size("varlen", sequence.kv_tokens);
    q_tokens = checked_add(q_tokens, sequence.q_tokens, "tokens");
    kv_tokens = checked_add(kv_tokens, sequence.kv_tokens, "tokens");
    q_tiles = checked_add(q_tiles, ceil_divide(sequence.q_tokens, tiling.q_tile), "Q tiles");
    kv_tiles = std::max(kv_tiles, ceil_divide(sequence.kv_tokens, tiling.kv_tile));
  }
  require_sum("seqlen_q", q_tokens, tiling.q_tokens);
  require_sum("seqlen_k", kv_tokens, tiling.kv_tokens);
  BlockMask mask = empty_mask(
      q_tiles, checked_multiply(kv_tiles, static_cast<std::int64_t>(sequences.size()), "KV tiles"));
  std::int32_t first_q = 0, first_kv = 0;
  for (const SequenceLengths& sequence : sequences) {
    const BlockMask own =
        window_mask({sequence.q_tokens, sequence.kv_tokens, tiling.q_tile, tiling.kv_tile}, window);
    for (std::int32_t q = 0; q < own.q_tiles; ++q) {
      poll();
      for (std::int32_t kv = 0; kv < own.kv_tiles; ++kv) {
        mask.work[static_cast<std::size_t>(first_q + q) * static_cast<std::size_t>(mask.kv_tiles) +
                  static_cast<std::size_t>(first_kv + kv)] = own.at(q, kv);
      }
    }
    first_q += own.q_tiles;
    first_kv += static_cast<std::int32_t>(kv_tiles);
  }
  return mask;
}

BlockMask paired_kv_tiles(const BlockMask& mask) {
  BlockMask pairs = empty_mask(mask.q_tiles, (mask.kv_tiles + 1) / 2);
  for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
    poll();
    for (std::int32_t pair = 0; pair < pairs.kv_tiles; ++pair) {
      const TileWork first = mask.at(q, 2 * pair);
      const TileWork second = 2 * pair + 1 < mask.kv_tiles ? mask.at(q, 2 * pair + 1) : first;
      pairs.work[static_cast<std::size_t>(q) * static_cast<std::size_t>(pairs.kv_tiles) +
                 static_cast<std::size_t>(pair)] = first == second ? first : TileWork::kPartial;
    }
  }
  return pairs;
}

BlockMask stacked_q_tiles(const BlockMask& mask, std::int32_t times) {
  BlockMask stack = empty_mask(std::int64_t{mask.q_tiles} * times, mask.kv_tiles);
  for (std::size_t cell = 0; cell < stack.work.size(); ++cell)
    stack.work[cell] = mask.work[cell % mask.work.size()];
  return stack;
}

}  // namespace natten_sim
