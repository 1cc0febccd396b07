#pragma once

#include <cstdint>
#include <optional>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// A chain that waits for the reduction of one launched after it.
struct LaunchViolation {
  std::int32_t head = 0;
  std::int32_t q_tile = 0;
  std::int32_t waiting_kv_tile = 0;
  std::int32_t awaited_kv_tile = 0;  ///< launched later
};

/// Whether a dynamically dispatched schedule is safe from deadlock whatever the times and the number of
/// workers: none if along every dQ order chains were launched before those that wait for them, and heads of a
/// group in their dK/dV order; else the first violation by head, Q tile and position (`q_tile` -1: dK/dV).
/// Sufficient: among the chains that run, the one launched first waits for nothing that is not done. Not
/// necessary: with a violation a run may still finish, as one simulation shows for its own times only. A
/// static schedule needs no such test: if it finishes once its order edges form no cycle, and it finishes at
/// any times. O(tasks). @throws InvalidParameter on a schedule that does not fit.
[[nodiscard]] std::optional<LaunchViolation> find_launch_violation(const BackwardProblem& problem,
                                                                   const BackwardSchedule& schedule);

}  // namespace natten_sim
