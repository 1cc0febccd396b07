#include <fmt/format.h>
#include <natten_sim/io/json.hpp>
#include <natten_sim/report/kernel_schedule_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {
namespace {

using study::KernelRunTime;
using study::KernelScheduleAnswer;
using study::CallInterval;

Json judged_interval(const std::optional<CallInterval>& interval) {
  if (!interval) return nullptr;
  Json outside = Json::array();
  for (const study::OutsideTimed& each : interval->outside)
    outside.push_back({{"quantity", each.quantity},
                       {"value", nullable(each.value)},
                       {"least", nullable(each.least)},
                       {"most", nullable(each.most)}});
  return {{"low", interval->low},
          {"high", interval->high},
          {"points", interval->points},
          {"basis", to_string(interval->basis)},
          {"outside", std::move(outside)}};
}

Json run_fields(const std::optional<KernelRunTime>& run, const std::optional<BackwardLaunch>& given) {
  Json fields = {{"time_ms", nullptr}, {"interval_ms", nullptr}, {"tflops", nullptr}};
  fields["makespan_us"] = nullptr;
  fields["waiting_us"] = nullptr;
  fields["lower_bound_us"] = nullptr;
  if (run) {
    fields["time_ms"] = run->time_ms;
    fields["interval_ms"] = judged_interval(run->interval_ms);
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
std::string interval_text(const std::optional<CallInterval>& interval, double unit = 1) {
  return interval ? fmt::format(" ({} to {})", short_text(interval->low / unit), short_text(interval->high / unit))
                  : std::string();
}

/// "2.443 ms (2.22 to 2.69)", from a second on "416 s (376 to 461)".
std::string time_with_interval(const KernelRunTime& run) {
  constexpr double kMsOfS = 1000;
  const bool seconds = run.time_ms >= kMsOfS;
  if (seconds) return short_text(run.time_ms / kMsOfS) + " s" + interval_text(run.interval_ms, kMsOfS);
  return fmt::format("{:.4g} ms{}", run.time_ms, interval_text(run.interval_ms));
}

/// "6663 us", "32.7 ms".
std::string us_text(double us) {
  constexpr double kManyUs = 1e4;
  return us < kManyUs ? fmt::format("{:.4g} us", us) : duration_text(us / 1000);
}

std::string run_text(const std::optional<KernelRunTime>& run, const std::optional<BackwardLaunch>& launch) {
  if (!launch) return "none: the kernel has no such launch here";
  constexpr double kMib = 1 << 20;
  const std::string order =
      fmt::format("{}; {}; dQ order: {}; workspace {:.1f} MiB", launch->algorithm, launch->launch_order,
                  launch->dq_order, static_cast<double>(launch->workspace_bytes) / kMib);
  if (!run) return order;
  return fmt::format("{}, {:.4g} TFLOP/s: {}", time_with_interval(*run), run->tflops_per_s, order);
}

/// What an interval of this basis holds.
std::string basis_text(const CallInterval& interval) {
  switch (interval.basis) {
    case study::IntervalBasis::kJudged:
      return fmt::format("9 of 10 of the {} nearest calls that were predicted before they were measured", interval.points);
    case study::IntervalBasis::kLeftOut:
      return fmt::format("the largest error of {} published times, each predicted without it", interval.points);
    case study::IntervalBasis::kPhysical:
      break;
  }
  return "nobody measured this launch: from the device's peak rates to the slowest of the kernel's launches";
}

void add_interval_rows(const char* name, const std::optional<KernelRunTime>& run,
                       std::vector<std::vector<std::string>>& rows) {
  if (!run || !run->interval_ms) return;
  const CallInterval& interval = *run->interval_ms;
  rows.push_back({"interval", fmt::format("{}: {}", name, basis_text(interval))});
  if (!interval.outside.empty())
    rows.push_back({"outside", fmt::format("{}: {}; the interval is wider", name, outside_text(interval))});
}

}  // namespace

std::string outside_text(const CallInterval& interval) {
  std::string text;
  for (const study::OutsideTimed& each : interval.outside) {
    if (!text.empty()) text += ", ";
    if (!each.value) {
      text += each.quantity;
      continue;
    }
    text += fmt::format("{} {} (measured: {}", grouped(*each.value), each.quantity, grouped(*each.least));
    text += *each.most > *each.least ? fmt::format(" to {})", grouped(*each.most)) : ")";
  }
  return text;
}

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
  kernel["ratio_interval"] = judged_interval(answer.ratio_interval);
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
        {"waiting", fmt::format("{} a worker, of {}", us_text(answer.deterministic->waiting_us),
                                us_text(answer.deterministic->makespan_us))});
  }
  if (answer.extrapolated_from_tokens) {
    rows.push_back({"extrapolated", fmt::format("from {} and {} tokens, by the number of tasks",
                                                grouped(*answer.extrapolated_from_tokens),
                                                grouped(*answer.extrapolated_from_tokens / 2))});
  }
  add_interval_rows("deterministic", answer.deterministic, rows);
  add_interval_rows("unordered", answer.not_deterministic, rows);
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
