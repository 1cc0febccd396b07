#pragma once

#include <cstdint>
#include <functional>

#include <natten_sim/core/names.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>

namespace natten_sim {

/// Workers in lockstep. In every step each busy worker, by number, makes one access: first its Q tile, then
/// its KV tiles, one in each step, then its O tile. Then it takes its next Q tile. Time is counted in steps
/// alone: a miss is no slower than a hit.

/// kTile: a tile has one distance, which all its sectors share. kSector: tiles are read sector by sector,
/// ascending.
enum class Granularity { kTile, kSector };

template <>
struct NamesOf<Granularity> {
  static constexpr const char* kConcept = "granularity";
  static constexpr Name<Granularity> kTable[] = {{Granularity::kTile, "tile"},
                                                 {Granularity::kSector, "sector"}};
};

/// Calls `visit` for every access in order. `progress`, if any, is called with 0..1 now and then.
void for_each_lockstep_access(const AttentionWork& work, const std::function<void(const BlockAccess&)>& visit,
                              const std::function<void(double)>& progress = {});

/// Stack distances of the lockstep trace, counted in sectors. Q and O are touched once, so they are cold;
/// all other misses are of K and V. O(accesses log blocks) time; sector granularity multiplies both by the
/// sectors of a tile. @throws InvalidParameter when there are more than 2^28 sectors.
[[nodiscard]] ReuseProfile replay_lockstep(const AttentionWork& work,
                                           Granularity granularity = Granularity::kTile,
                                           const std::function<void(double)>& progress = {});

}  // namespace natten_sim
