#pragma once

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim::kernels::attention_backward {

/// When a worker of a dynamic table draws its next chain. kInTime: when the turn of its last addition has
/// come. kEarly: the same, but two tasks before if that task's addition stands in line for its turn. Then the
/// chain waits with a worker that will be busy for long, and so do all that need its turns. Both give the
/// same bits. They are two kernels: all other launches take that of kEarly.
enum class Draws { kEarly, kInTime };

/// Time that a table takes with the times of a task that were recorded on an H200 (docs/backward-kernel.md),
/// two dQ buffers a worker. Requires a dynamic table that require_runnable accepts, so that every turn waits
/// for a chain launched before: one pass, O(tasks + chains log workers).
[[nodiscard]] double simulated_us(const BackwardProblem& tiles, const BackwardSchedule& schedule,
                                  Draws draws);

/// kInTime for dynamic tables of which simulated_us says that early draws cost more than 3%. kEarly for all
/// others: static tables draw nothing, and where nobody waits there is nothing to gain. So do
/// tables whose chains all have four tasks or fewer.
[[nodiscard]] Draws best_draws(const BackwardProblem& tiles, const BackwardSchedule& schedule);

}  // namespace natten_sim::kernels::attention_backward
