#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>

namespace natten_sim::schedules {
namespace {

/// When each task reduces into dQ, tasks in the order of launches.
using Times = std::vector<double>;

/// Where the chains run as soon as they can, in any order of dQ.
std::variant<Times, Deadlock> unordered_times(const BackwardProblem& problem, const BackwardCosts& costs,
                                              const BackwardSchedule& schedule) {
  BackwardCosts taxed = costs;  // an unordered run would leave the tax out
  taxed.reduce += taxed.per_tile_tax;
  const auto run = [&](const BackwardSchedule& free) {
    return attempt_schedule(problem, taxed, free, RecordTimes::kYes);
  };
  std::variant<ScheduleRun, Deadlock> outcome;
  if (schedule.dq_order.empty()) {
    outcome = run(schedule);
  } else {
    BackwardSchedule free = schedule;
    free.dq_order.clear();
    outcome = run(free);
  }
  if (auto* deadlock = std::get_if<Deadlock>(&outcome)) return std::move(*deadlock);
  Times times;
  times.reserve(std::get<ScheduleRun>(outcome).tasks.size());
  for (const TaskTimes& task : std::get<ScheduleRun>(outcome).tasks) {
    poll();
    times.push_back(task.reduce_start);
  }
  return times;
}

}  // namespace

QTiles attended_of_each_kv_tile(const BlockMask& mask) { return mask.attended().q_of_kv; }

QTiles walked_q_tiles(const BlockMask& mask, TileWalk walk) {
  QTiles tiles = attended_of_each_kv_tile(mask);
  if (walk != TileWalk::kPartialFirst) return tiles;
  for (std::size_t kv = 0; kv < tiles.size(); ++kv) {
    poll();
    std::stable_partition(tiles[kv].begin(), tiles[kv].end(), [&](std::int32_t q) {
      return mask.at(q, static_cast<std::int32_t>(kv)) == TileWork::kPartial;
    });
  }
  return tiles;
}

std::vector<ScheduledChain> launch_chains(
    const BackwardProblem& problem, const HeadSections& launch, TileOrder kv_tiles,
    const std::function<std::vector<std::int32_t>(std::int32_t)>& q_order) {
  const std::int32_t tiles = problem.mask.kv_tiles;
  std::vector<std::vector<std::int32_t>> orders;
  for (std::int32_t kv = 0; kv < tiles; ++kv) orders.push_back(q_order(kv));
  std::vector<ScheduledChain> chains;
  chains.reserve(static_cast<std::size_t>(problem.heads) * static_cast<std::size_t>(tiles));
  for (std::int32_t first = 0; first < problem.heads;) {
    const std::int32_t heads = std::min(launch.heads_per_section, problem.heads - first);
    for (std::int32_t i = 0; i < tiles; ++i) {
      poll();
      const std::int32_t kv = kv_tiles == TileOrder::kAscending ? i : tiles - 1 - i;
      for (std::int32_t head = first; head < first + heads; ++head)
        chains.push_back({head, kv, orders[static_cast<std::size_t>(kv)]});
    }
    first += heads;
  }
  return chains;
}

double slow_hand_over(const BackwardCosts& costs) {
  constexpr double kSlack = 1.5;
  return kSlack * (costs.reduce + costs.per_tile_tax + std::max(costs.handoff, costs.handoff_far.value_or(0)));
}

std::size_t tasks_of_hand_over(const BackwardCosts& costs) {
  constexpr double kMost = 1 << 20;
  if (!(costs.compute > 0)) return 1;
  return static_cast<std::size_t>(std::clamp(std::ceil(slow_hand_over(costs) / costs.compute), 1.0, kMost));
}

std::vector<std::int32_t> place_in_turn(const BackwardProblem& problem, Dispatch dispatch) {
  std::vector<std::int32_t> workers;
  if (dispatch == Dispatch::kDynamic) return workers;
  const std::int64_t chains = std::int64_t{problem.heads} * problem.mask.kv_tiles;
  for (std::int64_t i = 0; i < chains; ++i) workers.push_back(static_cast<std::int32_t>(i % problem.workers));
  return workers;
}

BackwardSchedule ascending_launch(const ScheduleRequest& request) {
  const QTiles attended = walked_q_tiles(request.problem.mask, request.walk);
  BackwardSchedule schedule;
  schedule.dispatch = request.dispatch.value_or(Dispatch::kDynamic);
  schedule.chains =
      launch_chains(request.problem, request.launch.value_or(HeadSections{}), TileOrder::kAscending,
                    [&](std::int32_t kv) { return attended[static_cast<std::size_t>(kv)]; });
  schedule.worker = place_in_turn(request.problem, schedule.dispatch);
  return schedule;
}

DqOrder dq_by_kv_tile(const BackwardProblem& problem, TileOrder order) {
  std::vector<std::vector<std::int32_t>> of_q_tile;
  for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q) {
    poll();
    of_q_tile.push_back(attended_kv_tiles(problem.mask, q));
    if (order == TileOrder::kDescending) std::reverse(of_q_tile.back().begin(), of_q_tile.back().end());
  }
  DqOrder dq_order;
  dq_order.reserve(static_cast<std::size_t>(problem.heads) * of_q_tile.size());
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (const std::vector<std::int32_t>& tiles : of_q_tile) {
      poll();
      dq_order.push_back(tiles);
    }
  }
  return dq_order;
}

std::variant<DqOrder, Deadlock> dq_by_visiting_time(const BackwardProblem& problem,
                                                    const BackwardCosts& costs,
                                                    const BackwardSchedule& schedule) {
  std::variant<Times, Deadlock> outcome = unordered_times(problem, costs, schedule);
  if (auto* deadlock = std::get_if<Deadlock>(&outcome)) return std::move(*deadlock);
  const Times times = std::move(std::get<Times>(outcome));
  const auto q_tiles = static_cast<std::size_t>(problem.mask.q_tiles);
  const auto cell_of = [&](const ScheduledChain& chain, std::int32_t q) {
    return static_cast<std::size_t>(chain.head) * q_tiles + static_cast<std::size_t>(q);
  };
  // All visits in one array, those of a dQ tile side by side: there may be 2^27.
  struct Visit {
    std::uint32_t task;  // in the order of launches
    std::int32_t kv_tile;
  };
  std::vector<Visit> visits(times.size());
  std::vector<std::uint32_t> end(static_cast<std::size_t>(problem.heads) * q_tiles, 0);
  for (const ScheduledChain& chain : schedule.chains) {
    poll();
    for (const std::int32_t q : chain.q_order) ++end[cell_of(chain, q)];
  }
  std::exclusive_scan(end.begin(), end.end(), end.begin(), std::uint32_t{0});
  std::uint32_t task = 0;
  for (const ScheduledChain& chain : schedule.chains) {
    poll();
    for (const std::int32_t q : chain.q_order) visits[end[cell_of(chain, q)]++] = {task++, chain.kv_tile};
  }
  DqOrder dq_order;
  dq_order.reserve(end.size());
  std::uint32_t begin = 0;
  for (const std::uint32_t cell_end : end) {
    poll();
    const std::span<Visit> cell(visits.data() + begin, visits.data() + cell_end);
    begin = cell_end;
    std::sort(cell.begin(), cell.end(), polled([&](const Visit& a, const Visit& b) {
      return std::tie(times[a.task], a.task) < std::tie(times[b.task], b.task);
    }));
    std::vector<std::int32_t>& order = dq_order.emplace_back();
    order.reserve(cell.size());
    for (const Visit& visit : cell) order.push_back(visit.kv_tile);
  }
  return dq_order;
}

PlanOutcome reduced_by_visiting_time(const ScheduleRequest& request, BackwardSchedule schedule) {
  std::variant<DqOrder, Deadlock> order = dq_by_visiting_time(request.problem, request.costs, schedule);
  if (auto* deadlock = std::get_if<Deadlock>(&order)) return std::move(*deadlock);
  schedule.dq_order = std::move(std::get<DqOrder>(order));
  return one_phase(request, std::move(schedule));
}

}  // namespace natten_sim::schedules
