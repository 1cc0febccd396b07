#include "plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMostTasks = std::int64_t{1} << 27;

void require_valid(const ScheduleRequest& request) {
  require_valid(request.problem);
  const auto& work = request.problem.mask.work;
  const std::int64_t a_head =
      static_cast<std::int64_t>(work.size()) - std::count(work.begin(), work.end(), TileWork::kNone);
  // Chains count too: those without tasks are still launched.
  const std::int64_t tasks = std::max<std::int64_t>(a_head, request.problem.mask.kv_tiles);
  if (tasks > kMostTasks / request.problem.heads) {
    throw InvalidParameter("tasks",
                           std::to_string(request.problem.heads) + " heads of " + std::to_string(tasks),
                           "at most " + std::to_string(kMostTasks) + " tasks: fewer heads, or larger tiles");
  }
  if (request.launch && request.launch->heads_per_section < 1) {
    throw InvalidParameter("launch_order", std::to_string(request.launch->heads_per_section),
                           "sections of 1 head or more");
  }
  if (request.effort && *request.effort < 0)
    throw InvalidParameter("effort", std::to_string(*request.effort), "0 or more");
}

}  // namespace

namespace schedules {

SchedulePlan one_phase(const ScheduleRequest& request, BackwardSchedule schedule) {
  SchedulePlan plan;
  plan.dispatch = schedule.dispatch;
  plan.phases.push_back({"", request.problem, request.costs, std::move(schedule)});
  return plan;
}

}  // namespace schedules

WholeCosts whole_costs(const BackwardProblem& problem, const BackwardCosts& costs) {
  const auto fields = [](BackwardCosts& of) {
    std::vector<double*> all = {&of.compute,      &of.compute_partial, &of.reduce,
                                &of.per_tile_tax, &of.handoff,         &of.reduce_kv};
    if (of.handoff_far) all.push_back(&*of.handoff_far);
    return all;
  };
  BackwardCosts given = costs;
  const std::vector<double*> values = fields(given);
  const double tasks = static_cast<double>(problem.heads) * static_cast<double>(problem.mask.work.size()) + 1;
  double sum = 0;
  for (const double* value : values) {
    if (!std::isfinite(*value) || *value < 0) return {costs, 1.0};  // for the simulation to refuse
    sum += *value;
  }
  constexpr int kMostDecimals = 9;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  double scale = 1;
  const auto whole = [&](const double* value) { return std::round(*value * scale) / scale == *value; };
  for (int decimals = 0; !std::all_of(values.begin(), values.end(), whole); ++decimals, scale *= 10) {
    if (decimals == kMostDecimals) return {costs, 1.0};
  }
  if (sum * scale * tasks >= kExact) return {costs, 1.0};
  const double fifths = sum * scale * 5 * tasks < kExact ? 5 : 1;
  WholeCosts result{given, scale * fifths};
  for (double* value : fields(result.costs)) *value = std::round(*value * scale) * fifths;
  return result;
}

bool is_ordered(BackwardAlgorithm algorithm) noexcept {
  switch (algorithm) {
    case BackwardAlgorithm::kAscending:
    case BackwardAlgorithm::kDescending:
    case BackwardAlgorithm::kSpt:
    case BackwardAlgorithm::kShift:
    case BackwardAlgorithm::kSymmetricShift:
    case BackwardAlgorithm::kBest:
      return true;
    case BackwardAlgorithm::kFa2Split:
    case BackwardAlgorithm::kTwoPass:
    case BackwardAlgorithm::kUnordered:
      return false;
  }
  return false;
}

SchedulePlan plan_backward(BackwardAlgorithm algorithm, const ScheduleRequest& request) {
  require_valid(request);
  switch (algorithm) {
    case BackwardAlgorithm::kAscending:
      return schedules::ascending(request);
    case BackwardAlgorithm::kDescending:
      return schedules::descending(request);
    case BackwardAlgorithm::kSpt:
      return schedules::spt(request);
    case BackwardAlgorithm::kShift:
      return schedules::shift(request);
    case BackwardAlgorithm::kSymmetricShift:
      return schedules::symmetric_shift(request);
    case BackwardAlgorithm::kFa2Split:
      return schedules::fa2_split(request);
    case BackwardAlgorithm::kTwoPass:
      return schedules::two_pass(request);
    case BackwardAlgorithm::kUnordered:
      return schedules::unordered(request);
    case BackwardAlgorithm::kBest:
      return schedules::best(request);
  }
  return {};
}

PlanRun run_plan(const SchedulePlan& plan, RecordTimes record) {
  PlanRun result;
  double capacity = 0, busy = 0;
  for (const SchedulePhase& phase : plan.phases) {
    ScheduleRun run = run_schedule(phase.problem, phase.costs, phase.schedule, record);
    const ReductionOrder order = !phase.schedule.dq_order.empty() ? ReductionOrder::kPrescribed
                                 : phase.schedule.dkv_order == DkvOrder::kByHead
                                     ? ReductionOrder::kUnorderedDq
                                     : ReductionOrder::kUnordered;
    const ScheduleBounds bounds = schedule_bounds(phase.problem, phase.costs, order);
    result.makespan += run.makespan;
    result.total_work += run.total_work;
    result.bubble.startup += run.bubble.startup;
    result.bubble.wait_for_turn += run.bubble.wait_for_turn;
    result.bubble.tail += run.bubble.tail;
    result.lower_bound += bounds.best();
    if (plan.phases.size() == 1) result.binding = bounds.binding();
    capacity += run.makespan * phase.problem.workers;
    busy += phase.costs.writer_stages == 0 ? run.total_work : run.compute_work;
    result.runs.push_back(std::move(run));
  }
  if (plan.exhausted_at && *plan.exhausted_at > result.lower_bound) {
    result.lower_bound = *plan.exhausted_at;
    result.binding.reset();
  }
  // Fractional costs: the bound and the run round differently.
  if (result.lower_bound > result.makespan && result.lower_bound <= result.makespan * (1 + 1e-9))
    result.lower_bound = result.makespan;
  if (capacity > 0) result.utilization = busy / capacity;
  result.optimality_gap = result.lower_bound > 0 ? result.makespan / result.lower_bound - 1 : 0.0;
  return result;
}

}  // namespace natten_sim
