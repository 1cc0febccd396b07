#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <natten_sim/sim/attention_work.hpp>
#include <natten_sim/sim/stack_distance.hpp>

namespace natten_sim {

/// Split-Q attention in time: CTAs are processes on SMs in front of one shared cache.
///
/// Worker w is a CTA slot of SM `w mod sms`. A slot loads its Q tile and, `lookahead_tiles` KV tiles at a
/// time, K and V; multiplies tile after tile once they have arrived; stores its O tile; takes its next item.
/// - Cache: fully associative LRU over tiles. A tile is there from the moment it is asked for: a second
///   request for a tile in flight waits for it and reads nothing from DRAM. Stores allocate without a read.
/// - DRAM: one queue at `dram_bytes_per_ns`, for loads in the order of their requests and for stores.
/// - SM: loads pass one port at `hit_bytes_per_ns` when the tile is there, at `miss_bytes_per_ns` when it
///   is not there yet; multiplications share one pipe, first ready, first served: a CTA alone on its SM runs
///   at the SM's full rate.
/// What a miss costs is what the port and the queue make of it; it delays its CTA only where the tiles loaded
/// ahead do not cover it. Nothing is fitted.
///
/// Not modelled: partitions of the L2, instruction issue, power and clock changes, what other CTAs of the SM
/// do while both wait, DRAM pages, L2 bandwidth shared by SMs beyond each SM's port.

struct WavefrontDevice {
  std::int64_t capacity_bytes = 0;  ///< effective: what all SMs can share
  std::int32_t sms = 1;
  double hit_bytes_per_ns = 0;   ///< of one SM
  double miss_bytes_per_ns = 0;  ///< of one SM
  double dram_bytes_per_ns = 0;  ///< of the device
  double pairs_per_ns = 0;       ///< token pairs that one SM multiplies
};

struct WavefrontOptions {
  std::int32_t lookahead_tiles = 1;  ///< KV tiles in flight besides the one in use
  double jitter = 0;  ///< standard deviation of a tile's compute time, as a fraction of it (uniform)
  std::uint64_t seed = 0;
  bool record_distances = false;
};

struct WavefrontRun {
  double time_ns = 0;
  std::int64_t load_sectors = 0;       ///< of Q, K and V
  std::int64_t load_miss_sectors = 0;  ///< of those, read from DRAM
  std::int64_t in_flight_sectors = 0;  ///< of those, asked for while on their way: they hit
  std::int64_t store_sectors = 0;
  double dram_busy_ns = 0;
  std::optional<ReuseProfile> profile;  ///< of the accesses in the order of time, in sectors
};

/// O(accesses log workers); 13 bytes of memory a tile. Deterministic: simultaneous events go by worker
/// number. @throws InvalidParameter on rates that are not positive and finite, jitter outside 0..0.5.
[[nodiscard]] WavefrontRun run_wavefront(const AttentionWork& work, const WavefrontDevice& device,
                                         const WavefrontOptions& options = {},
                                         const std::function<void(double)>& progress = {});

}  // namespace natten_sim
