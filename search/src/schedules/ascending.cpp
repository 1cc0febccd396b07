// FlashAttention-3 until September 2025, and its full masks since: every order ascending.
#include "launch.hpp"
#include "plan.hpp"

namespace natten_sim::schedules {

SchedulePlan ascending(const ScheduleRequest& request) {
  const QTiles attended = attended_of_each_kv_tile(request.problem.mask);
  BackwardSchedule schedule;
  schedule.dispatch = request.dispatch.value_or(Dispatch::kDynamic);
  schedule.chains =
      launch_chains(request.problem, request.launch.value_or(LaunchOrder{}), TileOrder::kAscending,
                    [&](std::int32_t kv) { return attended[static_cast<std::size_t>(kv)]; });
  schedule.worker = place_in_turn(request.problem, schedule.dispatch);
  schedule.dq_order = dq_by_kv_tile(request.problem, TileOrder::kAscending);
  return one_phase(request, std::move(schedule));
}

}  // namespace natten_sim::schedules
