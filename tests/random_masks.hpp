#pragma once

#include <utility>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/random_bits.hpp>

namespace natten_sim::test {

/// A block mask of 1 to `most` tiles an edge: of four cells two are full, one is partial and one is none, on
/// average.
[[nodiscard]] inline BlockMask random_block_mask(RandomSequence& random, std::size_t most) {
  BlockMask mask;
  mask.q_tiles = static_cast<std::int32_t>(1 + random.below(most));
  mask.kv_tiles = static_cast<std::int32_t>(1 + random.below(most));
  std::vector<TileWork> cells(static_cast<std::size_t>(mask.q_tiles * mask.kv_tiles));
  for (TileWork& cell : cells) {
    const TileWork kinds[] = {TileWork::kNone, TileWork::kPartial, TileWork::kFull, TileWork::kFull};
    cell = kinds[random.below(4)];
  }
  mask.work = std::move(cells);
  return mask;
}

}  // namespace natten_sim::test
