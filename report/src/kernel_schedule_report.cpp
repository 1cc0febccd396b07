#include <fmt/format.h>
#include <natten_sim/io/json.hpp>
#include <natten_sim/report/kernel_schedule_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

using study::JudgedInterval;
using study::KernelRunTime;
using study::KernelScheduleAnswer;

Json interval_fields(const std::optional<JudgedInterval>& interval) {
  if (!interval) return nullptr;
  return {{"low", interval->low}, {"high", interval->high}, {"judged", interval->points}};
}

Json run_fields(const std::optional<KernelRunTime>& run, const std::optional<BackwardLaunch>& given) {
  Json fields = {{"time_ms", nullptr}, {"interval_ms", nullptr}, {"tflops", nullptr}};
  fields["makespan_us"] = nullptr;
  fields["waiting_us"] = nullptr;
  fields["lower_bound_us"] = nullptr;
  if (run) {
    fields["time_ms"] = run->time_ms;
    fields["interval_ms"] = interval_fields(run->interval_ms);
    fields["tflops"] = run->tflops_per_s;
    fields["makespan_us"] = run->makespan_us;
    fields["waiting_us"] = run->waiting_us;
    fields["lower_bound_us"] = run->lower_bound_us;
  }
  const BackwardLaunch launch = given.value_or(BackwardLaunch{});
  const auto known = [&](Json value) { return given ? std::move(value) : Json(); };
  fields["algorithm"] = known(launch.algorithm);
  fields["walk"] = known(to_string(launch.walk));
  fields["dispatch"] = known(to_string(launch.dispatch));
  fields["launch_order"] = known(launch.launch_order);
  const std::int32_t heads = launch.sections.heads_per_section;
  fields["heads_per_section"] = given && heads > 0 ? Json(heads) : Json(nullptr);
  fields["dq_order"] = known(launch.dq_order);
  fields["workspace_bytes"] = known(launch.workspace_bytes);
  return fields;
}

Json costs_fields(const KernelScheduleAnswer& answer) {
  if (!answer.costs) return nullptr;
  const ScheduleCostEvidence& fit = answer.costs->fit;
  Json fields = {{"name", answer.costs->name},
                 {"fitted_to", fit.fitted_to},
                 {"points", fit.points},
                 {"parameters", fit.parameters},
                 {"rms_error", fit.rms_error}};
  fields["held_out_error"] = nullable(fit.held_out_error);
  fields["validity"] = fit.validity;
  return fields;
}

/// " (1.98 to 2.18)"; empty: there is none.
std::string interval_text(const std::optional<JudgedInterval>& interval) {
  return interval ? fmt::format(" ({:.3g} to {:.3g})", interval->low, interval->high) : std::string();
}

std::string run_text(const std::optional<KernelRunTime>& run, const std::optional<BackwardLaunch>& launch) {
  if (!launch) return "none: the kernel has no such launch here";
  constexpr double kMib = 1 << 20;
  const std::string order =
      fmt::format("{}; {}; dQ order: {}; workspace {:.1f} MiB", launch->algorithm, launch->launch_order,
                  launch->dq_order, static_cast<double>(launch->workspace_bytes) / kMib);
  if (!run) return order;
  return fmt::format("{:.4g} ms{}, {:.4g} TFLOP/s: {}", run->time_ms, interval_text(run->interval_ms),
                     run->tflops_per_s, order);
}

std::string judged_text(const KernelScheduleAnswer& answer) {
  const std::int64_t unordered = answer.not_deterministic->interval_ms->points;
  const std::string ordered = answer.deterministic && answer.deterministic->interval_ms
                                  ? fmt::format("{} deterministic and ", answer.deterministic->interval_ms->points)
                                  : std::string();
  return fmt::format("hold 9 of 10 of the nearest calls that were predicted before they were measured: {}{} unordered",
                     ordered, unordered);
}

}  // namespace

Json kernel_schedule_result(const KernelScheduleAnswer& answer) {
  const BackwardKernel& about = answer.kernel;
  Json kernel = {{"name", about.name}, {"release", about.release}, {"architectures", about.architectures}};
  kernel["order"] = answer.ordered ? Json(answer.ordered->algorithm) : Json();
  kernel["ctas_per_tile"] = answer.ctas_per_tile;
  kernel["turn_release"] = to_string(about.turn_release);
  kernel["dkv_order"] = about.dkv_order;
  kernel["tiles"] = {{"q_tile", answer.tiles.q}, {"kv_tile", answer.tiles.kv}};
  kernel["workers"] = answer.workers;
  kernel["deterministic"] = run_fields(answer.deterministic, answer.ordered);
  kernel["unordered"] = run_fields(answer.not_deterministic, answer.unordered);
  kernel["ratio"] = nullable(answer.ratio);
  kernel["ratio_interval"] = interval_fields(answer.ratio_interval);
  kernel["extrapolated_from_tokens"] = nullable(answer.extrapolated_from_tokens);
  kernel["costs"] = costs_fields(answer);
  kernel["missing"] = answer.missing.empty() ? Json() : Json(answer.missing);
  kernel["source"] = about.source;
  return {{"kernel", std::move(kernel)}};
}

Rows kernel_schedule_rows(const KernelScheduleAnswer& answer) {
  const Json row = flattened(kernel_schedule_result(answer));
  return {row, {row}, {"kernel_name", "kernel_order", "kernel_deterministic_time_ms", "kernel_unordered_time_ms", "kernel_ratio"}};
}

std::string kernel_schedule_text(const KernelScheduleAnswer& answer) {
  std::vector<std::vector<std::string>> rows = {
      {"kernel", fmt::format("{} ({}), tiles {}x{} (Q x KV){}, {}", answer.kernel.full_name(),
                             answer.kernel.title, answer.tiles.q, answer.tiles.kv,
                             answer.ctas_per_tile > 1 ? ", two CTAs share their tiles" : "",
                             counted(answer.workers, "worker"))},
      {"deterministic", run_text(answer.deterministic, answer.ordered)},
      {"unordered", run_text(answer.not_deterministic, answer.unordered)}};
  if (answer.kernel.turn_release == TurnRelease::kAfterNext && answer.ordered)
    rows.push_back({"turns", "passed on when the chain has the turn of its next dQ tile"});
  if (answer.ratio)
    rows.push_back(
        {"ratio", fmt::format("{:.3f}{} of the throughput is left when deterministic", *answer.ratio,
                              interval_text(answer.ratio_interval))});
  if (answer.deterministic) {
    rows.push_back(
        {"waiting", fmt::format("{:.4g} us a worker, of {:.4g} us", answer.deterministic->waiting_us,
                                answer.deterministic->makespan_us)});
  }
  if (answer.extrapolated_from_tokens) {
    rows.push_back({"extrapolated", fmt::format("from {} and {} tokens, by the number of tasks",
                                                *answer.extrapolated_from_tokens,
                                                *answer.extrapolated_from_tokens / 2)});
  }
  if (answer.not_deterministic && answer.not_deterministic->interval_ms)
    rows.push_back({"intervals", judged_text(answer)});
  if (!answer.missing.empty()) rows.push_back({"no times", answer.missing});
  if (answer.costs) {
    const ScheduleCostEvidence& fit = answer.costs->fit;
    rows.push_back(
        {"costs", fmt::format("{}: {} points, {} parameters, rms {:.1f}%{}", answer.costs->name, fit.points,
                              fit.parameters, 100 * fit.rms_error,
                              fit.held_out_error ? fmt::format("; {:.1f}% on others measured later",
                                                               100 * *fit.held_out_error)
                                                 : std::string())});
    rows.push_back({"validity", fit.validity});
  }
  return text_table(rows, LastColumn::kLeft);
}

}  // namespace natten_sim::report
