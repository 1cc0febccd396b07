#include <algorithm>
#include <memory>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/mask_function.hpp>
#include <natten_sim/sim/schedules/window_tiles.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/estimate.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/mask.hpp>

#include "given_blocks.hpp"

namespace natten_sim::study {
namespace {

constexpr std::int64_t kOtherBlocks[] = {64, 128};
/// FlashAttention-4's block-sparse kernel.
constexpr const char* kFlash = "fa4";

/// FlashAttention-4's blocks hold its tiles, which are larger on some devices; none: those of FlexAttention do.
std::optional<std::int64_t> q_block_of_flash(const MaskQuestion& question, const Catalog& catalog) {
  if (question.kernel != kFlash || !question.device) return std::nullopt;
  const KernelPhysics* physics = catalog.physics.kernel_on(kFlash, catalog.device(*question.device).architecture);
  const PhysicalPass* pass = physics == nullptr ? nullptr : physics->pass_of(Walk::kForward);
  const PhysicalTiles* tiles = pass == nullptr ? nullptr : pass->tiles_of(question.head_dim);
  if (tiles == nullptr || tiles->q_tile_tokens % kBlockOfFlex != 0) return std::nullopt;
  return tiles->q_tile_tokens;
}

/// What the question leaves out, from its mask.
MaskQuestion resolved(MaskQuestion question, const Catalog& catalog) {
  const GivenMask& mask = question.mask;
  SaidSizes said{question.q_tokens, question.kv_tokens, question.q_tile, question.kv_tile};
  if (!said.q_tile && !mask.q_tile) said.q_tile = q_block_of_flash(question, catalog);
  if (const AttentionKernel* own = question.kernel.own.get()) {  // its own tiles, unless others are said
    if (!said.q_tile && !mask.q_tile) said.q_tile = own->q_tile;
    const KernelTile* tile = own->tile_of(question.head_dim);
    if (!said.kv_tile && !mask.kv_tile && tile != nullptr) said.kv_tile = tile->kv_tile;
  }
  const SequenceTiling sizes = sizes_of(mask, said, kBlockOfFlex);
  question.q_tokens = sizes.q_tokens;
  question.kv_tokens = sizes.kv_tokens;
  question.q_tile = sizes.q_tile;
  question.kv_tile = sizes.kv_tile;
  if (question.heads * question.batch % mask.masks != 0)
    throw InvalidParameter(
        "heads", std::to_string(question.heads),
        "heads times batch a multiple of " + std::to_string(mask.masks) + ", the masks of the file");
  if (!question.heads_kv) question.heads_kv = question.heads;
  if (question.heads % *question.heads_kv != 0)
    throw InvalidParameter("heads-kv", std::to_string(*question.heads_kv),
                           "a divisor of the heads (" + std::to_string(question.heads) + ")");
  const auto takes = [&](const char* kernel) { return question.kernel == kernel; };
  if (!takes("flexattention") && !takes(kFlash) && !takes("gna") && question.kernel.own == nullptr)
    throw InvalidParameter("kernel", question.kernel, "flexattention, fa4 or gna, which take lists of blocks, or a kernel file");
  return question;
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

/// Arrays of which the mask function reads a number of each token.
std::ptrdiff_t read_arrays(const JoinedMask& mask) {
  const auto reads = [](const SequenceRule& rule) { return std::holds_alternative<DocumentMask>(rule); };
  std::ptrdiff_t arrays = 0;
  for (const auto& all : mask.any) arrays += std::count_if(all.begin(), all.end(), reads);
  return arrays;
}

/// Whether no query attends to a later key: then the dense kernel that the mask replaces is a causal one.
bool stays_causal(const JoinedMask& mask) {
  const auto causal = [](const SequenceRule& rule) {
    const auto* window = std::get_if<SlidingWindowMask>(&rule);
    return std::holds_alternative<CausalMask>(rule) || (window != nullptr && window->right == 0);
  };
  return std::all_of(mask.any.begin(), mask.any.end(),
                     [&](const auto& all) { return std::any_of(all.begin(), all.end(), causal); });
}

/// Without blocks.
TimeQuestion time_question_of(const MaskQuestion& question, const BlockCount& count, Walk pass) {
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
  return asked;
}

TimeAnswer time_of(const MaskQuestion& question, const BlockMask& mask, const BlockCount& count, Walk pass,
                   const Context& context) {
  if (*question.q_tokens != *question.kv_tokens) return MissingTime{"times are of as many keys as queries"};
  if (pass == Walk::kBackward && *question.heads_kv != question.heads)
    return MissingTime{"backward times are of as many KV heads as heads"};
  TimeQuestion asked = time_question_of(question, count, pass);
  const std::optional<JoinedMask> joined = joined_of(question.mask.mask);
  asked.mask[0].causal = joined && stays_causal(*joined);
  asked.mask_cost = question.mask_cost;
  if (joined && !asked.mask_cost && question.kernel != "gna") asked.mask_cost = mask_instructions(*joined);
  const std::ptrdiff_t arrays = joined ? read_arrays(*joined) : 0;
  if (arrays > (question.kernel == kFlash ? 0 : 1)) asked.mask_function = MaskFunction::kTables;
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
  if (question.kernel == "flexattention") asked.mask_cost = 0;
  found->low_ms = std::min(found->low_ms, std::get<PassTime>(time(asked, context)).low_ms);
  return answer;
}

/// Tiles and, of rules, pairs of tokens.
TilesOfRules tiles_of(const MaskQuestion& question, std::int64_t q_tile, std::int64_t kv_tile, const Catalog& catalog) {
  return given_tiles(question.mask, {*question.q_tokens, *question.kv_tokens, q_tile, kv_tile}, catalog);
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

namespace {

/// Members of a count that describe a window, as they are when it describes none.
void require_no_window(const CountQuestion& count) {
  const auto all_false = [](const PerAxis<bool>& flags) {
    return std::none_of(flags.begin(), flags.end(), [](bool flag) { return flag; });
  };
  for (const auto& [name, given] :
       {std::pair{"window", !count.window.empty()}, std::pair{"stride", !count.stride.empty()},
        std::pair{"dilation", !count.dilation.empty()}, std::pair{"causal", !all_false(count.causal)},
        std::pair{"cyclic", !all_false(count.cyclic)}, std::pair{"kv-tiling", count.kv_tiling.has_value()},
        std::pair{"tiling", count.tiling != Tiling::kMultiDimensional},
        std::pair{"backward-q-tile", !count.backward_q_tile.empty()},
        std::pair{"backward-kv-tile", !count.backward_kv_tile.empty()},
        std::pair{"kernel-schedule", count.kernel_schedule.has_value()},
        std::pair{"mask-function", count.mask_function.has_value()}}) {
    if (given) throw Conflict(mention("mask"), mention(name));
  }
}

std::optional<std::int64_t> block_of(const char* name, const Extents& tile) {
  if (tile.empty()) return std::nullopt;
  if (tile.rank() > 1) throw InvalidParameter(name, to_string(tile), "tokens of a block: one number beside " + mention("mask"));
  return tile[0];
}

}  // namespace

MaskQuestion mask_question_of(const CountQuestion& count, const GivenMask& mask, const Catalog& catalog) {
  require_no_window(count);
  Setting setting = count.setting;
  setting.device = setting.backend = std::nullopt;  // what NATTEN would choose does not matter
  if (!setting.dtype) setting.dtype = default_dtype(count.kernel);
  setting = resolved(setting, catalog);
  if (setting.head_dim_value != setting.head_dim)
    throw InvalidParameter("dim-value", std::to_string(*setting.head_dim_value), "that of Q and K beside " + mention("mask"));
  if (setting.add_kv != 0) throw Conflict(mention("mask"), mention("add-kv"));
  MaskQuestion question;
  question.mask = mask;
  if (!setting.input.empty()) question.q_tokens = product(setting.input, "tokens");
  question.q_tile = block_of("q-tile", count.q_tile);
  question.kv_tile = block_of("kv-tile", count.kv_tile);
  question.heads = *setting.heads;
  question.heads_kv = setting.heads_kv;
  question.batch = setting.batch;
  question.head_dim = *setting.head_dim;
  question.dtype = *setting.dtype;
  if (count.kernel) question.kernel = *count.kernel;
  question.device = count.setting.device;
  question.backprop = count.backward;
  question.rest_ms = count.rest_ms;
  question.mask_cost = count.mask_cost;
  return question;
}

namespace {

/// Sizes of blocks, of queries and of keys, that are compared with the question's own.
std::vector<std::pair<std::int64_t, std::int64_t>> other_blocks(const MaskQuestion& question) {
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;
  if (!joined_of(question.mask.mask) || question.kernel == kFlash || question.kernel.own != nullptr) return sizes;
  for (const std::int64_t q : kOtherBlocks) {
    for (const std::int64_t kv : kOtherBlocks) {
      if (q == *question.q_tile && kv == *question.kv_tile) continue;
      const std::int64_t rows = ceil_divide(*question.q_tokens, q),
                         columns = ceil_divide(*question.kv_tokens, kv);
      if (rows <= kMostMaskEdge && columns <= kMostMaskEdge && rows * columns <= kMostMaskPairs) sizes.emplace_back(q, kv);
    }
  }
  return sizes;
}

/// Pairs of blocks that attend.
double visited_blocks(const MaskQuestion& question, const SequenceTiling& tiling) {
  if (const std::optional<JoinedMask> joined = joined_of(question.mask.mask)) return joined_tiles(tiling, *joined);
  if (const auto* blocks = std::get_if<BlockMask>(&question.mask.mask.rule))
    return static_cast<double>(blocks->attended().count);
  constexpr double kHalf = 0.5;  // sequences on a block diagonal
  return kHalf * static_cast<double>(ceil_divide(tiling.q_tokens, tiling.q_tile)) *
         static_cast<double>(ceil_divide(tiling.kv_tokens, tiling.kv_tile));
}

}  // namespace

Estimate estimate(const MaskQuestion& asked, const Context& given) {
  const WithKernels kernels(given, asked.kernel);
  const MaskQuestion question = resolved(asked, kernels.get().catalog);
  // Looks at each row of blocks: to make the mask, to count it, and for each pass to list CTAs and to time them.
  const double looks = 2 + (question.device ? 2 + (question.backprop ? 4 : 0) : 0);
  constexpr double kOfPair = 13, kOfCell = 0.25, kOfRow = 200, kCellsOfStep = 32;
  Estimate estimate{.option = "seqlen-q", .value = std::to_string(*question.q_tokens)};
  auto sizes = other_blocks(question);
  sizes.emplace_back(*question.q_tile, *question.kv_tile);
  for (const auto& [q, kv] : sizes) {
    const double rows = static_cast<double>(ceil_divide(*question.q_tokens, q)) * static_cast<double>(question.mask.masks);
    const double cells = rows * static_cast<double>(ceil_divide(*question.kv_tokens, kv));
    const double pairs = visited_blocks(question, {*question.q_tokens, *question.kv_tokens, q, kv});
    estimate.steps += looks * rows + cells / kCellsOfStep;
    estimate.bytes = std::max(estimate.bytes, kOfPair * pairs + kOfCell * cells + kOfRow * rows);
  }
  const std::optional<JoinedMask> joined = joined_of(question.mask.mask);
  constexpr double kOfToken = 3;  // of causal dense kernels backward
  if (question.device && question.backprop && joined && stays_causal(*joined))
    estimate.steps += kOfToken * static_cast<double>(*question.q_tokens) * static_cast<double>(sizes.size());
  return estimate;
}

BlockMask mask_blocks(const MaskQuestion& question, const Catalog& catalog) {
  return tiles_of(question, *question.q_tile, *question.kv_tile, catalog).tiles;
}

MaskAnswer count_mask(const MaskQuestion& asked, const Context& given) {
  const WithKernels kernels(given, asked.kernel);
  const Context& context = kernels.get();
  MaskAnswer answer{
      .question = resolved(asked, context.catalog), .masks = asked.mask.masks, .count = {}, .pairs = {}, .others = {}};
  const MaskQuestion& question = answer.question;
  const TilesOfRules tiles = tiles_of(question, *question.q_tile, *question.kv_tile, context.catalog);
  const bool rules = joined_of(question.mask.mask).has_value();
  if (rules) answer.pairs = tiles.pairs;
  answer.count = count_of(question, tiles, *question.q_tile, *question.kv_tile, context);
  if (!rules || question.kernel == kFlash || question.kernel.own != nullptr) return answer;
  for (const auto& [q, kv] : other_blocks(question))
    answer.others.push_back(count_of(question, tiles_of(question, q, kv, context.catalog), q, kv, context));
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
