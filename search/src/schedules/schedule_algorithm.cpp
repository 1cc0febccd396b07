#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim {
namespace schedules {

std::vector<ScheduleAlgorithm> built_in_algorithms();  // written by CMake: one entry a file of algorithms/

}  // namespace schedules

namespace {

class AlgorithmTable {
 public:
  AlgorithmTable() {
    for (ScheduleAlgorithm& algorithm : schedules::built_in_algorithms()) add(std::move(algorithm));
  }

  const ScheduleAlgorithm& add(ScheduleAlgorithm algorithm) {
    require_valid_entry(algorithm);
    owned_.push_back(std::make_unique<const ScheduleAlgorithm>(std::move(algorithm)));
    const ScheduleAlgorithm* added = owned_.back().get();
    const auto before = [](const ScheduleAlgorithm* a, const ScheduleAlgorithm* b) {
      return std::tie(a->position, a->name) < std::tie(b->position, b->name);
    };
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), added, before), added);
    return *added;
  }

  [[nodiscard]] const std::vector<const ScheduleAlgorithm*>& sorted() const { return sorted_; }

 private:
  void require_valid_entry(const ScheduleAlgorithm& algorithm) const {
    const auto in_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    const std::string& name = algorithm.name;
    if (name.empty() || name == "all" || name.front() == '-' ||
        !std::all_of(name.begin(), name.end(), in_name)) {
      throw InvalidParameter("algorithm", "'" + name + "'",
                             "a name of lower-case letters, digits and dashes; not 'all'");
    }
    if (algorithm.plan == nullptr) throw InvalidParameter("algorithm", name + " without a plan", "a plan");
    if (std::any_of(sorted_.begin(), sorted_.end(),
                    [&](const ScheduleAlgorithm* known) { return known->name == name; }))
      throw InvalidParameter("algorithm", name + " twice", "each name once");
  }

  std::vector<std::unique_ptr<const ScheduleAlgorithm>> owned_;
  std::vector<const ScheduleAlgorithm*> sorted_;
};

AlgorithmTable& algorithm_table() {
  static AlgorithmTable table;
  return table;
}

}  // namespace

std::optional<NotApplicable> ScheduleAlgorithm::not_applicable(const BackwardProblem& problem) const {
  std::optional<std::string> needs = lacks == nullptr ? std::nullopt : lacks(problem);
  if (!needs) return std::nullopt;
  return NotApplicable{std::move(*needs)};
}

const std::vector<const ScheduleAlgorithm*>& schedule_algorithms() { return algorithm_table().sorted(); }

const ScheduleAlgorithm& schedule_algorithm(std::string_view name) {
  std::vector<std::string> names;
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
    if (algorithm->name == name) return *algorithm;
    names.push_back(algorithm->name);
  }
  throw UnknownName("algorithm", std::string(name), closest_name(name, names), joined(names));
}

const ScheduleAlgorithm& add_schedule_algorithm(ScheduleAlgorithm algorithm) {
  return algorithm_table().add(std::move(algorithm));
}

PlanOutcome attempt_plan(const ScheduleAlgorithm& algorithm, const ScheduleRequest& request) {
  require_valid(request);
  if (std::optional<NotApplicable> reason = algorithm.not_applicable(request.problem))
    return std::move(*reason);
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
