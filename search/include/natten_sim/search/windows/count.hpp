#pragma once

#include <functional>

#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/models/tiles/axis_count_memo.hpp>

namespace natten_sim {

/// Exact counts of any tiling: by closed form where tilings factorise over axes, else by enumeration.
/// `progress`, if any, is called with 0..1 while it enumerates.
/// @throws InvalidParameter, OverflowError
[[nodiscard]] TileCount count(const TilingProblem& problem, const std::function<void(double)>& progress = {});

/// What count() says, and what it is a product of.
struct CountByAxes {
  TileCount count;
  PerAxis<AxisCount> axes;  ///< empty: counted by enumeration
};
[[nodiscard]] CountByAxes count_by_axes(const TilingProblem& problem,
                                        const std::function<void(double)>& progress = {},
                                        AxisCountMemo* memo = nullptr);

}  // namespace natten_sim
