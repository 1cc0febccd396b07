#include <cmath>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/cost.hpp>

namespace natten_sim {
namespace {

void require_positive(const char* parameter, std::int64_t value) {
  if (value < 1) throw InvalidParameter(parameter, std::to_string(value), "1 or more");
}

}  // namespace

Flops flops(const TileCount& count, const Workload& workload) {
  require_positive("batch", workload.batch);
  require_positive("heads", workload.heads);
  require_positive("head_dim", workload.head_dim);
  require_positive("head_dim_value", workload.head_dim_value);
  const bool forward = count.walk == Walk::kForward;
  const auto times = [](std::int64_t a, std::int64_t b) { return checked_multiply(a, b, "flops"); };
  const std::int64_t per_pair = checked_add(times(forward ? 2 : 6, workload.head_dim),
                                            times(forward ? 2 : 4, workload.head_dim_value), "flops");
  const std::int64_t scale = times(times(workload.batch, workload.heads), per_pair);
  const auto scaled = [scale](Int128 pairs) {
    Int128 product = 0;
    if (__builtin_mul_overflow(pairs, static_cast<Int128>(scale), &product))
      throw OverflowError("flops", 127);
    return product;
  };
  return {scaled(count.attended_pairs), scaled(count.mma_pairs), scaled(count.dense_pairs)};
}

double approximate_mma_flops(const TileCount& count, const Workload& workload) {
  const bool forward = count.walk == Walk::kForward;
  const double per_pair = (forward ? 2.0 : 6.0) * static_cast<double>(workload.head_dim) +
                          (forward ? 2.0 : 4.0) * static_cast<double>(workload.head_dim_value);
  return static_cast<double>(count.mma_pairs) * per_pair * static_cast<double>(workload.heads) *
         static_cast<double>(workload.batch);
}

ExtraKvCount count_extra_kv(const TilingProblem& problem, const TileCount& count, std::int64_t tokens) {
  if (tokens < 0) throw InvalidParameter("add_kv", std::to_string(tokens), "0 or more tokens");
  const std::int64_t tile = product(problem.tiles.kv_tile, "add_kv tile");
  const std::int64_t tile_pairs =
      checked_multiply(product(problem.tiles.q_tile, "add_kv tile"), tile, "add_kv pairs");
  ExtraKvCount extra;
  extra.tokens = tokens;
  extra.kv_tiles = ceil_divide(tokens, tile);
  extra.visited_tiles = checked_multiply(count.q_tiles, extra.kv_tiles, "add_kv visited_tiles");
  extra.attended_pairs =
      checked_multiply(product(input_of(problem.mask), "tokens"), tokens, "add_kv attended_pairs");
  extra.mma_pairs = checked_multiply(extra.visited_tiles, tile_pairs, "add_kv mma_pairs");
  return extra;
}

void require_valid(const AttentionShare& share) {
  if (!(share.share >= 0.0 && share.share <= 1.0)) {
    throw InvalidParameter("attention_share", std::to_string(share.share), "a fraction in 0..1");
  }
  require_positive("steps", share.steps);
  if (share.dense_steps < 0 || share.dense_steps > share.steps) {
    throw InvalidParameter("dense_steps", std::to_string(share.dense_steps),
                           "0.." + std::to_string(share.steps));
  }
}

double end_to_end_speedup(const AttentionShare& share, double operation_speedup) {
  require_valid(share);
  if (!(operation_speedup > 0.0)) {
    throw InvalidParameter("operation_speedup", std::to_string(operation_speedup), "more than 0");
  }
  const double dense = static_cast<double>(share.dense_steps) / static_cast<double>(share.steps);
  return 1.0 / (1.0 - share.share + share.share * (dense + (1.0 - dense) / operation_speedup));
}

}  // namespace natten_sim
