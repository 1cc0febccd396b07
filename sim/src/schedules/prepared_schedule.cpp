#include "schedules/prepared_schedule.hpp"

#include <natten_sim/core/cancellation.hpp>

#include "schedules/task_ranks.hpp"

namespace natten_sim {

PreparedSchedule::PreparedSchedule(const BackwardProblem& problem, const BackwardSchedule& schedule) {
  const auto kv_tiles = static_cast<std::size_t>(problem.mask.kv_tiles);
  launch_of.assign(schedule.chains.size(), 0);
  for (std::size_t launch = 0; launch < schedule.chains.size(); ++launch) {
    poll();
    const ScheduledChain& chain = schedule.chains[launch];
    launch_of[static_cast<std::size_t>(chain.head) * kv_tiles + static_cast<std::size_t>(chain.kv_tile)] =
        static_cast<std::int32_t>(launch);
    first_task.push_back(tasks);
    tasks += chain.q_order.size();
  }
  if (!schedule.dq_order.empty()) rank = task_ranks(problem, schedule);
}

}  // namespace natten_sim
