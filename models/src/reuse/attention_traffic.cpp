#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMaxQTiles = std::int64_t{1} << 28;

/// As streamed_rows(), of keys that are not as many as queries.
std::int64_t streamed_keys(const SplitQProblem& problem) {
  const std::int64_t q_tiles = ceil_divide(problem.mask[0].length, problem.tiles.q_tile[0]);
  if (!problem.mask[0].causal) return checked_multiply(q_tiles, *problem.keys, "streamed rows");
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < q_tiles; ++i) {
    poll();
    const std::int64_t end = visited_kv_tiles(problem, 0, i).end * problem.tiles.kv_tile[0];
    rows = checked_add(rows, std::min(end, *problem.keys), "streamed rows");
  }
  return rows;
}

/// Rows of K that the Q tiles of one axis load, trailing tiles with their own rows only.
std::int64_t streamed_rows(const SplitQProblem& problem, std::size_t at) {
  if (problem.keys) return streamed_keys(problem);
  const AxisMask& axis = problem.mask[at];
  const std::int64_t q_tile = problem.tiles.q_tile[at], kv_tile = problem.tiles.kv_tile[at];
  const AxisCount count = count_axis(axis, {q_tile, kv_tile}, KvTiling::kStatic);
  const std::int64_t kv_tiles = ceil_divide(axis.length, kv_tile);
  // The end of the visited range does not decrease: find the first Q tile that reaches the last KV tile.
  std::int64_t lo = 0, hi = count.walked_tiles;
  while (lo < hi) {
    const std::int64_t middle = lo + (hi - lo) / 2;
    if (visited_kv_tiles(axis, q_tile, kv_tile, middle).end == kv_tiles) {
      hi = middle;
    } else {
      lo = middle + 1;
    }
  }
  const Int128 rows = static_cast<Int128>(count.visited_tiles) * kv_tile -
                      (static_cast<Int128>(kv_tiles) * kv_tile - axis.length) * (count.walked_tiles - lo);
  return checked_narrow(rows, "streamed rows");
}

/// Sectors of tiles 0 .. index-1, where each tile counts all sectors that it touches. The alignment of tiles
/// repeats after a few of them.
class TileSectors {
 public:
  TileSectors(std::int64_t length, std::int64_t tile, std::int64_t row_bytes, std::int64_t sector_bytes)
      : length_(length), tile_(tile), row_bytes_(row_bytes), sector_bytes_(sector_bytes) {
    const std::int64_t offset =
        static_cast<std::int64_t>(static_cast<Int128>(tile) * row_bytes % sector_bytes);
    const std::int64_t period = offset == 0 ? 1 : sector_bytes / std::gcd(offset, sector_bytes);
    prefix_.push_back(0);
    for (std::int64_t i = 0; i < period; ++i)
      prefix_.push_back(checked_add(prefix_.back(), full(i), "sectors"));
  }
  /// Sum over tiles 0 .. index-1, all of them full.
  [[nodiscard]] std::int64_t before(std::int64_t index) const {
    const auto period = static_cast<std::int64_t>(prefix_.size()) - 1;
    return checked_add(checked_multiply(index / period, prefix_.back(), "sectors"),
                       prefix_[static_cast<std::size_t>(index % period)], "sectors");
  }
  [[nodiscard]] std::int64_t between(std::int64_t begin, std::int64_t end) const {
    const bool trailing = end > length_ / tile_;
    const std::int64_t whole = trailing ? end - 1 : end;
    std::int64_t sum = before(whole) - before(begin);
    if (trailing) sum += touched_sectors(whole * tile_ * row_bytes_, length_ * row_bytes_, sector_bytes_);
    return sum;
  }

 private:
  [[nodiscard]] std::int64_t full(std::int64_t index) const {
    const Int128 begin = static_cast<Int128>(index) * tile_ * row_bytes_;
    const Int128 end = begin + static_cast<Int128>(tile_) * row_bytes_;
    return checked_narrow((end - 1) / sector_bytes_ - begin / sector_bytes_ + 1, "sectors");
  }

  std::int64_t length_;
  std::int64_t tile_;
  std::int64_t row_bytes_;
  std::int64_t sector_bytes_;
  std::vector<std::int64_t> prefix_;
};

/// Loads of one head of an operand whose tiles are walked (each once) or streamed (by every visitor).
struct HeadLoads {
  std::int64_t walked = 0;
  std::int64_t streamed = 0;
};

HeadLoads aligned_loads(const SplitQProblem& problem, std::int64_t sectors_a_row) {
  std::int64_t walked = 1, streamed = 1;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    walked = checked_multiply(walked, problem.mask[axis].length, "sectors");
    streamed = checked_multiply(streamed, streamed_rows(problem, axis), "sectors");
  }
  return {checked_multiply(walked, sectors_a_row, "sectors"),
          checked_multiply(streamed, sectors_a_row, "sectors")};
}

HeadLoads unaligned_loads(const SplitQProblem& problem, std::int64_t row_bytes) {
  const AxisMask& axis = problem.mask[0];
  const std::int64_t q_tile = problem.tiles.q_tile[0], kv_tile = problem.tiles.kv_tile[0];
  const std::int64_t q_tiles = ceil_divide(axis.length, q_tile);
  if (q_tiles > kMaxQTiles) {
    throw InvalidParameter("q_tile", std::to_string(q_tile),
                           "at most 2^28 Q tiles when a row is not whole sectors");
  }
  const TileSectors q_sectors(axis.length, q_tile, row_bytes, problem.sizes.sector_bytes);
  const TileSectors kv_sectors(key_length(problem, 0), kv_tile, row_bytes, problem.sizes.sector_bytes);
  HeadLoads loads{q_sectors.between(0, q_tiles), 0};
  for (std::int64_t i = 0; i < q_tiles; ++i) {
    poll();
    const TileRange range = visited_kv_tiles(problem, 0, i);
    loads.streamed = checked_add(loads.streamed, kv_sectors.between(range.begin, range.end), "sectors");
  }
  return loads;
}

HeadLoads head_loads(const SplitQProblem& problem, std::int64_t row_bytes) {
  const std::int64_t sector = problem.sizes.sector_bytes;
  return row_bytes % sector == 0 ? aligned_loads(problem, row_bytes / sector)
                                 : unaligned_loads(problem, row_bytes);
}

/// Sectors of K or V whose tiles are visited row by row. Rows of tokens are whole sectors.
class RowSectors {
 public:
  RowSectors(const SplitQProblem& problem, std::int64_t row_bytes) : problem_(problem) {
    const std::int64_t keys = key_length(problem, 0), tile = problem.tiles.kv_tile[0];
    for (std::int64_t begin = 0; begin < keys; begin += tile)
      tiles_.push_back((std::min(begin + tile, keys) - begin) * row_bytes / problem.sizes.sector_bytes);
  }

  /// All loads.
  [[nodiscard]] std::int64_t streamed() const {
    const VisitedRows& rows = *problem_.rows;
    std::int64_t sum = 0;
    for (const std::vector<std::int32_t>& row : rows.kv_of_q) {
      poll();
      for (const std::int32_t tile : row) sum = checked_add(sum, tiles_[static_cast<std::size_t>(tile)], "sectors");
    }
    return checked_multiply(sum, problem_.sizes.batch * problem_.sizes.heads / rows.masks(), "sectors");
  }
  /// Those of tiles that a Q tile of any head visits, once for each KV head.
  [[nodiscard]] std::int64_t touched() const {
    const VisitedRows& rows = *problem_.rows;
    const OperandSizes& sizes = problem_.sizes;
    const std::int64_t kv_heads = rows.heads == 1 ? 1 : sizes.heads_kv;  // else all are alike
    std::int64_t sum = 0;
    for (std::int64_t batch = 0; batch < rows.batches; ++batch) {
      for (std::int64_t head = 0; head < kv_heads; ++head) sum = checked_add(sum, touched_by(batch, head), "sectors");
    }
    return checked_multiply(sum, sizes.batch / rows.batches * (sizes.heads_kv / kv_heads), "sectors");
  }

 private:
  [[nodiscard]] std::int64_t touched_by(std::int64_t batch, std::int64_t kv_head) const {
    const VisitedRows& rows = *problem_.rows;
    const std::size_t q_tiles = rows.kv_of_q.size() / static_cast<std::size_t>(rows.masks());
    std::vector<bool> visited(tiles_.size(), false);
    for (std::int64_t i = 0; i < std::min(problem_.sizes.group(), rows.heads); ++i) {
      poll();
      const auto mask = static_cast<std::size_t>(rows.mask_of(batch, kv_head * problem_.sizes.group() + i));
      for (std::size_t q = 0; q < q_tiles; ++q) {
        for (const std::int32_t tile : rows.kv_of_q[mask * q_tiles + q]) visited[static_cast<std::size_t>(tile)] = true;
      }
    }
    std::int64_t sum = 0;
    for (std::size_t tile = 0; tile < tiles_.size(); ++tile) sum += visited[tile] ? tiles_[tile] : 0;
    return sum;
  }

  const SplitQProblem& problem_;
  std::vector<std::int64_t> tiles_;  // sectors of each
};

SectorCounts with_total(SectorCounts counts) {
  for (const std::int64_t part : {counts.q, counts.k, counts.v, counts.o})
    counts.total = checked_add(counts.total, part, "sectors");
  return counts;
}

}  // namespace

AttentionTraffic attention_traffic(const SplitQProblem& problem) {
  require_valid(problem);
  const OperandSizes& sizes = problem.sizes;
  const HeadLoads key = head_loads(problem, sizes.key_row_bytes());
  const HeadLoads value =
      sizes.head_dim_value == sizes.head_dim ? key : head_loads(problem, sizes.value_row_bytes());
  const std::int64_t slabs = checked_multiply(sizes.batch, sizes.heads, "sectors");
  const std::int64_t kv_slabs = sizes.batch * sizes.heads_kv;
  const std::int64_t tokens = product(input_of(problem.mask), "tokens");
  const std::int64_t keys = problem.keys.value_or(tokens);
  const auto cold = [&](std::int64_t rows, std::int64_t row_bytes, std::int64_t count) {
    return checked_multiply(ceil_divide(rows * row_bytes, sizes.sector_bytes), count, "cold_sectors");
  };
  AttentionTraffic traffic;
  if (problem.rows) {
    const RowSectors key_sectors(problem, sizes.key_row_bytes()), value_sectors(problem, sizes.value_row_bytes());
    traffic.sectors = with_total({checked_multiply(key.walked, slabs, "sectors"), key_sectors.streamed(),
                                  value_sectors.streamed(), checked_multiply(value.walked, slabs, "sectors")});
    traffic.cold = with_total({cold(tokens, sizes.key_row_bytes(), slabs), key_sectors.touched(), value_sectors.touched(),
                               cold(tokens, sizes.value_row_bytes(), slabs)});
    return traffic;
  }
  traffic.sectors = with_total(
      {checked_multiply(key.walked, slabs, "sectors"), checked_multiply(key.streamed, slabs, "sectors"),
       checked_multiply(value.streamed, slabs, "sectors"), checked_multiply(value.walked, slabs, "sectors")});
  traffic.cold = with_total(
      {cold(tokens, sizes.key_row_bytes(), slabs), cold(keys, sizes.key_row_bytes(), kv_slabs),
       cold(keys, sizes.value_row_bytes(), kv_slabs), cold(tokens, sizes.value_row_bytes(), slabs)});
  return traffic;
}

std::int64_t kv_head_bytes(const SplitQProblem& problem) {
  require_valid(problem);
  return checked_multiply(problem.keys.value_or(product(input_of(problem.mask), "tokens")),
                          problem.sizes.key_row_bytes() + problem.sizes.value_row_bytes(),
                          "bytes of a KV head");
}

}  // namespace natten_sim
