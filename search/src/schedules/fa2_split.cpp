// FlashAttention-2's deterministic mode: ceil(workers / heads) CTAs a head, CTA s walks KV tiles s, s +
// splits, .. and adds into a dQ buffer of its own, so nobody waits; then a second kernel sums the buffers. In
// the second phase a chain is one (head, Q tile) and its tasks are the buffers, each read and added at the
// cost of one reduction (all of them, as FlashAttention-2 does, even those that a mask left empty).
#include <algorithm>
#include <queue>

#include <natten_sim/core/checked.hpp>

#include "launch.hpp"
#include "plan.hpp"

namespace natten_sim::schedules {
namespace {

/// CTAs of several chains go to the first free worker, ties to the smaller one; nothing waits, so the times
/// are known beforehand and the result is a static schedule.
BackwardSchedule walk_by_ctas(const ScheduleRequest& request, std::int32_t splits) {
  const BackwardProblem& problem = request.problem;
  const QTiles attended = attended_of_each_kv_tile(problem.mask);
  std::vector<double> time;
  for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv)
    time.push_back(chain_time(problem, request.costs, kv, ReductionOrder::kUnordered));
  using Free = std::pair<double, std::int32_t>;
  std::priority_queue<Free, std::vector<Free>, std::greater<>> workers;
  for (std::int32_t worker = 0; worker < problem.workers; ++worker) workers.emplace(0.0, worker);
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kStatic;
  std::int64_t cta = 0;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t split = 0; split < splits; ++split, ++cta) {
      auto [free, worker] = workers.top();
      workers.pop();
      if (request.dispatch == Dispatch::kStatic) worker = static_cast<std::int32_t>(cta % problem.workers);
      for (std::int32_t kv = split; kv < problem.mask.kv_tiles; kv += splits) {
        schedule.chains.push_back({head, kv, attended[static_cast<std::size_t>(kv)]});
        schedule.worker.push_back(worker);
        free += time[static_cast<std::size_t>(kv)];
      }
      workers.emplace(free, worker);
    }
  }
  return schedule;
}

}  // namespace

SchedulePlan fa2_split(const ScheduleRequest& request) {
  const BackwardProblem& problem = request.problem;
  const auto splits = static_cast<std::int32_t>(
      std::min<std::int64_t>(ceil_divide(problem.workers, problem.heads), problem.mask.kv_tiles));
  SchedulePlan plan;
  plan.phases.push_back({"buffers", problem, request.costs, walk_by_ctas(request, splits)});
  ScheduleRequest sum = request;
  sum.problem.mask = {
      splits, problem.mask.q_tiles,
      std::vector<TileWork>(static_cast<std::size_t>(splits) * static_cast<std::size_t>(problem.mask.q_tiles),
                            TileWork::kFull)};
  sum.problem.heads_per_kv_head = 1;
  sum.costs = BackwardCosts{.compute = 0, .compute_partial = 0, .reduce = request.costs.reduce};
  sum.dispatch.reset();
  sum.launch.reset();
  plan.phases.push_back(unordered(sum).phases.front());
  plan.phases.back().name = "sum";
  return plan;
}

}  // namespace natten_sim::schedules
