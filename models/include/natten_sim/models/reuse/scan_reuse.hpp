#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/core/split_q.hpp>

namespace natten_sim {

/// Closed forms for a fully associative LRU cache in front of repeated scans of one buffer.
///
/// The stack distance of an access is the number of distinct bytes touched since the last access to the same
/// block, that block included; it hits iff its distance is at most the capacity (Mattson et al., 1970).

/// `passes` scans over `bytes` bytes in blocks of `block_bytes` (the last block may be smaller), with
/// `between_bytes` bytes that are used once touched between a pass and the next.
/// Requires bytes >= 1, block_bytes >= 1, passes >= 1, between_bytes >= 0; at most 2^62 bytes a pass.
struct RepeatedScan {
  std::int64_t bytes = 0;
  std::int64_t block_bytes = 1;
  std::int64_t passes = 1;
  KvOrder order = KvOrder::kCyclic;
  std::int64_t between_bytes = 0;
  std::optional<std::int64_t> last_between_bytes;  ///< bytes between the last two passes, if different
  std::int64_t first_pass = 0;  ///< number of the first pass; a sawtooth with an odd one starts descending
};

/// Bytes that miss a cache of `capacity_bytes`, the first pass included.
///
/// Cyclic and descending: every reuse has the distance N + between, so all or none hit. Sawtooth: a block
/// whose end is x bytes away from the turning point has the distance x + between, so the blocks nearest to
/// the turn hit: without `between` and trailing block, N + (passes - 1) * max(0, N - floor(C / b) * b).
/// O(1). @throws InvalidParameter; OverflowError.
[[nodiscard]] std::int64_t missed_bytes(const RepeatedScan& scan, std::int64_t capacity_bytes);

/// Mean stack distance of the bytes of all passes but the first; empty for one pass. Sawtooth nearly halves
/// the cyclic N: (N + b) / 2. O(1).
[[nodiscard]] std::optional<double> mean_stack_distance_bytes(const RepeatedScan& scan);

/// The order of which LRU misses as few blocks as any replacement policy with any order of the n blocks within the
/// p passes, whatever the capacity of c blocks: n + (p - 1) * max(0, n - c).
///
/// Proof: after a pass the cache holds at most c blocks. The next pass reads all n blocks, of which at least
/// n - c are not held when it starts; each of them is missed once in that pass. The first pass misses n.
/// With a sawtooth the cache holds the c blocks nearest to the turning point, which the next pass reads first.
[[nodiscard]] constexpr KvOrder best_order_of_full_passes() noexcept { return KvOrder::kSawtooth; }

/// `workers` readers that walk the same blocks in lockstep miss once a block: 1 - 1 / workers
/// (Sawtooth paper, section 3.4). Requires workers >= 1.
[[nodiscard]] constexpr double lockstep_hit_rate(std::int64_t workers) noexcept {
  return 1.0 - 1.0 / static_cast<double>(workers);
}

/// Bytes of distance in (previous upto, upto]; sectors of loads and stores that are not cold.
struct DistanceBucket {
  std::int64_t upto_bytes = 0;
  std::int64_t count = 0;
};

/// Misses of split-Q attention whose workers run in lockstep, behind a fully associative LRU cache.
struct LockstepReuse {
  std::int64_t passes = 0;              ///< over K and V of one KV head: waves of resident CTAs
  std::int64_t kv_miss_sectors = 0;     ///< K and V loads
  std::int64_t load_miss_sectors = 0;   ///< Q, K and V loads
  std::int64_t store_miss_sectors = 0;  ///< O stores: all of them
  std::int64_t miss_sectors = 0;        ///< loads and stores
};

/// Exact where it answers, and there equal to sim's `replay_lockstep` at tile granularity. It answers if all
/// of these hold, and is empty otherwise: every Q tile visits every KV tile (dense attention); Q tiles of a
/// KV head fill whole waves of `workers`, or there is one KV head; no Q tile is cut, unless it is the last of
/// all; rows are whole sectors. Valid for persistent round-robin and for a grid launch in order, one Q tile
/// at a time, tiles of a head before the next head. Between two passes the O tiles of a wave and the Q tiles
/// of the next one pass through the cache. O(1). @throws InvalidParameter; OverflowError.
[[nodiscard]] std::optional<LockstepReuse> lockstep_reuse(const SplitQProblem& problem, KvOrder order,
                                                          std::int64_t workers, std::int64_t capacity_bytes);

/// Stack distances of the sectors that are not cold.
struct LockstepDistances {
  std::optional<double> mean_bytes;       ///< empty when all are cold
  std::vector<DistanceBucket> histogram;  ///< powers of two, buckets between the smallest and largest
};

/// Distances of the same accesses; answers when `lockstep_reuse` does. O(log longest distance).
[[nodiscard]] std::optional<LockstepDistances> lockstep_distances(const SplitQProblem& problem, KvOrder order,
                                                                  std::int64_t workers);

/// Smallest sequence length, all else equal, at which a dense or causal kernel on one axis can have misses
/// that are not compulsory. From there on K and V of one head, with the O and Q tiles of two waves between
/// two passes, exceed the capacity, and one wave of `workers` does not cover the head. With a window, the
/// window's K and V take the place of the head's. Exact for one dense head whose CTAs run in step and a
/// capacity of one KV tile or more: below, CTAs of one wave miss what another has just read. With several
/// heads, a causal mask or more than 2^63 pairs of tokens it is the threshold of the capacity: waves that
/// straddle heads can miss below it, and causal waves only above it. Empty when there is no such length up to
/// 2^40, for several axes, and for strides.
[[nodiscard]] std::optional<std::int64_t> first_noncompulsory_seqlen(const SplitQProblem& problem,
                                                                     std::int64_t workers,
                                                                     std::int64_t capacity_bytes);

}  // namespace natten_sim
