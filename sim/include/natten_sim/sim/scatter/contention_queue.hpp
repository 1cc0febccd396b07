#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace natten_sim {

enum class QueuedUpdate {
  kReduction,      ///< `red` and native `atom`: served once
  kCompareAndSwap  ///< a load, then compare-and-swaps until one succeeds
};

/// Warps that update addresses which serve one request at a time. One update is one warp on one address.
struct ContentionQueue {
  QueuedUpdate kind = QueuedUpdate::kReduction;
  std::int64_t warps = 1;           ///< in flight at most; a warp takes the next update when its last is done
  double issue_ns = 0;              ///< time between the starts of two updates, over the whole device
  double service_ns = 1;            ///< time that an address takes for a request
  double round_trip_ns = 0;         ///< from a warp to an address and back, without waiting
  std::int64_t lanes_per_word = 1;  ///< 1 or 2: lanes of a warp that update the same word, one success each
  /// Share of successes that change the word; after the others no contender has to retry.
  double changing_share = 1;
  std::int64_t slices = 1;  ///< number of slices; addresses lie on them round robin
  double slice_ns = 0;      ///< time that a slice takes for a request
  double dram_ns = 0;       ///< time that the DRAM takes for an update
  std::uint64_t seed = 0;   ///< decides which successes change the word
  std::int64_t listed_requests = 0;  ///< so many are listed, in the order in which they are served
};

/// One request at an address: it arrives, waits until the address is free, and is served.
struct ServedRequest {
  std::int64_t warp = 0, address = 0;
  double arrives_ns = 0, starts_ns = 0, ends_ns = 0;
  bool done = false;  ///< the update is: false is a compare-and-swap that has to be tried again
};

struct ContentionRun {
  double time_ns = 0;
  std::int64_t requests = 0;      ///< requests that addresses served, failed ones included
  std::int64_t retries = 0;       ///< compare-and-swaps of a warp in which no lane succeeded
  std::int64_t most_waiting = 0;  ///< warps on one address at once
  std::vector<ServedRequest> first_requests;
};

/// Event simulation: every request is an event, addresses are first come, first served. A compare-and-swap
/// succeeds if the word still is what the warp last saw. O(requests log warps) time, O(addresses + warps)
/// memory. Deterministic. `addresses` holds the address of each update, in order, each 0 .. count - 1.
/// @throws InvalidParameter naming the field at fault.
[[nodiscard]] ContentionRun run_contention(std::span<const std::int64_t> addresses, std::int64_t count,
                                           const ContentionQueue& queue);

}  // namespace natten_sim
