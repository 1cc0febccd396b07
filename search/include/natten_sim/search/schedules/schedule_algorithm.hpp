#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <natten_sim/search/schedules/schedule_plan.hpp>

namespace natten_sim {

/// The named ways to make a backward schedule. Each is one file in search/src/schedules/algorithms/: SPT.cpp
/// defines `ScheduleAlgorithm natten_sim::schedules::SPT()` and needs no other edit. Code outside the library
/// adds its own before main with
///
///     const natten_sim::ScheduleAlgorithm& kMine = natten_sim::add_schedule_algorithm({.name = "mine", ..});
///
/// Help, shell completion, `--algorithm all`, JSON and the tests of every algorithm read this table.

/// What an algorithm needs and the problem lacks.
struct NotApplicable {
  std::string needs;
};

/// A schedule, or why there is none. A deadlock is found while planning when the order of reductions into
/// dK/dV, which a construction cannot choose, never lets a chain have its turn.
using PlanOutcome = std::variant<SchedulePlan, NotApplicable, Deadlock>;

struct ScheduleAlgorithm {
  std::string name;    ///< lower case, digits and dashes; not `all`
  std::string origin;  ///< for help: who uses or published it
  int position = 0;    ///< place in lists, ascending; ties by name
  /// KV tile j, Q tile i. Called with a valid request that the algorithm applies to.
  PlanOutcome (*plan)(const ScheduleRequest& request) = nullptr;
  /// Ordered algorithms give the same dQ bits in every run, in one pass; searches compete with them.
  bool ordered = true;
  bool repeatable = true;  ///< the same bits in every run, in however many passes: `fastest` is among these
  bool searches = false;  ///< uses effort, seed and progress
  /// Plans have one phase with the request's problem and costs, and costs do not change the schedule.
  bool ignores_costs = false;
  /// Says what the problem lacks; empty if it lacks nothing. Without this function the algorithm takes every
  /// problem.
  std::optional<std::string> (*lacks)(const BackwardProblem& problem) = nullptr;
  /// The makespan by formula where one is known to hold. Chains are launched head by head.
  std::optional<double> (*closed_form)(const BackwardProblem& problem, const BackwardCosts& costs,
                                       Dispatch dispatch) = nullptr;

  /// Empty if the algorithm can schedule the problem.
  [[nodiscard]] std::optional<NotApplicable> not_applicable(const BackwardProblem& problem) const;
};

/// In the order of their positions. The pointers stay valid; the list grows with add_schedule_algorithm.
[[nodiscard]] const std::vector<const ScheduleAlgorithm*>& schedule_algorithms();

/// @throws UnknownName with the closest name.
[[nodiscard]] const ScheduleAlgorithm& schedule_algorithm(std::string_view name);

/// Adds an algorithm to the table, for the rest of the process. Call it before main, and never while another
/// thread reads the table. @throws InvalidParameter on a name that is taken or is no name, or an algorithm
/// without a plan.
const ScheduleAlgorithm& add_schedule_algorithm(ScheduleAlgorithm algorithm);

/// The algorithm's schedule of a problem; the same request gives the same plan.
/// @throws InvalidParameter on an invalid request or invalid costs.
[[nodiscard]] PlanOutcome attempt_plan(const ScheduleAlgorithm& algorithm, const ScheduleRequest& request);

/// The same for problems that the algorithm is known to apply to.
/// @throws InvalidParameter also when it does not apply; DeadlockError.
[[nodiscard]] SchedulePlan plan_backward(const ScheduleAlgorithm& algorithm, const ScheduleRequest& request);

/// The algorithm's makespan by formula for this request and dispatch; empty where no formula holds.
[[nodiscard]] std::optional<double> closed_form(const ScheduleAlgorithm& algorithm,
                                                const ScheduleRequest& request, Dispatch dispatch);

}  // namespace natten_sim
