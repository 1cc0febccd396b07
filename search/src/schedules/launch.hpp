#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <natten_sim/search/backward_schedules.hpp>

namespace natten_sim::schedules {

enum class TileOrder { kAscending, kDescending };

/// The attended Q tiles of every KV tile, ascending; the same for every head.
using QTiles = std::vector<std::vector<std::int32_t>>;
[[nodiscard]] QTiles attended_of_each_kv_tile(const BlockMask& mask);

/// Chains in launch order; the Q order of KV tile j is `q_order(j)`.
[[nodiscard]] std::vector<ScheduledChain> launch_chains(
    const BackwardProblem& problem, const LaunchOrder& launch, TileOrder kv_tiles,
    const std::function<std::vector<std::int32_t>(std::int32_t)>& q_order);

/// Static dispatch: launch position modulo workers. Dynamic: none.
[[nodiscard]] std::vector<std::int32_t> place_in_turn(const BackwardProblem& problem, Dispatch dispatch);

/// Every dQ tile's KV tiles in one order.
[[nodiscard]] std::vector<std::vector<std::int32_t>> dq_by_kv_tile(const BackwardProblem& problem,
                                                                   TileOrder order);

/// Every dQ tile's KV tiles in the order in which their reductions would start if none waited for another;
/// ties by launch position. A static schedule with this order cannot deadlock: along every order edge (time,
/// launch position, place in the chain) increases lexicographically.
[[nodiscard]] std::vector<std::vector<std::int32_t>> dq_by_visiting_time(const BackwardProblem& problem,
                                                                         const BackwardCosts& costs,
                                                                         const BackwardSchedule& schedule);

}  // namespace natten_sim::schedules
