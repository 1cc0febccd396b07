#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/schedule_fit.hpp>

namespace natten_sim {
namespace {

class TimedVariant {
 public:
  TimedVariant(const ThroughputComparison& comparison, const ScheduleVariant& variant)
      : comparison_(comparison), variant_(variant) {
    if (variant.algorithm.get().ignores_costs)
      schedule_.emplace(comparison.problem, std::move(plan({}).phases.front().schedule));
  }

  [[nodiscard]] double makespan(BackwardCosts costs) const {
    const bool turns = variant_.algorithm.get().ordered || comparison_.problem.heads_per_kv_head > 1;
    if (!turns) {
      costs.per_tile_tax = costs.handoff = 0;
      costs.handoff_far = std::nullopt;
    }
    if (last_ && last_->first == costs) return last_->second;
    last_.emplace(costs, run(costs));
    return last_->second;
  }

 private:
  [[nodiscard]] double run(const BackwardCosts& costs) const {
    if (schedule_) return schedule_->makespan(costs);
    double sum = 0;
    SchedulePlan planned = plan(costs);
    for (SchedulePhase& phase : planned.phases)
      sum += RepeatedSchedule(std::move(phase.problem), std::move(phase.schedule)).makespan(phase.costs);
    return sum;
  }

  [[nodiscard]] SchedulePlan plan(const BackwardCosts& costs) const {
    ScheduleRequest request;
    request.problem = comparison_.problem;
    request.costs = costs;
    request.dispatch = variant_.dispatch;
    request.launch = comparison_.launch;
    return plan_backward(variant_.algorithm, request);
  }

  const ThroughputComparison& comparison_;
  ScheduleVariant variant_;
  std::optional<RepeatedSchedule> schedule_;
  /// Of the last costs; without what turns cost where there are none.
  mutable std::optional<std::pair<BackwardCosts, double>> last_;
};

class TimedComparison {
 public:
  explicit TimedComparison(const ThroughputComparison& comparison)
      : elsewhere_(comparison.elsewhere), reference_(comparison, comparison.reference) {
    if (!(elsewhere_ >= 0) || !std::isfinite(elsewhere_))
      throw InvalidParameter("elsewhere", std::to_string(elsewhere_), "a finite number, 0 or more");
    for (const ScheduleVariant& variant : comparison.schedules) schedules_.emplace_back(comparison, variant);
  }

  [[nodiscard]] ComparedThroughput compare(const BackwardCosts& costs) const {
    ComparedThroughput result;
    result.reference_makespan = reference_.makespan(costs);
    for (const TimedVariant& schedule : schedules_) {
      result.makespans.push_back(schedule.makespan(costs));
      result.ratios.push_back((result.reference_makespan + elsewhere_) /
                              (result.makespans.back() + elsewhere_));
    }
    return result;
  }

 private:
  double elsewhere_;
  TimedVariant reference_;
  std::vector<TimedVariant> schedules_;
};

double& cost(BackwardCosts& costs, CostParameter parameter) {
  switch (parameter) {
    case CostParameter::kReduce:
      return costs.reduce;
    case CostParameter::kPerTileTax:
      return costs.per_tile_tax;
    case CostParameter::kHandoff:
      break;
  }
  return costs.handoff;
}

BackwardCosts with_parameters(const ScheduleCostFitRequest& request, const std::vector<double>& parameters) {
  BackwardCosts costs = request.costs;
  for (std::size_t i = 0; i < parameters.size(); ++i) cost(costs, request.fitted[i]) = parameters[i];
  return costs;
}

void require_valid(const ScheduleCostFitRequest& request) {
  for (auto it = request.fitted.begin(); it != request.fitted.end(); ++it) {
    if (std::find(request.fitted.begin(), it, *it) != it)
      throw InvalidParameter("fitted", "a parameter twice", "each parameter once");
  }
  for (const std::vector<double>& start : request.starts) {
    if (start.size() != request.fitted.size()) {
      throw InvalidParameter("starts", std::to_string(start.size()) + " parameters",
                             std::to_string(request.fitted.size()) + ", one for each that is fitted");
    }
  }
  for (const PublishedRatios& published : request.published) {
    if (published.ratios.size() != published.comparison.schedules.size()) {
      throw InvalidParameter("ratios", std::to_string(published.ratios.size()),
                             std::to_string(published.comparison.schedules.size()) + ", one a schedule");
    }
  }
}

}  // namespace

ComparedThroughput compare_throughput(const ThroughputComparison& comparison, const BackwardCosts& costs) {
  return TimedComparison(comparison).compare(costs);
}

ScheduleCostFit fit_costs(const ScheduleCostFitRequest& request) {
  require_valid(request);
  LevenbergMarquardtProblem problem;
  problem.starts = request.starts;
  std::vector<TimedComparison> comparisons;
  for (const PublishedRatios& published : request.published) {
    comparisons.emplace_back(published.comparison);
    problem.observed.insert(problem.observed.end(), published.ratios.begin(), published.ratios.end());
  }
  problem.model = [&](const std::vector<double>& parameters) {
    std::vector<double> ratios;
    for (const TimedComparison& comparison : comparisons) {
      const ComparedThroughput compared = comparison.compare(with_parameters(request, parameters));
      ratios.insert(ratios.end(), compared.ratios.begin(), compared.ratios.end());
    }
    return ratios;
  };
  ScheduleCostFit result;
  result.fit = levenberg_marquardt(problem);
  result.costs = with_parameters(request, result.fit.parameters);
  return result;
}

}  // namespace natten_sim
