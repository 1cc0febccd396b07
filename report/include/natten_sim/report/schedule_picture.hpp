#pragma once

#include <functional>
#include <string>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/study/schedule.hpp>

namespace natten_sim::report {

/// Pictures of a schedule whose task times were kept (ScheduleDetail::times): one row a worker, passes one
/// after the other.

/// Gantt chart in characters: a unit of time a column, or 1/160 of the makespan.
/// @throws InvalidParameter for more than 400 workers.
[[nodiscard]] std::string schedule_ascii(const study::FinishedSchedule& finished);

/// Gantt chart: a colour a head, the critical path outlined when it was asked for.
/// Its heading names the problem and costs of `answer`, and `mask`, as mask_text() has it.
/// With `recorded` (see study::as_recorded) that one stands below, to the same scale. More than 50,000 tasks are
/// shown in 800 columns or fewer, each with the head that its worker worked for most, and below the first 10,000
/// one by one.
/// @throws InvalidParameter for more than 2^24 tasks or 2,000 workers.
[[nodiscard]] draw::Picture schedule_picture(const std::string& name, const study::FinishedSchedule& finished,
                                             const study::ScheduleAnswer& answer, const std::string& mask,
                                             const study::FinishedSchedule* recorded = nullptr);

/// What schedule_picture refuses, said before the schedules of a problem are searched.
/// @throws InvalidParameter for more than 2^24 tasks or 2,000 workers.
void require_drawable(const BackwardProblem& problem);

/// Trace events in the JSON format that ui.perfetto.dev and chrome://tracing open: one track a worker, and
/// one for its dQ writer when that is asynchronous; one unit of time is shown as a microsecond. `recorded`
/// becomes a second process. `progress` is called with the share of the text that there is. Some 260 bytes a
/// compute or reduction. @throws InvalidParameter for more than 2^21 tasks.
[[nodiscard]] std::string schedule_trace(const study::FinishedSchedule& finished,
                                         const study::FinishedSchedule* recorded = nullptr,
                                         const std::function<void(double)>& progress = {});

/// What schedule_trace refuses, said before the schedules of a problem are searched: each has this many tasks
/// or more. @throws InvalidParameter for more than 2^21 tasks.
void require_traceable(const BackwardProblem& problem);

}  // namespace natten_sim::report
