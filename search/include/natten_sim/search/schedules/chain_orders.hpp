#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>

/// Parts of schedule constructions, for authors of algorithms.
namespace natten_sim::schedules {

enum class TileOrder { kAscending, kDescending };

/// The attended Q tiles of every KV tile, ascending; the same for every head.
using QTiles = std::vector<std::vector<std::int32_t>>;
[[nodiscard]] QTiles attended_of_each_kv_tile(const BlockMask& mask);
/// The same in the order of a walk: partly masked tiles first, then full ones, each ascending; else all
/// ascending.
[[nodiscard]] QTiles walked_q_tiles(const BlockMask& mask, TileWalk walk);

/// Chains in launch order; the Q order of KV tile j is `q_order(j)`.
[[nodiscard]] std::vector<ScheduledChain> launch_chains(
    const BackwardProblem& problem, const HeadSections& launch, TileOrder kv_tiles,
    const std::function<std::vector<std::int32_t>(std::int32_t)>& q_order);

/// How long after one owner of a dQ tile the next one should come: reduction, tax and handoff, and half of that more,
/// because tasks of a kernel are not all equally long. Of two numbers of heads that were timed on an H200 under full
/// masks this gives the faster one (docs/backward-kernel.md).
[[nodiscard]] double slow_hand_over(const BackwardCosts& costs);
/// The same in tasks, one or more.
[[nodiscard]] std::size_t tasks_of_hand_over(const BackwardCosts& costs);

/// Static dispatch: launch position modulo workers. Dynamic: none.
[[nodiscard]] std::vector<std::int32_t> place_in_turn(const BackwardProblem& problem, Dispatch dispatch);

/// Chains launched with KV tiles and Q tiles ascending, dispatched dynamically unless the request says
/// otherwise; reductions in no order yet.
[[nodiscard]] BackwardSchedule ascending_launch(const ScheduleRequest& request);

/// For each head * q_tiles + Q tile, its KV tiles in the order of their reductions.
using DqOrder = std::vector<std::vector<std::int32_t>>;

/// Every dQ tile's KV tiles in one order.
[[nodiscard]] DqOrder dq_by_kv_tile(const BackwardProblem& problem, TileOrder order);

/// Every dQ tile's KV tiles in the order in which their reductions would start if none waited for another;
/// ties by launch position. A static schedule with this order cannot deadlock, because (time, launch
/// position, place in the chain) increases lexicographically along every order edge. Any deadlock returned is
/// one of dK/dV.
[[nodiscard]] std::variant<DqOrder, Deadlock> dq_by_visiting_time(const BackwardProblem& problem,
                                                                  const BackwardCosts& costs,
                                                                  const BackwardSchedule& schedule);

/// One phase of a schedule whose dQ order is by visiting time.
[[nodiscard]] PlanOutcome reduced_by_visiting_time(const ScheduleRequest& request, BackwardSchedule schedule);

}  // namespace natten_sim::schedules
