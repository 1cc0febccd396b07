#include <string>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/schedules/depth_monotone.hpp>

namespace natten_sim {

std::optional<DepthViolation> find_depth_violation(const BackwardProblem& problem,
                                                   const BackwardSchedule& schedule,
                                                   const std::vector<std::int32_t>& worker) {
  require_valid(problem, schedule);
  if (worker.size() != schedule.chains.size()) {
    throw InvalidParameter("worker", std::to_string(worker.size()) + " workers",
                           std::to_string(schedule.chains.size()) + ", one a chain");
  }
  if (schedule.dq_order.empty()) return std::nullopt;
  const auto q_tiles = static_cast<std::size_t>(problem.mask.q_tiles);
  const auto kv_tiles = static_cast<std::size_t>(problem.mask.kv_tiles);
  std::vector<std::int32_t> next(static_cast<std::size_t>(problem.workers), 0);
  std::vector<std::int32_t> depth(schedule.chains.size() * q_tiles, 0);  // (head, KV tile, Q tile)
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    poll();
    const ScheduledChain& chain = schedule.chains[i];
    if (worker[i] < 0 || worker[i] >= problem.workers)
      throw InvalidParameter("worker", std::to_string(worker[i]),
                             "0.." + std::to_string(problem.workers - 1));
    const std::size_t id =
        static_cast<std::size_t>(chain.head) * kv_tiles + static_cast<std::size_t>(chain.kv_tile);
    for (const std::int32_t q : chain.q_order)
      depth[id * q_tiles + static_cast<std::size_t>(q)] = next[static_cast<std::size_t>(worker[i])]++;
  }
  for (std::size_t cell = 0; cell < schedule.dq_order.size(); ++cell) {
    poll();
    const std::size_t head = cell / q_tiles, q = cell % q_tiles;
    const std::vector<std::int32_t>& order = schedule.dq_order[cell];
    const auto depth_of = [&](std::int32_t kv) {
      return depth[(head * kv_tiles + static_cast<std::size_t>(kv)) * q_tiles + q];
    };
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (depth_of(order[i - 1]) < depth_of(order[i])) continue;
      return DepthViolation{static_cast<std::int32_t>(head),
                            static_cast<std::int32_t>(q),
                            order[i - 1],
                            depth_of(order[i - 1]),
                            order[i],
                            depth_of(order[i])};
    }
  }
  return std::nullopt;
}

}  // namespace natten_sim
