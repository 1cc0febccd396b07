#include <algorithm>
#include <cmath>
#include <string>

#include <natten_sim/kernels/attention_forward/problem.hpp>

#include "attention_forward/best_shape.hpp"
#include "attention_forward/box_lists.hpp"

namespace natten_sim::kernels::attention_forward {
namespace {

constexpr std::int64_t kMaxTokens = std::int64_t{1} << 28;

void require(bool holds, const char* parameter, std::int64_t value, const char* accepted) {
  if (!holds) throw InvalidParameter(parameter, std::to_string(value), accepted);
}

void require_strides(const char* name, const TensorStrides& strides) {
  for (const std::int64_t stride : {strides.batch, strides.head, strides.token}) {
    require(stride > 0 && stride % 8 == 0 && stride < (std::int64_t{1} << 38), name, stride,
            "strides of a positive multiple of 8 elements");
  }
}

void require_intervals(const Neighborhood& neighborhood) {
  const std::vector<TokenRange>& keys = neighborhood.intervals;
  if (keys.empty()) return;
  const AxisMask& axis = neighborhood.mask[0];
  require(neighborhood.mask.rank() == 1 && axis.dilation == 1 && std::ssize(keys) == axis.length, "intervals",
          std::ssize(keys), "one a token, on one axis without dilation");
  for (std::size_t query = 0; query < keys.size(); ++query) {
    const bool follows = query == 0 || (keys[query].begin >= keys[query - 1].begin &&
                                        keys[query].end >= keys[query - 1].end);
    require(follows && keys[query].begin >= 0 && keys[query].begin < keys[query].end &&
                keys[query].end <= axis.length,
            "intervals", static_cast<std::int64_t>(query), "some keys a query, in ascending order");
  }
}

}  // namespace

TensorStrides heads_first(std::int64_t heads, std::int64_t tokens, std::int64_t head_dim) noexcept {
  return {heads * tokens * head_dim, tokens * head_dim, head_dim};
}

TensorStrides heads_last(std::int64_t heads, std::int64_t tokens, std::int64_t head_dim) noexcept {
  return {tokens * heads * head_dim, head_dim, heads * head_dim};
}

double Problem::softmax_scale() const noexcept {
  return scale.value_or(1.0 / std::sqrt(static_cast<double>(head_dim)));
}

void require_valid(const Problem& problem) {
  const auto at_most = [](std::int64_t value, std::int64_t limit) { return value >= 1 && value <= limit; };
  require(at_most(problem.batch, 1 << 20), "batch", problem.batch, "1 to 1048576");
  require(at_most(problem.heads, 1 << 16), "heads", problem.heads, "1 to 65536");
  require(at_most(problem.heads_kv, problem.heads) && problem.heads % problem.heads_kv == 0, "heads_kv",
          problem.heads_kv, "a divisor of heads");
  require(at_most(problem.q_tokens, kMaxTokens), "q_tokens", problem.q_tokens, "1 to 2^28");
  require(at_most(problem.kv_tokens, kMaxTokens), "kv_tokens", problem.kv_tokens, "1 to 2^28");
  require_strides("q", problem.q);
  require_strides("k", problem.k);
  require_strides("v", problem.v);
  require_strides("o", problem.o);
  const double scale = problem.softmax_scale();
  if (!(scale > 1e-20 && scale < 1e20)) {
    throw InvalidParameter("scale", std::to_string(scale), "1e-20 to 1e20");
  }
  require(problem.extra_tokens >= 0 && problem.extra_tokens <= kMaxTokens, "extra_tokens",
          problem.extra_tokens, "0 to 2^28");
  if (problem.extra_tokens > 0) {
    require_strides("extra_k", problem.extra_k);
    require_strides("extra_v", problem.extra_v);
  }
  if (const Band* band = std::get_if<Band>(&problem.mask)) {
    require(problem.extra_tokens == 0, "extra_tokens", problem.extra_tokens,
            "0 for a sequence: append them to K and V");
    require(band->left.value_or(0) >= 0, "left", band->left.value_or(0), "0 or more");
    require(band->right.value_or(0) >= 0, "right", band->right.value_or(0), "0 or more");
    return;
  }
  const Neighborhood& neighborhood = std::get<Neighborhood>(problem.mask);
  natten_sim::require_valid(neighborhood.mask);
  require_no_cycle(neighborhood.mask, "false: the kernel has windows that end at the borders");
  const std::size_t rank = neighborhood.mask.rank();
  require_extents("q_tile", neighborhood.q_tile, rank, 1, 256);
  require_extents("kv_tile", neighborhood.kv_tile, rank, 1, 256);
  if (rank == 4) {
    require(neighborhood.q_tile[0] == 1, "q_tile", neighborhood.q_tile[0],
            "side 1 along the first of four axes");
    require(neighborhood.kv_tile[0] == 1, "kv_tile", neighborhood.kv_tile[0],
            "side 1 along the first of four axes");
  }
  require_intervals(neighborhood);
  const std::int64_t tokens = product(input_of(neighborhood.mask), "tokens");
  require(problem.q_tokens == tokens && problem.kv_tokens == tokens, "q_tokens", problem.q_tokens,
          "the tokens of the layout, as kv_tokens");
}

namespace {

/// Keys that a query sees, on average over five of them.
double mean_keys(const Problem& problem, const Band& band) {
  double sum = 0;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t diagonal = (problem.q_tokens - 1) * i / 4 + problem.kv_tokens - problem.q_tokens;
    const std::int64_t begin = band.left ? std::max<std::int64_t>(diagonal - *band.left, 0) : 0;
    const std::int64_t end =
        band.right ? std::min(diagonal + *band.right + 1, problem.kv_tokens) : problem.kv_tokens;
    sum += static_cast<double>(std::max<std::int64_t>(end - begin, 0));
  }
  return sum / 5;
}

}  // namespace

KernelShape best_kernel(const Problem& problem) {
  const auto head_dim = static_cast<int>(std::clamp<std::int64_t>(problem.head_dim, 0, 1 << 20));
  const Band* band = std::get_if<Band>(&problem.mask);
  constexpr double kFewKeys = 1200;  // measured: 1024 are few, 2048 are not
  // In fp16 sums may not pass 65,504. Where a row sees few keys of its first tiles its reference may be far
  // below the other scores, and long sums pass that: items would be computed twice.
  const bool narrow_sums = problem.dtype == Dtype::kFp16 && band != nullptr && (band->left || band->right);
  int products = 0;
  // Timed at these head dimensions. Where all tiles are whole masks cost nothing, and room for a third V
  // tile is worth more. Where the scale is tiny the lowest number is not low any more: probabilities are all
  // alike.
  constexpr double kLeastScale = 1e-30;
  if (const auto* neighborhood = std::get_if<Neighborhood>(&problem.mask);
      neighborhood != nullptr && head_dim <= 128 && problem.softmax_scale() >= kLeastScale &&
      !std::ranges::all_of(neighborhood->visits, &VisitedTile::full)) {
    products = mask_products(*neighborhood).count;
  }
  const KernelShape shape = narrow_sums || (band != nullptr && mean_keys(problem, *band) < kFewKeys)
                                ? short_shape(head_dim, problem.dtype, false)
                                : long_shape(head_dim, problem.dtype, band == nullptr, products);
  require(shape.head_dim > 0, "head_dim", problem.head_dim, "64, 96, 128, 160, 192 or 256");
  return shape;
}

Schedule best_schedule(const Problem& problem) {
  Schedule schedule;
  const Band* band = std::get_if<Band>(&problem.mask);
  if (band == nullptr) {  // Q tiles at the border visit fewer tiles
    schedule.dispatch = Dispatch::kTicket;
    return schedule;
  }
  if (!band->left && !band->right) {
    schedule.split_tail = can_split(best_kernel(problem));
    return schedule;
  }
  // Q tiles differ in length: the longest first, over as many heads as half of the L2 holds K and V of.
  schedule.dispatch = Dispatch::kTicket;
  schedule.last_q_tile_first = true;
  constexpr std::int64_t kSectionBytes = std::int64_t{32} << 20;
  const std::int64_t head_bytes = problem.kv_tokens * problem.head_dim * 4;
  while (2 * schedule.heads_a_section * head_bytes <= kSectionBytes) schedule.heads_a_section *= 2;
  return schedule;
}

}  // namespace natten_sim::kernels::attention_forward
