// DASH as its authors' repository runs full masks: a static persistent kernel, worker w takes chains w, w +
// workers, .., and the rotation starts at the chain's position within its wave, not at its KV tile. So chains
// of one wave never meet, whichever heads they belong to. dQ is reduced by visiting time: wave after wave,
// and cyclically within one.
#include <algorithm>
#include <functional>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

PlanOutcome plan_wave_shift(const ScheduleRequest& request) {
  const BackwardProblem& problem = request.problem;
  BackwardSchedule schedule = ascending_launch(request);
  schedule.dispatch = request.dispatch.value_or(Dispatch::kStatic);
  schedule.worker = place_in_turn(problem, schedule.dispatch);
  for (std::size_t launch = 0; launch < schedule.chains.size(); ++launch) {
    poll();
    std::vector<std::int32_t>& order = schedule.chains[launch].q_order;
    std::sort(order.begin(), order.end(), polled(std::less<>()));  // whatever the walk: a rotation has an order of its own
    const auto in_wave = static_cast<std::int32_t>(launch % static_cast<std::size_t>(problem.workers));
    const auto start = std::find_if(order.begin(), order.end(),
                                    [&](std::int32_t q) { return q >= in_wave % problem.mask.q_tiles; });
    std::rotate(order.begin(), start == order.end() ? order.begin() : start, order.end());
  }
  return reduced_by_visiting_time(request, std::move(schedule));
}

}  // namespace

ScheduleAlgorithm wave_shift() {
  return {.name = "wave-shift",
          .origin = "DASH's repository, full masks",
          .position = 46,
          .plan = plan_wave_shift};
}

}  // namespace natten_sim::schedules
