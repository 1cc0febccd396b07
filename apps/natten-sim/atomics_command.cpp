#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>

#include "commands.hpp"
#include "contention_report.hpp"
#include "index_input.hpp"
#include "output.hpp"
#include "report_text.hpp"
#include "values.hpp"

namespace natten_sim::cli {
namespace {

struct AtomicsRequest {
  std::optional<std::int64_t> updates;  ///< none: all rows of a file
  std::int64_t rows = 0, width = 0, prior_runs = 0;
  std::uint64_t seed = 0;
  ElementType type = ElementType::kBf16;
  DistributionArgument distribution;
  UpdateValues values = UpdateValues::kNormal;
  std::string device, path, construct;
};

AtomicsRequest read_request(const Arguments& arguments) {
  AtomicsRequest request;
  const auto integer = [&](const char* name, const char* fallback, std::int64_t lo, std::int64_t hi) {
    return parse_integer(name, arguments.text(name, fallback), lo, hi);
  };
  request.distribution = parse_distribution(arguments.text("distribution", "uniform"));
  if (arguments.has("updates") || !request.distribution.path)
    request.updates = integer("updates", "65536", 0, kMaxUpdates);
  request.rows = integer("rows", "32768", 1, kMaxRows);
  request.width = integer("width", "256", 1, 1 << 20);
  request.prior_runs = integer("prior-runs", "2", 0, 1 << 20);
  request.seed = static_cast<std::uint64_t>(integer("seed", "0", 0, std::int64_t{1} << 62));
  request.type = element_type(arguments.text("dtype", "bf16"));
  request.values =
      arguments.text("values", "normal") == "constant" ? UpdateValues::kConstant : UpdateValues::kNormal;
  request.device = arguments.text("device", "h200");
  request.path = arguments.text("path", "auto");
  request.construct = arguments.text("construct", "torch-scatter-add");
  return request;
}

/// A stream that ends after so many updates, and must not end before.
class FirstUpdates final : public IndexStream {
 public:
  FirstUpdates(std::unique_ptr<IndexStream> stream, std::int64_t updates)
      : stream_(std::move(stream)), updates_(updates), left_(updates) {}
  std::size_t read(std::span<std::int64_t> rows) override {
    const std::size_t wanted = std::min(rows.size(), static_cast<std::size_t>(left_));
    const std::size_t got = wanted == 0 ? 0 : stream_->read(rows.first(wanted));
    if (wanted > 0 && got == 0) {
      throw InvalidParameter("updates", std::to_string(updates_),
                             "at most the " + std::to_string(updates_ - left_) + " rows of the file",
                             std::to_string(updates_ - left_));
    }
    left_ -= static_cast<std::int64_t>(got);
    return got;
  }

 private:
  std::unique_ptr<IndexStream> stream_;
  std::int64_t updates_, left_;
};

CollisionCount count_request(const AtomicsRequest& request, bool quiet) {
  std::unique_ptr<IndexStream> stream;
  if (request.distribution.path) {
    stream = open_index_file(*request.distribution.path, request.rows);
    if (request.updates) stream = std::make_unique<FirstUpdates>(std::move(stream), *request.updates);
  } else {
    const std::int64_t row_bytes = checked_multiply(request.width, element_bytes(request.type), "row_bytes");
    stream = generate_indices(
        {request.distribution.distribution, *request.updates, request.rows, row_bytes, request.seed});
  }
  ProgressBar bar("counting", quiet);
  const double expected = static_cast<double>(request.updates.value_or(0));
  return count_collisions(*stream, request.rows, [&](std::int64_t done) {
    if (expected > 0) bar.show(static_cast<double>(done) / expected);
  });
}

/// Path and vector width: the lowering's, or as forced.
void choose_path(const AtomicsRequest& request, const Lowering& lowering, ScatterLoad& load) {
  load.path = lowering.path;
  load.vector_width = lowering.vector_width;
  if (request.path != "auto") {
    load.path = instruction_path(request.path);
    const bool native = load.path != InstructionPath::kCas;
    // There is no scalar native form of 16 bits; a loop adds one element a lane.
    if (native && lowering.path == InstructionPath::kCas)
      load.vector_width = load.type == ElementType::kFp32 ? 1 : 2;
    if (!native && lowering.path != InstructionPath::kCas) load.vector_width = 1;
  }
  if (load.width % load.vector_width != 0) {
    throw InvalidParameter(
        "width", std::to_string(load.width),
        fmt::format("a multiple of {}, which a lane of this construct adds at once", load.vector_width),
        std::to_string(std::max(load.width / load.vector_width, std::int64_t{1}) * load.vector_width));
  }
}

ContentionReport answer(const AtomicsRequest& request, bool quiet) {
  ContentionReport report;
  const std::vector<Lowering> table = builtin_lowerings();
  report.profile = contention_profile(request.device);
  const std::string architecture = builtin_catalog().device(request.device).architecture;
  const Lowering& lowering = find_lowering(table, request.construct, architecture, request.type);
  ScatterLoad& load = report.load;
  load.width = request.width;
  load.type = request.type;
  load.values = request.values;
  load.prior_runs = request.prior_runs;
  choose_path(request, lowering, load);
  report.instruction = request.path == "auto" || load.path == lowering.path ? lowering.instruction : "forced";
  report.collisions = count_request(request, quiet);
  describe_collisions(report.collisions, load);
  const double elements = static_cast<double>(load.updates) * static_cast<double>(load.width);
  const bool is_operator = request.construct == "torch-scatter-add";
  // The operator reads an index an element, a kernel of one's own one a row.
  load.streamed_bytes = elements * static_cast<double>(element_bytes(load.type)) +
                        8.0 * (is_operator ? elements : static_cast<double>(load.updates));
  if (!is_operator) load.issue_ns = report.profile.issue_bare_ns;
  report.prediction = predict_contention(load, report.profile);
  report.remedies = compare_remedies(load, request.rows, report.profile, table, architecture,
                                     pre_reduction_costs(request.device));
  return report;
}

Json input_fields(const AtomicsRequest& request, const ContentionReport& report) {
  return {{"updates", report.load.updates},
          {"rows", request.rows},
          {"width", request.width},
          {"distribution", request.distribution.text},
          {"dtype", to_string(request.type)},
          {"path", request.path},
          {"construct", request.construct},
          {"device", request.device},
          {"seed", request.seed},
          {"prior_runs", request.prior_runs},
          {"values", request.values == UpdateValues::kNormal ? "normal" : "constant"}};
}

std::string text_report(const AtomicsRequest& request, const ContentionReport& report) {
  const ScatterLoad& load = report.load;
  const ContentionPrediction& p = report.prediction;
  std::string text =
      fmt::format("{} updates of {} x {} into {} rows, {}\n{} on {}: {} ({})\n\n", grouped(load.updates),
                  load.width, to_string(load.type), grouped(request.rows), request.distribution.text,
                  request.construct, request.device, to_string(load.path), report.instruction);
  text += fmt::format("time                {:>12}   bound: {}\n", time_text(p.time_ns), to_string(p.bound));
  text += fmt::format(
      "  hottest address   {:>12}\n  slice throughput  {:>12}\n  issue             {:>12}\n"
      "  dram              {:>12}\n  launch            {:>12}\n",
      time_text(p.hottest_address_ns), time_text(p.slice_throughput_ns), time_text(p.issue_ns),
      time_text(p.dram_ns), time_text(p.launch_ns));
  text += fmt::format("hottest row         {:>12}   updates; {} of service each\n",
                      grouped(load.max_multiplicity), time_text(p.service_ns_per_update));
  text += fmt::format("addresses           {:>12}   words in {} rows\n", grouped(words_touched(report)),
                      grouped(load.rows_touched));
  text += fmt::format("sectors atom, red   {:>12}   {}\n", grouped(p.atom_sectors), grouped(p.red_sectors));
  if (load.path == InstructionPath::kCas) {
    text += fmt::format("CAS retries         {:>12}   {:.1f}% of the hottest row's updates change it\n",
                        grouped(p.cas_retries), 100 * p.changing_share);
  }
  return text + "\n" + remedies_text(report.remedies);
}

void say_trap(const AtomicsRequest& request, const ContentionReport& report, const Notes& notes) {
  if (request.values != UpdateValues::kConstant || report.prediction.changing_share > 0.5) return;
  notes.note(
      fmt::format("constant updates saturate a {} word: only {:.1f}% of the hottest row's updates change it, "
                  "the others succeed "
                  "without retries; use --values normal for gradients",
                  to_string(request.type), 100 * report.prediction.changing_share));
}

int run_atomics(const Arguments& arguments) {
  const Notes notes(arguments);
  const AtomicsRequest request = read_request(arguments);
  const ContentionReport report = answer(request, notes.quiet());
  std::string text;
  if (arguments.has("json")) {
    Json result = contention_fields(report);
    result["calibration"] = calibration_json(request.device);
    text = envelope("atomics", input_fields(request, report), result);
  } else if (arguments.has("csv")) {
    std::vector<Json> rows;
    for (const Json& remedy : remedies_json(report.remedies)) rows.push_back(remedy);
    text = csv_table(rows.front(), rows);
  } else {
    text = text_report(request, report);
  }
  say_trap(request, report, notes);
  OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
  const std::string title = fmt::format("{} x {} {}, {}, {}", report.load.updates, request.width,
                                        to_string(request.type), request.distribution.text, request.device);
  if (arguments.has("svg-histogram"))
    write_file(arguments.text("svg-histogram"), collision_svg(report.collisions, "Collisions: " + title));
  if (arguments.has("svg-remedies"))
    write_file(arguments.text("svg-remedies"), remedies_svg(report.remedies, "Remedies: " + title));
  sink.write(text);
  sink.commit();
  return kExitDone;
}

std::string choices(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace

Command atomics_command() {
  Command command;
  command.name = "atomics";
  command.summary = "Predict what scattered atomic additions cost, and rank the remedies";
  command.options = {
      {"--updates", "N", "Rows that are added [65536; all of a file]", 1, ""},
      {"--rows", "M", "Rows of the destination [32768]", 1, ""},
      {"--width", "D", "Elements of a row [256]", 1, ""},
      {"--distribution", "KIND",
       "uniform, zipf:S (row k with probability ~ 1/k^S), hot:K (evenly over K rows in distinct sectors) or "
       "file:PATH "
       "(.npy, .csv, .txt, else raw 64-bit integers) [uniform]",
       1, ""},
      {"--dtype", "TYPE", "fp32, fp16 or bf16 [bf16]", 1, "fp32 fp16 bf16"},
      {"--path", "PATH", "What the hardware executes: auto (by the construct), red, atom or cas [auto]", 1,
       "auto red atom cas"},
      {"--construct", "NAME", "A source construct or operator of the lowering table [torch-scatter-add]", 1,
       choices(construct_names(builtin_lowerings()))},
      {"--device", "NAME", "A device with measured contention [h200]", 1, choices(contention_devices())},
      {"--seed", "K", "Of the generated rows [0]", 1, ""},
      {"--prior-runs", "R", "Equal runs that have added to the destination before, since it was zero [2]", 1,
       ""},
      {"--values", "KIND", "normal, or constant: ones, which saturate half-precision sums [normal]", 1,
       "normal constant"},
      {"--svg-histogram", "FILE", "Draw the collision histogram", 1, ""},
      {"--svg-remedies", "FILE", "Draw the remedies as bars", 1, ""},
  };
  for (const OptionSpec& option : output_options()) command.options.push_back(option);
  command.footer =
      "Examples:\n"
      "  natten-sim atomics --updates 262144 --rows 32768 --width 256 --distribution zipf:1.5 --dtype bf16\n"
      "  natten-sim atomics --distribution hot:4 --dtype fp32 --device a100 --json\n"
      "  natten-sim atomics --distribution file:index.npy --rows 100000 --svg-histogram collisions.svg\n"
      "Measuring: add values that keep changing the sum. A constant saturates a half-precision word (in "
      "bf16\n"
      "256 + 1 = 256); the compare-and-swap then succeeds without retries, and the kernel looks fast.\n"
      "Exit codes: 0 done, 1 internal error, 2 bad input.";
  command.run = run_atomics;
  return command;
}

}  // namespace natten_sim::cli
