// FlashAttention-3 until September 2025, and its full masks since: every order ascending.
#include <natten_sim/models/schedules/schedule_closed_form.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

PlanOutcome plan_ascending(const ScheduleRequest& request) {
  BackwardSchedule schedule = ascending_launch(request);
  schedule.dq_order = dq_by_kv_tile(request.problem, TileOrder::kAscending);
  return one_phase(request, std::move(schedule));
}

}  // namespace

ScheduleAlgorithm ascending() {
  return {.name = "ascending",
          .origin = "FlashAttention-3 until September 2025",
          .position = 10,
          .plan = plan_ascending,
          .ignores_costs = true,
          .closed_form = ascending_closed_form};
}

}  // namespace natten_sim::schedules
