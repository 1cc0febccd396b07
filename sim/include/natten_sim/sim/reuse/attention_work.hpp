#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/core/split_q.hpp>

namespace natten_sim {

struct AttentionSchedule {
  CtaSchedule schedule = CtaSchedule::kPersistent;
  KvWalk order = KvOrder::kCyclic;
  std::int32_t workers = 1;
  LaunchOrder launch = LaunchOrder::kTilesFirst;
  bool last_q_tile_first = false;  ///< Q tiles in descending order: with a causal mask, the longest first
};

enum class Operand : std::uint8_t { kQuery, kKeyValue, kOutput };

/// One tile of one operand that is loaded or stored. K and V of the same rows are neighbours.
struct BlockAccess {
  std::int64_t block = 0;  ///< dense number among all tiles of all operands
  std::int64_t bytes = 0;  ///< whole sectors, without one that it shares with the tile before it
  Operand operand = Operand::kQuery;
  /// Of the sector that it shares with the tile before it, which holds it: moved with this one too, missed
  /// with that one.
  std::int64_t shared_bytes = 0;
};

/// @throws InvalidParameter for more than 2^26 tiles of Q, KV and O in all.
void require_simulable_blocks(std::int64_t blocks);

/// The Q tiles of split-Q attention in launch order, and the blocks that each loads and stores: O(Q tiles +
/// KV tiles) of one head in memory, O(1) (rank 1) or O(rank) a question.
class AttentionWork {
 public:
  /// One Q tile of one head.
  struct Item {
    std::int64_t number = 0;    ///< among all Q tiles of all heads, not in launch order
    std::int64_t q_tile = 0;    ///< number of the Q tile in its head
    std::int64_t row = 0;       ///< of the tiles that it visits: its Q tile, below those of the masks before its own
    std::int64_t kv_base = 0;   ///< number of its KV head's first KV tile, among those of all heads
    std::int64_t kv_tiles = 0;  ///< number of KV tiles that it visits
  };

  /// @throws InvalidParameter on an invalid problem, workers outside 1..2^20, more than 2^26 blocks in all
  ///         or 2^30 bytes in a tile,
  ///         or a list that is not a permutation of the KV tiles, or of those that its Q tile visits.
  AttentionWork(const SplitQProblem& problem, const AttentionSchedule& schedule);

  [[nodiscard]] std::int64_t items() const noexcept { return items_; }
  [[nodiscard]] std::int64_t blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::int64_t q_tiles_per_head() const noexcept { return q_tiles_; }
  /// Loads and stores of all items, K and V of a tile as one.
  [[nodiscard]] std::int64_t accesses() const noexcept { return accesses_; }
  [[nodiscard]] std::int64_t sector_bytes() const noexcept { return sector_bytes_; }
  [[nodiscard]] const AttentionSchedule& schedule() const noexcept { return schedule_; }

  /// The `position`-th item in launch order.
  [[nodiscard]] Item item(std::int64_t position) const;
  [[nodiscard]] BlockAccess query(const Item& item) const;
  [[nodiscard]] BlockAccess output(const Item& item) const;
  /// K and V of the `step`-th KV tile that `item` walks when it is the `pass`-th of its worker, as one block
  /// where they are loaded together.
  [[nodiscard]] BlockAccess key_value(const Item& item, std::int64_t pass, std::int64_t step) const;
  /// Its K alone.
  [[nodiscard]] BlockAccess key(const Item& item, std::int64_t pass, std::int64_t step) const;
  /// V of the same rows as a K.
  [[nodiscard]] BlockAccess value_of(const Item& item, const BlockAccess& key) const;
  /// Token pairs that the item multiplies by that K: whole tiles, cut at the end of an axis.
  [[nodiscard]] std::int64_t multiplied_pairs(const Item& item, const BlockAccess& key) const;

 private:
  [[nodiscard]] std::int64_t kv_tile(const Item& item, std::int64_t pass, std::int64_t step) const;
  [[nodiscard]] std::int64_t visited_tile(std::int64_t row, std::int64_t index) const;
  [[nodiscard]] std::int64_t visits_of(std::int64_t row) const;
  [[nodiscard]] std::int64_t rows() const { return rows_ ? q_tiles_ * rows_->masks() : q_tiles_; }
  void lay_out_blocks(const SplitQProblem& problem);
  [[nodiscard]] std::vector<std::int32_t> visited_tiles(std::int64_t row) const;
  [[nodiscard]] std::int64_t visits_of_heads(const SplitQProblem& problem);
  void take_permutations(const KvPermutations& permutations);
  void take_lists(const KvLists& lists);

  struct Tile {
    std::int64_t rows = 0;
    std::int64_t key_bytes = 0;    // of Q or K
    std::int64_t value_bytes = 0;  // of O or V
    std::int64_t key_shared = 0, value_shared = 0;
  };
  AttentionSchedule schedule_;
  std::size_t rank_ = 1;
  PerAxis<std::int64_t> q_grid_, kv_grid_;
  PerAxis<std::vector<TileRange>> ranges_;  // of each axis, by Q tile index
  std::vector<Tile> q_tile_;                // of one head
  std::vector<Tile> kv_tile_;
  std::vector<std::vector<std::vector<std::int32_t>>>
      walks_;  // (pass, row): KV tiles, of walks without a name
  std::shared_ptr<const VisitedRows> rows_;  // none: ranges_
  std::int64_t heads_ = 1, group_ = 1, batch_ = 1, heads_kv_ = 1;
  std::int64_t q_tiles_ = 0, kv_tiles_ = 0, items_ = 0, blocks_ = 0, accesses_ = 0, sector_bytes_ = 32;
};

/// Hands items to workers as the schedule says. One per run.
class Dispatcher {
 public:
  explicit Dispatcher(const AttentionWork& work);
  /// Position in launch order of the next item of `worker`; empty when there is none.
  [[nodiscard]] std::optional<std::int64_t> next(std::int32_t worker);

 private:
  CtaSchedule schedule_;
  std::int64_t items_;
  std::int32_t workers_;
  std::int64_t q_tiles_;
  std::int64_t counter_ = 0;
  std::vector<std::int64_t> own_;  // (worker): next static item, or the second row of a pair, or -1
};

}  // namespace natten_sim
