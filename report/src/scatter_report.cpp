#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/report/text_table.hpp>

#include "scatter_members.hpp"

namespace natten_sim::report {
namespace {

/// "within 2.01x (222 points that were not fitted, 1.22x on average)", or what lies outside.
std::string error_text(const CalibrationError& error) {
  if (!error.outside.empty())
    return "unknown: " + joined(error.outside, ", ") + " outside of what was measured";
  if (!error.unfitted_worst_ratio) return "unknown";
  return fmt::format("within {:.2f}x on {} points not fitted, {:.2f}x on average",
                     *error.unfitted_worst_ratio, error.unfitted_points, *error.unfitted_mean_ratio);
}

/// "471.9 ms to 1.88 s", and why it is wide; empty without an interval.
std::string interval_text(const CalibrationError& error) {
  if (!error.interval) return "";
  const char* why = "";
  if (!error.outside.empty()) {
    why = ": from no update that waits to all in flight that do";
  } else if (error.kind == ScatterKind::kLongCollapse) {
    why = ": a row beyond 1 KiB waits at one slice of the L2 or at several";
  }
  return fmt::format("interval            {} to {}{}\n", time_text(error.interval->least_ns),
                     time_text(error.interval->most_ns), why);
}

std::string bounds_text(const ContentionPrediction& p) {
  return fmt::format("time                {:>12}   bound: {}\n", time_text(p.time_ns), to_string(p.bound)) +
         fmt::format(
             "  hottest address   {:>12}\n  slice throughput  {:>12}\n  issue             {:>12}\n"
             "  dram              {:>12}\n  launch            {:>12}\n",
             time_text(p.hottest_address_ns), time_text(p.slice_throughput_ns), time_text(p.issue_ns),
             time_text(p.dram_ns), time_text(p.launch_ns));
}

std::string range_text(const std::optional<TimeInterval>& interval) {
  if (!interval) return "not judged";
  return time_text(interval->least_ns) + " to " + time_text(interval->most_ns);
}

/// A row a release, each against the first, and where rows hold that do not always.
std::string releases_text(const std::vector<study::ReleaseCost>& releases) {
  std::vector<std::vector<std::string>> rows = {
      {"release", "adds by", "time", "expected within", "speedup", "instruction"}};
  std::string conditions;
  for (const study::ReleaseCost& cost : releases) {
    rows.push_back({cost.release.release, *cost.release.construct, time_text(cost.prediction.time_ns),
                    range_text(cost.interval),
                    fmt::format("{:.2f}x", releases.front().prediction.time_ns / cost.prediction.time_ns),
                    cost.instruction});
    if (!cost.release.condition.empty())
      conditions += wrapped_text(cost.release.release + ": " + cost.release.condition + ".");
  }
  return releases.front().release.operator_name + " by release\n" + text_table(rows, LastColumn::kLeft) + conditions;
}

const char* asked_of(RemedyEffort effort) {
  switch (effort) {
    case RemedyEffort::kNone:
      return "nothing";
    case RemedyEffort::kArgument:
      return "another argument";
    case RemedyEffort::kOperator:
      return "another operator";
    case RemedyEffort::kBuffer:
      return "a buffer";
    case RemedyEffort::kInstruction:
      return "your own kernel";
    case RemedyEffort::kKernel:
      return "another algorithm";
  }
  return "";
}

}  // namespace

std::vector<Json> remedy_rows(const std::vector<Remedy>& remedies) { return rows_of(remedies); }

template <typename Members>
void describe(Members& m, Of<study::ReleaseCost>) {
  using C = study::ReleaseCost;
  const auto release = [](auto member) { return path(&C::release, member); };
  m.put("operator", release(&OperatorRelease::operator_name), "The operator");
  m.put("release", release(&OperatorRelease::release), "Its release");
  m.put(
      "construct", [](const C& cost) { return *cost.release.construct; }, "How its source adds");
  m.put("path", &C::path, "Kind of instruction");
  m.put("instruction", &C::instruction, "Instruction");
  m.put("time_ns", path(&C::prediction, &ContentionPrediction::time_ns), "Predicted time");
  m.put("low_ns", path(&C::interval, &TimeInterval::least_ns),
        "Lower end of the interval; null: nobody judged it");
  m.put("high_ns", path(&C::interval, &TimeInterval::most_ns),
        "Upper end of the interval; null: nobody judged it");
  m.put("condition", release(unless_empty(&OperatorRelease::condition)), "When that holds; null: always");
  m.put("source", release(&OperatorRelease::source));
}

Rows scatter_rows(const study::ScatterAnswer& answer) {
  const std::vector<Json> rows =
      answer.releases.empty() ? remedy_rows(*answer.cost.remedies) : rows_of(answer.releases);
  return {rows.front(), rows, {"name", "time_ns", "low_ns", "high_ns", "extra_bytes"}};
}

template <typename Members>
void describe(Members& m, Of<CalibrationError>) {
  using E = CalibrationError;
  m.put("fitted_points", &E::fitted_points, "Timed runs that the constants were fitted to");
  m.put("unfitted_points", &E::unfitted_points, "Timed runs that they were not fitted to");
  m.put("unfitted_worst_ratio", &E::unfitted_worst_ratio,
        "Worst of how far off those are, as a factor; null: there are none");
  m.put("unfitted_mean_ratio", &E::unfitted_mean_ratio,
        "Mean of how far off those are, as a factor; null: there are none");
  m.when([](const E& error) { return error.kind.has_value(); },
         [](auto& swept) {
           swept.put(
               "kind", [](const E& error) { return *error.kind; }, "Kind of scatter that these runs are of");
           swept.put("outside", &E::outside, "Members of the question beyond those runs");
           swept.put("interval_ns", &E::interval, "Where the time lies; null: nothing was held out",
                     [](auto& interval) {
                       interval.put("low", &TimeInterval::least_ns, "Lower end");
                       interval.put("high", &TimeInterval::most_ns, "Upper end");
                     });
         });
}

template <typename Members>
void describe(Members& m, Of<study::ScatterAnswer>) {
  using A = study::ScatterAnswer;
  const auto cost = [](const A& answer) { return ScatterCostTold{&answer.cost, &answer.profile}; };
  const auto prediction = [](auto... members) {
    return path(&A::cost, &study::ScatterCost::prediction, members...);
  };
  const auto load = [](auto... members) { return path(&A::cost, &study::ScatterCost::load, members...); };
  m.put("time_ns", prediction(&ContentionPrediction::time_ns), "Predicted time");
  m.put("bound", prediction(&ContentionPrediction::bound), "What takes most of the time");
  m.include(cost, [](auto& each) { put_updates(each); });
  m.put("max_multiplicity", load(&ScatterLoad::max_multiplicity), "Updates of the hottest row");
  m.include(cost, [](auto& each) { put_atomics(each); });
  m.put(
      "bandwidth_utilization",
      [](const A& answer) {
        const ContentionPrediction& each = answer.cost.prediction;
        return each.dram_bytes / each.time_ns / answer.profile.dram_bytes_per_ns;
      },
      "Share of the DRAM's bandwidth, 0..1");
  m.include(cost, [](auto& each) { put_cost_details(each); });
  m.put("hottest_rows", load(&ScatterLoad::hottest_rows), "Rows with as many updates as the hottest");
  m.put("close_updates", load(&ScatterLoad::close_updates),
        "Updates of a row in flight at a time, in the mean");
  m.put("slice_sectors", load([](const ScatterLoad& each) { return each.slice_sectors.value_or(0); }),
        "Sectors at the busiest slice of the L2; 0: not counted");
  m.put("sent_sectors", load([](const ScatterLoad& each) { return each.sent_sectors.value_or(0); }),
        "Sectors that leave the SMs; 0: not counted");
  m.put("streamed_bytes", load(&ScatterLoad::streamed_bytes), "Read once from DRAM: indices and values");
  m.put("warp_instructions", load([](const ScatterLoad& each) { return warp_instructions(each); }),
        "Atomic instructions of all warps");
  m.optional("releases", unless_empty(&A::releases),
             "The same additions by releases of an operator, with --compare");
  m.optional("calibration", &A::calibration, "Error of the device's constants");
}

Json scatter_fields(const study::ScatterAnswer& answer) { return json_of(answer); }

Json scatter_schema() { return schema_of<study::ScatterAnswer>(); }

std::string scatter_text(const study::ScatterAnswer& answer) {
  const study::ScatterQuestion& question = answer.question;
  const ScatterLoad& load = answer.cost.load;
  const ContentionPrediction& p = answer.cost.prediction;
  std::string text = fmt::format(
      "{} of {} x {} into {}, {}\n{} on {}: {} ({})\n\n", counted(load.updates, "update"), load.width,
      to_string(load.type), counted(question.rows, "row"), study::name_of(question.source),
      question.construct, question.device, to_string(load.path), instruction_name(answer.cost));
  text += bounds_text(p);
  if (answer.calibration)
    text +=
        "error               " + error_text(*answer.calibration) + "\n" + interval_text(*answer.calibration);
  text += fmt::format("hottest row         {:>12}   updates; {} of service each\n",
                      grouped(load.max_multiplicity), time_text(p.service_ns_per_update));
  if (answer.cost.words)
    text += fmt::format("addresses           {:>12}   words in {}\n", grouped(*answer.cost.words),
                        counted(load.rows_touched, "row"));
  text += fmt::format("sectors atom, red   {:>12}   {}\n", grouped(p.atom_sectors), grouped(p.red_sectors));
  if (load.path == InstructionPath::kCas) {
    text += fmt::format("CAS retries         {:>12}   {:.1f}% of the hottest row's updates change it\n",
                        grouped(p.cas_retries), 100 * p.changing_share);
  }
  if (answer.cost.remedies) text += "\n" + remedies_text(*answer.cost.remedies);
  if (!answer.releases.empty()) text += "\n" + releases_text(answer.releases);
  return text;
}

std::optional<std::string> saturation_note(const study::ScatterAnswer& answer) {
  const double share = answer.cost.prediction.changing_share;
  if (answer.question.values != UpdateValues::kConstant || share > 0.5) return std::nullopt;
  return fmt::format(
      "constant updates saturate a {} word: only {:.1f}% of the hottest row's updates change it, the others "
      "succeed without retries; use --values normal for gradients",
      to_string(answer.cost.load.type), 100 * share);
}

std::string scatter_title(const study::ScatterAnswer& answer) {
  return fmt::format("{} x {} {}, {}, {}", answer.cost.load.updates, answer.question.width,
                     to_string(answer.question.dtype), study::name_of(answer.question.source),
                     answer.question.device);
}

std::string remedies_text(const std::vector<Remedy>& remedies) {
  const auto as_is =
      std::find_if(remedies.begin(), remedies.end(), [](const Remedy& r) { return r.name == kAsIs; });
  std::vector<std::vector<std::string>> rows = {
      {"remedy", "time", "expected within", "speedup", "extra memory", "asks for", "bound"}};
  for (const Remedy& remedy : remedies) {
    rows.push_back({remedy.name, time_text(remedy.time_ns), range_text(remedy.interval),
                    fmt::format("{:.2f}x", as_is->time_ns / remedy.time_ns),
                    bytes_text(static_cast<double>(remedy.extra_bytes)), asked_of(remedy.effort),
                    to_string(remedy.bound)});
  }
  return text_table(rows, LastColumn::kLeft);
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.1f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns * 1e-3);
  return fmt::format("{:.{}f} ms", ns * 1e-6, ns < 1e7 ? 2 : 1);
}

std::string bytes_text(double bytes) {
  constexpr double kKib = 1024;
  if (bytes < kKib) return fmt::format("{:.0f} B", bytes);
  if (bytes < kKib * kKib) return fmt::format("{:.1f} KiB", bytes / kKib);
  return fmt::format("{:.1f} MiB", bytes / kKib / kKib);
}

}  // namespace natten_sim::report
