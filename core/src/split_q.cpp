#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/split_q.hpp>
#include <natten_sim/core/workload_bounds.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

void require_in(const char* parameter, std::int64_t value, std::int64_t hi) {
  if (value >= 1 && value <= hi) return;
  throw InvalidParameter(parameter, std::to_string(value), "1.." + std::to_string(hi),
                         std::to_string(value < 1 ? 1 : hi));
}

void require_valid(const OperandSizes& sizes) {
  require_in("batch_size", sizes.batch, kMaxBatch);
  require_in("heads", sizes.heads, kMaxHeads);
  require_in("heads_kv", sizes.heads_kv, sizes.heads);
  if (sizes.heads % sizes.heads_kv != 0) {
    throw InvalidParameter("heads_kv", std::to_string(sizes.heads_kv),
                           "a divisor of the heads (" + std::to_string(sizes.heads) + ")");
  }
  require_in("head_dim", sizes.head_dim, std::int64_t{1} << 20);
  require_in("head_dim_value", sizes.head_dim_value, std::int64_t{1} << 20);
  require_in("element_bytes", sizes.element_bytes, 16);
  require_in("sector_bytes", sizes.sector_bytes, std::int64_t{1} << 20);
}

void require_whole_sectors(const char* parameter, std::int64_t row_bytes, const OperandSizes& sizes, const char* of) {
  if (row_bytes % sizes.sector_bytes == 0) return;
  throw InvalidParameter(parameter, std::to_string(row_bytes) + " bytes a token",
                         "rows of whole sectors of " + std::to_string(sizes.sector_bytes) +
                             " bytes for " + of);
}

void require_keys(const SplitQProblem& problem) {
  if (!problem.keys) return;
  const AxisMask& axis = problem.mask[0];
  require_in("seqlen_k", *problem.keys, kMaxAxisLength);
  if (problem.mask.rank() != 1 || axis.window < axis.length || axis.stride != 1) {
    throw InvalidParameter("seqlen_k", std::to_string(*problem.keys),
                           "as many as queries, but for one axis without a window");
  }
  if (axis.causal && *problem.keys < axis.length) {
    throw InvalidParameter("seqlen_k", std::to_string(*problem.keys),
                           std::to_string(axis.length) + " or more with a causal mask",
                           std::to_string(axis.length));
  }
}

void require_rows(const SplitQProblem& problem) {
  if (problem.rows == nullptr) return;
  const VisitedRows& rows = *problem.rows;
  const AxisMask& axis = problem.mask[0];
  if (problem.mask.rank() != 1 || axis.window < axis.length || axis.causal)
    throw InvalidParameter("mask", "blocks beside a window", "one axis without a window and a causal mask");
  for (const auto& [name, all, own] : {std::tuple{"heads", problem.sizes.heads, rows.heads},
                                       std::tuple{"batch_size", problem.sizes.batch, rows.batches}}) {
    if (own < 1 || all % own != 0)
      throw InvalidParameter(name, std::to_string(all), "a multiple of " + std::to_string(own) + ", those of the mask");
  }
  const std::int64_t q_tiles = ceil_divide(axis.length, problem.tiles.q_tile[0]);
  const std::int64_t kv_tiles = ceil_divide(key_length(problem, 0), problem.tiles.kv_tile[0]);
  if (std::cmp_not_equal(rows.kv_of_q.size(), rows.masks() * q_tiles))
    throw InvalidParameter("mask", std::to_string(rows.kv_of_q.size()) + " rows of tiles",
                           std::to_string(rows.masks() * q_tiles));
  for (const std::vector<std::int32_t>& row : rows.kv_of_q) {
    const bool ascending = std::is_sorted(row.begin(), row.end(), std::less_equal<>());
    if (!ascending || (!row.empty() && (row.front() < 0 || row.back() >= kv_tiles)))
      throw InvalidParameter("mask", "a row that is out of order", "KV tiles below " + std::to_string(kv_tiles) + ", ascending");
  }
}

}  // namespace

void require_valid(const SplitQProblem& problem) {
  require_no_cycle(problem.mask, "false: reuse is counted for windows that end at the borders");
  require_valid(TilingProblem{.mask = problem.mask, .tiles = problem.tiles});
  require_valid(problem.sizes);
  const OperandSizes& sizes = problem.sizes;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    if (problem.mask[axis].dilation != 1) {
      throw InvalidParameter("dilation",
                             std::to_string(problem.mask[axis].dilation) + " on axis " + std::to_string(axis),
                             "1 (tiles of a dilated layout are not contiguous)");
    }
  }
  if (problem.mask.rank() > 1 || problem.rows != nullptr) {
    const char* of = problem.rows != nullptr ? "masks of blocks" : "layouts of several axes";
    require_whole_sectors("head_dim", sizes.key_row_bytes(), sizes, of);
    require_whole_sectors("head_dim_value", sizes.value_row_bytes(), sizes, of);
  }
  require_keys(problem);
  require_rows(problem);
  const std::int64_t tokens = std::max(product(input_of(problem.mask), "tokens"), problem.keys.value_or(1));
  const std::int64_t row = std::max(sizes.key_row_bytes(), sizes.value_row_bytes());
  const std::int64_t head = checked_multiply(tokens, row, "bytes of an operand");
  const std::int64_t slabs = checked_multiply(sizes.batch, sizes.heads, "bytes of an operand");
  if (checked_multiply(head, slabs, "bytes of an operand") >= kMaxBytes)
    throw OverflowError("bytes of an operand");
}

TileRange visited_kv_tiles(const AxisMask& axis, std::int64_t q_tile, std::int64_t kv_tile,
                           std::int64_t q_index) {
  const AxisGroup group = residue_class(axis, 0);
  const std::int64_t first = q_index * q_tile;
  const std::int64_t last = q_tile < axis.length - first ? first + q_tile - 1 : axis.length - 1;
  return {attended_range(group, first).begin / kv_tile,
          ceil_divide(attended_range(group, last).end, kv_tile)};
}

bool is_dense(const SplitQProblem& problem) {
  return problem.rows == nullptr && std::all_of(problem.mask.begin(), problem.mask.end(), [](const AxisMask& axis) {
           return axis.window == axis.length && !axis.causal;
         });
}

std::int64_t key_length(const SplitQProblem& problem, std::size_t axis) {
  return problem.keys.value_or(problem.mask[axis].length);
}

TileRange visited_kv_tiles(const SplitQProblem& problem, std::size_t axis, std::int64_t q_index) {
  const AxisMask& mask = problem.mask[axis];
  const std::int64_t q_tile = problem.tiles.q_tile[axis], kv_tile = problem.tiles.kv_tile[axis];
  if (!problem.keys) return visited_kv_tiles(mask, q_tile, kv_tile, q_index);
  const std::int64_t keys = *problem.keys;
  if (!mask.causal) return {0, ceil_divide(keys, kv_tile)};
  const std::int64_t queries = std::min((q_index + 1) * q_tile, mask.length);
  return {0, ceil_divide(keys - mask.length + queries, kv_tile)};
}

}  // namespace natten_sim
