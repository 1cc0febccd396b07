#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/registry.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/search/schedules/schedule_work.hpp>

namespace natten_sim {
namespace schedules {

std::vector<ScheduleAlgorithm> built_in_algorithms();  // written by CMake: one entry a file of algorithms/

}  // namespace schedules

namespace {

Registry<ScheduleAlgorithm>& algorithm_registry() {
  static Registry<ScheduleAlgorithm> registry("algorithm", schedules::built_in_algorithms());
  return registry;
}

}  // namespace

std::optional<NotApplicable> ScheduleAlgorithm::not_applicable(const BackwardProblem& problem) const {
  std::optional<std::string> needs = lacks == nullptr ? std::nullopt : lacks(problem);
  if (!needs) return std::nullopt;
  return NotApplicable{std::move(*needs)};
}

const std::vector<const ScheduleAlgorithm*>& schedule_algorithms() { return algorithm_registry().sorted(); }

const ScheduleAlgorithm& schedule_algorithm(std::string_view name) { return algorithm_registry().find(name); }

const ScheduleAlgorithm& add_schedule_algorithm(ScheduleAlgorithm algorithm) {
  if (algorithm.name == "all")
    throw InvalidParameter("algorithm", "'all'", "another name: it stands for all");
  if (algorithm.plan == nullptr)
    throw InvalidParameter("algorithm", algorithm.name + " without a plan", "a plan");
  return algorithm_registry().add(std::move(algorithm));
}

PlanOutcome attempt_plan(const ScheduleAlgorithm& algorithm, const ScheduleRequest& request) {
  require_valid(request);
  if (std::optional<NotApplicable> reason = algorithm.not_applicable(request.problem))
    return std::move(*reason);
  if (schedule_work(algorithm, request.problem).bytes > static_cast<double>(kMaxScheduleBytes))
    return NotApplicable{"fewer tasks: its schedule of these takes more than 4 GiB"};
  return algorithm.plan(request);
}

SchedulePlan plan_backward(const ScheduleAlgorithm& algorithm, const ScheduleRequest& request) {
  PlanOutcome outcome = attempt_plan(algorithm, request);
  if (const auto* reason = std::get_if<NotApplicable>(&outcome))
    throw InvalidParameter("algorithm", algorithm.name, reason->needs);
  if (const auto* deadlock = std::get_if<Deadlock>(&outcome)) throw DeadlockError(deadlock->waits);
  return std::move(std::get<SchedulePlan>(outcome));
}

std::optional<double> closed_form(const ScheduleAlgorithm& algorithm, const ScheduleRequest& request,
                                  Dispatch dispatch) {
  const bool head_by_head = !request.launch || request.launch->heads_per_section == 1;
  if (algorithm.closed_form == nullptr || !head_by_head || request.walk != TileWalk::kInOrder)
    return std::nullopt;
  return algorithm.closed_form(request.problem, request.costs, dispatch);
}

}  // namespace natten_sim
