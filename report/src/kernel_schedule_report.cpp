#include <fmt/format.h>

#include <natten_sim/io/json.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/kernel_schedule_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {
namespace {

using study::KernelRunTime;
using study::KernelScheduleAnswer;
using study::CallInterval;

/// A launch of the kernel, and its times.
struct KernelRunTold {
  const std::optional<KernelRunTime>* run;
  const BackwardLaunch* launch;  ///< null: the kernel has no such launch here
};

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

template <typename Members>
void describe(Members& m, Of<CallInterval>) {
  using I = CallInterval;
  m.put("low", &I::low, "Lower end of the 90% interval");
  m.put("high", &I::high, "Upper end of the 90% interval");
  m.put("points", &I::points, "Measured calls that it rests on");
  m.put("basis", &I::basis, "What it rests on");
  m.put("outside", &I::outside, "What lies beyond the measured calls", [](auto& each) {
    using O = study::OutsideTimed;
    each.put("quantity", &O::quantity, "The quantity");
    each.put("value", &O::value, "Its value; null: it is no number");
    each.put("least", &O::least, "The least that was measured");
    each.put("most", &O::most, "The most that was measured");
  });
}

template <typename Members>
void describe(Members& m, Of<KernelRunTold>) {
  using R = KernelRunTime;
  using L = BackwardLaunch;
  const auto run = [](auto... members) { return path(&KernelRunTold::run, members...); };
  const auto launch = [](auto... members) { return found(&KernelRunTold::launch, members...); };
  m.put("time_ms", run(&R::time_ms),
        "Predicted time of the whole call; null: nobody measured the kernel there");
  m.put("interval_ms", run(&R::interval_ms), "The 90% interval of the time; null: nobody judged it");
  m.put("tflops", run(&R::tflops_per_s), "TFLOP/s of the pairs that attend");
  m.put("makespan_us", run(&R::makespan_us), "Simulated time of the main kernel");
  m.put("waiting_us", run(&R::waiting_us), "Time that a worker waits for turns, on average");
  m.put("lower_bound_us", run(&R::lower_bound_us), "No schedule of the main kernel takes less");
  m.put("algorithm", launch(&L::algorithm), "The algorithm that the kernel's schedule is");
  m.put("walk", launch(&L::walk), "Order of the tiles within a chain");
  m.put("dispatch", launch(&L::dispatch), "How workers take their chains");
  m.put("launch_order", launch(&L::launch_order), "Order of the CTAs, in words");
  m.put("heads_per_section", launch([](const L& each) {
          const std::int32_t heads = each.sections.heads_per_section;
          return heads > 0 ? std::optional(heads) : std::nullopt;
        }),
        "Heads that are launched together; null: as the algorithm has it");
  m.put("dq_order", launch(&L::dq_order), "Order of the reductions, in words");
  m.put("workspace_bytes", launch(&L::workspace_bytes), "Memory beside inputs and gradients");
}

template <typename Members>
void describe(Members& m, Of<KernelScheduleAnswer>) {
  using A = KernelScheduleAnswer;
  const auto about = [](auto member) { return path(&A::kernel, member); };
  m.object("kernel", "The backward pass of a kernel", [about](auto& kernel) {
    kernel.put("name", about(&BackwardKernel::name), "Name of the kernel");
    kernel.put("release", about(&BackwardKernel::release), "Its release");
    kernel.put("architectures", about(&BackwardKernel::architectures), "Architectures that it runs on");
    kernel.put("order", path(&A::ordered, &BackwardLaunch::algorithm),
               "Algorithm of its deterministic launch; null: it has none here");
    kernel.put("ctas_per_tile", &A::ctas_per_tile, "CTAs that share their tiles");
    kernel.put("turn_release", about(&BackwardKernel::turn_release), "When a chain passes its turn on");
    kernel.put("dkv_order", about(&BackwardKernel::dkv_order),
               "Order in which dK and dV are reduced, in words");
    kernel.object("tiles", "Tokens of its tiles", [](auto& tiles) {
      tiles.put("q_tile", path(&A::tiles, &TileTokens::q));
      tiles.put("kv_tile", path(&A::tiles, &TileTokens::kv));
    });
    kernel.put("workers", &A::workers, "CTAs at work at a time");
    kernel.put(
        "deterministic",
        [](const A& answer) {
          return KernelRunTold{&answer.deterministic, answer.ordered ? &*answer.ordered : nullptr};
        },
        "With reductions in a fixed order");
    kernel.put(
        "unordered",
        [](const A& answer) {
          return KernelRunTold{&answer.not_deterministic, &answer.unordered};
        },
        "With reductions in any order");
    kernel.put("ratio", &A::ratio, "Throughput when deterministic over throughput when not; null: not known");
    kernel.put("ratio_interval", &A::ratio_interval, "The 90% interval of the ratio; null: not known");
    kernel.put("extrapolated_from_tokens", &A::extrapolated_from_tokens,
               "Length from which times are extrapolated by the number of tasks; null: they are simulated");
    kernel.put("costs", &A::costs, "What the times rest on; null: nobody measured the kernel there",
               [](auto& costs) {
                 const auto fit = [](auto member) { return path(&ScheduleCostSet::fit, member); };
                 costs.put("name", &ScheduleCostSet::name, "Name of the costs");
                 costs.put("fitted_to", fit(&ScheduleCostEvidence::fitted_to),
                           "Measurements that they were fitted to");
                 costs.put("points", fit(&ScheduleCostEvidence::points), "Measured times that were fitted");
                 costs.put("parameters", fit(&ScheduleCostEvidence::parameters), "Costs that were fitted");
                 costs.put("rms_error", fit(&ScheduleCostEvidence::rms_error),
                           "Root mean square of the relative errors");
                 costs.put("held_out_error", fit(&ScheduleCostEvidence::held_out_error),
                           "Relative error on others measured later; null: there are none");
                 costs.put("validity", fit(&ScheduleCostEvidence::validity), "Where the costs hold");
               });
    kernel.put("missing", unless_empty(&A::missing), "Why there are no times; null: there are");
    kernel.put("source", about(&BackwardKernel::source));
  });
}

Json kernel_schedule_result(const KernelScheduleAnswer& answer) { return json_of(answer); }

Json kernel_schedule_schema() { return schema_of<KernelScheduleAnswer>(); }

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
