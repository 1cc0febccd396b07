// KV tiles are launched and reduced from both ends inwards: 0, n-1, 1, n-2, .. An order of flash-attention's
// pull request 2512.
#include <algorithm>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

/// The place of each KV tile in that order.
std::vector<std::int32_t> places_from_outside(std::int32_t tiles) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(tiles));
  for (std::int32_t i = 0; i < tiles; ++i)
    places[static_cast<std::size_t>(i % 2 == 0 ? i / 2 : tiles - 1 - i / 2)] = i;
  return places;
}

PlanOutcome plan_outside_in(const ScheduleRequest& request) {
  const BlockMask& mask = request.problem.mask;
  const std::vector<std::int32_t> places = places_from_outside(mask.kv_tiles);
  std::vector<std::int32_t> tile_at(places.size());
  for (std::size_t kv = 0; kv < places.size(); ++kv)
    tile_at[static_cast<std::size_t>(places[kv])] = static_cast<std::int32_t>(kv);
  const QTiles walked = walked_q_tiles(mask, request.walk);
  BackwardSchedule schedule = ascending_launch(request);
  for (ScheduledChain& chain : schedule.chains) {
    poll();
    chain.kv_tile = tile_at[static_cast<std::size_t>(chain.kv_tile)];
    chain.q_order = walked[static_cast<std::size_t>(chain.kv_tile)];
  }
  schedule.dq_order = dq_by_kv_tile(request.problem, TileOrder::kAscending);
  for (std::vector<std::int32_t>& order : schedule.dq_order) {
    poll();
    std::sort(order.begin(), order.end(), polled([&](std::int32_t a, std::int32_t b) {
      return places[static_cast<std::size_t>(a)] < places[static_cast<std::size_t>(b)];
    }));
  }
  return one_phase(request, std::move(schedule));
}

}  // namespace

ScheduleAlgorithm outside_in() {
  return {.name = "outside-in",
          .origin = "flash-attention's pull request 2512",
          .position = 35,
          .plan = plan_outside_in,
          .ignores_costs = true};
}

}  // namespace natten_sim::schedules
