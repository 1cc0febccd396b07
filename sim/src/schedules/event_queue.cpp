#include "schedules/event_queue.hpp"

#include <cmath>
#include <limits>

#include "schedules/schedule_costs.hpp"

namespace natten_sim {
namespace {

bool is_whole(double cost) { return cost == std::floor(cost); }

}  // namespace

bool sums_are_exact(const BackwardCosts& costs) {
  return is_whole(costs.compute) && is_whole(costs.compute_partial) && is_whole(costs.reduce) &&
         is_whole(costs.per_tile_tax) && is_whole(costs.handoff) && is_whole(costs.handoff_far.value_or(0)) &&
         is_whole(costs.reduce_kv) && is_whole(costs.prologue) && is_whole(costs.epilogue) &&
         is_whole(costs.early_exit);
}

bool reductions_take_time(const BackwardProblem& problem, const BackwardCosts& costs, bool ordered) {
  const double least = most_time(problem, costs) * std::numeric_limits<double>::epsilon();
  return costs.reduce + (ordered ? costs.per_tile_tax : 0.0) > least &&
         (problem.heads_per_kv_head == 1 || costs.kv_turn() > least);
}

}  // namespace natten_sim
