#include <algorithm>
#include <functional>
#include <string>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 26;
constexpr std::int64_t kMaxBlockBytes = std::int64_t{1} << 30;
constexpr std::int32_t kMaxWorkers = 1 << 20;
constexpr std::int64_t kMaxWalkEntries = std::int64_t{1} << 26;

/// Whether the first row begins in a sector whose other bytes are of rows before it.
std::int64_t shared_with_row_before(std::int64_t begin_row, std::int64_t row_bytes,
                                    std::int64_t sector_bytes) {
  return begin_row * row_bytes % sector_bytes == 0 ? 0 : sector_bytes;
}

std::int64_t rounded_to_sectors(std::int64_t begin_row, std::int64_t rows, std::int64_t row_bytes,
                                std::int64_t sector_bytes) {
  const std::int64_t bytes =
      sector_bytes * touched_sectors(begin_row * row_bytes, (begin_row + rows) * row_bytes, sector_bytes);
  if (bytes <= kMaxBlockBytes) return bytes - shared_with_row_before(begin_row, row_bytes, sector_bytes);
  throw InvalidParameter("tiles", std::to_string(bytes) + " bytes",
                         "tiles of at most 2^30 bytes to simulate");
}

/// Rows of tile `index` of a row-major grid of tiles, cut at the ends of the axes.
std::int64_t rows_of_tile(std::int64_t index, const Extents& lengths, const Extents& tile,
                          const Extents& grid) {
  std::int64_t rows = 1;
  for (std::size_t axis = grid.rank(); axis-- > 0;) {
    const std::int64_t begin = index % grid[axis] * tile[axis];
    rows *= std::min(tile[axis], lengths[axis] - begin);
    index /= grid[axis];
  }
  return rows;
}

void require_permutation(const std::vector<std::int32_t>& pass, std::int64_t tiles, std::size_t number) {
  const std::string where = "pass " + std::to_string(number);
  if (static_cast<std::int64_t>(pass.size()) != tiles) {
    throw InvalidParameter("order", where + " with " + std::to_string(pass.size()) + " tiles",
                           "each of the " + std::to_string(tiles) + " KV tiles once");
  }
  std::vector<bool> seen(pass.size(), false);
  for (const std::int32_t tile : pass) {
    if (tile < 0 || tile >= tiles || seen[static_cast<std::size_t>(tile)]) {
      throw InvalidParameter("order", where + ": tile " + std::to_string(tile),
                             "each of 0.." + std::to_string(tiles - 1) + " once");
    }
    seen[static_cast<std::size_t>(tile)] = true;
  }
}

}  // namespace

void require_simulable_blocks(std::int64_t blocks) {
  if (blocks > kMaxBlocks) {
    throw InvalidParameter("tiles", std::to_string(blocks) + " in all",
                           "at most 2^26 tiles of Q, KV and O to simulate");
  }
}

AttentionWork::AttentionWork(const SplitQProblem& problem, const AttentionSchedule& schedule)
    : schedule_(schedule), rank_(problem.mask.rank()), rows_(problem.rows) {
  require_valid(problem);
  if (schedule.workers < 1 || schedule.workers > kMaxWorkers) {
    throw InvalidParameter("workers", std::to_string(schedule.workers), "1.." + std::to_string(kMaxWorkers),
                           std::to_string(schedule.workers < 1 ? 1 : kMaxWorkers));
  }
  if (schedule.schedule == CtaSchedule::kTile && schedule.launch == LaunchOrder::kHeadsFirst)
    throw InvalidParameter("schedule", "tile, heads first", "tile with the Q tiles of a head first");
  const OperandSizes& sizes = problem.sizes;
  heads_ = sizes.heads;
  heads_kv_ = sizes.heads_kv;
  group_ = sizes.group();
  batch_ = sizes.batch;
  sector_bytes_ = sizes.sector_bytes;
  q_tiles_ = kv_tiles_ = 1;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    const AxisMask& mask = problem.mask[axis];
    q_grid_.push_back(ceil_divide(mask.length, problem.tiles.q_tile[axis]));
    kv_grid_.push_back(ceil_divide(key_length(problem, axis), problem.tiles.kv_tile[axis]));
    q_tiles_ = checked_multiply(q_tiles_, q_grid_[axis], "q_tiles");
    kv_tiles_ = checked_multiply(kv_tiles_, kv_grid_[axis], "kv_tiles");
  }
  items_ = checked_multiply(checked_multiply(q_tiles_, heads_, "q_tiles"), batch_, "q_tiles");
  const std::int64_t all_kv =
      checked_multiply(checked_multiply(kv_tiles_, heads_kv_, "blocks"), batch_, "blocks");
  blocks_ = checked_multiply(checked_add(all_kv, items_, "blocks"), 2, "blocks");
  require_simulable_blocks(blocks_);
  lay_out_blocks(problem);
  if (const auto* permutations = std::get_if<KvPermutations>(&schedule.order))
    take_permutations(*permutations);
  if (const auto* lists = std::get_if<KvLists>(&schedule.order)) take_lists(*lists);
}

void AttentionWork::lay_out_blocks(const SplitQProblem& problem) {
  const std::int64_t key = problem.sizes.key_row_bytes(), value = problem.sizes.value_row_bytes();
  const auto bytes = [&](std::int64_t begin, std::int64_t rows, std::int64_t row_bytes) {
    return rounded_to_sectors(begin, rows, row_bytes, sector_bytes_);
  };
  const auto shared = [&](std::int64_t begin, std::int64_t row_bytes) {
    return shared_with_row_before(begin, row_bytes, sector_bytes_);
  };
  const Extents queries = input_of(problem.mask), keys = problem.keys ? Extents{*problem.keys} : queries;
  for (std::int64_t i = 0, row = 0; i < q_tiles_; ++i) {
    poll();
    const std::int64_t rows = rows_of_tile(i, queries, problem.tiles.q_tile, q_grid_);
    q_tile_.push_back(
        {rows, bytes(row, rows, key), bytes(row, rows, value), shared(row, key), shared(row, value)});
    row += rows;
  }
  for (std::int64_t i = 0, row = 0; i < kv_tiles_; ++i) {
    poll();
    const std::int64_t rows = rows_of_tile(i, keys, problem.tiles.kv_tile, kv_grid_);
    kv_tile_.push_back(
        {rows, bytes(row, rows, key), bytes(row, rows, value), shared(row, key), shared(row, value)});
    row += rows;
  }
  accesses_ = checked_add(visits_of_heads(problem), 2 * items_, "accesses");
}

/// Visits of all heads; lists the ranges of Q tiles.
std::int64_t AttentionWork::visits_of_heads(const SplitQProblem& problem) {
  const std::int64_t heads = checked_multiply(heads_, batch_, "accesses");
  if (rows_) {
    std::int64_t visits = 0;
    for (const std::vector<std::int32_t>& row : rows_->kv_of_q) visits += static_cast<std::int64_t>(row.size());
    return checked_multiply(visits, heads / rows_->masks(), "accesses");
  }
  std::int64_t visits = 1;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    std::vector<TileRange> ranges;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < q_grid_[axis]; ++i) {
      ranges.push_back(visited_kv_tiles(problem, axis, i));
      sum += ranges.back().size();
    }
    visits = checked_multiply(visits, sum, "accesses");
    ranges_.push_back(std::move(ranges));
  }
  return checked_multiply(visits, heads, "accesses");
}

void AttentionWork::take_permutations(const KvPermutations& permutations) {
  if (permutations.passes.empty()) throw InvalidParameter("order", "no pass", "one permutation or more");
  const std::int64_t entries =
      accesses_ / (heads_ * batch_) * (rows() / q_tiles_) * static_cast<std::int64_t>(permutations.passes.size());
  if (entries > kMaxWalkEntries) {
    throw InvalidParameter("order", std::to_string(entries) + " visits in all passes",
                           "at most 2^26 of one head; fewer passes or larger tiles");
  }
  std::vector<std::int64_t> rank_of(static_cast<std::size_t>(kv_tiles_));
  for (std::size_t pass = 0; pass < permutations.passes.size(); ++pass) {
    const std::vector<std::int32_t>& order = permutations.passes[pass];
    require_permutation(order, kv_tiles_, pass);
    for (std::size_t i = 0; i < order.size(); ++i)
      rank_of[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    auto& walks = walks_.emplace_back();
    for (std::int64_t row = 0; row < rows(); ++row) {
      poll();
      std::vector<std::int32_t>& walk = walks.emplace_back(visited_tiles(row));
      std::sort(walk.begin(), walk.end(), polled([&](std::int32_t a, std::int32_t b) {
        return rank_of[static_cast<std::size_t>(a)] < rank_of[static_cast<std::size_t>(b)];
      }));
    }
  }
}

void AttentionWork::take_lists(const KvLists& lists) {
  if (static_cast<std::int64_t>(lists.lists.size()) != rows()) {
    throw InvalidParameter("order", std::to_string(lists.lists.size()) + " lists",
                           "one for each of the " + std::to_string(rows()) + " Q tiles");
  }
  for (std::size_t q = 0; q < lists.lists.size(); ++q) {
    poll();
    std::vector<std::int32_t> sorted = lists.lists[q];
    std::sort(sorted.begin(), sorted.end(), polled(std::less<>()));
    if (sorted != visited_tiles(static_cast<std::int64_t>(q)))
      throw InvalidParameter("order", "the list of Q tile " + std::to_string(q),
                             "each KV tile that it visits once");
  }
  walks_.push_back(lists.lists);
}

/// How many KV tiles it visits.
std::int64_t AttentionWork::visits_of(std::int64_t row) const {
  if (rows_) return static_cast<std::int64_t>(rows_->kv_of_q[static_cast<std::size_t>(row)].size());
  std::int64_t visited = 1;
  for (std::size_t axis = rank_; axis-- > 0; row /= q_grid_[axis])
    visited *= ranges_[axis][static_cast<std::size_t>(row % q_grid_[axis])].size();
  return visited;
}

/// Ascending.
std::vector<std::int32_t> AttentionWork::visited_tiles(std::int64_t row) const {
  std::vector<std::int32_t> tiles;
  for (std::int64_t i = 0, visited = visits_of(row); i < visited; ++i)
    tiles.push_back(static_cast<std::int32_t>(visited_tile(row, i)));
  return tiles;
}

AttentionWork::Item AttentionWork::item(std::int64_t position) const {
  std::int64_t index = 0, batch = 0, head = 0;
  if (schedule_.launch == LaunchOrder::kTilesFirst) {
    index = position % q_tiles_;
    batch = position / q_tiles_ % batch_;
    head = position / q_tiles_ / batch_;
  } else {
    head = position % heads_;
    batch = position / heads_ % batch_;
    index = position / heads_ / batch_;
  }
  Item item;
  item.q_tile = schedule_.last_q_tile_first ? q_tiles_ - 1 - index : index;
  item.number = (batch * heads_ + head) * q_tiles_ + item.q_tile;
  item.kv_base = (batch * heads_kv_ + head / group_) * kv_tiles_;
  item.row = rows_ ? rows_->mask_of(batch, head) * q_tiles_ + item.q_tile : item.q_tile;
  item.kv_tiles = visits_of(item.row);
  return item;
}

BlockAccess AttentionWork::query(const Item& item) const {
  const Tile& tile = q_tile_[static_cast<std::size_t>(item.q_tile)];
  return {blocks_ - 2 * items_ + item.number, tile.key_bytes, Operand::kQuery, tile.key_shared};
}

BlockAccess AttentionWork::output(const Item& item) const {
  const Tile& tile = q_tile_[static_cast<std::size_t>(item.q_tile)];
  return {blocks_ - items_ + item.number, tile.value_bytes, Operand::kOutput, tile.value_shared};
}

/// The `index`-th tile, in ascending order, of those that a Q tile visits.
std::int64_t AttentionWork::visited_tile(std::int64_t row, std::int64_t index) const {
  if (rows_) return rows_->kv_of_q[static_cast<std::size_t>(row)][static_cast<std::size_t>(index)];
  std::int64_t q_tile = row;
  if (rank_ == 1) return ranges_[0][static_cast<std::size_t>(q_tile)].begin + index;
  std::int64_t tile = 0, stride = 1;
  for (std::size_t axis = rank_; axis-- > 0;) {
    const TileRange range = ranges_[axis][static_cast<std::size_t>(q_tile % q_grid_[axis])];
    tile += (range.begin + index % range.size()) * stride;
    index /= range.size();
    q_tile /= q_grid_[axis];
    stride *= kv_grid_[axis];
  }
  return tile;
}

std::int64_t AttentionWork::kv_tile(const Item& item, std::int64_t pass, std::int64_t step) const {
  const auto* order = std::get_if<KvOrder>(&schedule_.order);
  if (order == nullptr) {
    const auto& walks = walks_[static_cast<std::size_t>(pass) % walks_.size()];
    return walks[static_cast<std::size_t>(item.row)][static_cast<std::size_t>(step)];
  }
  const bool down = *order == KvOrder::kDescending || (*order == KvOrder::kSawtooth && pass % 2 != 0);
  return visited_tile(item.row, down ? item.kv_tiles - 1 - step : step);
}

// The blocks of a KV tile lie side by side: neighbouring tiles then load the sets of a cache evenly.
BlockAccess AttentionWork::key(const Item& item, std::int64_t pass, std::int64_t step) const {
  const std::int64_t tile = kv_tile(item, pass, step);
  const Tile& sizes = kv_tile_[static_cast<std::size_t>(tile)];
  return {2 * (item.kv_base + tile), sizes.key_bytes, Operand::kKeyValue, sizes.key_shared};
}

BlockAccess AttentionWork::key_value(const Item& item, std::int64_t pass, std::int64_t step) const {
  BlockAccess both = key(item, pass, step);
  const BlockAccess value = value_of(item, both);
  both.bytes += value.bytes;
  both.shared_bytes += value.shared_bytes;
  return both;
}

BlockAccess AttentionWork::value_of(const Item& item, const BlockAccess& key) const {
  const Tile& sizes = kv_tile_[static_cast<std::size_t>(key.block / 2 - item.kv_base)];
  return {key.block + 1, sizes.value_bytes, Operand::kKeyValue, sizes.value_shared};
}

std::int64_t AttentionWork::multiplied_pairs(const Item& item, const BlockAccess& key) const {
  return q_tile_[static_cast<std::size_t>(item.q_tile)].rows *
         kv_tile_[static_cast<std::size_t>(key.block / 2 - item.kv_base)].rows;
}

Dispatcher::Dispatcher(const AttentionWork& work)
    : schedule_(work.schedule().schedule),
      items_(work.items()),
      workers_(work.schedule().workers),
      q_tiles_(work.q_tiles_per_head()),
      own_(static_cast<std::size_t>(workers_), -1) {
  if (schedule_ != CtaSchedule::kPersistent) return;
  for (std::int32_t worker = 0; worker < workers_; ++worker) own_[static_cast<std::size_t>(worker)] = worker;
}

std::optional<std::int64_t> Dispatcher::next(std::int32_t worker) {
  std::int64_t& own = own_[static_cast<std::size_t>(worker)];
  if (schedule_ == CtaSchedule::kPersistent) {
    if (own >= items_) return std::nullopt;
    const std::int64_t item = own;
    own += workers_;
    return item;
  }
  if (own >= 0) {
    const std::int64_t second = own;
    own = -1;
    return second;
  }
  if (counter_ >= items_) return std::nullopt;
  const std::int64_t item = counter_++;
  if (schedule_ == CtaSchedule::kTile && item % q_tiles_ + 1 < q_tiles_) own = counter_++;
  return item;
}

}  // namespace natten_sim
