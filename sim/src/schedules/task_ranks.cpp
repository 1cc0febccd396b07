#include "schedules/task_ranks.hpp"

#include <natten_sim/core/cancellation.hpp>

#include <cstddef>
#include <utility>

namespace natten_sim {
namespace {

using TileRanks = std::vector<std::pair<std::int32_t, std::int32_t>>;  // (Q tile, rank)

/// For every KV tile the ranks of its tasks, in one head.
std::vector<TileRanks> ranks_of_head(const BackwardProblem& problem, const BackwardSchedule& schedule,
                                     std::size_t head) {
  const auto q_tiles = static_cast<std::size_t>(problem.mask.q_tiles);
  std::vector<TileRanks> ranks(static_cast<std::size_t>(problem.mask.kv_tiles));
  for (std::size_t q = 0; q < q_tiles; ++q) {
    poll();
    std::int32_t rank = 0;
    for (const std::int32_t kv : schedule.dq_order[head * q_tiles + q])
      ranks[static_cast<std::size_t>(kv)].emplace_back(static_cast<std::int32_t>(q), rank++);
  }
  return ranks;
}

}  // namespace

std::vector<std::int32_t> task_ranks(const BackwardProblem& problem, const BackwardSchedule& schedule) {
  std::vector<std::vector<std::size_t>> launches(static_cast<std::size_t>(problem.heads));  // by head
  std::vector<std::size_t> first_task;
  std::size_t tasks = 0;
  for (std::size_t launch = 0; launch < schedule.chains.size(); ++launch) {
    poll();
    launches[static_cast<std::size_t>(schedule.chains[launch].head)].push_back(launch);
    first_task.push_back(tasks);
    tasks += schedule.chains[launch].q_order.size();
  }
  std::vector<std::int32_t> rank(tasks);
  std::vector<std::int32_t> of_q(static_cast<std::size_t>(problem.mask.q_tiles));
  for (std::size_t head = 0; head < launches.size(); ++head) {
    const std::vector<TileRanks> ranks = ranks_of_head(problem, schedule, head);
    for (const std::size_t launch : launches[head]) {
      poll();
      const ScheduledChain& chain = schedule.chains[launch];
      for (const auto& [q, at] : ranks[static_cast<std::size_t>(chain.kv_tile)])
        of_q[static_cast<std::size_t>(q)] = at;
      std::size_t task = first_task[launch];
      for (const std::int32_t q : chain.q_order) rank[task++] = of_q[static_cast<std::size_t>(q)];
    }
  }
  return rank;
}

}  // namespace natten_sim
