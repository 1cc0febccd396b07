#pragma once

#include <natten_sim/sim/schedules/block_mask.hpp>

namespace natten_sim {

/// How many pairs of tiles attend in window_mask() of the same, without making it; O(Q tiles). @throws as it does.
[[nodiscard]] std::int64_t window_tiles(const SequenceTiling& tiling, const SequenceWindow& window);

}  // namespace natten_sim
