#pragma once

#include <string>

#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/calibration_plan.hpp>

namespace natten_sim::report {

/// The runs of a plan (study::plan_calibration), a line each, and what measures them:
///
///     cudnn on h100, forward, head dim 128: times are measured, within 23%; these runs sharpen them most:
///       4.95 ms +- 14.0%: python -m natten.profiler -i 115200 -w 115200 ..
[[nodiscard]] std::string calibration_plan_text(const study::CalibrateAnswer& plan, const study::Context& context);

/// The columns that `calibrate` and `python -m natten_sim.measure` read, without times.
[[nodiscard]] Rows calibration_plan_rows(const study::CalibrateAnswer& plan);

/// A Python script that measures the runs and writes costs.json.
[[nodiscard]] std::string calibration_plan_script(const study::CalibrateAnswer& plan);

}  // namespace natten_sim::report
