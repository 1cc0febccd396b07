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

/// Tests whether a dynamically dispatched schedule is safe from deadlock on any number of workers. Empty if
/// along every dQ order chains are launched before those that wait for them, and the heads of a group in
/// their dK/dV order. Otherwise the first violation by head, Q tile and position (`q_tile` -1: dK/dV). The
/// test is sufficient: among the chains that run, the one launched first waits for nothing that is not done.
///
/// On its own number of workers no such test is needed: a schedule that finishes with some task times
/// finishes with all task times. Chains are launched in order to identical workers, so chain p may start once
/// more than p - workers chains are done; a compute needs the task before it, a reduction its compute and the
/// reduction before it in the order. Every one of these conditions stays true once it is, so what is finally
/// done does not depend on the times. O(tasks). @throws InvalidParameter on a schedule that does not fit.
[[nodiscard]] std::optional<LaunchViolation> find_launch_violation(const BackwardProblem& problem,
                                                                   const BackwardSchedule& schedule);

}  // namespace natten_sim
