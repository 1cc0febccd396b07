// FlashAttention-2's deterministic mode: ceil(workers / heads) CTAs a head, CTA s walks KV tiles s, s +
// splits, .. and adds into a dQ buffer of its own, so no CTA waits; then a second kernel sums the buffers. In
// the second phase a chain is one (head, Q tile) and its tasks are the buffers, each read and added at the
// cost of one reduction: all of them, as FlashAttention-2 does, even those that a mask, or more CTAs than KV
// tiles, left empty. With grouped heads every head has dK and dV of its own, and a third kernel sums those of
// a group: a chain is one (KV head, KV tile), its tasks are the heads.
#include <algorithm>
#include <queue>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

/// Time of a chain that waits for nobody, with its Q tiles in this order.
double lone_chain_time(const BackwardProblem& problem, const BackwardCosts& costs, std::int32_t kv_tile,
                       const std::vector<std::int32_t>& q_order) {
  if (q_order.empty()) return 0;
  const auto stages = static_cast<std::size_t>(costs.writer_stages);
  double handed = costs.prologue;  // when the last result was handed over
  std::vector<double> ends;        // of reductions
  for (const std::int32_t q : q_order) {
    const bool partial = problem.mask.at(q, kv_tile) == TileWork::kPartial;
    if (stages == 0 && !ends.empty()) handed = ends.back();
    handed += partial ? costs.compute_partial : costs.compute;
    if (stages > 0 && ends.size() >= stages) handed = std::max(handed, ends[ends.size() - stages]);
    ends.push_back(std::max(handed, ends.empty() ? 0.0 : ends.back()) + costs.reduce);
  }
  return stages == 0 ? ends.back() + costs.epilogue : std::max(ends.back(), handed + costs.epilogue);
}

/// CTAs, head by head, go to the first free worker, ties to the smaller one. None waits, so all times are
/// known as CTAs are placed, and the result is a static schedule.
BackwardSchedule place_ctas(const ScheduleRequest& request, std::int32_t splits) {
  const BackwardProblem& problem = request.problem;
  const QTiles attended = attended_of_each_kv_tile(problem.mask);
  std::vector<double> times;
  for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv)
    times.push_back(lone_chain_time(problem, request.costs, kv, attended[static_cast<std::size_t>(kv)]));
  using Free = std::pair<double, std::int32_t>;
  std::priority_queue<Free, std::vector<Free>, std::greater<>> workers;
  for (std::int32_t worker = 0; worker < problem.workers; ++worker) workers.emplace(0.0, worker);
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kStatic;
  schedule.dkv_order = DkvOrder::kUnordered;
  std::int64_t cta = 0;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t split = 0; split < splits; ++split, ++cta) {
      poll();
      auto [free, worker] = workers.top();
      workers.pop();
      if (request.dispatch == Dispatch::kStatic) worker = static_cast<std::int32_t>(cta % problem.workers);
      for (std::int32_t kv = split; kv < problem.mask.kv_tiles; kv += splits) {
        schedule.chains.push_back({head, kv, attended[static_cast<std::size_t>(kv)]});
        schedule.worker.push_back(worker);
        free += times[static_cast<std::size_t>(kv)];
      }
      workers.emplace(free, worker);
    }
  }
  return schedule;
}

/// A kernel that adds up `parts` buffers of each of `tiles` tiles, for every one of `heads`.
SchedulePhase sum_of(const char* name, const ScheduleRequest& request, std::int32_t parts, std::int32_t tiles,
                     std::int32_t heads, double cost) {
  ScheduleRequest sum = request;
  const auto cells = static_cast<std::size_t>(parts) * static_cast<std::size_t>(tiles);
  sum.problem.mask = {parts, tiles, MaskCells(cells, TileWork::kFull)};
  sum.problem.heads = heads;
  sum.problem.heads_per_kv_head = 1;
  sum.problem.merged_heads = 1;
  sum.costs = BackwardCosts{.compute = 0, .compute_partial = 0, .reduce = cost};
  sum.dispatch.reset();
  sum.launch.reset();
  BackwardSchedule schedule = ascending_launch(sum);
  schedule.dkv_order = DkvOrder::kUnordered;
  return {name, sum.problem, sum.costs, std::move(schedule)};
}

std::int64_t splits_of(const BackwardProblem& problem) {
  return ceil_divide(std::int64_t{problem.workers}, std::int64_t{problem.heads});
}

PlanOutcome plan_fa2_split(const ScheduleRequest& request) {
  const BackwardProblem& problem = request.problem;
  const auto splits = static_cast<std::int32_t>(splits_of(problem));
  SchedulePlan plan;
  ScheduleRequest buffers = request;
  buffers.problem.heads_per_kv_head = 1;
  buffers.costs.reduce_kv = 0;
  buffers.costs.early_exit = 0;  // a CTA walks several KV tiles: one without tasks is no CTA
  plan.phases.push_back({"buffers", buffers.problem, buffers.costs, place_ctas(buffers, splits)});
  plan.phases.push_back(
      sum_of("sum", request, splits, problem.mask.q_tiles, problem.heads, request.costs.reduce));
  if (const std::int32_t group = problem.heads_per_kv_head; group > 1) {
    plan.phases.push_back(sum_of("sum-kv", request, group, problem.mask.kv_tiles, problem.heads / group,
                                 request.costs.reduce_kv));
  }
  plan.memory = {.dq_buffers = splits, .dkv = DkvMemory::kOneAQueryHead};
  plan.dispatch = request.dispatch.value_or(Dispatch::kDynamic);
  return plan;
}

constexpr std::int64_t kMostBuffers = std::int64_t{1} << 27;

std::optional<std::string> fa2_lacks(const BackwardProblem& problem) {
  const std::int64_t splits = splits_of(problem);
  if (splits * problem.mask.q_tiles * problem.heads <= kMostBuffers) return std::nullopt;
  return "fewer workers: " + std::to_string(splits) + " dQ buffers a head are more than it can sum";
}

}  // namespace

ScheduleAlgorithm fa2_split() {
  return {.name = "fa2-split",
          .origin = "FlashAttention-2",
          .position = 60,
          .plan = plan_fa2_split,
          .ordered = false,
          .lacks = fa2_lacks};
}

}  // namespace natten_sim::schedules
