#include "contention_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/models/contention_fit.hpp>

#include "chart.hpp"
#include "report_text.hpp"

namespace natten_sim::cli {

void describe_collisions(const CollisionCount& collisions, ScatterLoad& load) {
  load.updates = collisions.updates;
  load.rows_touched = collisions.rows_touched;
  load.max_multiplicity = collisions.max_multiplicity;
  load.serial_multiplicity = collisions.serial_multiplicity;
  load.hottest_rows = std::max<std::int64_t>(collisions.hottest_rows, 1);
  load.close_updates = collisions.close_updates;
}

std::int64_t words_touched(const ContentionReport& report) {
  return touched_units(report.collisions, report.load.width * element_bytes(report.load.type), 4);
}

Json remedies_json(const std::vector<Remedy>& remedies) {
  Json array = Json::array();
  for (const Remedy& remedy : remedies) {
    array.push_back({{"name", remedy.name},
                     {"time_ns", remedy.time_ns},
                     {"extra_bytes", remedy.extra_bytes},
                     {"bound", to_string(remedy.bound)}});
  }
  return array;
}

Json contention_fields(const ContentionReport& report) {
  const ContentionPrediction& prediction = report.prediction;
  const auto in_l2 = [&](std::int64_t sectors) {
    return std::llround(static_cast<double>(sectors) * report.profile.l2_sector_ratio);
  };
  Json fields;
  fields["time_ns"] = prediction.time_ns;
  fields["bound"] = to_string(prediction.bound);
  fields["updates"] = report.load.updates;
  fields["addresses"] = words_touched(report);
  fields["max_multiplicity"] = report.load.max_multiplicity;
  fields["cas_retries"] = prediction.cas_retries;
  fields["sectors"] = {{"atom", prediction.atom_sectors}, {"red", prediction.red_sectors}};
  fields["service_ns_per_update"] = prediction.service_ns_per_update;
  fields["bandwidth_utilization"] =
      prediction.dram_bytes / prediction.time_ns / report.profile.dram_bytes_per_ns;
  fields["remedies"] = remedies_json(report.remedies);
  fields["l2_sectors"] = {{"atom", in_l2(prediction.atom_sectors)}, {"red", in_l2(prediction.red_sectors)}};
  fields["bounds_ns"] = {{"hottest_address", prediction.hottest_address_ns},
                         {"slice_throughput", prediction.slice_throughput_ns},
                         {"issue", prediction.issue_ns},
                         {"dram", prediction.dram_ns}};
  fields["launch_ns"] = prediction.launch_ns;
  fields["path"] = to_string(report.load.path);
  fields["vector_width"] = report.load.vector_width;
  fields["instruction"] = report.instruction;
  fields["rows_touched"] = report.load.rows_touched;
  fields["serial_multiplicity"] = report.load.serial_multiplicity;
  fields["collapsed"] = prediction.collapsed;
  fields["contenders"] = prediction.contenders;
  fields["changing_share"] = prediction.changing_share;
  return fields;
}

Json calibration_json(const std::string& device) {
  const ContentionProfile profile = contention_profile(device);
  std::int64_t fitted = 0, unfitted = 0;
  double worst = 1, logs = 0;
  for (const ContentionPoint& point : contention_points()) {
    if (point.device != device) continue;
    ++(point.fitted ? fitted : unfitted);
    if (point.fitted) continue;
    const double ratio = predict_contention(load_of(point), profile).time_ns / point.time_ns;
    worst = std::max({worst, ratio, 1 / ratio});
    logs += std::abs(std::log(ratio));
  }
  return {{"fitted_points", fitted},
          {"unfitted_points", unfitted},
          {"unfitted_worst_ratio", worst},
          {"unfitted_mean_ratio", unfitted > 0 ? std::exp(logs / static_cast<double>(unfitted)) : 1}};
}

std::string collision_svg(const CollisionCount& collisions, const std::string& title) {
  LogLogChart chart{title, "updates of a row", "rows", {}, {}};
  for (const MultiplicityCount& bin : collisions.histogram)
    chart.points.push_back({static_cast<double>(bin.multiplicity), static_cast<double>(bin.rows), ""});
  if (!chart.points.empty())
    chart.points.back().label = "hottest: " + std::to_string(collisions.max_multiplicity);
  return svg_chart(chart);
}

std::string remedies_svg(const std::vector<Remedy>& remedies, const std::string& title) {
  BarChart chart{title, "predicted time, us", {}};
  for (const Remedy& remedy : remedies)
    chart.bars.push_back({remedy.name, remedy.time_ns * 1e-3, time_text(remedy.time_ns)});
  return svg_chart(chart);
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

std::string remedies_text(const std::vector<Remedy>& remedies) {
  const auto as_is =
      std::find_if(remedies.begin(), remedies.end(), [](const Remedy& r) { return r.name == "as-is"; });
  std::vector<std::vector<std::string>> rows = {{"remedy", "time", "speedup", "extra memory", "bound"}};
  for (const Remedy& remedy : remedies) {
    rows.push_back({remedy.name, time_text(remedy.time_ns),
                    fmt::format("{:.2f}x", as_is->time_ns / remedy.time_ns),
                    bytes_text(static_cast<double>(remedy.extra_bytes)), to_string(remedy.bound)});
  }
  return text_table(rows, LastColumn::kLeft);
}

}  // namespace natten_sim::cli
