// DASH 3.3: chains walk their Q tiles backwards, so that with a causal mask short chains finish first and
// hand their workers to the next head. dQ by ascending KV tile.
#include <algorithm>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/models/schedules/schedule_closed_form.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

PlanOutcome plan_descending(const ScheduleRequest& request) {
  BackwardSchedule schedule = ascending_launch(request);
  for (ScheduledChain& chain : schedule.chains) {
    poll();
    std::reverse(chain.q_order.begin(), chain.q_order.end());
  }
  schedule.dq_order = dq_by_kv_tile(request.problem, TileOrder::kAscending);
  return one_phase(request, std::move(schedule));
}

}  // namespace

ScheduleAlgorithm descending() {
  return {.name = "descending",
          .origin = "DASH, section 3.3",
          .position = 20,
          .plan = plan_descending,
          .ignores_costs = true,
          .closed_form = descending_closed_form};
}

}  // namespace natten_sim::schedules
