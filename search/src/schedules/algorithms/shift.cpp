// DASH 3.4: KV tile j starts at Q tile j and goes round, so that chains running in step never meet at a dQ
// tile. With a full mask, no fewer Q than KV tiles and equal chains in rounds of `workers`, tasks of one head
// and depth lie in different Q tiles, whatever the workers, so no worker waits. More KV than Q tiles: chains
// of one head would meet, so all heads are launched in one section, and a round holds few chains of each. Any
// other mask: the same rotation of the attended tiles, without that promise.
#include <algorithm>

#include <natten_sim/models/schedules/schedule_closed_form.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/search/schedules/schedule_parts.hpp>

namespace natten_sim::schedules {
namespace {

PlanOutcome plan_shift(const ScheduleRequest& request) {
  const BackwardProblem& problem = request.problem;
  const QTiles attended = attended_of_each_kv_tile(problem.mask);
  const HeadSections own{problem.mask.kv_tiles > problem.mask.q_tiles ? problem.heads : 1};
  BackwardSchedule schedule;
  schedule.dispatch = request.dispatch.value_or(Dispatch::kStatic);
  schedule.chains =
      launch_chains(problem, request.launch.value_or(own), TileOrder::kAscending, [&](std::int32_t kv) {
        std::vector<std::int32_t> order = attended[static_cast<std::size_t>(kv)];
        const auto start = std::lower_bound(order.begin(), order.end(), kv % problem.mask.q_tiles);
        std::rotate(order.begin(), start == order.end() ? order.begin() : start, order.end());
        return order;
      });
  schedule.worker = place_in_turn(problem, schedule.dispatch);
  return reduced_by_visiting_time(request, std::move(schedule));
}

}  // namespace

ScheduleAlgorithm shift() {
  return {.name = "shift",
          .origin = "DASH, section 3.4, full masks",
          .position = 40,
          .plan = plan_shift,
          .closed_form = shift_closed_form};
}

}  // namespace natten_sim::schedules
