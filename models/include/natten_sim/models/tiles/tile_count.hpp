#pragma once

#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/axis_count_memo.hpp>

namespace natten_sim {

/// Tile sizes of axis `axis`, in the roles that `walk` gives to Q and KV.
[[nodiscard]] AxisTiles axis_tiles(const TilePair& tiles, std::size_t axis, Walk walk);

/// Counts of each axis, from `count_axis` or what `memo` remembers of it. @throws as count_tiles().
[[nodiscard]] PerAxis<AxisCount> count_axes(const TilingProblem& problem, AxisCountMemo* memo = nullptr);

/// Counts of a multi-dimensional problem from its per-axis counts (one an axis, from `count_axis`).
/// @throws OverflowError naming the count that does not fit.
[[nodiscard]] TileCount combine_axes(const TilingProblem& problem, const PerAxis<AxisCount>& axes);

/// Closed form of all counts of a multi-dimensional tiling: the product over axes of `count_axis`.
/// Rank 1 to 4; any window, stride, dilation, causal mix; static or dynamic KV tiling; forward or backward
/// walk.
/// @throws InvalidParameter on an invalid problem, and on single-dimensional tiling of a layout with several
///         axes or dilation, which does not factorise (sim's `walk_tiles` counts that).
/// @throws OverflowError naming the count that does not fit in 63 bits.
[[nodiscard]] TileCount count_tiles(const TilingProblem& problem);

}  // namespace natten_sim
