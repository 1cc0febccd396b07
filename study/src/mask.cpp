#include <algorithm>
#include <concepts>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/mask_function.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/study/mask.hpp>

#include "schedules/schedule_problem.hpp"

namespace natten_sim::study {
namespace {

constexpr std::int64_t kOtherBlocks[] = {64, 128};
/// FlashAttention-4's block-sparse kernel.
constexpr const char* kFlash = "fa4";

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

/// Sizes from the question and the mask; of blocks without any, as many tokens as blocks hold.
MaskQuestion resolved(MaskQuestion question) {
  GivenMask& mask = question.mask;
  question.q_tile = agreed("q_tile", question.q_tile, mask.q_tile).value_or(kBlockOfFlex);
  question.kv_tile = agreed("kv_tile", question.kv_tile, mask.kv_tile).value_or(kBlockOfFlex);
  question.q_tokens = agreed("seqlen_q", question.q_tokens, mask.q_tokens);
  question.kv_tokens = agreed("seqlen_k", question.kv_tokens, mask.kv_tokens);
  if (const auto* blocks = std::get_if<BlockMask>(&mask.mask.rule)) {
    const std::int64_t q_tiles = blocks->q_tiles / mask.masks;
    if (!question.q_tokens) question.q_tokens = checked_multiply(q_tiles, *question.q_tile, "seqlen_q");
    if (!question.kv_tokens)
      question.kv_tokens = checked_multiply(blocks->kv_tiles, *question.kv_tile, "seqlen_k");
    for (const auto& [name, tokens, tile, tiles] :
         {std::tuple{"seqlen_q", *question.q_tokens, *question.q_tile, q_tiles},
          std::tuple{"seqlen_k", *question.kv_tokens, *question.kv_tile, std::int64_t{blocks->kv_tiles}}}) {
      if (ceil_divide(tokens, tile) != tiles)
        throw InvalidParameter(name, std::to_string(tokens),
                               std::to_string((tiles - 1) * tile + 1) + ".." + std::to_string(tiles * tile) +
                                   ", which " + std::to_string(tiles) + " blocks of " + std::to_string(tile) +
                                   " tokens hold");
    }
  } else if (std::holds_alternative<GnaMask>(mask.mask.rule)) {
    throw InvalidParameter(
        "mask", "gna", "another rule, or a file of blocks: " + mention("count") + " counts neighborhoods");
  }
  const std::int64_t documents = documents_length(mask.mask);
  if (!question.q_tokens && documents > 0) question.q_tokens = documents;
  if (!question.q_tokens) throw InvalidParameter("seqlen_q", "missing", "the tokens of the queries");
  if (!question.kv_tokens) question.kv_tokens = question.q_tokens;
  if (question.heads * question.batch % mask.masks != 0)
    throw InvalidParameter(
        "heads", std::to_string(question.heads),
        "heads times batch a multiple of " + std::to_string(mask.masks) + ", the masks of the file");
  if (!question.heads_kv) question.heads_kv = question.heads;
  if (question.heads % *question.heads_kv != 0)
    throw InvalidParameter("heads-kv", std::to_string(*question.heads_kv),
                           "a divisor of the heads (" + std::to_string(question.heads) + ")");
  const auto takes = [&](const char* kernel) { return question.kernel == kernel; };
  if (!takes("flexattention") && !takes(kFlash) && !takes("gna"))
    throw InvalidParameter("kernel", question.kernel, "flexattention, fa4 or gna, which take lists of blocks");
  return question;
}

SequenceTiling tiling_of(const MaskQuestion& question, std::int64_t q_tile, std::int64_t kv_tile) {
  return {*question.q_tokens, *question.kv_tokens, q_tile, kv_tile};
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

using Ctas = std::vector<CtaWork>;

/// Adds each Q block's visits, or each KV block's of each mask.
void add_ctas(const BlockMask& mask, std::int64_t masks, bool by_q, double share, Ctas& ctas) {
  const std::int64_t q_tiles = mask.q_tiles / masks, kv_tiles = mask.kv_tiles;
  const std::size_t first = ctas.size();
  ctas.resize(first + static_cast<std::size_t>(by_q ? mask.q_tiles : masks * kv_tiles), {{}, share});
  for (std::int64_t q = 0; q < mask.q_tiles; ++q) {
    poll();
    for (const std::int32_t kv : mask.attended().kv_of_q[static_cast<std::size_t>(q)]) {
      CtaVisits& cta = ctas[first + static_cast<std::size_t>(by_q ? q : q / q_tiles * kv_tiles + kv)].visits;
      ++cta.tiles;
      if (mask.at(static_cast<std::int32_t>(q), kv) == TileWork::kFull) ++cta.full;
    }
  }
}

/// FlexAttention alone has CTAs of both kinds backward.
std::shared_ptr<const Ctas> ctas_of(const MaskQuestion& question, const BlockMask& mask, Walk pass) {
  auto ctas = std::make_shared<Ctas>();
  const bool backward = pass == Walk::kBackward, both = backward && question.kernel == "flexattention";
  if (backward) add_ctas(mask, question.mask.masks, false, both ? kShareOfKeyCtas : 1, *ctas);
  if (both || !backward) add_ctas(mask, question.mask.masks, true, both ? 1 - kShareOfKeyCtas : 1, *ctas);
  return ctas;
}

/// Whether the mask function reads a number of each token.
bool reads_tables(const JoinedMask& mask) {
  const auto reads = [](const SequenceRule& rule) { return std::holds_alternative<DocumentMask>(rule); };
  return std::any_of(mask.any.begin(), mask.any.end(),
                     [&](const auto& all) { return std::any_of(all.begin(), all.end(), reads); });
}

TimeAnswer time_of(const MaskQuestion& question, const BlockMask& mask, const BlockCount& count, Walk pass,
                   const Context& context) {
  if (*question.q_tokens != *question.kv_tokens) return MissingTime{"times are of as many keys as queries"};
  if (pass == Walk::kBackward && *question.heads_kv != question.heads)
    return MissingTime{"backward times are of as many KV heads as heads"};
  TimeQuestion asked;
  asked.kernel = question.kernel;
  asked.device = *question.device;
  asked.mask = {{*question.q_tokens, *question.q_tokens, 1, 1, false}};
  asked.tiles = {{count.q_tile}, {count.kv_tile}};
  asked.tiling = Tiling::kSingleDimensional;
  asked.pass = pass;
  asked.sizes.batch = question.batch;
  asked.sizes.heads = question.heads;
  asked.sizes.heads_kv = *question.heads_kv;
  asked.sizes.head_dim = asked.sizes.head_dim_value = question.head_dim;
  asked.dtype = question.dtype;
  asked.rest_ms = question.rest_ms;
  const std::optional<JoinedMask> joined = joined_of(question.mask.mask);
  asked.mask_cost = question.mask_cost;
  if (joined && !asked.mask_cost && question.kernel != "gna") asked.mask_cost = mask_instructions(*joined);
  if (joined && question.kernel == kFlash && reads_tables(*joined)) asked.mask_function = MaskFunction::kTables;
  KernelVisits visits;
  visits.launched_tiles = pass == Walk::kForward ? mask.q_tiles : question.mask.masks * mask.kv_tiles;
  visits.visited_tiles = count.visited;
  visits.unmasked_tiles = count.full;
  visits.masked_tiles = count.partial;
  asked.visits = visits;
  const std::shared_ptr<const Ctas> ctas = ctas_of(question, mask, pass);
  asked.ctas = ctas;
  asked.ctas_heads = question.mask.masks;
  TimeAnswer answer = time(asked, context);
  auto* found = std::get_if<PassTime>(&answer);
  if (found == nullptr) return answer;
  if (asked.mask_cost && !question.mask_cost) found->mask_function = "rule";
  if (asked.mask_cost || count.partial == 0) return answer;
  // The mask function may be cheaper than those that were timed: at best it costs nothing.
  Ctas unmasked = *ctas;
  for (CtaWork& cta : unmasked) cta.visits.full = cta.visits.tiles;
  asked.ctas = std::make_shared<const Ctas>(std::move(unmasked));
  asked.visits->unmasked_tiles = count.visited;
  asked.visits->masked_tiles = 0;
  found->low_ms = std::min(found->low_ms, std::get<PassTime>(time(asked, context)).low_ms);
  return answer;
}

/// Tiles and, of rules, pairs of tokens.
TilesOfRules tiles_of(const MaskQuestion& question, std::int64_t q_tile, std::int64_t kv_tile,
                      const Catalog& catalog) {
  const SequenceTiling tiling = tiling_of(question, q_tile, kv_tile);
  TilesOfRules tiles;
  if (const std::optional<JoinedMask> joined = joined_of(question.mask.mask)) {
    tiles = joined_mask(tiling, *joined);
  } else if (const auto* blocks = std::get_if<BlockMask>(&question.mask.mask.rule)) {
    tiles.tiles = *blocks;
  } else {  // sequences with blocks of their own
    tiles.tiles = masked_tiles(TokenSizes{tiling.q_tokens, tiling.kv_tokens, q_tile, kv_tile},
                               question.mask.mask, 1, catalog)
                      .mask;
    return tiles;
  }
  mask_padding(tiling, question.mask.masks, tiles.tiles);
  return tiles;
}

BlockCount count_of(const MaskQuestion& question, const TilesOfRules& tiles, std::int64_t q_tile,
                    std::int64_t kv_tile, const Context& context) {
  const BlockMask& mask = tiles.tiles;
  BlockCount count{.q_tile = q_tile, .kv_tile = kv_tile};
  count.q_tiles = mask.q_tiles / question.mask.masks;
  count.kv_tiles = mask.kv_tiles;
  const auto& rows = mask.attended().kv_of_q;
  count.visited = mask.attended().count;
  count.shortest_row = count.kv_tiles;
  for (const auto& row : rows) {
    const auto length = static_cast<std::int64_t>(row.size());
    count.shortest_row = std::min(count.shortest_row, length);
    count.longest_row = std::max(count.longest_row, length);
    if (length == 0) ++count.empty_rows;
  }
  count.mean_row = static_cast<double>(count.visited) / static_cast<double>(rows.size());
  const std::shared_ptr<const Ctas> ctas = ctas_of(question, mask, Walk::kForward);
  for (const CtaWork& cta : *ctas) count.full += cta.visits.full;
  count.partial = count.visited - count.full;
  if (!question.device) return count;
  count.forward = time_of(question, mask, count, Walk::kForward, context);
  if (question.backprop) count.backward = time_of(question, mask, count, Walk::kBackward, context);
  return count;
}

/// What all passes take at most; none: a time is missing.
std::optional<double> most_ms(const BlockCount& count) {
  double ms = 0;
  for (const std::optional<TimeAnswer>* answer : {&count.forward, &count.backward}) {
    if (!*answer) continue;
    const auto* time = std::get_if<PassTime>(&**answer);
    if (time == nullptr) return std::nullopt;
    ms += time->high_ms;
  }
  return ms;
}

}  // namespace

double BlockCount::visited_share(std::int64_t masks) const {
  return static_cast<double>(visited) /
         (static_cast<double>(q_tiles) * static_cast<double>(kv_tiles) * static_cast<double>(masks));
}

MaskAnswer count_mask(const MaskQuestion& asked, const Context& context) {
  MaskAnswer answer{
      .question = resolved(asked), .masks = asked.mask.masks, .count = {}, .pairs = {}, .others = {}};
  const MaskQuestion& question = answer.question;
  const TilesOfRules tiles = tiles_of(question, *question.q_tile, *question.kv_tile, context.catalog);
  const bool rules = joined_of(question.mask.mask).has_value();
  if (rules) answer.pairs = tiles.pairs;
  answer.count = count_of(question, tiles, *question.q_tile, *question.kv_tile, context);
  if (!rules || question.kernel == kFlash) return answer;
  for (const std::int64_t q : kOtherBlocks) {
    for (const std::int64_t kv : kOtherBlocks) {
      if (q == *question.q_tile && kv == *question.kv_tile) continue;
      const std::int64_t rows = ceil_divide(*question.q_tokens, q),
                         columns = ceil_divide(*question.kv_tokens, kv);
      if (rows > kMostMaskEdge || columns > kMostMaskEdge || rows * columns > kMostMaskPairs) continue;
      answer.others.push_back(count_of(question, tiles_of(question, q, kv, context.catalog), q, kv, context));
    }
  }
  const auto rank = [&](const BlockCount& count) {
    const std::optional<double> ms = most_ms(count);
    const double area =
        static_cast<double>(count.visited) * static_cast<double>(count.q_tile * count.kv_tile);
    return std::pair{!ms, question.device && ms ? *ms : area};
  };
  std::stable_sort(answer.others.begin(), answer.others.end(),
                   [&](const BlockCount& a, const BlockCount& b) { return rank(a) < rank(b); });
  return answer;
}

}  // namespace natten_sim::study
