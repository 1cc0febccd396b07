#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>

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
constexpr const char* kDefaultProfile = "h200";

/// What validate does, and which options that takes besides those of every subcommand.
struct Mode {
  const char* chosen_by;  ///< an option; null: a run on the GPU, when there is none of the others
  const char* what;
  std::vector<std::string> options;
  int (*run)(const Arguments&);
};

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

int gpu_index(const Arguments& arguments) {
  const std::string text = arguments.text("device", "auto");
  return text == "auto" ? 0 : static_cast<int>(parse_integer("device", text, 0, 1024));
}

RunOptions run_options(const Arguments& arguments) {
  RunOptions options;
  options.timing.repetitions =
      static_cast<int>(parse_integer("repetitions", arguments.text("repetitions", "20"), 1, 100000));
  options.timing.inputs =
      static_cast<int>(parse_integer("inputs", arguments.text("inputs", "1"), 1, kMostInputs));
  options.timing.l2 = l2_state_of(arguments.text("l2", "flushed"));
  return options;
}

Json input_json(const Arguments& arguments, const std::vector<Suite>& suites,
                std::optional<std::uint64_t> seed = std::nullopt) {
  Json names = Json::array();
  for (const Suite& suite : suites) names.push_back(suite.name);
  const auto text = [&](const char* name) {
    return arguments.has(name) ? Json(arguments.text(name)) : Json(nullptr);
  };
  const RunOptions options = run_options(arguments);
  return {{"suites", names},
          {"device", arguments.text("device", "auto")},
          {"recorded", text("recorded")},
          {"ncu_csv", text("ncu-csv")},
          {"ncu_kernel", arguments.text("ncu-kernel", "")},
          {"point", arguments.values("point")},
          {"profile",
           arguments.has("ncu-csv") ? Json(arguments.text("profile", kDefaultProfile)) : Json(nullptr)},
          {"out", text("out")},
          {"resume", arguments.has("resume")},
          {"check_only", arguments.has("check-only")},
          {"repetitions", options.timing.repetitions},
          {"inputs", options.timing.inputs},
          {"fidelity", arguments.text("fidelity", "closed-form")},
          {"l2", to_string(options.timing.l2)},
          {"view", text("view")},
          {"rows", arguments.has("rows")},
          {"seed", seed ? Json(*seed) : Json(nullptr)}};
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

int run_list(const Arguments& arguments) {
  const std::vector<Suite> suites = chosen_suites(arguments);
  if (arguments.has("json")) {
    print(arguments, envelope("validate", input_json(arguments, suites), suites_json(suites)));
  } else {
    print(arguments, arguments.has("csv") ? suites_csv(suites) : suites_text(suites));
  }
  return kExitDone;
}

int run_view(const Arguments& arguments) {
  const std::vector<Suite> suites = chosen_suites(arguments);
  const std::string name = arguments.text("view");
  if (!arguments.has("recorded")) {
    throw InvalidParameter("--view", "given without --recorded", "a folder with recordings (--recorded DIR)");
  }
  const ValidateView view =
      validate_view(name, arguments.text("recorded"), suites, builtin_catalog().devices);
  if (arguments.has("svg")) {
    if (view.svg.empty()) throw InvalidParameter("svg", name, kDrawnViews);
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

int run_recorded(const Arguments& arguments) {
  const std::vector<Suite> suites = chosen_suites(arguments);
  std::vector<Recording> recordings;
  for (Recording& recording : read_recordings(arguments.text("recorded"))) {
    const auto is_its = [&](const Suite& suite) { return suite.name == recording.head.suite; };
    const std::vector<Suite>& all = builtin_suites();
    if (std::none_of(all.begin(), all.end(), is_its)) {
      Notes(arguments).note("left out: a recording of suite '" + recording.head.suite +
                            "', which this program does not have");
    }
    if (std::any_of(suites.begin(), suites.end(), is_its)) recordings.push_back(std::move(recording));
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
  recording.head.device.profile = arguments.text("profile", kDefaultProfile);
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

std::uint64_t check_seed(const Arguments& arguments) {
  if (arguments.has("seed"))
    return static_cast<std::uint64_t>(parse_integer("seed", arguments.text("seed"), 0, INT64_MAX));
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

void print_checks(const Arguments& arguments, const std::vector<Suite>& suites, std::uint64_t seed,
                  const std::vector<CheckedPoint>& checks) {
  if (arguments.has("json")) {
    print(arguments, envelope("validate", input_json(arguments, suites, seed), checks_json(checks)));
  } else {
    print(arguments, arguments.has("csv") ? checks_csv(checks) : checks_text(checks));
  }
}

bool is_wrong(const CheckedPoint& check) { return check.ran && !check.passed; }

int run_check(const Arguments& arguments) {
  const std::vector<Suite> suites = chosen_suites(arguments);
  const std::uint64_t seed = check_seed(arguments);
  const kernels::GpuInfo gpu = kernels::open_gpu(gpu_index(arguments));
  Notes(arguments).note("inputs from seed " + std::to_string(seed));
  std::vector<CheckedPoint> checks;
  ProgressBar bar("checking", arguments.has("quiet"));
  for (const Suite& suite : suites) {
    GpuMeasurer measurer(gpu, suite, {});
    for (CheckedPoint& check :
         check_kernels(measurer, suite, CheckLengths::kShortAndLong, seed, bar.callback())) {
      checks.push_back(std::move(check));
    }
  }
  bar.clear();
  print_checks(arguments, suites, seed, checks);
  if (std::any_of(checks.begin(), checks.end(), is_wrong)) return kExitOutOfTolerance;
  const bool any =
      std::any_of(checks.begin(), checks.end(), [](const CheckedPoint& check) { return check.ran; });
  return any ? kExitDone : kExitHardwareAbsent;
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

/// Refused before a GPU is asked for, made after there is one.
std::string recording_folder(const Arguments& arguments) {
  if (!arguments.has("out"))
    throw InvalidParameter("out", "absent", "a folder for the recordings (--out DIR)");
  const std::string folder = arguments.text("out");
  std::error_code ignored;
  if (folder.empty() ||
      (std::filesystem::exists(folder, ignored) && !std::filesystem::is_directory(folder, ignored)))
    throw InvalidParameter("out", "'" + folder + "'", "a folder");
  return folder;
}

/// A suite that is about to be measured. The file is opened, and locked, before anything runs.
struct Run {
  const Suite* suite;
  std::unique_ptr<GpuMeasurer> measurer;
  RecordingFile file;
};

std::vector<Run> open_runs(const Arguments& arguments, const std::string& folder, const kernels::GpuInfo& gpu,
                           const std::vector<Suite>& suites, const RunOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InvalidParameter("out", folder, "a folder that can be made (" + error.message() + ")");
  std::vector<Run> runs;
  for (const Suite& suite : suites) {
    auto measurer = std::make_unique<GpuMeasurer>(gpu, suite, options);
    if (!measurer->counts())
      Notes(arguments).note(suite.name + ": times only, no counters: " + measurer->counters_absent());
    RecordingFile file(recording_path(folder, measurer->head()), measurer->head(),
                       arguments.has("resume") ? IfExists::kResume : IfExists::kRefuse);
    runs.push_back({&suite, std::move(measurer), std::move(file)});
  }
  return runs;
}

/// Kernels that disagree with their oracle, on inputs from the seed.
std::vector<CheckedPoint> wrong_kernels(const Arguments& arguments, const std::vector<Run>& runs,
                                        std::uint64_t seed) {
  ProgressBar bar("checking", arguments.has("quiet"));
  std::vector<CheckedPoint> wrong;
  for (const Run& run : runs) {
    for (CheckedPoint& check :
         check_kernels(*run.measurer, *run.suite, CheckLengths::kShort, seed, bar.callback())) {
      if (is_wrong(check)) wrong.push_back(std::move(check));
    }
  }
  return wrong;
}

int run_on_gpu(const Arguments& arguments) {
  const std::vector<Suite> suites = chosen_suites(arguments);
  const RunOptions options = run_options(arguments);
  const int index = gpu_index(arguments);
  const std::string folder = recording_folder(arguments);
  const kernels::GpuInfo gpu = kernels::open_gpu(index);
  std::vector<Run> runs = open_runs(arguments, folder, gpu, suites, options);
  const std::uint64_t seed = check_seed(arguments);
  if (const auto wrong = wrong_kernels(arguments, runs, seed); !wrong.empty()) {
    print_checks(arguments, suites, seed, wrong);
    return kExitOutOfTolerance;
  }
  std::vector<Recording> recordings;
  bool counted = true;
  for (Run& run : runs) {
    ProgressBar bar(run.suite->name, arguments.has("quiet"));
    try {
      run_suite(*run.measurer, *run.suite, run.file, options,
                [&](double fraction, const std::string&) { bar.show(fraction); });
    } catch (const kernels::CudaError& lost) {
      bar.clear();
      throw std::runtime_error(std::string(lost.what()) + "; what was measured so far is in " +
                               run.file.path() + ", and --resume goes on with it");
    }
    bar.clear();
    counted = counted && run.measurer->counts();
    recordings.push_back(run.file.recording());
  }
  runs.clear();  // other runs may write these files now
  const int exit_code = report(arguments, suites, recordings, folder);
  return exit_code == kExitDone && !counted ? kExitHardwareAbsent : exit_code;
}

const std::vector<Mode>& modes() {
  static const std::vector<Mode> kModes = {
      {"list", "--list", {"suite", "list"}, run_list},
      {"view", "--view", {"suite", "recorded", "view", "svg"}, run_view},
      {"recorded", "--recorded", {"suite", "recorded", "fidelity", "rows", "report"}, run_recorded},
      {"ncu-csv",
       "--ncu-csv",
       {"ncu-csv", "ncu-kernel", "point", "profile", "fidelity", "rows", "report"},
       run_ncu},
      {"check-only", "--check-only", {"suite", "check-only", "device", "seed"}, run_check},
      {nullptr,
       "a run on the GPU",
       {"suite", "device", "out", "resume", "repetitions", "inputs", "l2", "fidelity", "rows", "report"},
       run_on_gpu}};
  return kModes;
}

void refuse_options_without_effect(const Arguments& arguments, const Mode& mode) {
  std::vector<std::string> effective = mode.options;
  for (const OptionSpec& option : output_options()) effective.push_back(option.name());
  std::vector<std::string> possible = {"suite"};
  for (const OptionSpec& option : validate_command().options) possible.push_back(option.name());
  std::string accepted;
  for (const std::string& name : mode.options)
    accepted += (accepted.empty() ? "" : ", ") + (name == "suite" ? name : "--" + name);
  for (const std::string& name : possible) {
    if (!arguments.has(name) || std::find(effective.begin(), effective.end(), name) != effective.end())
      continue;
    throw InvalidParameter(name == "suite" ? name : "--" + name, std::string("given with ") + mode.what,
                           accepted);
  }
}

int run_validate(const Arguments& arguments) {
  const Mode& mode = *std::find_if(modes().begin(), modes().end(), [&](const Mode& each) {
    return each.chosen_by == nullptr || arguments.has(each.chosen_by);
  });
  refuse_options_without_effect(arguments, mode);
  try {
    return mode.run(arguments);
  } catch (const kernels::CudaError& error) {  // nobody's input
    throw std::runtime_error(error.what());
  }
}

/// Names of all suites with something between them.
std::string suite_names(const std::string& separator) {
  std::string names;
  for (const Suite& suite : builtin_suites()) names += (names.empty() ? "" : separator) + suite.name;
  return names;
}

}  // namespace

Command validate_command() {
  Command command;
  command.name = "validate";
  command.summary = "Hold predictions against hardware counters, on a GPU or on recordings";
  command.positional = "suite";
  command.positional_help = suite_names(", ") + "; several may be given [all]";
  command.positional_choices = suite_names(" ");
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
      {"--inputs", "N", "Sets of inputs that the timed repetitions take in turn [1]", 1, ""},
      {"--l2", "STATE", "L2 before each timed repetition: flushed or warm [flushed]", 1, "flushed warm"},
      {"--fidelity", "MODELS", "closed-form, or timed: also simulate in time (a minute) [closed-form]", 1,
       "closed-form timed"},
      {"--rows", "", "Print every comparison, not only groups and misses", 1, ""},
      {"--view", "NAME",
       "With --recorded: another look at the recordings than the comparison with predictions", 1,
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
      "Exit codes: 0 done, 1 the GPU failed (recordings keep what was measured), 2 bad input, 3 a new miss\n"
      "past tolerance or a wrong kernel, 4 no GPU, or no counters (times are recorded then).";
  command.run = run_validate;
  return command;
}

}  // namespace natten_sim::cli
