// FlashAttention-3 since September 2025, causal: KV tiles launched last (shortest) first, Q tiles ascending,
// and dQ reduced in launch order. The depth of (KV j, Q i) in its chain is i - j, so the dQ order of a Q tile
// goes through strictly increasing depths.
#include "launch.hpp"
#include "plan.hpp"

namespace natten_sim::schedules {

SchedulePlan spt(const ScheduleRequest& request) {
  const QTiles attended = attended_of_each_kv_tile(request.problem.mask);
  BackwardSchedule schedule;
  schedule.dispatch = request.dispatch.value_or(Dispatch::kDynamic);
  schedule.chains =
      launch_chains(request.problem, request.launch.value_or(LaunchOrder{}), TileOrder::kDescending,
                    [&](std::int32_t kv) { return attended[static_cast<std::size_t>(kv)]; });
  schedule.worker = place_in_turn(request.problem, schedule.dispatch);
  schedule.dq_order = dq_by_kv_tile(request.problem, TileOrder::kDescending);
  return one_phase(request, std::move(schedule));
}

}  // namespace natten_sim::schedules
