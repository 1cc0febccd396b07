// DASH 3.4: KV tile j starts at Q tile j and goes round, so that chains running in step never meet at a dQ
// tile. With a full mask, no fewer Q than KV tiles and equal chains in rounds of `workers`, tasks of one head
// and depth lie in different Q tiles, whatever the workers, so no worker waits. More KV than Q tiles: chains
// of one head would meet, so all heads are launched in one section, and a round holds few chains of each. Any
// other mask: the same rotation of the attended tiles, without that promise.
//
// Spread: an owner hands a dQ tile on after its reduction and a handoff, which can be longer than a task;
// chains that begin a tile apart then wait at every task. So several heads run at a time, each with few
// chains, whose starts lie apart by as many tasks as the hand-over takes, or more. Chains go to the worker
// that is free first. Starts no further apart than that keep the dQ tiles that are added to in the L2: a head of
// 65,536 tokens does not fit in it.
#include <algorithm>
#include <utility>
#include <variant>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/schedules/schedule_closed_form.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

/// Starts of a head's chains in a walk of `tiles` tiles, as many as are at work at a time or a few more: they
/// lie equally far apart.
std::int32_t starts_of(const BackwardProblem& problem, const HeadSections& launch, std::int32_t tiles) {
  const auto of_a_head = static_cast<std::int32_t>(ceil_divide(problem.workers, launch.heads_per_section));
  return std::max(tiles, 1) / std::max(tiles / std::min(problem.mask.kv_tiles, of_a_head), 1);
}

/// The fewest heads at a time with which a dQ tile is handed on, with that slack, before its next owner
/// comes.
HeadSections spread_sections(const ScheduleRequest& request, std::int32_t tiles) {
  const BackwardProblem& problem = request.problem;
  const double hand_over = slow_hand_over(request.costs);
  HeadSections launch{1};
  while (launch.heads_per_section < problem.heads &&
         tiles / starts_of(problem, launch, tiles) * request.costs.compute < hand_over)
    ++launch.heads_per_section;
  return launch;
}

PlanOutcome plan_spread(const ScheduleRequest& request) {
  const BackwardProblem& problem = request.problem;
  const QTiles attended = attended_of_each_kv_tile(problem.mask);
  std::size_t longest = 0;
  for (const std::vector<std::int32_t>& tiles : attended) longest = std::max(longest, tiles.size());
  const auto tiles = static_cast<std::int32_t>(longest);
  const HeadSections launch = request.launch ? *request.launch : spread_sections(request, tiles);
  const auto starts = static_cast<std::size_t>(starts_of(problem, launch, tiles));
  const std::size_t apart = tasks_of_hand_over(request.costs);
  const bool crowds_l2 = !request.launch && longest / starts > apart;
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kDynamic;
  schedule.chains = launch_chains(problem, launch, TileOrder::kAscending, [&](std::int32_t kv) {
    std::vector<std::int32_t> order = attended[static_cast<std::size_t>(kv)];
    const std::size_t number = static_cast<std::size_t>(kv) % starts;
    const std::size_t start = crowds_l2 && !order.empty() ? number * apart % order.size()
                                                          : number * order.size() / starts;
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(start), order.end());
    return order;
  });
  if (request.dispatch != Dispatch::kDynamic) {  // to the worker that is free first, if none waits
    auto outcome = attempt_schedule(problem, request.costs, schedule, RecordTimes::kNo);
    if (auto* deadlock = std::get_if<Deadlock>(&outcome)) return std::move(*deadlock);
    schedule.dispatch = Dispatch::kStatic;
    schedule.worker = std::get<ScheduleRun>(outcome).worker;
  }
  return reduced_by_visiting_time(request, std::move(schedule));
}

PlanOutcome plan_shift(const ScheduleRequest& request) {
  if (request.walk == TileWalk::kSpread) return plan_spread(request);
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
