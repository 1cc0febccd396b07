#pragma once

#include <string>

#include "schedule_report.hpp"

namespace natten_sim::cli {

/// Gantt charts of an answer whose run recorded its times. One row a worker; passes follow one another.

/// A character a unit of time (or 1/160 of the makespan, when that is longer or times are not whole):
/// computes show the Q tile's last digit, `=` reduces, `.` waits for its turn, blank is idle. @throws
/// InvalidParameter for more than 400 workers.
[[nodiscard]] std::string ascii_gantt(const ScheduleAnswer& answer);

/// Self-contained SVG: heads coloured, computes light, reductions dark, the critical path outlined.
/// @throws InvalidParameter for more than 50,000 tasks.
[[nodiscard]] std::string svg_gantt(const ScheduleAnswer& answer, const std::string& title);

/// Trace events in the JSON format that ui.perfetto.dev and chrome://tracing open: one track a worker (and
/// one for its dQ writer when that is asynchronous), one unit of time a microsecond.
[[nodiscard]] std::string perfetto_trace(const ScheduleAnswer& answer);

}  // namespace natten_sim::cli
