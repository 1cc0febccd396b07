#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/models/schedules/launch_monotone.hpp>

namespace natten_sim {

std::optional<LaunchViolation> find_launch_violation(const BackwardProblem& problem,
                                                     const BackwardSchedule& schedule) {
  require_valid(problem, schedule);
  const std::int32_t kv_tiles = problem.mask.kv_tiles, q_tiles = problem.mask.q_tiles;
  std::vector<std::int32_t> launch(schedule.chains.size());
  const auto launched = [&](std::int32_t head, std::int32_t kv) -> std::int32_t& {
    return launch[static_cast<std::size_t>(head) * static_cast<std::size_t>(kv_tiles) +
                  static_cast<std::size_t>(kv)];
  };
  std::int32_t position = 0;
  for (const ScheduledChain& chain : schedule.chains) launched(chain.head, chain.kv_tile) = position++;
  for (std::size_t cell = 0; cell < schedule.dq_order.size(); ++cell) {
    poll();
    const auto head = static_cast<std::int32_t>(cell / static_cast<std::size_t>(q_tiles));
    const std::vector<std::int32_t>& order = schedule.dq_order[cell];
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (launched(head, order[i - 1]) < launched(head, order[i])) continue;
      return LaunchViolation{head, static_cast<std::int32_t>(cell % static_cast<std::size_t>(q_tiles)),
                             order[i], order[i - 1]};
    }
  }
  if (schedule.dkv_order == DkvOrder::kUnordered) return std::nullopt;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    poll();
    if (head % problem.heads_per_kv_head == 0) continue;
    for (std::int32_t kv = 0; kv < kv_tiles; ++kv) {
      if (launched(head - 1, kv) > launched(head, kv)) return LaunchViolation{head, -1, kv, kv};
    }
  }
  return std::nullopt;
}

}  // namespace natten_sim
