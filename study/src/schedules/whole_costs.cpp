#include "schedules/whole_costs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace natten_sim::study {
namespace {

void divide_tasks(std::vector<TaskTimes>& tasks, double parts) {
  for (TaskTimes& task : tasks) {
    for (double* time : {&task.compute_start, &task.compute_end, &task.reduce_start, &task.reduce_end})
      *time /= parts;
  }
}

}  // namespace

WholeCosts whole_costs(const BackwardProblem& problem, const BackwardCosts& costs) {
  const auto fields = [](BackwardCosts& of) {
    std::vector<double*> all = {&of.compute,      &of.compute_partial, &of.reduce,
                                &of.per_tile_tax, &of.handoff,         &of.reduce_kv,
                                &of.prologue,     &of.epilogue,        &of.early_exit};
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
  constexpr int kMaxDecimals = 9;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  double scale = 1;
  const auto whole = [&](const double* value) { return std::round(*value * scale) / scale == *value; };
  for (int decimals = 0; !std::all_of(values.begin(), values.end(), whole); ++decimals, scale *= 10) {
    if (decimals == kMaxDecimals) return {costs, 1.0};
  }
  if (sum * scale * tasks >= kExact) return {costs, 1.0};
  const double halves = costs.kv_turns();  // half of reduce_kv stays whole too
  const double fifths = sum * scale * 5 * halves * tasks < kExact ? 5 * halves : 1;
  WholeCosts result{given, scale * fifths};
  for (double* value : fields(result.costs)) *value = std::round(*value * scale) * fifths;
  return result;
}

void divide_times(FinishedSchedule& schedule, double parts) {
  PlanRun& run = schedule.run;
  for (double* time : {&run.makespan, &run.total_work, &run.lower_bound, &run.bubble.startup,
                       &run.bubble.wait_for_turn, &run.bubble.tail})
    *time /= parts;
  if (schedule.closed_form) *schedule.closed_form /= parts;
  for (ScheduleRun& phase : run.runs) {
    phase.makespan /= parts;
    divide_tasks(phase.tasks, parts);
    for (ChainTimes& chain : phase.chains) chain = {chain.start / parts, chain.end / parts};
  }
  for (DagSolution& dag : schedule.dags) {
    dag.makespan /= parts;
    for (CriticalStep& step : dag.critical_path) {
      step.start /= parts;
      step.end /= parts;
    }
  }
}

}  // namespace natten_sim::study
