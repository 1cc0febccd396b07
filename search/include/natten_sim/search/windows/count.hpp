#pragma once

#include <functional>

#include <natten_sim/core/tile_count.hpp>

namespace natten_sim {

/// Exact counts of any tiling: by closed form where tilings factorise over axes, else by enumeration.
/// `progress`, if any, is called with 0..1 while it enumerates.
/// @throws InvalidParameter, OverflowError
[[nodiscard]] TileCount count(const TilingProblem& problem, const std::function<void(double)>& progress = {});

}  // namespace natten_sim
