#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/mask_cells.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// Which pairs of tiles attend, the same for every head. Row-major (Q tile, KV tile).
struct BlockMask {
  std::int32_t q_tiles = 0;
  std::int32_t kv_tiles = 0;
  MaskCells work;

  [[nodiscard]] TileWork at(std::int32_t q_tile, std::int32_t kv_tile) const {
    return work[static_cast<std::size_t>(q_tile) * static_cast<std::size_t>(kv_tiles) +
                static_cast<std::size_t>(kv_tile)];
  }
  /// Listed by the first call. Requires as many cells as tiles; good until a cell is changed.
  [[nodiscard]] const AttendedTiles& attended() const { return work.attended(q_tiles, kv_tiles); }
  friend bool operator==(const BlockMask&, const BlockMask&) = default;
};

/// The backward pass of attention to schedule. A *chain* is one (head, KV tile): its tasks, one for each Q
/// tile that it attends to, run one after the other on one worker, because dK and dV of the tile stay in
/// registers. A *task* computes, then reduces its part of dQ of (head, Q tile) into global memory.
struct BackwardProblem {
  BlockMask mask;
  std::int32_t heads = 1;  ///< heads times batch
  /// Heads that share one KV head. If there are several, the dK/dV of a KV tile are reduced over the heads of
  /// its group in ascending order, with one more reduction at the end of every chain.
  std::int32_t heads_per_kv_head = 1;
  std::int32_t workers = 1;  ///< SMs times CTAs a SM, at most kMaxWorkers
  /// Query heads whose tasks one chain has, when a chain is one (KV head, KV tile): `heads` counts KV heads,
  /// and the mask has the Q tiles of the first query head, then those of the second, and so on.
  std::int32_t merged_heads = 1;

  friend bool operator==(const BackwardProblem&, const BackwardProblem&) = default;
};

inline constexpr std::int32_t kMaxWorkers = 1 << 20;

/// When a chain passes the turn of a dQ tile on. kAtOnce: at the end of its reduction. kAfterNext: when it
/// has the turn of its next tile, as FlashAttention-4 does on sm_100; behind its last tile, at the end of the
/// reduction. The second can hang where the first does not.
enum class TurnRelease { kAtOnce, kAfterNext };

template <>
struct NamesOf<TurnRelease> {
  static constexpr const char* kConcept = "release";
  static constexpr Name<TurnRelease> kTable[] = {{TurnRelease::kAtOnce, "at-once"},
                                                 {TurnRelease::kAfterNext, "after-next"}};
};

/// How a chain reduces its dK/dV over the heads of its group. kTogether: both in one turn. kApart: dV and
/// then dK, each in a turn of its own and at half of the cost, so that the next head's dV follows this one's
/// dV.
enum class DkvTurns { kTogether, kApart };

template <>
struct NamesOf<DkvTurns> {
  static constexpr const char* kConcept = "dkv-turns";
  static constexpr Name<DkvTurns> kTable[] = {{DkvTurns::kTogether, "together"}, {DkvTurns::kApart, "apart"}};
};

/// Costs in one arbitrary unit of time; finite, not negative. Sums stay exact while they are integers below
/// 2^53.
struct BackwardCosts {
  double compute = 1;
  double compute_partial = 1;  ///< compute of a task whose pair of tiles is partly masked
  double reduce = 1;
  double per_tile_tax = 0;  ///< the semaphore's own cost, paid by every ordered reduction
  /// Latency between the end of a reduction and the start of the next one into the same dQ tile on another
  /// worker.
  double handoff = 0;
  /// The same between workers of different L2 partitions (worker parity); if absent, `handoff`.
  std::optional<double> handoff_far;
  double reduce_kv = 0;  ///< reduction of the dK/dV of one chain; used if heads_per_kv_head > 1
  double prologue = 0;   ///< before a chain's first compute: start of the CTA, loads of K and V
  /// Behind a chain's tasks, before any reduction of its dK/dV: their conversion and stores. Serial: after
  /// the last reduction. With a writer: after the last result is handed to it, beside its reduction.
  double epilogue = 0;
  /// Stages of an asynchronous dQ writer. 0: a worker computes, then reduces (serial). k >= 1: a separate
  /// writer reduces in task order while the worker computes the next tasks; a task's result waits in one of k
  /// buffers.
  std::int32_t writer_stages = 0;
  /// A chain without tasks: a CTA that starts, finds nothing to do and exits.
  double early_exit = 0;
  TurnRelease release = TurnRelease::kAtOnce;
  DkvTurns dkv_turns = DkvTurns::kTogether;

  /// Turns that a chain takes for its dK/dV, with several heads a KV head, and the cost of each.
  [[nodiscard]] std::int32_t kv_turns() const { return dkv_turns == DkvTurns::kApart ? 2 : 1; }
  [[nodiscard]] double kv_turn() const { return reduce_kv / kv_turns(); }
  friend bool operator==(const BackwardCosts&, const BackwardCosts&) = default;
};

/// One chain as a schedule runs it.
struct ScheduledChain {
  std::int32_t head = 0;
  std::int32_t kv_tile = 0;
  std::vector<std::int32_t> q_order;  ///< each attended Q tile once
};

/// In which order a chain takes its tiles, before an algorithm turns or reverses it. Block-sparse kernels
/// (FlashAttention-4) walk the partly masked ones first. Chains of a head that run at a time can begin spread
/// evenly over their tiles, so that a dQ tile's next owner comes as late as it can.
enum class TileWalk { kInOrder, kPartialFirst, kSpread };

template <>
struct NamesOf<TileWalk> {
  static constexpr const char* kConcept = "walk";
  static constexpr Name<TileWalk> kTable[] = {{TileWalk::kInOrder, "in-order"},
                                              {TileWalk::kPartialFirst, "partial-first"},
                                              {TileWalk::kSpread, "spread"}};
};

/// How the dK/dV of one KV tile are reduced over the heads of its group, with heads_per_kv_head > 1.
enum class DkvOrder { kByHead, kUnordered };

/// Every decision of a deterministic schedule.
struct BackwardSchedule {
  Dispatch dispatch = Dispatch::kDynamic;
  /// In launch order. Dynamic: the next chain goes to the first free worker, ties to the smaller worker.
  std::vector<ScheduledChain> chains;
  /// Static dispatch: the worker of each chain, which runs its chains in launch order. Empty for dynamic
  /// dispatch.
  std::vector<std::int32_t> worker;
  /// For each head * q_tiles + Q tile, the KV tiles in the order of their reductions. Empty if reductions are
  /// unordered, as with atomics.
  std::vector<std::vector<std::int32_t>> dq_order;
  DkvOrder dkv_order = DkvOrder::kByHead;
};

/// Q tiles that a KV tile attends to, and KV tiles that a Q tile attends to; ascending.
[[nodiscard]] std::vector<std::int32_t> attended_q_tiles(const BlockMask& mask, std::int32_t kv_tile);
[[nodiscard]] std::vector<std::int32_t> attended_kv_tiles(const BlockMask& mask, std::int32_t q_tile);

/// @throws InvalidParameter naming the size at fault.
void require_valid(const BackwardProblem& problem);

/// Requires every chain once, every attended tile once in its order, workers in range.
/// @throws InvalidParameter naming the chain or dQ tile at fault. Does not look for deadlocks; running the
/// schedule finds them.
void require_valid(const BackwardProblem& problem, const BackwardSchedule& schedule);

}  // namespace natten_sim
