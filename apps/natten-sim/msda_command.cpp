#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

#include "chart.hpp"
#include "commands.hpp"
#include "msda_report.hpp"
#include "output.hpp"
#include "report_text.hpp"
#include "values.hpp"

namespace natten_sim::cli {
namespace {

MsdaConfig find_config(const std::string& name) {
  const std::vector<MsdaConfig> configs = builtin_msda_configs();
  std::vector<std::string> names;
  std::string known;
  for (const MsdaConfig& config : configs) {
    if (config.name == name) return config;
    names.push_back(config.name);
    known += (known.empty() ? "" : ", ") + config.name;
  }
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(name, ignored))
    throw UnknownName("config", name, closest_name(name, names), known + ", or a file");
  const std::vector<MsdaConfig> own = read_msda_configs(read_file("config", name), name);
  if (own.size() != 1)
    throw MalformedData(name, std::to_string(own.size()) + " configurations", "exactly one");
  return own.front();
}

MsdaRequest read_request(const Arguments& arguments) {
  MsdaRequest request;
  if (!arguments.has("config"))
    throw InvalidParameter("config", "none",
                           "--config with a name that natten-sim msda --help lists, or a JSON file");
  request.config = find_config(arguments.text("config"));
  request.phase =
      arguments.text("phase", "forward") == "forward" ? MsdaPhase::kForward : MsdaPhase::kBackward;
  request.tiling = arguments.text("tiling", "block");
  // One given without the other: gradients add up in the type of the tensors, or in fp32.
  request.accumulator = element_type(arguments.text("accumulator", arguments.text("dtype", "bf16")));
  const char* tensors = request.accumulator == ElementType::kFp16 ? "fp16" : "bf16";
  request.type = element_type(arguments.text("dtype", tensors));
  if (request.accumulator != request.type && request.accumulator != ElementType::kFp32) {
    throw InvalidParameter("accumulator", to_string(request.accumulator),
                           "fp32, or the type of the tensors, " + to_string(request.type),
                           to_string(request.type));
  }
  request.device = arguments.text("device", "h200");
  request.sampling.offsets = offset_distribution(arguments.text("offsets", "learned"));
  request.sampling.spread =
      parse_number("spread", arguments.text("spread", "1"), 0, 1e6, "0..1000000 pixels");
  request.sampling.seed = static_cast<std::uint64_t>(
      parse_integer("seed", arguments.text("seed", "0"), 0, std::int64_t{1} << 62));
  if (arguments.has("l2-bytes"))
    request.l2_bytes = parse_integer("l2-bytes", arguments.text("l2-bytes"), 0, std::int64_t{1} << 40);
  return request;
}

Json input_fields(const MsdaRequest& request, const std::string& order) {
  const MsdaConfig& config = request.config;
  Json input = {{"config", config.name},
                {"batch", config.batch},
                {"height", config.height},
                {"width", config.width},
                {"strides", config.strides},
                {"channels", config.channels},
                {"heads", config.heads},
                {"points", config.points},
                {"queries", config.queries},
                {"phase", request.phase == MsdaPhase::kForward ? "forward" : "backward"},
                {"tiling", request.tiling},
                {"dtype", to_string(request.type)},
                {"accumulator", to_string(request.accumulator)},
                {"order", order},
                {"device", request.device},
                {"offsets", to_string(request.sampling.offsets)},
                {"spread", request.sampling.spread},
                {"seed", request.sampling.seed}};
  if (request.l2_bytes) input["l2_bytes"] = *request.l2_bytes;
  return input;
}

Json order_fields(const MsdaReport& report) {
  return {{"order", to_string(report.order)},
          {"time_ns", report.time.time_ns},
          {"bound", to_string(report.time.bound)},
          {"l2_hit_rate", report.l2_hit_rate},
          {"l2_misses", report.traffic.l2_misses},
          {"bytes", report.bytes},
          {"reuse", report.traffic.granules == 0 ? 0.0
                                                 : static_cast<double>(report.traffic.query_reads) /
                                                       static_cast<double>(report.traffic.l2_misses)}};
}

Json result_fields(const MsdaReport& report) {
  Json result;
  if (report.updates) {
    result = contention_fields(*report.updates);
    result["contention_bound"] = result["bound"];
  }
  const MsdaTime& time = report.time;
  result["time_ns"] = time.time_ns;
  result["bound"] = to_string(time.bound);
  result["max_multiplicity"] = report.traffic.collisions.max_multiplicity;
  result["bandwidth_utilization"] = time.achieved_bytes_per_ns / report.profile.dram_bytes_per_ns;
  result["reads"] = report.traffic.reads;
  result["samples"] = report.traffic.samples;
  result["unique_sectors"] = report.unique_sectors;
  result["bytes"] = report.bytes;
  result["flops"] = report.flops;
  result["arithmetic_intensity"] = static_cast<double>(report.flops) / static_cast<double>(report.bytes);
  result["occupancy"] = report.kernel.occupancy;
  result["l2_hit_rate"] = report.l2_hit_rate;
  result["peak_bytes"] = report.peak_bytes;
  result["latency_ns"] = time.latency_ns;
  result["reuse"] = report.traffic.rows == 0 ? 0.0
                                             : static_cast<double>(report.traffic.reads) /
                                                   static_cast<double>(report.traffic.rows);
  result["achieved_bytes_per_s"] = time.achieved_bytes_per_ns * 1e9;
  result["little_bytes_per_s"] = time.bandwidth_limit_bytes_per_ns * 1e9;
  result["times_ns"] = {{"l2", time.l2_ns},
                        {"memory_parallelism", time.parallelism_ns},
                        {"dram", time.dram_ns},
                        {"atomics", time.atomics_ns}};
  result["borrowed_from"] = report.kernel.borrowed_from;
  return result;
}

std::string text_report(const MsdaRequest& request, const MsdaReport& report) {
  const MsdaConfig& config = request.config;
  const MsdaTraffic& traffic = report.traffic;
  std::string text = fmt::format(
      "{}: {} images {}x{}, {} pixels in {} levels, {} queries, {} heads x {} points\n{} pass, {} tiling, {} "
      "on {}, {} order\n\n",
      config.name, config.batch, config.height, config.width, grouped(pixels_per_image(config)),
      config.levels(), grouped(queries_per_image(config)), config.heads, config.points,
      request.phase == MsdaPhase::kForward ? "forward" : "backward", request.tiling, to_string(request.type),
      request.device, to_string(report.order));
  text += fmt::format("time                {:>14}   bound: {}; eager-mode latency {}\n",
                      time_text(report.time.time_ns), to_string(report.time.bound),
                      time_text(report.time.latency_ns));
  text += fmt::format("corner reads        {:>14}   of {} samples\n", grouped(traffic.reads),
                      grouped(traffic.samples));
  text += fmt::format(
      "unique sectors      {:>14}   each row read {:.1f} times\n", grouped(report.unique_sectors),
      static_cast<double>(traffic.reads) / static_cast<double>(std::max<std::int64_t>(traffic.rows, 1)));
  text += fmt::format("DRAM traffic        {:>14}   {:.1f}% of peak; in flight allow {:.1f}%\n",
                      bytes_text(static_cast<double>(report.bytes)),
                      100 * report.time.achieved_bytes_per_ns / report.profile.dram_bytes_per_ns,
                      100 * report.time.bandwidth_limit_bytes_per_ns / report.profile.dram_bytes_per_ns);
  text += fmt::format("arithmetic          {:>14}   {:.2f} FLOP a byte\n", grouped(report.flops),
                      static_cast<double>(report.flops) / static_cast<double>(report.bytes));
  text += fmt::format("occupancy           {:>13.1f}%   L2 hit rate {:.1f}%\n", 100 * report.kernel.occupancy,
                      100 * report.l2_hit_rate);
  text += fmt::format("peak memory         {:>14}\n", bytes_text(static_cast<double>(report.peak_bytes)));
  if (report.updates) {
    const ContentionReport& updates = *report.updates;
    text += fmt::format("gradient updates    {:>14}   {} ({}); hottest row {}\n",
                        grouped(updates.load.updates), to_string(updates.load.path), updates.instruction,
                        grouped(updates.load.max_multiplicity));
    text += fmt::format("atomics             {:>14}   bound: {}\n\nGradient updates alone:\n",
                        time_text(report.time.atomics_ns), to_string(updates.prediction.bound)) +
            remedies_text(updates.remedies);
  }
  return text;
}

std::string orders_text(const std::vector<MsdaReport>& reports) {
  std::vector<std::vector<std::string>> rows = {
      {"order", "time", "of linear", "L2 misses", "L2 hit rate", "DRAM"}};
  for (const MsdaReport& report : reports) {
    rows.push_back({to_string(report.order), time_text(report.time.time_ns),
                    fmt::format("{:.4f}", report.time.time_ns / reports.front().time.time_ns),
                    grouped(report.traffic.l2_misses), fmt::format("{:.1f}%", 100 * report.l2_hit_rate),
                    bytes_text(static_cast<double>(report.bytes))});
  }
  return "\n" + text_table(rows);
}

std::string roofline_svg(const MsdaRequest& request, const MsdaReport& report) {
  const double bandwidth = report.profile.dram_bytes_per_ns, peak = report.profile.fp32_flops_per_ns;
  const double intensity = static_cast<double>(report.flops) / static_cast<double>(report.bytes);
  LogLogChart chart;
  chart.title = fmt::format("Roofline: {} {}, {} tiling, {}", request.config.name,
                            request.phase == MsdaPhase::kForward ? "forward" : "backward", request.tiling,
                            request.device);
  chart.x_label = "FLOP per byte of DRAM traffic";
  chart.y_label = "GFLOP/s";
  const double ridge = peak / bandwidth;
  const double left = std::min(0.1, intensity / 2), right = std::max(100.0, intensity * 2);
  chart.lines = {
      {{left, left * bandwidth, "DRAM bandwidth and fp32 peak"}, {ridge, peak, ""}, {right, peak, ""}}};
  if (report.flops > 0)
    chart.points.push_back(
        {intensity, static_cast<double>(report.flops) / report.time.time_ns, request.tiling});
  return svg_chart(chart);
}

void write_pictures(const Arguments& arguments, const MsdaRequest& request, const MsdaReport& report) {
  if (arguments.has("svg-roofline"))
    write_file(arguments.text("svg-roofline"), roofline_svg(request, report));
  if (arguments.has("svg-histogram"))
    write_file(arguments.text("svg-histogram"),
               collision_svg(report.traffic.collisions, "Collisions: " + request.config.name));
  if (arguments.has("svg-remedies"))
    write_file(arguments.text("svg-remedies"),
               remedies_svg(report.updates->remedies, "Remedies: " + request.config.name));
}

int run_msda(const Arguments& arguments) {
  const Notes notes(arguments);
  const MsdaRequest request = read_request(arguments);
  const std::string order = arguments.text("order", "linear");
  if (arguments.has("svg-remedies") && request.phase == MsdaPhase::kForward)
    throw InvalidParameter("svg-remedies", "with --phase forward",
                           "--phase backward: a forward pass adds nothing");
  const std::vector<QueryOrder> orders =
      order == "all" ? query_orders() : std::vector<QueryOrder>{query_order(order)};
  ProgressBar bar("sampling", notes.quiet());
  std::vector<MsdaReport> reports;
  for (const QueryOrder one : orders) {
    const double before = static_cast<double>(reports.size());
    reports.push_back(analyse_msda(request, one, [&](double fraction) {
      bar.show((before + fraction) / static_cast<double>(orders.size()));
    }));
  }
  bar.clear();
  if (!reports.front().kernel.borrowed_from.empty()) {
    notes.note("no published MSDA times on " + request.device + ": kernel constants are those of " +
               reports.front().kernel.borrowed_from);
  }

  std::string text;
  Json rows = Json::array();
  for (const MsdaReport& report : reports) rows.push_back(order_fields(report));
  if (arguments.has("json")) {
    Json result = result_fields(reports.front());
    if (order == "all") result["orders"] = rows;
    text = envelope("msda", input_fields(request, order), result);
  } else if (arguments.has("csv")) {
    text = csv_table(rows.front(), std::vector<Json>(rows.begin(), rows.end()));
  } else {
    text = text_report(request, reports.front());
    if (order == "all") text += orders_text(reports);
  }
  OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
  write_pictures(arguments, request, reports.front());
  sink.write(text);
  sink.commit();
  return kExitDone;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace

Command msda_command() {
  Command command;
  command.name = "msda";
  command.summary = "Predict multi-scale deformable attention: traffic, contention, time, memory";
  std::string orders = "all";
  for (const QueryOrder order : query_orders()) orders += " " + to_string(order);
  std::vector<std::string> configs;
  for (const MsdaConfig& config : builtin_msda_configs()) configs.push_back(config.name);
  command.options_file = "options";
  command.options = {
      {"--config", "NAME", "A configuration, or a JSON file with one", 1, ""},
      {"--phase", "PHASE", "forward or backward [forward]", 1, "forward backward"},
      {"--tiling", "KIND",
       "block: a program takes all points of a query; point: one (query, head, level, point) [block]", 1,
       "block point"},
      {"--accumulator", "TYPE",
       "In which gradients of the value are added up: the tensors' type, or fp32 [the tensors']", 1,
       "bf16 fp16 fp32"},
      {"--dtype", "TYPE", "Of the tensors [fp16 with an fp16 accumulator, else bf16]", 1, "bf16 fp16 fp32"},
      {"--order", "NAME", "Dispatch order of the queries, or all [linear]", 1, orders},
      {"--device", "NAME", "A device with measured contention [h200]", 1, joined(contention_devices())},
      {"--offsets", "KIND", "Of the samples: uniform, gaussian, learned or image (anywhere) [learned]", 1,
       "uniform gaussian learned image"},
      {"--spread", "PIXELS", "Half edge (uniform) or standard deviation of the offsets [1]", 1, ""},
      {"--seed", "K", "Of reference points and offsets [0]", 1, ""},
      {"--l2-bytes", "N", "L2 capacity instead of the device's", 1, ""},
      {"--svg-roofline", "FILE", "Draw the roofline", 1, ""},
      {"--svg-histogram", "FILE", "Draw the collision histogram of the gradient updates", 1, ""},
      {"--svg-remedies", "FILE", "Draw the remedies of a backward pass as bars", 1, ""},
  };
  for (const OptionSpec& option : output_options(command.options_file)) command.options.push_back(option);
  std::string list;
  for (const std::string& name : configs) list += "  " + name + "\n";
  command.footer = "Configurations (or a JSON file with one, as docs/cli.md describes):\n" + list +
                   "Examples:\n"
                   "  natten-sim msda --config B4_800x1333_d256_L4 --phase forward --tiling point\n"
                   "  natten-sim msda --config B2_1536x2048_d256_L4_enc --phase backward --device a100 "
                   "--accumulator fp32\n"
                   "  natten-sim msda --config B4_800x1333_d256_L4 --order all --json\n"
                   "Exit codes: 0 done, 1 internal error, 2 bad input.";
  command.run = run_msda;
  return command;
}

}  // namespace natten_sim::cli
