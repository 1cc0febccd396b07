#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/tile_count.hpp>

namespace natten_sim::test {

/// The mask of one axis as a matrix of token pairs, written from the definition and none of the library's
/// rules: a group of `stride` queries takes the window of its leader, which is, of all runs of `window`
/// tokens inside the axis, the one whose left part (window / 2 tokens before the leader) is least out of
/// place. On a cyclic axis the window is not moved: its tokens are taken modulo the length.
[[nodiscard]] std::vector<std::vector<bool>> axis_mask_by_definition(const AxisMask& axis);

/// All counts from the full matrix of token pairs. O(tokens^2).
[[nodiscard]] TileCount count_by_tokens(const TilingProblem& problem);

/// For messages of failing tests.
[[nodiscard]] std::string describe(const TilingProblem& problem);
[[nodiscard]] std::string describe(const TileCount& count);

}  // namespace natten_sim::test
