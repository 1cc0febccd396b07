#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/search/backward_schedules.hpp>
#include <natten_sim/sim/schedule_dag.hpp>

#include "count_json.hpp"

namespace natten_sim::cli {

/// What is said about one schedule; `problem_at_fault` instead of the rest when it could not be made or run.
struct ScheduleAnswer {
  std::string name;  ///< of the algorithm; "table" for a foreign one
  bool ordered = true;
  SchedulePlan plan;
  PlanRun run;
  std::optional<double> closed_form;
  std::optional<std::string> deadlock;
  std::optional<std::string> not_applicable;
  /// It finishes on any number of workers, not only on these: dispatched dynamically in the order of its
  /// waits.
  bool hang_free = false;
  std::vector<DagSolution> dags;  ///< one a phase, when the critical path was asked for
};

/// The fields of `result`; see docs/cli.md.
[[nodiscard]] Json schedule_fields(const ScheduleAnswer& answer, bool critical_path);

[[nodiscard]] std::string schedule_text(const ScheduleAnswer& answer, const BackwardProblem& problem,
                                        bool critical_path);

/// The comparison of all algorithms.
[[nodiscard]] std::string comparison_text(const std::vector<ScheduleAnswer>& answers,
                                          const BackwardProblem& problem);

/// A cost or time without needless digits.
[[nodiscard]] std::string short_number(double value);

}  // namespace natten_sim::cli
