#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <natten_sim/sim/reuse/attention_work.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>

namespace natten_sim {

/// Split-Q attention in time: CTAs are processes on SMs in front of one L2.
///
/// Worker w is a CTA slot of SM `w mod sms`. A slot loads its Q tile; works through its KV tiles, each in two
/// phases, by K (scores and softmax) and by V; stores its O tile; takes its next item. Shared memory holds
/// `stages` tiles of K and as many of V. A phase begins when its operand has arrived, and the operand that
/// the phase before it made room for is asked for then: K of the tile `stages` later during a V phase, V of
/// the tile `stages - 1` later during a K phase. So a kernel of one stage loads half a tile ahead.
/// - L2: LRU over tiles, in partitions (partitioned_l2.hpp). SMs are numbered in launch order, and each
///   is attached to one partition. A tile is there from the moment it
///   is asked for: a second request for a tile in flight waits for it and reads nothing from DRAM. Stores
///   allocate without a read.
/// - DRAM: one queue at `dram_bytes_per_ns`, for loads in the order of their requests and for stores; what it
///   reads is in the L2 `dram_latency_ns` later.
/// - SM: loads pass one port at `hit_bytes_per_ns` when the tile is there, at `miss_bytes_per_ns` when it is
///   not there yet, and arrive `hit_latency_ns` later; the CTAs that multiply at a time share the SM, all of
///   it or, alone, `lone_share` of it. The SM serves the CTA first that has been on it longest. SMs may be
///   unequally fast (`slowness_of_sm`).
///   The cost of a miss follows from the port, the queue and the latencies. A miss delays its CTA only where
///   the loads ahead do not cover it. Nothing is fitted to DRAM traffic.
///
/// Not modelled: instruction issue, power and clocks that change, what a CTA does between two items, DRAM pages,
/// what the fabric between partitions costs, L2 bandwidth shared by SMs beyond each SM's port.

struct WavefrontDevice {
  std::int64_t capacity_bytes = 0;  ///< effective capacity, which all SMs can share: that of one partition
  std::int32_t l2_partitions = 1;   ///< 1..8
  std::optional<std::int32_t> l2_ways = {};  ///< none: fully associative
  std::int32_t sms = 1;
  double hit_bytes_per_ns = 0;   ///< of one SM
  double miss_bytes_per_ns = 0;  ///< of one SM
  double dram_bytes_per_ns = 0;  ///< of the device
  double hit_latency_ns = 0;
  /// Of DRAM beyond that of the L2: the median and the quantiles of 90, 99 and 99.9%, none less than the one
  /// before, linear between them. The least is half as far below the median as the second is above it, the
  /// most half as far above the last as the third is below it.
  std::array<double, 4> dram_latency_ns = {};
  double pairs_per_ns = 0;   ///< token pairs that one SM multiplies, all its slots at work
  double score_share = 0.5;  ///< of a tile's work, the K phase: 0 < share < 1
  double lone_share = 1;     ///< share of that rate that a CTA alone on its SM reaches: 0 < share <= 1
  /// How much longer the youngest CTA of an SM takes for a tile than the oldest, relative to their mean;
  /// those between follow in equal steps. Persistent CTAs are as old as the launch; of equally old ones the
  /// first slot's is the oldest. -1 < skew < 1.
  double slot_skew = 0;
  double jitter = 0;  ///< standard deviation of a tile's compute time, as a fraction of it (uniform)
  /// Standard deviation of what all tiles of an item have in common, as a fraction (uniform).
  double item_jitter = 0;
  /// The L2 partition of each SM, in launch order; SMs beyond the list begin it again. Empty: the SMs of a
  /// partition are numbered consecutively.
  std::vector<std::int32_t> partition_of_sm = {};
  /// The SM of each worker, 0..sms-1. Empty: that of worker w is w mod sms; otherwise one for each worker,
  /// and no SM has more of them than an even distribution gives the fullest.
  std::vector<std::int32_t> sm_of_worker = {};
  /// How much longer each SM takes for the same work than pairs_per_ns says, as a fraction above -1; SMs
  /// beyond the list take no longer.
  std::vector<double> slowness_of_sm = {};
};

struct WavefrontOptions {
  std::int32_t stages = 1;  ///< KV tiles that shared memory holds: 1..16
  std::uint64_t seed = 0;   ///< of the jitters
  bool record_distances = false;
};

struct WavefrontRun {
  double time_ns = 0;
  std::int64_t load_sectors = 0;       ///< of Q, K and V
  std::int64_t load_miss_sectors = 0;  ///< load sectors that were read from DRAM
  std::int64_t fabric_sectors = 0;  ///< crossed between partitions of the L2: loads fetched, stores sent home
  /// Load sectors that were already on their way when asked for; they count as hits.
  std::int64_t in_flight_sectors = 0;
  std::int64_t store_sectors = 0;
  double dram_busy_ns = 0;
  /// Stack distances of the accesses in the order of time, in sectors, as for one cache.
  std::optional<ReuseProfile> profile;
};

/// O(accesses (log workers + slots of an SM)); 8 + 12 partitions^2 bytes of memory a block. Deterministic:
/// simultaneous events go by worker number. @throws InvalidParameter on rates that are not positive and
/// finite, shares, skews and jitter out of range, and what PartitionedL2 refuses.
[[nodiscard]] WavefrontRun run_wavefront(const AttentionWork& work, const WavefrontDevice& device,
                                         const WavefrontOptions& options = {},
                                         const std::function<void(double)>& progress = {});

}  // namespace natten_sim
