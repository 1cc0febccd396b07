#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// The rank of every task in the order of its dQ tile; chain by chain in launch order, tasks in q_order.
/// Lists are of one head at a time, so memory grows with tasks. Requires a valid, ordered schedule.
[[nodiscard]] std::vector<std::int32_t> task_ranks(const BackwardProblem& problem,
                                                   const BackwardSchedule& schedule);

}  // namespace natten_sim
