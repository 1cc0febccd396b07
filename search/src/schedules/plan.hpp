#pragma once

#include <natten_sim/search/backward_schedules.hpp>

namespace natten_sim::schedules {

// One function an algorithm, each in the file of its name.
[[nodiscard]] SchedulePlan ascending(const ScheduleRequest& request);
[[nodiscard]] SchedulePlan descending(const ScheduleRequest& request);
[[nodiscard]] SchedulePlan spt(const ScheduleRequest& request);
[[nodiscard]] SchedulePlan shift(const ScheduleRequest& request);
[[nodiscard]] SchedulePlan symmetric_shift(const ScheduleRequest& request);
[[nodiscard]] SchedulePlan fa2_split(const ScheduleRequest& request);
[[nodiscard]] SchedulePlan two_pass(const ScheduleRequest& request);
[[nodiscard]] SchedulePlan unordered(const ScheduleRequest& request);
[[nodiscard]] SchedulePlan best(const ScheduleRequest& request);

/// A plan of one phase with the request's problem and costs.
[[nodiscard]] SchedulePlan one_phase(const ScheduleRequest& request, BackwardSchedule schedule);

}  // namespace natten_sim::schedules
