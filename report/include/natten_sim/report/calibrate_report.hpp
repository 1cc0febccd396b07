#pragma once

#include <optional>
#include <string>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/calibrate.hpp>

namespace natten_sim::report {

/// Entries as data/kernel-times.json has them, beside every run: measured, predicted, predicted without it;
/// and the runs to measure next.
[[nodiscard]] Json calibrate_result(const study::CalibrateAnswer& answer, const study::Context& context);
[[nodiscard]] Json calibrate_schema();

/// One row a run.
[[nodiscard]] Rows calibrate_rows(const study::CalibrateAnswer& answer);

///     hopper-fna on h200, forward, head dim 128: 8 runs, off by 3.2% on average when left out
[[nodiscard]] std::string calibrate_text(const study::CalibrateAnswer& answer, const study::Context& context);

/// The shell command that times a run; none: NATTEN's profiler does not run it.
[[nodiscard]] std::optional<std::string> profiler_command(const KernelRun& run, const study::Context& context);

}  // namespace natten_sim::report
