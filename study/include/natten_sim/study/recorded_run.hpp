#pragma once

#include <span>

#include <natten_sim/io/recorded_run.hpp>
#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// The schedule as a kernel ran it: `simulated` with the recorded times and workers instead of its own, in
/// microseconds. A kernel records ends: a task's compute starts where the worker's one before ended, and a
/// worker's first task is as long as its second. Keeps no critical path, no bubbles and no sums.
/// @throws InvalidParameter when the tasks are not those of the schedule, each once, a chain on one worker.
[[nodiscard]] FinishedSchedule as_recorded(const FinishedSchedule& simulated,
                                           std::span<const RecordedTask> tasks);

}  // namespace natten_sim::study
