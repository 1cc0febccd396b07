// Atomic additions in whatever order they come: not deterministic, the reference point. No semaphore, so no
// tax and no handoff; contention between atomics is not modelled.
#include "launch.hpp"
#include "plan.hpp"

namespace natten_sim::schedules {

SchedulePlan unordered(const ScheduleRequest& request) {
  SchedulePlan plan = ascending(request);
  plan.phases.front().schedule.dq_order.clear();
  plan.phases.front().schedule.dkv_order = DkvOrder::kUnordered;
  return plan;
}

}  // namespace natten_sim::schedules
