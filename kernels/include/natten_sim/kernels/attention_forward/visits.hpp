#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/attention_forward/problem.hpp>

namespace natten_sim::kernels::attention_forward {

/// What Neighborhood::visits holds for these tiles: dilation groups, Q tiles and KV tiles in row-major order.
/// A pair is visited when on every axis some query of the tile sees some key of the other. O(visits), after
/// O(length * tiles) an axis.
[[nodiscard]] std::vector<VisitedTile> visits_of(const NeighborhoodMask& mask, const Extents& q_tile,
                                                 const Extents& kv_tile);

/// The same for a sequence whose queries see these keys; see Neighborhood::intervals.
[[nodiscard]] std::vector<VisitedTile> visits_of(const std::vector<TokenRange>& intervals, std::int64_t q_tile,
                                                 std::int64_t kv_tile);

}  // namespace natten_sim::kernels::attention_forward
