#include <fmt/format.h>
#include <natten_sim/io/json.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/kernel_schedule_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

using study::KernelRunTime;
using study::KernelScheduleAnswer;

Json run_fields(const std::optional<KernelRunTime>& run, const BackwardLaunch& launch) {
  Json fields = {{"time_ms", nullptr}, {"tflops", nullptr}};
  fields["makespan_us"] = nullptr;
  fields["waiting_us"] = nullptr;
  fields["lower_bound_us"] = nullptr;
  if (run) {
    fields["time_ms"] = run->time_ms;
    fields["tflops"] = run->tflops_per_s;
    fields["makespan_us"] = run->makespan_us;
    fields["waiting_us"] = run->waiting_us;
    fields["lower_bound_us"] = run->lower_bound_us;
  }
  fields["algorithm"] = launch.algorithm;
  fields["walk"] = to_string(launch.walk);
  fields["dispatch"] = to_string(launch.dispatch);
  fields["launch_order"] = launch.launch_order;
  const std::int32_t heads = launch.sections.heads_per_section;
  fields["heads_per_section"] = heads > 0 ? Json(heads) : Json(nullptr);
  fields["dq_order"] = launch.dq_order;
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

std::string run_text(const std::optional<KernelRunTime>& run, const BackwardLaunch& launch) {
  const std::string order =
      fmt::format("{}; {}; dQ order: {}", launch.algorithm, launch.launch_order, launch.dq_order);
  if (!run) return order;
  return fmt::format("{:.4g} ms, {:.4g} TFLOP/s: {}", run->time_ms, run->tflops_per_s, order);
}

}  // namespace

Json kernel_schedule_result(const KernelScheduleAnswer& answer) {
  Json kernel = {{"name", answer.kernel->name}, {"order", answer.ordered.algorithm}};
  kernel["tiles"] = {{"q_tile", answer.tiles.q}, {"kv_tile", answer.tiles.kv}};
  kernel["workers"] = answer.workers;
  kernel["deterministic"] = run_fields(answer.deterministic, answer.ordered);
  kernel["unordered"] = run_fields(answer.not_deterministic, answer.unordered);
  kernel["ratio"] = nullable(answer.ratio);
  kernel["costs"] = costs_fields(answer);
  kernel["missing"] = answer.missing.empty() ? Json() : Json(answer.missing);
  kernel["source"] = answer.kernel->source;
  return {{"kernel", std::move(kernel)}};
}

std::string kernel_schedule_csv(const KernelScheduleAnswer& answer) {
  const Json row = flattened(kernel_schedule_result(answer));
  return csv_table(row, {row});
}

std::string kernel_schedule_text(const KernelScheduleAnswer& answer) {
  std::vector<std::vector<std::string>> rows = {
      {"kernel", fmt::format("{} ({}), tiles {}x{} (Q x KV), {}", answer.kernel->name, answer.kernel->title,
                             answer.tiles.q, answer.tiles.kv, counted(answer.workers, "worker"))},
      {"deterministic", run_text(answer.deterministic, answer.ordered)},
      {"unordered", run_text(answer.not_deterministic, answer.unordered)}};
  if (answer.ratio)
    rows.push_back(
        {"ratio", fmt::format("{:.3f} of the throughput is left when deterministic", *answer.ratio)});
  if (answer.deterministic) {
    rows.push_back(
        {"waiting", fmt::format("{:.4g} us a worker, of {:.4g} us", answer.deterministic->waiting_us,
                                answer.deterministic->makespan_us)});
  }
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
