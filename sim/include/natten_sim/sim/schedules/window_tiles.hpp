#pragma once

#include <natten_sim/sim/schedules/block_mask.hpp>

namespace natten_sim {

/// How many pairs of tiles attend in window_mask() of the same, without making it; O(Q tiles). @throws as it does.
[[nodiscard]] std::int64_t window_tiles(const SequenceTiling& tiling, const SequenceWindow& window);

/// About how many pairs of tiles attend in joined_mask() of the same, from the first and the last query of some rows of
/// tiles: O(rules * log documents). Keys between dilated ones count. @throws as it does for a rule at fault.
[[nodiscard]] double joined_tiles(const SequenceTiling& tiling, const JoinedMask& mask);

}  // namespace natten_sim
