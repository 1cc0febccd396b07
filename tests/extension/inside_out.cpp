// A schedule algorithm that the library does not have: KV tiles are launched from the middle outwards (h,
// h-1, h+1, ..) and dQ is reduced in launch order. This file is all there is to it.
#include <algorithm>
#include <utility>

#include <natten_sim/search/schedules/chain_orders.hpp>

namespace {

using namespace natten_sim;

std::vector<std::int32_t> inside_out_order(std::int32_t tiles) {
  std::vector<std::int32_t> order;
  for (std::int32_t i = 0; i < tiles; ++i) order.push_back(i % 2 == 0 ? i / 2 : tiles - 1 - i / 2);
  std::reverse(order.begin(), order.end());
  return order;
}

PlanOutcome plan_inside_out(const ScheduleRequest& request) {
  const BlockMask& mask = request.problem.mask;
  const std::vector<std::int32_t> order = inside_out_order(mask.kv_tiles);
  BackwardSchedule schedule = schedules::ascending_launch(request);
  for (ScheduledChain& chain : schedule.chains) {
    chain.kv_tile = order[static_cast<std::size_t>(chain.kv_tile)];
    chain.q_order = attended_q_tiles(mask, chain.kv_tile);
  }
  for (std::int32_t head = 0; head < request.problem.heads; ++head) {
    for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
      schedule.dq_order.emplace_back();
      for (const std::int32_t kv : order) {
        if (mask.at(q, kv) != TileWork::kNone) schedule.dq_order.back().push_back(kv);
      }
    }
  }
  return one_phase(request, std::move(schedule));
}

[[maybe_unused]] const ScheduleAlgorithm& kInsideOut = add_schedule_algorithm({.name = "inside-out",
                                                                               .origin = "a test",
                                                                               .position = 45,
                                                                               .plan = plan_inside_out,
                                                                               .ignores_costs = true});

}  // namespace
