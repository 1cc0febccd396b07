// FlashAttention-3 since September 2025, causal: KV tiles launched last (shortest) first, Q tiles ascending,
// and dQ reduced in launch order. The depth of (KV j, Q i) in its chain is i - j, so the dQ order of a Q tile
// goes through strictly increasing depths.
#include <natten_sim/models/schedules/schedule_closed_form.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

PlanOutcome plan_spt(const ScheduleRequest& request) {
  const QTiles attended = walked_q_tiles(request.problem.mask, request.walk);
  BackwardSchedule schedule;
  schedule.dispatch = request.dispatch.value_or(Dispatch::kDynamic);
  schedule.chains =
      launch_chains(request.problem, request.launch.value_or(HeadSections{}), TileOrder::kDescending,
                    [&](std::int32_t kv) { return attended[static_cast<std::size_t>(kv)]; });
  schedule.worker = place_in_turn(request.problem, schedule.dispatch);
  schedule.dq_order = dq_by_kv_tile(request.problem, TileOrder::kDescending);
  return one_phase(request, std::move(schedule));
}

}  // namespace

ScheduleAlgorithm spt() {
  return {.name = "spt",
          .origin = "FlashAttention-3 since September 2025, causal",
          .position = 30,
          .plan = plan_spt,
          .ignores_costs = true,
          .closed_form = spt_closed_form};
}

}  // namespace natten_sim::schedules
