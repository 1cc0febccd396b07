#include "schedules/cost_map.hpp"

#include <natten_sim/core/cancellation.hpp>

#include <iterator>
#include <optional>
#include <string>

namespace natten_sim::study {
namespace {

constexpr double kUnit = 20;  // parts of a compute: all costs of the map and the fifths of two-pass are whole
constexpr double kReduces[] = {0, 0.25, 0.5, 1, 2};
constexpr double kHandoffs[] = {0, 0.5, 2};

/// When the algorithm is done; none where it does not apply, or never.
std::optional<double> makespan_of(const ScheduleAlgorithm& algorithm, const ScheduleRequest& request) {
  PlanOutcome planned = attempt_plan(algorithm, request);
  const auto* plan = std::get_if<SchedulePlan>(&planned);
  if (plan == nullptr) return std::nullopt;
  const std::variant<PlanRun, Deadlock> outcome = attempt_run(*plan);
  const auto* run = std::get_if<PlanRun>(&outcome);
  return run == nullptr ? std::nullopt : std::optional(run->makespan);
}

std::string fastest_of(const ScheduleRequest& request) {
  std::string fastest;
  double least = 0;
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
    if (algorithm->searches || algorithm->name == "unordered") continue;
    const std::optional<double> makespan = makespan_of(*algorithm, request);
    if (!makespan || (!fastest.empty() && *makespan >= least)) continue;
    fastest = algorithm->name;
    least = *makespan;
  }
  return fastest;
}

}  // namespace

std::vector<CostRegion> cost_map(const ScheduleRequest& request) {
  std::vector<CostRegion> regions;
  ScheduleRequest varied = request;
  varied.progress = {};
  constexpr double kRegions = std::size(kReduces) * std::size(kHandoffs);
  for (const double reduce : kReduces) {
    for (const double handoff : kHandoffs) {
      poll_now();
      varied.costs = {};
      varied.costs.compute = varied.costs.compute_partial = kUnit;
      varied.costs.reduce = varied.costs.reduce_kv = kUnit * reduce;
      if (request.problem.heads_per_kv_head == 1) varied.costs.reduce_kv = 0;
      varied.costs.handoff = kUnit * handoff;
      regions.push_back({reduce, handoff, fastest_of(varied)});
      if (request.progress) request.progress(static_cast<double>(regions.size()) / kRegions);
    }
  }
  return regions;
}

}  // namespace natten_sim::study
