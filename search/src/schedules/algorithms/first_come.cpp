// A greedy order: KV tiles ascending, and into each dQ tile the chain first that would come first if nobody
// waited, ties by launch. What a kernel author gets who lets an unordered run decide once.
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {

ScheduleAlgorithm first_come() {
  return {.name = "first-come",
          .origin = "greedy",
          .position = 36,
          .plan = [](const ScheduleRequest& request) -> PlanOutcome {
            return reduced_by_visiting_time(request, ascending_launch(request));
          }};
}

}  // namespace natten_sim::schedules
