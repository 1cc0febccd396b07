// FlashAttention-2's deterministic mode: ceil(workers / heads) CTAs a head, CTA s walks KV tiles s, s +
// splits, .. and adds into a dQ buffer of its own, so no CTA waits; then a second kernel sums the buffers. In
// the second phase a chain is one (head, Q tile) and its tasks are the buffers, each read and added at the
// cost of one reduction (all of them, as FlashAttention-2 does, even those that a mask left empty).
#include <algorithm>
#include <queue>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/search/schedules/schedule_parts.hpp>

namespace natten_sim::schedules {
namespace {

/// CTAs, head by head, go to the first free worker, ties to the smaller one. Only dK/dV of grouped heads
/// waits, and only for CTAs launched before, so all times are known as CTAs are placed, and the result is a
/// static schedule.
class CtaWalk {
 public:
  CtaWalk(const ScheduleRequest& request, std::int32_t splits)
      : request_(request),
        problem_(request.problem),
        splits_(splits),
        attended_(attended_of_each_kv_tile(problem_.mask)) {
    BackwardProblem alone = problem_;  // without the reduction of dK/dV, which the walk places itself
    alone.heads_per_kv_head = 1;
    for (std::int32_t kv = 0; kv < problem_.mask.kv_tiles; ++kv)
      times_.push_back(chain_time(alone, request.costs, kv, ReductionOrder::kUnordered));
    dkv_.resize(static_cast<std::size_t>(problem_.heads / problem_.heads_per_kv_head) * times_.size());
  }

  BackwardSchedule run() {
    using Free = std::pair<double, std::int32_t>;
    std::priority_queue<Free, std::vector<Free>, std::greater<>> workers;
    for (std::int32_t worker = 0; worker < problem_.workers; ++worker) workers.emplace(0.0, worker);
    schedule_.dispatch = Dispatch::kStatic;
    std::int64_t cta = 0;
    for (std::int32_t head = 0; head < problem_.heads; ++head) {
      for (std::int32_t split = 0; split < splits_; ++split, ++cta) {
        auto [free, worker] = workers.top();
        workers.pop();
        if (request_.dispatch == Dispatch::kStatic)
          worker = static_cast<std::int32_t>(cta % problem_.workers);
        workers.emplace(walk(head, split, worker, free), worker);
      }
    }
    return std::move(schedule_);
  }

 private:
  struct LastDkv {
    double end = 0;
    std::int32_t worker = -1;
  };

  /// Launches the chains of one CTA; when it is done.
  double walk(std::int32_t head, std::int32_t split, std::int32_t worker, double time) {
    for (std::int32_t kv = split; kv < problem_.mask.kv_tiles; kv += splits_) {
      const std::vector<std::int32_t>& tiles = attended_[static_cast<std::size_t>(kv)];
      schedule_.chains.push_back({head, kv, tiles});
      schedule_.worker.push_back(worker);
      time += times_[static_cast<std::size_t>(kv)];
      if (problem_.heads_per_kv_head == 1 || tiles.empty()) continue;
      LastDkv& last = dkv_[static_cast<std::size_t>(head / problem_.heads_per_kv_head) * times_.size() +
                           static_cast<std::size_t>(kv)];
      if (last.worker >= 0) time = std::max(time, last.end + handoff_between(last.worker, worker));
      time += request_.costs.reduce_kv;
      last = {time, worker};
    }
    return time;
  }
  [[nodiscard]] double handoff_between(std::int32_t from, std::int32_t to) const {
    if (from == to) return 0;
    return (from - to) % 2 == 0 ? request_.costs.handoff
                                : request_.costs.handoff_far.value_or(request_.costs.handoff);
  }

  const ScheduleRequest& request_;
  const BackwardProblem& problem_;
  std::int32_t splits_;
  QTiles attended_;
  std::vector<double> times_;  // of a chain without dK/dV
  std::vector<LastDkv> dkv_;
  BackwardSchedule schedule_;
};

PlanOutcome plan_fa2_split(const ScheduleRequest& request) {
  const BackwardProblem& problem = request.problem;
  const auto splits = static_cast<std::int32_t>(
      std::min<std::int64_t>(ceil_divide(problem.workers, problem.heads), problem.mask.kv_tiles));
  SchedulePlan plan;
  plan.phases.push_back({"buffers", problem, request.costs, CtaWalk(request, splits).run()});
  ScheduleRequest sum = request;
  sum.problem.mask = {
      splits, problem.mask.q_tiles,
      std::vector<TileWork>(static_cast<std::size_t>(splits) * static_cast<std::size_t>(problem.mask.q_tiles),
                            TileWork::kFull)};
  sum.problem.heads_per_kv_head = 1;
  sum.costs = BackwardCosts{.compute = 0, .compute_partial = 0, .reduce = request.costs.reduce};
  sum.dispatch.reset();
  sum.launch.reset();
  BackwardSchedule schedule = ascending_launch(sum);
  schedule.dkv_order = DkvOrder::kUnordered;
  plan.phases.push_back({"sum", sum.problem, sum.costs, std::move(schedule)});
  plan.dispatch = request.dispatch.value_or(Dispatch::kDynamic);
  return plan;
}

}  // namespace

ScheduleAlgorithm fa2_split() {
  return {.name = "fa2-split",
          .origin = "FlashAttention-2",
          .position = 60,
          .plan = plan_fa2_split,
          .ordered = false};
}

}  // namespace natten_sim::schedules
