#include "schedules/schedule_problem.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/sim/schedules/window_tiles.hpp>

namespace natten_sim::study {
namespace {

constexpr const char* kTilesBackend = "blackwell-fna";  // of GNA masks without tiles of their own
constexpr std::int64_t kTilesHeadDim = 128;

/// Sizes in tiles become tokens two a tile, so that a tile on the diagonal is partial, and lengths in tiles
/// become lengths in tokens with the same factor.
struct ScaledSizes {
  SequenceTiling tiling;
  std::int64_t unit = 1;
};

ScaledSizes scaled_sizes(const ScheduleSizes& sizes) {
  if (const auto* tiles = std::get_if<TileSizes>(&sizes); tiles != nullptr) {
    if (tiles->q_tiles || tiles->kv_tiles) {
      const std::int64_t q = tiles->q_tiles ? *tiles->q_tiles : *tiles->kv_tiles;
      return {{2 * q, 2 * tiles->kv_tiles.value_or(q), 2, 2}, 2};
    }
  }
  if (const auto* tokens = std::get_if<TokenSizes>(&sizes); tokens != nullptr) {
    return {{tokens->q_tokens, tokens->kv_tokens.value_or(tokens->q_tokens), tokens->q_tile, tokens->kv_tile},
            1};
  }
  throw InvalidParameter("sizes", "missing", "tiles or tokens, or a mask that brings its sizes");
}

/// The window of a rule that is one, in tokens.
std::optional<SequenceWindow> window_of(const ScheduleMask& mask, std::int64_t unit) {
  if (std::holds_alternative<FullMask>(mask.rule)) return SequenceWindow{};
  if (std::holds_alternative<CausalMask>(mask.rule)) return SequenceWindow{std::nullopt, 0};
  const auto* sliding = std::get_if<SlidingWindowMask>(&mask.rule);
  if (sliding == nullptr || std::max(sliding->left, sliding->right) > kMaxScheduleTokens / 2) return std::nullopt;
  return SequenceWindow{unit * sliding->left, unit * sliding->right};
}

/// Builds the block mask of each rule.
class MaskBuilder {
 public:
  MaskBuilder(ScaledSizes sizes, const Catalog& catalog) : sizes_(std::move(sizes)), catalog_(catalog) {}

  BlockMask operator()(const FullMask&) const { return window_mask(sizes_.tiling, {}); }
  BlockMask operator()(const CausalMask&) const { return window_mask(sizes_.tiling, {std::nullopt, 0}); }
  BlockMask operator()(const SlidingWindowMask& mask) const {
    for (const std::int64_t side : {mask.left, mask.right}) {
      if (side < 0 || side > kMaxScheduleTokens / 2)
        throw InvalidParameter("mask window", std::to_string(side), "0 to 2^39");
    }
    return window_mask(sizes_.tiling, scaled(mask));
  }
  BlockMask operator()(const DocumentMask& mask) const;
  BlockMask operator()(const JoinedMask& mask) const;
  BlockMask operator()(const VarlenMask& mask) const;
  BlockMask operator()(const GnaMask& mask) const;
  BlockMask operator()(const BlockMask& mask) const { return mask; }

 private:
  [[nodiscard]] SequenceWindow scaled(const SlidingWindowMask& mask) const {
    return {sizes_.unit * mask.left, sizes_.unit * mask.right};
  }

  ScaledSizes sizes_;
  const Catalog& catalog_;
};

BlockMask MaskBuilder::operator()(const DocumentMask& mask) const {
  std::vector<std::int64_t> lengths;
  std::int64_t sum = 0;
  for (const std::int64_t length : mask.lengths) {
    if (length < 1 || length > kMaxScheduleTokens / 2)
      throw InvalidParameter("mask document", std::to_string(length), "lengths of 1 to 2^39");
    lengths.push_back(sizes_.unit * length);
    sum += lengths.back();
    if (sum > kMaxScheduleTokens * sizes_.unit) break;  // no sequence is that long
  }
  const bool tiles = sizes_.unit != 1;
  for (const auto& [tokens, in_tokens, in_tiles] :
       {std::tuple{sizes_.tiling.q_tokens, "seqlen-q", "q-tiles"},
        std::tuple{sizes_.tiling.kv_tokens, "seqlen-k", "kv-tiles"}}) {
    if (sum == tokens) continue;
    throw InvalidParameter("mask document", "lengths whose sum is " + std::to_string(sum / sizes_.unit),
                           "a sum of " + std::to_string(tokens / sizes_.unit) + ", as " +
                               mention(tiles ? in_tiles : in_tokens) + " says");
  }
  return document_mask(sizes_.tiling, lengths);
}

BlockMask MaskBuilder::operator()(const JoinedMask& mask) const {
  JoinedMask scaled_mask = mask;
  for (auto& all : scaled_mask.any) {
    for (SequenceRule& rule : all) {
      if (auto* window = std::get_if<SlidingWindowMask>(&rule)) *window = {sizes_.unit * window->left, sizes_.unit * window->right};
      if (auto* prefix = std::get_if<PrefixMask>(&rule)) prefix->length *= sizes_.unit;
      if (std::holds_alternative<DilatedMask>(rule) && sizes_.unit != 1)
        throw InvalidParameter("mask dilated", "of tiles", "tokens: " + mention("seqlen-q"));
      if (auto* documents = std::get_if<DocumentMask>(&rule))
        for (std::int64_t& length : documents->lengths) length *= sizes_.unit;
    }
  }
  return joined_mask(sizes_.tiling, scaled_mask).tiles;
}

BlockMask MaskBuilder::operator()(const VarlenMask& mask) const {
  std::vector<SequenceLengths> sequences;
  for (const auto& [q, kv] : mask.sequences) {
    for (const std::int64_t length : {q, kv}) {
      if (length < 1 || length > kMaxScheduleTokens / 2)
        throw InvalidParameter("mask varlen", std::to_string(length), "lengths of 1 to 2^39");
    }
    sequences.push_back({sizes_.unit * q, sizes_.unit * kv});
  }
  SequenceWindow window;
  if (std::holds_alternative<CausalMask>(mask.rule)) window.right = 0;
  if (const auto* sliding = std::get_if<SlidingWindowMask>(&mask.rule)) window = scaled(*sliding);
  return varlen_mask(sizes_.tiling, sequences, window);
}

BlockMask MaskBuilder::operator()(const GnaMask& mask) const {
  const std::size_t rank = mask.layout.rank();
  const auto or_ones = [&](const Extents& extents) { return extents.empty() ? Extents(rank, 1) : extents; };
  TilingProblem problem;
  problem.mask =
      make_mask(mask.layout, mask.window.empty() ? mask.layout : mask.window, or_ones(mask.stride),
                or_ones(mask.dilation), mask.causal.empty() ? PerAxis<bool>(rank, false) : mask.causal);
  problem.tiles =
      mask.tiles ? *mask.tiles
                 : tile_pairs(catalog_.backend(kTilesBackend), rank, kTilesHeadDim, Walk::kBackward).front();
  return neighborhood_mask(problem);
}

/// Sizes beside a mask that brings its own are refused, but for its own numbers of tiles.
void require_agreement(const ScheduleSizes& sizes, const MaskedTiles& own, const std::string& mask) {
  if (std::holds_alternative<std::monostate>(sizes)) return;
  const auto* tiles = std::get_if<TileSizes>(&sizes);
  for (const auto& [name, said, is] :
       {std::tuple{"q-tiles", tiles == nullptr ? std::nullopt : tiles->q_tiles, own.mask.q_tiles},
        std::tuple{"kv-tiles", tiles == nullptr ? std::nullopt : tiles->kv_tiles, own.mask.kv_tiles}}) {
    if (tiles != nullptr && said.value_or(is) == is) continue;
    throw Conflict(mention(name), mention("mask") + " " + mask, "no sizes: this mask brings its own");
  }
}

}  // namespace

std::optional<std::int64_t> told_tiles(const ScheduleSizes& sizes, const ScheduleMask& mask,
                                       std::int32_t ctas_per_chain) {
  if (brings_sizes(mask) || ctas_per_chain < 1 || ctas_per_chain > 2) return std::nullopt;
  ScaledSizes scaled = scaled_sizes(sizes);
  const std::optional<SequenceWindow> window = window_of(mask, scaled.unit);
  if (!window) return std::nullopt;
  scaled.tiling.kv_tile *= ctas_per_chain;
  return window_tiles(scaled.tiling, *window);
}

MaskedTiles masked_tiles(const ScheduleSizes& sizes, const ScheduleMask& mask, std::int32_t ctas_per_chain,
                         const Catalog& catalog) {
  if (ctas_per_chain < 1 || ctas_per_chain > 2)
    throw InvalidParameter("ctas-per-chain", std::to_string(ctas_per_chain), "1 or 2");
  const bool pairs = ctas_per_chain == 2;
  if (brings_sizes(mask)) {
    MaskedTiles own{std::visit(MaskBuilder({}, catalog), mask.rule), std::nullopt, {}};
    own.given = {own.mask.q_tiles, own.mask.kv_tiles};
    require_agreement(sizes, own, mask_text(mask));
    if (pairs) own.mask = paired_kv_tiles(own.mask);
    return own;
  }
  ScaledSizes scaled = scaled_sizes(sizes);
  MaskedTiles tiles;
  tiles.given = {ceil_divide(scaled.tiling.q_tokens, scaled.tiling.q_tile),
                 ceil_divide(scaled.tiling.kv_tokens, scaled.tiling.kv_tile)};
  if (scaled.unit == 1) tiles.tokens = scaled.tiling;
  if (pairs) scaled.tiling.kv_tile *= 2;
  tiles.mask = std::visit(MaskBuilder(scaled, catalog), mask.rule);
  return tiles;
}

}  // namespace natten_sim::study
