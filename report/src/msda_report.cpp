#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <natten_sim/report/msda_report.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/report/text_table.hpp>

#include "scatter_members.hpp"

namespace natten_sim::report {
namespace {

double ratio_or_zero(std::int64_t part, std::int64_t whole, bool known) {
  return known ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
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

template <typename Members>
void describe(Members& m, Of<study::MsdaPass>) {
  using P = study::MsdaPass;
  m.put("order", &P::order, "Order of the queries");
  m.put("time_ns", path(&P::time, &MsdaTime::time_ns), "Predicted time");
  m.put("bound", path(&P::time, &MsdaTime::bound), "What takes most of the time");
  m.put("l2_hit_rate", &P::l2_hit_rate, "Share of reads that hit the L2, 0..1");
  m.put("l2_misses", path(&P::traffic, &MsdaTraffic::l2_misses), "Reads that miss the L2");
  m.put("bytes", &P::bytes, "To and from DRAM");
  m.put(
      "reads_per_miss",
      [](const P& pass) {
        return ratio_or_zero(pass.traffic.query_reads, pass.traffic.l2_misses, pass.traffic.granules != 0);
      },
      "Reads over misses; 0: misses were not counted");
}

template <typename Members>
void describe(Members& m, Of<study::MsdaError>) {
  using E = study::MsdaError;
  m.put("held_out", &E::held_out, "What the runs that judge it have of their own");
  m.put("unfitted_points", &E::unfitted_points, "Runs that were not fitted");
  m.put("unfitted_worst_ratio", &E::unfitted_worst_ratio, "Worst of how far off those are, as a factor");
  m.put("unfitted_mean_ratio", &E::unfitted_mean_ratio, "Mean of how far off those are, as a factor");
  m.put("outside", &E::outside, "Members of the question beyond those runs");
}

template <typename Members>
void put_times(Members& m) {
  using A = study::MsdaAnswer;
  const auto time = [](auto member) {
    return [member](const A& answer) { return answer.passes.front().time.*member; };
  };
  m.object("times_ns", "Times of which the largest decides; of this project's kernel parts of the time",
           [time](auto& times) {
             times.put("l2", time(&MsdaTime::l2_ns), "Reads from the L2");
             times.put("memory_parallelism", time(&MsdaTime::parallelism_ns), "Latency over bytes in flight");
             times.put("dram", time(&MsdaTime::dram_ns), "Bytes to and from DRAM");
             times.put("atomics", time(&MsdaTime::atomics_ns), "Updates of the gradient");
             times.when(&A::own_kernel, [time](auto& own) {
               own.put("launch", time(&MsdaTime::launch_ns), "The launch");
               own.put("chain", time(&MsdaTime::chain_ns), "Instructions that wait for each other");
               own.put("issue", time(&MsdaTime::issue_ns), "Instructions that the SMs issue");
             });
           });
}

template <typename Members>
void describe(Members& m, Of<study::MsdaAnswer>) {
  using A = study::MsdaAnswer;
  const auto pass = [](auto... members) {
    return path([](const A& answer) -> const study::MsdaPass& { return answer.passes.front(); }, members...);
  };
  const auto time = [pass](auto member) { return pass(&study::MsdaPass::time, member); };
  const auto traffic = [pass](auto... members) { return pass(&study::MsdaPass::traffic, members...); };
  const auto updates = [](const A& answer) {
    const std::optional<study::ScatterCost>& cost = answer.passes.front().updates;
    return cost ? std::optional(ScatterCostTold{&*cost, &answer.profile}) : std::nullopt;
  };
  m.put("time_ns", time(&MsdaTime::time_ns), "Predicted time");
  m.put("bound", time(&MsdaTime::bound), "What takes most of the time");
  m.include(updates, [](auto& cost) { put_updates(cost); });
  m.put("max_multiplicity", traffic(&MsdaTraffic::collisions, &CollisionCount::max_multiplicity),
        "Reads or updates of the hottest row");
  m.include(updates, [](auto& cost) { put_atomics(cost); });
  m.put(
      "bandwidth_utilization",
      [](const A& answer) {
        return answer.passes.front().time.achieved_bytes_per_ns / answer.profile.dram_bytes_per_ns;
      },
      "Share of the DRAM's bandwidth, 0..1");
  m.include(updates, [](auto& cost) {
    put_cost_details(cost);
    cost.put("contention_bound", of_prediction(&ContentionPrediction::bound),
             "What takes most of the updates' time");
  });
  m.put("reads", traffic(&MsdaTraffic::reads), "Rows that corners of samples read");
  m.put("samples", traffic(&MsdaTraffic::samples), "Samples");
  m.optional("unique_sectors", pass(&study::MsdaPass::unique_sectors),
             "Distinct 32-byte sectors of the value tensor that are read");
  m.put("bytes", pass(&study::MsdaPass::bytes), "To and from DRAM");
  m.put("flops", pass(&study::MsdaPass::flops), "Floating-point operations");
  m.put("arithmetic_intensity", pass([](const study::MsdaPass& each) {
          return static_cast<double>(each.flops) / static_cast<double>(each.bytes);
        }),
        "Floating-point operations per byte of DRAM traffic");
  m.put("occupancy", path(&A::kernel, &MsdaKernel::occupancy),
        "Share of the warps that an SM can hold, 0..1");
  m.put("l2_hit_rate", pass(&study::MsdaPass::l2_hit_rate), "Share of reads that hit the L2, 0..1");
  m.put("peak_bytes", &A::peak_bytes, "Peak memory");
  m.put("latency_ns", time(&MsdaTime::latency_ns),
        "Time in eager mode, launches of other operators included");
  m.put("reuse",
        traffic([](const MsdaTraffic& each) { return ratio_or_zero(each.reads, each.rows, each.rows != 0); }),
        "Reads per row");
  m.put(
      "achieved_bytes_per_s",
      [](const A& answer) { return answer.passes.front().time.achieved_bytes_per_ns * 1e9; },
      "Bytes to and from DRAM over the time");
  m.put(
      "little_bytes_per_s",
      [](const A& answer) { return answer.passes.front().time.bandwidth_limit_bytes_per_ns * 1e9; },
      "Bandwidth that the bytes in flight allow");
  put_times(m);
  m.put("rows", traffic(&MsdaTraffic::rows), "Distinct rows that are read");
  m.put("l2_misses", traffic(&MsdaTraffic::l2_misses), "Reads that miss the L2");
  m.put("own_kernel", &A::own_kernel,
        "Whether this project's kernel was answered for, not the published one in Triton");
  m.optional(
      "calibration", [](const A& answer) { return answer.own_kernel ? answer.error : std::nullopt; },
      "Error of the kernel's times");
  m.put("borrowed_from", path(&A::kernel, &MsdaKernel::borrowed_from),
        "Device whose kernel constants are used; empty: its own");
  m.when([](const A& answer) { return answer.passes.size() > 1; },
         [](auto& several) { several.put("orders", &A::passes, "Each order of the queries"); });
}

std::vector<Json> msda_order_rows(const study::MsdaAnswer& answer) { return rows_of(answer.passes); }

Json msda_fields(const study::MsdaAnswer& answer) { return json_of(answer); }

Json msda_schema() { return schema_of<study::MsdaAnswer>(); }

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
