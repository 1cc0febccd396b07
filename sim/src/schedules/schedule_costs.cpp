#include "schedules/schedule_costs.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

double largest_task(const BackwardCosts& costs) {
  return std::max(costs.compute, costs.compute_partial) + costs.reduce + costs.per_tile_tax +
         std::max(costs.handoff, costs.handoff_far.value_or(0.0)) + costs.reduce_kv + costs.prologue +
         costs.epilogue + costs.early_exit;
}

}  // namespace

void require_valid_costs(const BackwardProblem& problem, const BackwardCosts& costs) {
  for (const auto& [name, value] :
       {std::pair{"compute", costs.compute}, std::pair{"compute_partial", costs.compute_partial},
        std::pair{"reduce", costs.reduce}, std::pair{"tax", costs.per_tile_tax},
        std::pair{"handoff", costs.handoff}, std::pair{"handoff_far", costs.handoff_far.value_or(0.0)},
        std::pair{"reduce_kv", costs.reduce_kv}, std::pair{"prologue", costs.prologue},
        std::pair{"epilogue", costs.epilogue}, std::pair{"early_exit", costs.early_exit}}) {
    if (!std::isfinite(value) || value < 0)
      throw InvalidParameter(name, std::to_string(value), "a finite number of 0 or more");
  }
  if (costs.writer_stages < 0 || costs.writer_stages > 64) {
    throw InvalidParameter("writer_stages", std::to_string(costs.writer_stages), "0 (serial) to 64");
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53: integers are exact below
  if (most_time(problem, costs) >= kExact) {
    throw InvalidParameter("costs", std::to_string(largest_task(costs)) + " a task",
                           "costs whose sum over all tasks is below 2^53");
  }
}

double most_time(const BackwardProblem& problem, const BackwardCosts& costs) {
  const double tasks = static_cast<double>(problem.heads) * static_cast<double>(problem.mask.work.size());
  return largest_task(costs) * (tasks + 1);
}

double handoff(const BackwardCosts& costs, std::int32_t from, std::int32_t to) {
  if (from == to) return 0.0;
  return (from - to) % 2 == 0 ? costs.handoff : costs.handoff_far.value_or(costs.handoff);
}

}  // namespace natten_sim
