#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/schedule.hpp>

namespace natten_sim::report {

/// Shown critical paths need ScheduleDetail::critical_path.
enum class CriticalPath { kHidden, kShown };

/// `result` of one schedule; null where it was not made or never finishes. See docs/cli-schedule.md.
[[nodiscard]] Json schedule_fields(const study::ScheduleResult& result, CriticalPath path);

/// `result` of a question: the fields of the one schedule, or `algorithms` with those of each.
[[nodiscard]] Json schedule_result(const study::ScheduleAnswer& answer, CriticalPath path);
[[nodiscard]] Json schedule_schema();

/// One row a schedule, without critical paths.
[[nodiscard]] Rows schedule_rows(const study::ScheduleAnswer& answer);

/// Requires the result to have finished.
///
///     schedule     spt, dynamic dispatch
///     makespan     72
///     lower bound  72 (work)
[[nodiscard]] std::string schedule_text(const study::ScheduleResult& result, const BackwardProblem& problem,
                                        CriticalPath path);

/// All schedules side by side.
///
///     algorithm  dispatch  makespan  of fastest  lower bound    gap    busy  closed form
///     ascending  dynamic        158       1.387          114  38.60%  51.27%          158
[[nodiscard]] std::string schedule_comparison(const study::ScheduleAnswer& answer);

/// Which algorithm is fastest over reduce/compute and handoff/compute.
[[nodiscard]] std::string cost_map_text(const std::vector<study::CostRegion>& map);

/// A cost or time without needless digits.
[[nodiscard]] std::string short_number(double value);

}  // namespace natten_sim::report
