#include <algorithm>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/kernels/attention/attention.hpp>

#include "attention/tiles.hpp"
#include "gpu/random_value.hpp"
#include "require_range.hpp"

namespace natten_sim::kernels {
namespace {

#define NATTEN_SIM_TILES(head_dim, q_tile, kv_tile, warps, stages, most) \
  AttentionTiles{head_dim, q_tile, kv_tile, warps, stages, most},
#define NATTEN_SIM_WGMMA_TILES(head_dim, q_tile, kv_tile, warps, stages) \
  AttentionTiles{head_dim, q_tile, kv_tile, warps, stages, 1, AttentionEngine::kWgmma},
constexpr AttentionTiles kTiles[] = {NATTEN_SIM_ATTENTION_TILES(NATTEN_SIM_TILES)
                                         NATTEN_SIM_ATTENTION_WGMMA_TILES(NATTEN_SIM_WGMMA_TILES)};
#undef NATTEN_SIM_TILES
#undef NATTEN_SIM_WGMMA_TILES

// Q tiles are numbered in 32 bits on the device, with room for one grid stride.
constexpr std::int64_t kMaxItems = std::int64_t{1} << 30;

std::string shape_text(std::int64_t head_dim, int q_tile, int kv_tile, int stages) {
  return std::to_string(head_dim) + ":" + std::to_string(q_tile) + "x" + std::to_string(kv_tile) + "x" +
         std::to_string(stages);
}

std::string known_shapes(AttentionEngine engine) {
  std::string text;
  for (const AttentionTiles& tiles : kTiles) {
    if (tiles.engine != engine) continue;
    text +=
        (text.empty() ? "" : ", ") + shape_text(tiles.head_dim, tiles.q_tile, tiles.kv_tile, tiles.stages);
  }
  return text + " (head dim:Q tile x KV tile x stages, engine " + to_string(engine) + ")";
}

}  // namespace

double AttentionProblem::operations() const noexcept {
  const auto length = static_cast<double>(tokens);
  return 4 * length * length * static_cast<double>(head_dim * batch * heads) * (causal ? 0.5 : 1.0);
}

std::span<const AttentionTiles> attention_tiles() noexcept { return kTiles; }

void require_valid_sizes(const AttentionProblem& problem, const AttentionVariant& variant) {
  if (problem.dtype != Dtype::kFp16 && problem.dtype != Dtype::kBf16)
    throw InvalidParameter("dtype", to_string(problem.dtype), "fp16, bf16", "bf16");
  require_range("tokens", problem.tokens, 1, std::int64_t{1} << 24);
  require_range("batch", problem.batch, 1, std::int64_t{1} << 20);
  require_range("heads", problem.heads, 1, std::int64_t{1} << 20);
  require_range("heads_kv", problem.heads_kv, 1, problem.heads);
  require_range("head_dim", problem.head_dim, 16, 1024);
  require_range("q_tile", variant.q_tile, 1, 1 << 16);
  require_range("kv_tile", variant.kv_tile, 1, 1 << 16);
  require_range("stages", variant.stages, 1, 16);
  require_range("ctas_per_sm", variant.ctas_per_sm, 1, 32);
  require_range("ctas", variant.ctas, 0, variant.schedule == CtaSchedule::kPersistent ? 1 << 16 : 0);
  if (problem.heads % problem.heads_kv != 0) {
    throw InvalidParameter("heads_kv", std::to_string(problem.heads_kv),
                           "a divisor of heads = " + std::to_string(problem.heads), "1");
  }
  const std::int64_t q_tiles = ceil_divide(problem.tokens, variant.q_tile);
  require_range("Q tiles", checked_multiply(problem.batch * problem.heads, q_tiles, "Q tiles"), 1, kMaxItems);
}

const AttentionTiles& require_valid(const AttentionProblem& problem, const AttentionVariant& variant) {
  require_valid_sizes(problem, variant);
  const auto* const found =
      std::find_if(std::begin(kTiles), std::end(kTiles), [&](const AttentionTiles& tiles) {
        return tiles.engine == variant.engine && tiles.head_dim == problem.head_dim &&
               tiles.q_tile == variant.q_tile && tiles.kv_tile == variant.kv_tile &&
               tiles.stages == variant.stages;
      });
  if (found == std::end(kTiles)) {
    throw InvalidParameter("tiles",
                           shape_text(problem.head_dim, variant.q_tile, variant.kv_tile, variant.stages),
                           known_shapes(variant.engine));
  }
  require_range("ctas_per_sm", variant.ctas_per_sm, 1, found->max_ctas_per_sm);
  if (variant.engine == AttentionEngine::kWgmma && variant.schedule == CtaSchedule::kTile)
    throw InvalidParameter("schedule", to_string(variant.schedule), "persistent, grid", "grid");
  return *found;
}

std::int64_t grid_size(const AttentionProblem& problem, const AttentionVariant& variant, std::int32_t sms) {
  const std::int64_t q_tiles = ceil_divide(problem.tokens, variant.q_tile);
  const std::int64_t heads = problem.batch * problem.heads;
  switch (variant.schedule) {
    case CtaSchedule::kPersistent:
      return std::min<std::int64_t>(q_tiles * heads, variant.resident_ctas(sms));
    case CtaSchedule::kGrid:
      return q_tiles * heads;
    case CtaSchedule::kTile:
      break;
  }
  return ceil_divide(q_tiles, 2) * heads;
}

float random_element(std::uint64_t seed, std::int64_t position) noexcept {
  return random_value(seed, static_cast<std::uint64_t>(position));
}

std::vector<std::int64_t> sampled_rows(const AttentionProblem& problem, std::int64_t most,
                                       std::uint64_t seed) {
  const std::int64_t all = problem.batch * problem.heads * problem.tokens;
  std::vector<std::int64_t> rows;
  if (all <= most) {
    for (std::int64_t row = 0; row < all; ++row) rows.push_back(row);
    return rows;
  }
  // The first and last rows of the first and last head, where masks and tails are; the rest at random.
  rows = {0, problem.tokens - 1, all - problem.tokens, all - 1};
  for (std::uint64_t i = 0; static_cast<std::int64_t>(rows.size()) < most; ++i) {
    rows.push_back(static_cast<std::int64_t>(position_bits(seed, i) % static_cast<std::uint64_t>(all)));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace natten_sim::kernels
