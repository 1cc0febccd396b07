#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

std::string instruction_name(const study::ScatterCost& cost) { return cost.instruction.value_or("forced"); }

/// Null where nothing was held out.
Json interval_fields(const std::optional<TimeInterval>& interval) {
  if (!interval) return nullptr;
  return {{"low", interval->least_ns}, {"high", interval->most_ns}};
}

Json calibration_fields(const CalibrationError& error) {
  Json fields = {{"fitted_points", error.fitted_points},
                 {"unfitted_points", error.unfitted_points},
                 {"unfitted_worst_ratio", nullable(error.unfitted_worst_ratio)},
                 {"unfitted_mean_ratio", nullable(error.unfitted_mean_ratio)}};
  if (!error.kind) return fields;
  fields["kind"] = to_string(*error.kind);
  fields["outside"] = Json::array();
  for (const std::string& name : error.outside) fields["outside"].push_back(name);
  fields["interval_ns"] = interval_fields(error.interval);
  return fields;
}

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

std::vector<Json> remedy_rows(const std::vector<Remedy>& remedies) {
  std::vector<Json> rows;
  for (const Remedy& remedy : remedies) {
    Json row = {{"name", remedy.name},
                {"time_ns", remedy.time_ns},
                {"extra_bytes", remedy.extra_bytes},
                {"bound", to_string(remedy.bound)},
                {"effort", to_string(remedy.effort)},
                {"construct", remedy.construct ? Json(*remedy.construct) : Json()},
                {"low_ns", nullptr},
                {"high_ns", nullptr},
                {"judged_runs", 0},
                {"median_ratio", nullptr},
                {"worst_ratio", nullptr}};
    if (remedy.interval) {
      row["low_ns"] = remedy.interval->least_ns;
      row["high_ns"] = remedy.interval->most_ns;
    }
    if (remedy.blind) {
      row["judged_runs"] = remedy.blind->points;
      row["median_ratio"] = remedy.blind->median_ratio;
      row["worst_ratio"] = remedy.blind->worst_ratio;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json scatter_cost_fields(const study::ScatterCost& cost, const ContentionProfile& profile) {
  const ContentionPrediction& prediction = cost.prediction;
  const auto in_l2 = [&](std::int64_t sectors) {
    return std::llround(static_cast<double>(sectors) * profile.l2_sector_ratio);
  };
  Json fields;
  fields["time_ns"] = prediction.time_ns;
  fields["bound"] = to_string(prediction.bound);
  fields["updates"] = cost.load.updates;
  if (cost.words) fields["addresses"] = *cost.words;
  fields["max_multiplicity"] = cost.load.max_multiplicity;
  fields["cas_retries"] = prediction.cas_retries;
  fields["sectors"] = {{"atom", prediction.atom_sectors}, {"red", prediction.red_sectors}};
  fields["service_ns_per_update"] = prediction.service_ns_per_update;
  fields["bandwidth_utilization"] = prediction.dram_bytes / prediction.time_ns / profile.dram_bytes_per_ns;
  if (cost.remedies) fields["remedies"] = remedy_rows(*cost.remedies);
  fields["l2_sectors"] = {{"atom", in_l2(prediction.atom_sectors)}, {"red", in_l2(prediction.red_sectors)}};
  fields["bounds_ns"] = {{"hottest_address", prediction.hottest_address_ns},
                         {"slice_throughput", prediction.slice_throughput_ns},
                         {"issue", prediction.issue_ns},
                         {"dram", prediction.dram_ns}};
  fields["launch_ns"] = prediction.launch_ns;
  fields["host_launch_ns"] = prediction.host_launch_ns;
  fields["path"] = to_string(cost.load.path);
  fields["vector_width"] = cost.load.vector_width;
  fields["instruction"] = instruction_name(cost);
  fields["rows_touched"] = cost.load.rows_touched;
  fields["serial_multiplicity"] = cost.load.serial_multiplicity;
  fields["collapsed"] = prediction.collapsed;
  fields["contenders"] = prediction.contenders;
  fields["changing_share"] = prediction.changing_share;
  return fields;
}

namespace {

std::vector<Json> release_rows(const std::vector<study::ReleaseCost>& releases) {
  std::vector<Json> rows;
  for (const study::ReleaseCost& cost : releases) {
    rows.push_back({{"operator", cost.release.operator_name},
                    {"release", cost.release.release},
                    {"construct", *cost.release.construct},
                    {"path", to_string(cost.path)},
                    {"instruction", cost.instruction},
                    {"time_ns", cost.prediction.time_ns},
                    {"low_ns", cost.interval ? Json(cost.interval->least_ns) : Json()},
                    {"high_ns", cost.interval ? Json(cost.interval->most_ns) : Json()},
                    {"condition", cost.release.condition.empty() ? Json() : Json(cost.release.condition)},
                    {"source", cost.release.source}});
  }
  return rows;
}

}  // namespace

Rows scatter_rows(const study::ScatterAnswer& answer) {
  const std::vector<Json> rows =
      answer.releases.empty() ? remedy_rows(*answer.cost.remedies) : release_rows(answer.releases);
  return {rows.front(), rows, {"name", "time_ns", "low_ns", "high_ns", "extra_bytes"}};
}

Json scatter_fields(const study::ScatterAnswer& answer) {
  Json fields = scatter_cost_fields(answer.cost, answer.profile);
  const ScatterLoad& load = answer.cost.load;
  fields["hottest_rows"] = load.hottest_rows;
  fields["close_updates"] = load.close_updates;
  fields["slice_sectors"] = load.slice_sectors.value_or(0);
  fields["sent_sectors"] = load.sent_sectors.value_or(0);
  fields["streamed_bytes"] = load.streamed_bytes;
  fields["warp_instructions"] = warp_instructions(load);
  if (!answer.releases.empty()) fields["releases"] = release_rows(answer.releases);
  if (answer.calibration) fields["calibration"] = calibration_fields(*answer.calibration);
  return fields;
}

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
