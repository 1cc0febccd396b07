#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <natten_sim/report/msda_report.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

double ratio_or_zero(std::int64_t part, std::int64_t whole, bool known) {
  return known ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

Json order_fields(const study::MsdaPass& pass) {
  const MsdaTraffic& traffic = pass.traffic;
  return {{"order", to_string(pass.order)},
          {"time_ns", pass.time.time_ns},
          {"bound", to_string(pass.time.bound)},
          {"l2_hit_rate", pass.l2_hit_rate},
          {"l2_misses", traffic.l2_misses},
          {"bytes", pass.bytes},
          {"reads_per_miss", ratio_or_zero(traffic.query_reads, traffic.l2_misses, traffic.granules != 0)}};
}

std::string heading_text(const study::MsdaQuestion& question, QueryOrder order) {
  const MsdaConfig& config = question.config;
  return fmt::format(
      "{}: {} {}x{}, {} in {}, {} queries, {} x {}\n{} pass, {} tiling, {} "
      "on {}, {} order\n\n",
      config.name, counted(config.batch, "image"), config.height, config.width,
      counted(pixels_per_image(config), "pixel"), counted(config.levels(), "level"),
      grouped(queries_per_image(config)), counted(config.heads, "head"), counted(config.points, "point"),
      to_string(question.phase), to_string(question.tiling), to_string(*question.dtype), question.device,
      to_string(order));
}

std::string traffic_text(const study::MsdaAnswer& answer, const study::MsdaPass& pass) {
  const MsdaTraffic& traffic = pass.traffic;
  const double peak = answer.profile.dram_bytes_per_ns;
  std::string text = fmt::format("corner reads        {:>14}   of {} samples\n", grouped(traffic.reads),
                                 grouped(traffic.samples));
  if (pass.unique_sectors)
    text += fmt::format(
        "unique sectors      {:>14}   each row read {:.1f} times\n", grouped(*pass.unique_sectors),
        static_cast<double>(traffic.reads) / static_cast<double>(std::max<std::int64_t>(traffic.rows, 1)));
  text +=
      fmt::format("DRAM traffic        {:>14}   {:.1f}% of peak", bytes_text(static_cast<double>(pass.bytes)),
                  100 * pass.time.achieved_bytes_per_ns / peak);
  text += answer.own_kernel ? "\n"
                            : fmt::format("; bytes in flight allow {:.1f}%\n",
                                          100 * pass.time.bandwidth_limit_bytes_per_ns / peak);
  text += fmt::format("arithmetic          {:>14}   {:.2f} FLOP a byte\n", grouped(pass.flops),
                      static_cast<double>(pass.flops) / static_cast<double>(pass.bytes));
  text += fmt::format("occupancy           {:>13.1f}%   L2 hit rate {:.1f}%\n", 100 * answer.kernel.occupancy,
                      100 * pass.l2_hit_rate);
  return text +
         fmt::format("peak memory         {:>14}\n", bytes_text(static_cast<double>(answer.peak_bytes)));
}

std::string updates_text(const study::ScatterCost& updates, double atomics_ns) {
  std::string text =
      fmt::format("gradient updates    {:>14}   {} ({}); hottest row {}\n", grouped(updates.load.updates),
                  to_string(updates.load.path), updates.instruction.value_or("forced"),
                  grouped(updates.load.max_multiplicity));
  text += fmt::format("atomics             {:>14}   bound: {}\n", time_text(atomics_ns),
                      to_string(updates.prediction.bound));
  if (updates.remedies) text += "\nGradient updates alone:\n" + remedies_text(*updates.remedies);
  return text;
}

/// What a launch of this project's kernel spends its time on.
std::string parts_text(const MsdaTime& time, bool backward) {
  std::string text;
  const auto add = [&](const char* name, double ns) {
    text += fmt::format("  {:<18}{:>14}\n", name, time_text(ns));
  };
  add("launch", time.launch_ns);
  add("chain", time.chain_ns);
  add("issue", time.issue_ns);
  add("l2", time.l2_ns);
  if (backward) add("atomics", time.atomics_ns);
  add("dram", time.dram_ns);
  return text;
}

std::string run_error_text(const std::optional<study::MsdaError>& error) {
  if (!error) return "error                      unknown   no run was held out from the fit\n";
  if (!error->outside.empty())
    return fmt::format("error                      unknown   {} beyond what was measured\n",
                       fmt::join(error->outside, ", "));
  return fmt::format("error               within {:.2f}x on {} runs not fitted, {:.2f}x on average ({})\n",
                     error->unfitted_worst_ratio, error->unfitted_points, error->unfitted_mean_ratio,
                     error->held_out);
}

Json run_error_fields(const study::MsdaError& error) {
  return {{"held_out", error.held_out},
          {"unfitted_points", error.unfitted_points},
          {"unfitted_worst_ratio", error.unfitted_worst_ratio},
          {"unfitted_mean_ratio", error.unfitted_mean_ratio},
          {"outside", error.outside}};
}

std::string orders_text(const std::vector<study::MsdaPass>& passes) {
  std::vector<std::vector<std::string>> rows = {
      {"order", "time", "of linear", "L2 misses", "L2 hit rate", "DRAM"}};
  for (const study::MsdaPass& pass : passes) {
    rows.push_back({to_string(pass.order), time_text(pass.time.time_ns),
                    fmt::format("{:.4f}", pass.time.time_ns / passes.front().time.time_ns),
                    grouped(pass.traffic.l2_misses), fmt::format("{:.1f}%", 100 * pass.l2_hit_rate),
                    bytes_text(static_cast<double>(pass.bytes))});
  }
  return "\n" + text_table(rows);
}

}  // namespace

std::vector<Json> msda_order_rows(const study::MsdaAnswer& answer) {
  std::vector<Json> rows;
  for (const study::MsdaPass& pass : answer.passes) rows.push_back(order_fields(pass));
  return rows;
}

Json msda_fields(const study::MsdaAnswer& answer) {
  const study::MsdaPass& pass = answer.passes.front();
  Json result;
  if (pass.updates) {
    result = scatter_cost_fields(*pass.updates, answer.profile);
    Json bound = result["bound"];  // a new member may move the others
    result["contention_bound"] = std::move(bound);
  }
  const MsdaTime& time = pass.time;
  const MsdaTraffic& traffic = pass.traffic;
  result["time_ns"] = time.time_ns;
  result["bound"] = to_string(time.bound);
  result["max_multiplicity"] = traffic.collisions.max_multiplicity;
  result["bandwidth_utilization"] = time.achieved_bytes_per_ns / answer.profile.dram_bytes_per_ns;
  result["reads"] = traffic.reads;
  result["samples"] = traffic.samples;
  if (pass.unique_sectors) result["unique_sectors"] = *pass.unique_sectors;
  result["bytes"] = pass.bytes;
  result["flops"] = pass.flops;
  result["arithmetic_intensity"] = static_cast<double>(pass.flops) / static_cast<double>(pass.bytes);
  result["occupancy"] = answer.kernel.occupancy;
  result["l2_hit_rate"] = pass.l2_hit_rate;
  result["peak_bytes"] = answer.peak_bytes;
  result["latency_ns"] = time.latency_ns;
  result["reuse"] = ratio_or_zero(traffic.reads, traffic.rows, traffic.rows != 0);
  result["achieved_bytes_per_s"] = time.achieved_bytes_per_ns * 1e9;
  result["little_bytes_per_s"] = time.bandwidth_limit_bytes_per_ns * 1e9;
  result["times_ns"] = {{"l2", time.l2_ns},
                        {"memory_parallelism", time.parallelism_ns},
                        {"dram", time.dram_ns},
                        {"atomics", time.atomics_ns}};
  result["rows"] = traffic.rows;
  result["l2_misses"] = traffic.l2_misses;
  result["own_kernel"] = answer.own_kernel;
  if (answer.own_kernel) {
    result["times_ns"]["launch"] = time.launch_ns;
    result["times_ns"]["chain"] = time.chain_ns;
    result["times_ns"]["issue"] = time.issue_ns;
    if (answer.error) result["calibration"] = run_error_fields(*answer.error);
  }
  result["borrowed_from"] = answer.kernel.borrowed_from;
  if (answer.passes.size() > 1) result["orders"] = msda_order_rows(answer);
  return result;
}

std::string msda_text(const study::MsdaAnswer& answer) {
  const study::MsdaPass& pass = answer.passes.front();
  std::string text = heading_text(answer.question, pass.order);
  text += fmt::format("time                {:>14}   bound: {}", time_text(pass.time.time_ns),
                      to_string(pass.time.bound));
  if (answer.own_kernel) {
    text += "\n" + parts_text(pass.time, pass.updates.has_value()) + run_error_text(answer.error);
  } else {
    text += fmt::format("; eager-mode latency {}\n", time_text(pass.time.latency_ns));
  }
  text += traffic_text(answer, pass);
  if (pass.updates) text += updates_text(*pass.updates, pass.time.atomics_ns);
  if (answer.passes.size() > 1) text += orders_text(answer.passes);
  return text;
}

std::optional<std::string> borrowed_note(const study::MsdaAnswer& answer) {
  if (answer.kernel.borrowed_from.empty()) return std::nullopt;
  return "no published MSDA times on " + answer.question.device + ": kernel constants are those of " +
         answer.kernel.borrowed_from;
}

}  // namespace natten_sim::report
