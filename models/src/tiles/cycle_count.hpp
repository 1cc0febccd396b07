#pragma once

#include <cstdint>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/tiling.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>

#include "tiles/group_count.hpp"

namespace natten_sim {

/// Counts of one group of a cyclic axis. Streamed tiles lie on a fixed grid, whose last tile may be cut off.
/// Takes cycle_count_steps() steps.
[[nodiscard]] GroupCount count_cycle(const AxisGroup& group, const AxisTiles& tiles, Walk walk);

/// Progressions of walked tiles that count_cycle() adds up; each costs O(log(its tiles)).
[[nodiscard]] std::int64_t cycle_count_steps(const AxisGroup& group, const AxisTiles& tiles, Walk walk);

}  // namespace natten_sim
