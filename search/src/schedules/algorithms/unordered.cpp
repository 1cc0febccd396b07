// Atomic additions in whatever order they come: not deterministic, the reference point. No semaphore, so no
// tax and no handoff; contention between atomics is not modelled.
#include <natten_sim/models/schedules/schedule_closed_form.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

PlanOutcome plan_unordered(const ScheduleRequest& request) {
  BackwardSchedule schedule = ascending_launch(request);
  schedule.dkv_order = DkvOrder::kUnordered;
  return one_phase(request, std::move(schedule));
}

}  // namespace

ScheduleAlgorithm unordered() {
  return {.name = "unordered",
          .origin = "atomics",
          .position = 80,
          .plan = plan_unordered,
          .ordered = false,
          .repeatable = false,
          .ignores_costs = true,
          .closed_form = unordered_closed_form};
}

}  // namespace natten_sim::schedules
