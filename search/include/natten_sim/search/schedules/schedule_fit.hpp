#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/models/fit/levenberg_marquardt.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim {

/// Fits the costs of deterministic backward schedules to published throughputs. Only ratios are compared: the
/// time of a reference schedule over that of another one of the same problem. So the unit of the costs drops
/// out; fix `compute` at 1 and fit the others.

struct ScheduleVariant {
  std::reference_wrapper<const ScheduleAlgorithm> algorithm = schedule_algorithm("ascending");
  std::optional<Dispatch> dispatch;  ///< none: the algorithm's own
};

/// Schedules of one problem against a reference.
struct ThroughputComparison {
  BackwardProblem problem;
  std::optional<HeadSections> launch;  ///< launch order of all schedules; if absent, the algorithms' own
  ScheduleVariant reference;
  std::vector<ScheduleVariant> schedules;
  /// Time, in the unit of the costs, that every measurement spends outside the schedule (other kernels).
  double elsewhere = 0;
};

struct ComparedThroughput {
  double reference_makespan = 0;
  std::vector<double> makespans;
  /// (reference + elsewhere) / (makespan + elsewhere): throughput relative to the reference.
  std::vector<double> ratios;
};

/// One plan and one simulation a schedule; makespans as `run_plan` gives them, sums over phases.
/// @throws as plan_backward and run_plan; InvalidParameter when `elsewhere` is negative or not finite.
[[nodiscard]] ComparedThroughput compare_throughput(const ThroughputComparison& comparison,
                                                    const BackwardCosts& costs);

enum class CostParameter { kReduce, kPerTileTax, kHandoff };

struct PublishedRatios {
  ThroughputComparison comparison;
  std::vector<double> ratios;  ///< one a schedule
};

struct ScheduleCostFitRequest {
  std::vector<PublishedRatios> published;
  BackwardCosts costs;                ///< the costs that are not fitted
  std::vector<CostParameter> fitted;  ///< each once
  std::vector<std::vector<double>> starts;
};

struct ScheduleCostFit {
  BackwardCosts costs;        ///< costs of the request, with the fitted ones put in
  LevenbergMarquardtFit fit;  ///< parameters in the order of `fitted`
};

/// Least squares of the ratios, each with weight 1. Watch `fit.rank` and the standard errors. With an
/// asynchronous writer the makespans of ordered schedules depend on the sum of reduce and per_tile_tax alone,
/// and an unordered reference shows reduce (<= compute) only at the end of every chain. So a fit of both can
/// hardly tell them apart.
/// @throws as compare_throughput and levenberg_marquardt; InvalidParameter when a comparison has not one
/// ratio
/// a
///         schedule, or a parameter is named twice.
[[nodiscard]] ScheduleCostFit fit_costs(const ScheduleCostFitRequest& request);

}  // namespace natten_sim
