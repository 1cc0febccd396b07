#include <chrono>
#include <filesystem>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/ncu_csv.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "validate_report.hpp"
#include "validate_views.hpp"
#include "values.hpp"

namespace natten_sim::cli {
namespace {

using namespace natten_sim::validate;
constexpr std::int64_t kCheckedTokens = 2048;

/// The suites that were named, in the order of the data; all without a name.
std::vector<Suite> chosen_suites(const Arguments& arguments) {
  const std::vector<std::string>& names = arguments.values("suite");
  if (names.empty()) return builtin_suites();
  std::vector<Suite> suites;
  for (const std::string& name : names) (void)find_suite(builtin_suites(), name);
  for (const Suite& suite : builtin_suites()) {
    if (std::find(names.begin(), names.end(), suite.name) != names.end()) suites.push_back(suite);
  }
  return suites;
}

void refuse_together(const Arguments& arguments, const char* one, const char* other) {
  if (!arguments.has(one) || !arguments.has(other)) return;
  throw InvalidParameter(std::string("--") + other, std::string("given together with --") + one,
                         "one of the two");
}

int gpu_index(const Arguments& arguments) {
  const std::string text = arguments.text("device", "auto");
  return text == "auto" ? 0 : static_cast<int>(parse_integer("device", text, 0, 1024));
}

Json input_json(const Arguments& arguments, const std::vector<Suite>& suites) {
  Json names = Json::array();
  for (const Suite& suite : suites) names.push_back(suite.name);
  const auto text = [&](const char* name) {
    return arguments.has(name) ? Json(arguments.text(name)) : Json(nullptr);
  };
  return {{"suites", names},
          {"device", arguments.text("device", "auto")},
          {"recorded", text("recorded")},
          {"ncu_csv", text("ncu-csv")},
          {"ncu_kernel", arguments.text("ncu-kernel", "")},
          {"point", arguments.values("point")},
          {"out", text("out")},
          {"resume", arguments.has("resume")},
          {"check_only", arguments.has("check-only")},
          {"repetitions", parse_integer("repetitions", arguments.text("repetitions", "20"), 1, 100000)},
          {"fidelity", arguments.text("fidelity", "closed-form")},
          {"l2", arguments.text("l2", "flushed")},
          {"view", arguments.text("view", "comparison")},
          {"rows", arguments.has("rows")},
          {"seed", text("seed")}};
}

void print(const Arguments& arguments, const std::string& text) {
  OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
  sink.write(text);
  sink.commit();
}

/// `folder`: where the recordings are, if they are in one.
int report(const Arguments& arguments, const std::vector<Suite>& suites,
           const std::vector<Recording>& recordings, const std::string& folder = "") {
  ProgressBar bar("predicting", arguments.has("quiet"));
  const Comparison comparison =
      compare(recordings, suites, builtin_catalog().devices,
              arguments.text("fidelity", "closed-form") == "timed" ? validate::Fidelity::kTimed
                                                                   : validate::Fidelity::kClosedForm,
              bar.callback());
  bar.clear();
  if (arguments.has("report")) {
    const std::string views =
        folder.empty() ? "" : validate_views_html(folder, suites, builtin_catalog().devices);
    write_file(arguments.text("report"), html_report(recordings, comparison, views));
  }
  if (arguments.has("json")) {
    print(arguments,
          envelope("validate", input_json(arguments, suites), validation_json(recordings, comparison)));
  } else if (arguments.has("csv")) {
    print(arguments, validation_csv(comparison));
  } else {
    print(arguments,
          validation_text(recordings, comparison, arguments.has("rows") ? RowsText::kAll : RowsText::kNone));
  }
  return comparison.outside == 0 ? kExitDone : kExitOutOfTolerance;
}

int run_list(const Arguments& arguments, const std::vector<Suite>& suites) {
  print(arguments, arguments.has("json")
                       ? envelope("validate", input_json(arguments, suites), suites_json(suites))
                       : suites_text(suites));
  return kExitDone;
}

int run_view(const Arguments& arguments, const std::vector<Suite>& suites) {
  const std::string name = arguments.text("view");
  const ValidateView view =
      validate_view(name, arguments.text("recorded"), suites, builtin_catalog().devices);
  if (arguments.has("svg")) {
    if (view.svg.empty()) throw InvalidParameter("svg", name, "a view that draws (see docs/cli.md)");
    write_file(arguments.text("svg"), view.svg);
  }
  if (arguments.has("json")) {
    print(arguments,
          envelope("validate", input_json(arguments, suites), {{"view", name}, {"rows", view.rows}}));
  } else {
    print(arguments, arguments.has("csv") ? csv_table(view.empty_row, view.rows) : view.text);
  }
  return kExitDone;
}

int run_recorded(const Arguments& arguments, const std::vector<Suite>& suites) {
  std::vector<Recording> recordings;
  for (Recording& recording : read_recordings(arguments.text("recorded"))) {
    const bool wanted = std::any_of(suites.begin(), suites.end(),
                                    [&](const Suite& suite) { return suite.name == recording.head.suite; });
    if (wanted) recordings.push_back(std::move(recording));
  }
  if (recordings.empty()) {
    throw InvalidParameter("recorded", arguments.text("recorded"),
                           "a folder with recordings of these suites");
  }
  return report(arguments, suites, recordings, arguments.text("recorded"));
}

/// A profile of somebody's kernel beside what the models say of the point that `--point` describes.
int run_ncu(const Arguments& arguments) {
  if (!arguments.has("point")) {
    throw InvalidParameter("point", "absent",
                           "what the profiled kernel computed, as tokens=65536 head_dim=128 ..");
  }
  const std::string path = arguments.text("ncu-csv");
  const Point point = parse_point_words(arguments.values("point"));
  Recording recording;
  recording.head.suite = "profile";
  recording.head.device.profile = arguments.text("profile", "h200");
  recording.head.device.name = builtin_catalog().device(recording.head.device.profile).title;
  recording.head.driver = recording.head.toolkit = recording.head.commit = "not recorded";
  recording.head.profiler = "Nsight Compute, " + path;
  recording.head.cache_control = "as Nsight Compute was told";
  recording.head.clocks_policy = "as Nsight Compute was told";
  recording.rows.push_back(
      row_of_launches(parse_ncu_csv(read_file("ncu-csv", path), path), arguments.text("ncu-kernel"), point));
  Suite suite;
  suite.name = "profile";
  return report(arguments, {suite}, {recording});
}

int run_check(const Arguments& arguments, const std::vector<Suite>& suites, const kernels::GpuInfo& gpu) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::uint64_t seed =
      arguments.has("seed")
          ? static_cast<std::uint64_t>(parse_integer("seed", arguments.text("seed"), 0, INT64_MAX))
          : static_cast<std::uint64_t>(now);
  Notes(arguments).note("inputs from seed " + std::to_string(seed));
  std::vector<CheckedPoint> checks;
  ProgressBar bar("checking", arguments.has("quiet"));
  for (const Suite& suite : suites) {
    for (CheckedPoint& check : check_kernels(gpu, suite, kCheckedTokens, seed, bar.callback())) {
      checks.push_back(std::move(check));
    }
  }
  bar.clear();
  print(arguments, arguments.has("json")
                       ? envelope("validate", input_json(arguments, suites), checks_json(checks))
                       : checks_text(checks));
  const bool passed =
      std::all_of(checks.begin(), checks.end(), [](const CheckedPoint& check) { return check.passed; });
  return passed ? kExitDone : kExitOutOfTolerance;
}

std::string recording_path(const std::string& folder, const RecordingHead& head) {
  std::string name;
  for (const char c : head.device.name + "-" + head.suite) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0
                ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                : '-';
  }
  return folder + "/" + name + ".json";
}

int run_on_gpu(const Arguments& arguments, const std::vector<Suite>& suites) {
  const kernels::GpuInfo gpu = kernels::open_gpu(gpu_index(arguments));
  if (arguments.has("check-only")) return run_check(arguments, suites, gpu);
  if (!arguments.has("out"))
    throw InvalidParameter("out", "absent", "a folder for the recordings (--out DIR)");
  const std::string folder = arguments.text("out");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InvalidParameter("out", folder, "a folder that can be made (" + error.message() + ")");
  RunOptions options;
  options.timing.repetitions =
      static_cast<int>(parse_integer("repetitions", arguments.text("repetitions", "20"), 1, 100000));
  options.timing.l2 = l2_state_of(arguments.text("l2", "flushed"));
  std::vector<Recording> recordings;
  for (const Suite& suite : suites) {
    const RecordingHead head = recording_head(gpu, suite);
    if (head.profiler.starts_with("none") && !suite.counters.empty()) {
      Notes(arguments).note(suite.name + ": times only, no counters: " + head.profiler.substr(6));
    }
    RecordingFile file(recording_path(folder, head), head,
                       arguments.has("resume") ? IfExists::kResume : IfExists::kRefuse);
    ProgressBar bar(suite.name, arguments.has("quiet"));
    run_suite(gpu, suite, file, options, [&](double fraction, const std::string&) { bar.show(fraction); });
    bar.clear();
    recordings.push_back(file.recording());
  }
  return report(arguments, suites, recordings, folder);
}

int run_validate(const Arguments& arguments) {
  for (const auto& [one, other] : {std::pair{"recorded", "ncu-csv"},
                                   {"recorded", "check-only"},
                                   {"ncu-csv", "check-only"},
                                   {"recorded", "out"},
                                   {"ncu-csv", "out"},
                                   {"recorded", "device"},
                                   {"ncu-csv", "device"}}) {
    refuse_together(arguments, one, other);
  }
  if (arguments.has("point") && !arguments.has("ncu-csv")) {
    throw InvalidParameter("point", "given without --ncu-csv", "both, or neither");
  }
  const bool view = arguments.text("view", "comparison") != "comparison";
  if (view && !arguments.has("recorded")) {
    throw InvalidParameter("view", "given without --recorded", "a folder with recordings");
  }
  if (view && arguments.has("report")) {
    throw InvalidParameter("--report", "given together with --view",
                           "one of the two: a report has every view");
  }
  if (arguments.has("svg") && !view)
    throw InvalidParameter("svg", "given without --view", "a view that draws");
  const std::vector<Suite> suites = chosen_suites(arguments);
  if (arguments.has("list")) return run_list(arguments, suites);
  if (view) return run_view(arguments, suites);
  if (arguments.has("recorded")) return run_recorded(arguments, suites);
  if (arguments.has("ncu-csv")) return run_ncu(arguments);
  return run_on_gpu(arguments, suites);
}

}  // namespace

Command validate_command() {
  Command command;
  command.name = "validate";
  command.summary = "Hold predictions against hardware counters, on a GPU or on recordings";
  command.positional = "suite";
  command.positional_help = "stream, reuse, tiles, sawtooth, active-sms; several may be given [all]";
  command.positional_choices = "stream reuse tiles sawtooth active-sms";
  command.most_positional = 16;
  command.options = {
      {"--list", "", "Print suites and counters, and stop", 1, ""},
      {"--recorded", "DIR", "Compare with the recordings in DIR instead of running kernels", 1, ""},
      {"--ncu-csv", "FILE", "Compare with a profile that Nsight Compute wrote (ncu --csv), of any kernel", 1,
       ""},
      {"--ncu-kernel", "TEXT", "With --ncu-csv: only launches whose kernel name contains TEXT", 1, ""},
      {"--point", "NAME=VALUE", "With --ncu-csv: what the kernel computed, e.g. tokens=65536 head_dim=128",
       64, ""},
      {"--profile", "NAME", "With --ncu-csv: device profile of the GPU that was profiled [h200]", 1, ""},
      {"--device", "auto|N", "GPU to run on [auto: the first]", 1, ""},
      {"--out", "DIR", "Folder for the recordings, one file a suite", 1, ""},
      {"--resume", "", "Go on with recordings that are in the folder", 1, ""},
      {"--check-only", "", "Only check the kernels against their CPU oracles", 1, ""},
      {"--seed", "N", "With --check-only: seed of the inputs [from the clock]", 1, ""},
      {"--repetitions", "N", "Timed repetitions of each point [20]", 1, ""},
      {"--l2", "STATE", "L2 before each timed repetition: flushed or warm [flushed]", 1, "flushed warm"},
      {"--fidelity", "MODELS", "closed-form, or timed: also simulate in time (a minute) [closed-form]", 1,
       "closed-form timed"},
      {"--rows", "", "Print every comparison, not only groups and misses", 1, ""},
      {"--view", "NAME",
       "With --recorded: another look at recordings than the comparison with predictions [comparison]", 1,
       kValidateViews},
      {"--svg", "FILE", "With --view: also draw it (heat-map, misses, throughput, active-sms)", 1, ""},
      {"--report", "FILE", "Also write an HTML report: one self-contained file", 1, ""},
  };
  for (const OptionSpec& option : output_options()) command.options.push_back(option);
  command.footer =
      "Examples:\n"
      "  natten-sim validate --recorded data/recordings\n"
      "  natten-sim validate stream reuse --out recordings --report report.html\n"
      "  natten-sim validate --check-only\n"
      "  natten-sim validate --recorded data/recordings --view heat-map --svg heat-map.svg\n"
      "  natten-sim validate --ncu-csv profile.csv --ncu-kernel flash_fwd --point tokens=65536 head_dim=128 "
      "\\\n"
      "      q_tile=128 kv_tile=64 ctas_per_sm=2 schedule=grid order=descending\n\n"
      "Exit codes: 0 done, 2 bad input, 3 a new miss past tolerance or a wrong kernel, 4 no GPU.";
  command.run = run_validate;
  return command;
}

}  // namespace natten_sim::cli
