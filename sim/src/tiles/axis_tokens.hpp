#pragma once

#include <vector>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// For each token of the walked operand in one dilation group, the tokens of the streamed one that it meets:
/// the mask rule itself forward; backward, found by asking every query in turn. Of a cyclic group modulo its
/// length, up to a turn before and after it. O(length).
[[nodiscard]] std::vector<TokenRange> met_tokens(const AxisGroup& group, Walk walk);

}  // namespace natten_sim
