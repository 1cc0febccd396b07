#include "given_blocks.hpp"

#include <algorithm>
#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>

#include "schedules/schedule_problem.hpp"

namespace natten_sim::study {
namespace {

/// `said` and the mask's own must agree.
std::optional<std::int64_t> agreed(const char* name, std::optional<std::int64_t> said,
                                   std::optional<std::int64_t> of_mask) {
  if (said && of_mask && *said != *of_mask)
    throw InvalidParameter(name, std::to_string(*said),
                           std::to_string(*of_mask) + ", as the mask's file says");
  return said ? said : of_mask;
}

std::int64_t documents_length(const ScheduleMask& mask) {
  std::int64_t sum = 0;
  const auto add = [&](const SequenceRule& rule) {
    const auto* documents = std::get_if<DocumentMask>(&rule);
    if (documents == nullptr || sum > 0) return;
    for (const std::int64_t length : documents->lengths) sum = checked_add(sum, length, "mask document");
  };
  if (const std::optional<JoinedMask> joined = joined_of(mask))
    for (const auto& all : joined->any) std::for_each(all.begin(), all.end(), add);
  return sum;
}

/// The tokens that are as many as blocks hold, unless others are said, which they must hold.
std::int64_t held_tokens(const char* name, const std::optional<std::int64_t>& said, std::int64_t tile, std::int64_t tiles) {
  const std::int64_t tokens = said ? *said : checked_multiply(tiles, tile, name);
  if (ceil_divide(tokens, tile) == tiles) return tokens;
  throw InvalidParameter(name, std::to_string(tokens),
                         std::to_string((tiles - 1) * tile + 1) + ".." + std::to_string(tiles * tile) + ", which " +
                             std::to_string(tiles) + " blocks of " + std::to_string(tile) + " tokens hold");
}

/// Tiles that are cut at the end of a sequence are partial: kernels pad them.
void mask_padding(const SequenceTiling& tiling, std::int64_t masks, BlockMask& mask) {
  const std::int64_t q_tiles = mask.q_tiles / masks, kv_tiles = mask.kv_tiles;
  const bool q_cut = tiling.q_tokens % tiling.q_tile != 0, kv_cut = tiling.kv_tokens % tiling.kv_tile != 0;
  const auto soften = [&](std::int64_t q, std::int64_t kv) {
    const auto cell = static_cast<std::size_t>(q * kv_tiles + kv);
    if (mask.work[cell] == TileWork::kFull) mask.work.set(cell, TileWork::kPartial);
  };
  for (std::int64_t q = 0; q < mask.q_tiles; ++q) {
    if (kv_cut) soften(q, kv_tiles - 1);
    if (!q_cut || q % q_tiles != q_tiles - 1) continue;
    for (std::int64_t kv = 0; kv < kv_tiles; ++kv) soften(q, kv);
  }
}

}  // namespace

/// The rule as joined ones; none: tiles of its own.
std::optional<JoinedMask> joined_of(const ScheduleMask& mask) {
  return std::visit(
      [](const auto& rule) -> std::optional<JoinedMask> {
        using Rule = std::remove_cvref_t<decltype(rule)>;
        if constexpr (std::same_as<Rule, JoinedMask>) {
          return rule;
        } else if constexpr (std::constructible_from<SequenceRule, Rule>) {
          return JoinedMask{{{rule}}};
        } else {
          return std::nullopt;
        }
      },
      mask.rule);
}

SequenceTiling sizes_of(const GivenMask& mask, const SaidSizes& said, std::int64_t block) {
  SequenceTiling sizes;
  sizes.q_tile = agreed("q_tile", said.q_tile, mask.q_tile).value_or(block);
  sizes.kv_tile = agreed("kv_tile", said.kv_tile, mask.kv_tile).value_or(block);
  std::optional<std::int64_t> q_tokens = agreed("seqlen_q", said.q_tokens, mask.q_tokens);
  std::optional<std::int64_t> kv_tokens = agreed("seqlen_k", said.kv_tokens, mask.kv_tokens);
  if (const auto* blocks = std::get_if<BlockMask>(&mask.mask.rule)) {
    q_tokens = held_tokens("seqlen_q", q_tokens, sizes.q_tile, blocks->q_tiles / mask.masks);
    kv_tokens = held_tokens("seqlen_k", kv_tokens, sizes.kv_tile, blocks->kv_tiles);
  } else if (std::holds_alternative<GnaMask>(mask.mask.rule)) {
    throw InvalidParameter(
        "mask", "gna", "another rule, or a file of blocks: " + mention("count") + " counts neighborhoods");
  }
  const std::int64_t documents = documents_length(mask.mask);
  if (!q_tokens && documents > 0) q_tokens = documents;
  if (!q_tokens) throw InvalidParameter("seqlen_q", "missing", "the tokens of the queries");
  sizes.q_tokens = *q_tokens;
  sizes.kv_tokens = kv_tokens.value_or(sizes.q_tokens);
  return sizes;
}

TilesOfRules given_tiles(const GivenMask& mask, const SequenceTiling& tiling, const Catalog& catalog) {
  TilesOfRules tiles;
  if (const std::optional<JoinedMask> joined = joined_of(mask.mask)) {
    tiles = joined_mask(tiling, *joined);
  } else if (const auto* blocks = std::get_if<BlockMask>(&mask.mask.rule)) {
    tiles.tiles = *blocks;
  } else {  // sequences with blocks of their own
    tiles.tiles =
        masked_tiles(TokenSizes{tiling.q_tokens, tiling.kv_tokens, tiling.q_tile, tiling.kv_tile}, mask.mask, 1, catalog)
            .mask;
    return tiles;
  }
  mask_padding(tiling, mask.masks, tiles.tiles);
  return tiles;
}

}  // namespace natten_sim::study
