#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/calibrate_report.hpp>
#include <natten_sim/report/calibration_plan_report.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/natten_emit.hpp>
#include <natten_sim/report/text_table.hpp>

#include "kernel_costs_members.hpp"

namespace natten_sim::report {
namespace {

/// A suggestion, and the command that times it.
struct SuggestionTold {
  const study::SuggestedRun* suggested;
  const study::Context* context;
};

/// The costs of some runs.
struct CalibrationTold {
  const study::CalibrateAnswer* answer;
  const study::Context* context;
};

std::vector<const study::CalibratedRun*> runs_of(const CalibrationTold& told) {
  std::vector<const study::CalibratedRun*> runs;
  for (const study::CalibratedPass& pass : told.answer->passes) {
    for (const study::CalibratedRun& run : pass.runs) runs.push_back(&run);
  }
  return runs;
}

std::vector<SuggestionTold> suggestions_of(const CalibrationTold& told) {
  std::vector<SuggestionTold> suggestions;
  for (const study::CalibratedPass& pass : told.answer->passes) {
    for (const study::SuggestedRun& suggested : pass.suggestions)
      suggestions.push_back({&suggested, told.context});
  }
  return suggestions;
}

std::string signed_percent(double fraction) { return fmt::format("{:+.1f}%", 100 * fraction); }

std::string title_of(const study::CalibratedPass& pass) {
  std::string text =
      fmt::format("{} on {}, {}, head dim {}: {} run{}", pass.kernel, pass.device, pass_name(pass.costs.pass),
                  pass.head_dim, pass.runs.size(), pass.runs.size() == 1 ? "" : "s");
  const CostEvidence& evidence = pass.costs.evidence;
  if (evidence.left_out) {
    text += fmt::format("; predicted without itself, a run is off by {:.1f}% on average, {:.1f}% at worst",
                        100 * evidence.left_out->mean, 100 * evidence.left_out->worst);
  } else {
    text += "; nothing to hold the costs against";
  }
  return text + "\n";
}

std::string costs_text(const PassCosts& costs) {
  std::string text = fmt::format(
      "a pair of tiles takes {:.3g} us unmasked, {:.3g} us with bounds, {:.3g} / {:.3g} / {:.3g} us masked "
      "on 1 / 2 / 3 axes;\na CTA {:.3g} us besides, a launch {:.3g} us",
      costs.unmasked_tile_us, costs.bounds_masked_tile_us, costs.masked_tile_us[0], costs.masked_tile_us[1],
      costs.masked_tile_us[2], costs.cta_us, costs.launch_us);
  if (costs.slowdown > 0)
    text += fmt::format("; long runs up to {:.0f}% slower, half of it at {:.0f} ms", 100 * costs.slowdown,
                        costs.slowdown_ms);
  return text + "\n";
}

std::string copies_name(const PermutationRate& rate) {
  if (rate.origin == CopyOrigin::kPytorch) return " by PyTorch";
  return rate.natten.empty() ? "" : " as since NATTEN " + rate.natten;
}

/// Rates of copies that are not of these runs, a line each; empty: none.
std::string kept_rates_text(const KernelCosts& entry) {
  std::string text;
  for (const PermutationRate& rate : entry.permutation) {
    if (rate.source.starts_with(entry.passes.front().evidence.source)) continue;
    text += fmt::format("copies into tiles on {} axes{} were not timed: {} on {} keeps the rates {}\n",
                        rate.axes, copies_name(rate), entry.kernel, entry.device, rate.source);
  }
  return text;
}

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
          {"pass", pass_name(run.pass)},
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

std::optional<std::string> profiler_command(const KernelRun& run, const study::Context& context) {
  if (!profiler_runs(run.kernel)) return std::nullopt;
  NattenCall call{.input = run.input, .window = run.window, .stride = run.stride, .dilation = run.dilation};
  call.causal = run.causal;
  call.batch = run.batch;
  call.heads = call.heads_kv = run.heads;
  call.head_dim = call.head_dim_value = run.head_dim;
  call.dtype = run.dtype;
  call.requires_grad = run.pass == Walk::kBackward;
  const NattenRules& rules = context.catalog.natten_release({});
  for (const NattenBackend backend : values_of<NattenBackend>()) {
    if (run.kernel != to_string(backend)) continue;
    call.backend = backend;
    for (const NattenBackendRules& rule : rules.backends) {
      if (rule.backend == backend && !rule.compute_capabilities.empty())
        call.compute_capability = rule.compute_capabilities.front();
    }
    (run.pass == Walk::kForward ? call.tiles : call.backward_tiles) = TilePair{run.q_tile, run.kv_tile};
  }
  const auto command = [&]() -> std::optional<std::string> {
    try {
      return natten_profiler_command(rules, call);
    } catch (const InvalidParameter&) {
      return std::nullopt;
    }
  };
  if (auto found = command()) return found;
  // A call that only the kernel itself accepts: dense, or another GPU.
  call.backend = std::nullopt;
  call.tiles = call.backward_tiles = std::nullopt;
  return command();
}

namespace {

/// What runs it, or, where NATTEN's profiler has no such kernel, what it is.
std::string named_run(const KernelRun& run, const study::Context& context) {
  return profiler_command(run, context).value_or(key_of_run(run));
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<KernelRun>) {
  using R = KernelRun;
  m.put("kernel", &R::kernel);
  m.put("device", &R::device);
  m.put(
      "pass", [](const R& run) { return pass_name(run.pass); }, "forward or backward");
  m.put("input", &R::input, "Tokens per axis");
  m.put("window", &R::window);
  m.put("stride", unless_empty(&R::stride), "Stride, per axis; null: 1");
  m.put("q_tile", &R::q_tile);
  m.put("kv_tile", &R::kv_tile);
  m.put("heads", &R::heads, "Heads");
  m.put("head_dim", &R::head_dim, "Head dim");
}

template <typename Members>
void describe(Members& m, Of<study::CalibratedRun>) {
  using R = study::CalibratedRun;
  const auto deviation = [](const std::optional<double>& ms, const R& run) {
    return ms ? std::optional(*ms / *run.run.ms - 1) : std::nullopt;
  };
  m.include(&R::run);
  m.put("kind", &R::kind, "Kind of masking");
  m.put("measured_ms", path(&R::run, &KernelRun::ms), "Measured time");
  m.put("predicted_ms", &R::predicted_ms, "Time by the fitted costs");
  m.put(
      "deviation", [](const R& run) { return run.predicted_ms / *run.run.ms - 1; },
      "Predicted over measured, less 1");
  m.put("left_out_ms", &R::left_out_ms,
        "Time by costs that were fitted without this run; null: it is the only one");
  m.put(
      "left_out_deviation", [=](const R& run) { return deviation(run.left_out_ms, run); },
      "That over measured, less 1; null: it is the only run");
}

template <typename Members>
void describe(Members& m, Of<SuggestionTold>) {
  using S = study::SuggestedRun;
  const auto of = [](auto member) { return path(&SuggestionTold::suggested, member); };
  m.include(of(&S::run));
  m.put("predicted_ms", of(&S::predicted_ms), "Time by the fitted costs");
  m.put("uncertainty", of(&S::uncertainty), "How far off that may be, as a fraction");
  m.put(
      "command",
      [](const SuggestionTold& told) {
        const KernelRun& run = told.suggested->run;
        return profiler_command(run, *told.context);
      },
      "What times it; null: NATTEN's profiler has no such kernel");
}

template <typename Members>
void describe(Members& m, Of<CalibrationTold>) {
  m.include([](const CalibrationTold& told) { return CostsFile{&told.answer->entries}; });
  m.put("runs", &runs_of, "Every run, measured and by the costs");
  m.put("suggestions", &suggestions_of, "Runs that would sharpen the costs most");
}

Json calibrate_result(const study::CalibrateAnswer& answer, const study::Context& context) {
  return json_of(CalibrationTold{&answer, &context});
}

Json calibrate_schema() { return schema_of<CalibrationTold>(); }

Rows calibrate_rows(const study::CalibrateAnswer& answer) {
  std::vector<Json> rows;
  for (const study::CalibratedPass& pass : answer.passes) {
    for (const study::CalibratedRun& run : pass.runs) rows.push_back(json_of(run));
  }
  return {rows.front(), rows, {"kernel", "pass", "window", "stride", "measured_ms", "predicted_ms", "deviation", "left_out_deviation"}};
}

std::string calibrate_text(const study::CalibrateAnswer& answer, const study::Context& context) {
  std::string text;
  for (const study::CalibratedPass& pass : answer.passes) {
    text += title_of(pass) + costs_text(pass.costs);
    std::vector<std::vector<std::string>> rows = {
        {"heads", "layout", "window", "stride", "causal", "masking", "measured ms", "fitted", "left out"}};
    for (const study::CalibratedRun& run : pass.runs) {
      rows.push_back({std::to_string(run.run.batch * run.run.heads), to_string(run.run.input),
                      to_string(run.run.window), run.run.stride.empty() ? "" : to_string(run.run.stride),
                      run.run.causal.empty() ? "" : planned_causal(run.run.causal), run.kind,
                      fmt::format("{:.3f}", *run.run.ms), signed_percent(run.predicted_ms / *run.run.ms - 1),
                      run.left_out_ms ? signed_percent(*run.left_out_ms / *run.run.ms - 1) : ""});
    }
    text += text_table(rows);
    if (!pass.suggestions.empty()) text += "these runs would sharpen the costs most:\n";
    for (const study::SuggestedRun& suggested : pass.suggestions) {
      text += fmt::format("  {:.3g} ms +- {:.1f}%: {}\n", suggested.predicted_ms, 100 * suggested.uncertainty,
                          named_run(suggested.run, context));
    }
    text += "\n";
  }
  for (const KernelCosts& entry : answer.entries) text += kept_rates_text(entry);
  return text;
}

std::string calibration_plan_text(const study::CalibrateAnswer& plan, const study::Context& context) {
  std::string text;
  for (const study::CalibratedPass& pass : plan.passes) {
    const CostEvidence& evidence = pass.costs.evidence;
    text += fmt::format("{} on {}, {}, head dim {}: times are {}, within {:.0f}%; these runs sharpen them most:\n",
                        pass.kernel, pass.device, pass_name(pass.costs.pass),
                        pass.head_dim, to_string(evidence.origin), 100 * evidence.interval);
    for (const study::SuggestedRun& planned : pass.suggestions) {
      text += fmt::format("  {:.3g} ms +- {:.1f}%: {}\n", planned.predicted_ms, 100 * planned.uncertainty,
                          named_run(planned.run, context));
    }
  }
  const study::CalibratedPass& first = plan.passes.front();
  return text + fmt::format("On the GPU's machine, with the kernel installed, this measures them and fits the costs:\n"
                            "  python -m natten_sim.measure --kernel {} --device {} --head-dim {} --save costs.json\n",
                            first.kernel, first.device, first.head_dim);
}

Rows calibration_plan_rows(const study::CalibrateAnswer& plan) {
  std::vector<Json> rows;
  for (const study::CalibratedPass& pass : plan.passes) {
    for (const study::SuggestedRun& planned : pass.suggestions) rows.push_back(planned_row(planned));
  }
  return {planned_row({}), rows};
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
                     first.kernel, first.head_dim, first.device, csv_text(calibration_plan_rows(plan)));
}

}  // namespace natten_sim::report
