#include <natten_sim/report/calibration_plan_report.hpp>

#include <fmt/format.h>

#include <natten_sim/report/calibrate_report.hpp>
#include <natten_sim/report/csv.hpp>

namespace natten_sim::report {
namespace {

/// NATTEN's profiler runs its own kernels and, with windows of the whole input, cuDNN's.
bool profiler_runs(const std::string& kernel) {
  return kernel == "cudnn" || kernel.ends_with("-fna") || kernel.ends_with("-fmha");
}

std::string planned_causal(const PerAxis<bool>& causal) {
  std::string text;
  for (std::size_t axis = 0; axis < causal.rank(); ++axis)
    text += std::string(axis == 0 ? "" : "x") + (causal[axis] ? "1" : "0");
  return text;
}

Json planned_row(const study::SuggestedRun& planned) {
  const KernelRun& run = planned.run;
  const auto sizes = [](const Extents& extents) { return extents.empty() ? Json() : Json(to_string(extents)); };
  return {{"kernel", run.kernel},
          {"device", run.device},
          {"pass", run.pass == Walk::kForward ? "forward" : "backward"},
          {"input", to_string(run.input)},
          {"window", to_string(run.window)},
          {"stride", sizes(run.stride)},
          {"causal", run.causal.empty() ? Json() : Json(planned_causal(run.causal))},
          {"q_tile", to_string(run.q_tile)},
          {"kv_tile", to_string(run.kv_tile)},
          {"batch", run.batch},
          {"heads", run.heads},
          {"head_dim", run.head_dim},
          {"dtype", to_string(run.dtype)},
          {"predicted_ms", planned.predicted_ms},
          {"uncertainty", planned.uncertainty}};
}

}  // namespace

std::string calibration_plan_text(const study::CalibrateAnswer& plan, const study::Context& context) {
  std::string text;
  for (const study::CalibratedPass& pass : plan.passes) {
    const CostEvidence& evidence = pass.costs.evidence;
    text += fmt::format("{} on {}, {}, head dim {}: times are {}, within {:.0f}%; these runs sharpen them most:\n",
                        pass.kernel, pass.device, pass.costs.pass == Walk::kForward ? "forward" : "backward",
                        pass.head_dim, to_string(evidence.origin), 100 * evidence.interval);
    for (const study::SuggestedRun& planned : pass.suggestions) {
      text += fmt::format("  {:.3g} ms +- {:.1f}%: {}\n", planned.predicted_ms, 100 * planned.uncertainty,
                          profiler_runs(pass.kernel) ? profiler_command(planned.run, context) : key_of_run(planned.run));
    }
  }
  const study::CalibratedPass& first = plan.passes.front();
  return text + fmt::format("On the GPU's machine, with the kernel installed, this measures them and fits the costs:\n"
                            "  python -m natten_sim.measure --kernel {} --device {} --head-dim {} --save costs.json\n",
                            first.kernel, first.device, first.head_dim);
}

std::string calibration_plan_csv(const study::CalibrateAnswer& plan) {
  std::vector<Json> rows;
  for (const study::CalibratedPass& pass : plan.passes) {
    for (const study::SuggestedRun& planned : pass.suggestions) rows.push_back(planned_row(planned));
  }
  return csv_table(planned_row({}), rows);
}

std::string calibration_plan_script(const study::CalibrateAnswer& plan) {
  const study::CalibratedPass& first = plan.passes.front();
  return fmt::format(R"py(#!/usr/bin/env python3
"""Times runs of {} at head dim {} on this machine's {}, and writes their costs to costs.json."""

import pathlib
import sys
import tempfile

from natten_sim import measure

RUNS = """\
{}"""

with tempfile.TemporaryDirectory() as folder:
    runs = pathlib.Path(folder, "runs.csv")
    runs.write_text(RUNS, encoding="utf-8")
    sys.exit(measure.main(["--runs", str(runs), "--save", "costs.json", *sys.argv[1:]]))
)py",
                     first.kernel, first.head_dim, first.device, calibration_plan_csv(plan));
}

}  // namespace natten_sim::report
