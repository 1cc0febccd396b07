#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim::schedules {

/// A list schedule: free workers take chains in the order of `chains` (head * kv_tiles + kv_tile, chains with
/// tasks only), and every worker goes on with the Q tile whose reduction could start earliest; ties to the dQ
/// tile with most contributions to come, then to the larger `preference` of the Q tile (empty: none), then to
/// the smaller tile. O(tasks * Q tiles). None when ordered dK/dV never gets its turn in that launch order.
[[nodiscard]] std::optional<BackwardSchedule> list_schedule(const BackwardProblem& problem,
                                                            const BackwardCosts& costs,
                                                            const std::vector<std::int32_t>& chains,
                                                            const std::vector<double>& preference);

/// The same, but every worker takes the chains of its own list.
[[nodiscard]] std::optional<BackwardSchedule> list_schedule(
    const BackwardProblem& problem, const BackwardCosts& costs,
    const std::vector<std::vector<std::int32_t>>& chains_of_worker, const std::vector<double>& preference);

/// Which worker runs which chains in which order, and the Q order of each chain. The order of reductions is open.
struct Assignment {
  std::vector<std::vector<std::int32_t>> of_worker;  ///< chains
  std::vector<std::vector<std::int32_t>> q_order;    ///< of each chain
};

/// Reductions in the order in which they could start. O(tasks log workers). None on a deadlock of dK/dV.
[[nodiscard]] std::optional<BackwardSchedule> first_come_first_served(const BackwardProblem& problem,
                                                                      const BackwardCosts& costs,
                                                                      const Assignment& assignment);

[[nodiscard]] Assignment assignment_of(const BackwardProblem& problem, const BackwardSchedule& schedule,
                                       const std::vector<std::int32_t>& worker);

}  // namespace natten_sim::schedules
