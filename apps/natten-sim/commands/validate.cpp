#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>

#include <natten_sim/core/conflict.hpp>
#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/io/value_text.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/device_profile_report.hpp>
#include <natten_sim/report/validation_page.hpp>
#include <natten_sim/report/validation_report.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/measure/device_samples.hpp>
#include <natten_sim/validate/measure/session.hpp>
#include <natten_sim/validate/record/device_profile.hpp>
#include <natten_sim/validate/record/ncu_report.hpp>
#include <natten_sim/validate/sass/lowering_check.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"
#include "commands/rows/validate_rows.hpp"

namespace natten_sim::cli {
namespace {

using namespace natten_sim::validate;

/// The input of a run: flags with defaults, the chosen suites, the catalog.
struct Job {
  std::vector<std::string> options;  ///< those that have an effect
  ValidateFlags flags;
  std::vector<Suite> suites;
  study::Context context;
  Reply* reply = nullptr;
};

/// What validate does, and which options that takes besides those of every subcommand.
struct Mode {
  const char* chosen_by;  ///< an option; null: a run on the GPU, when there is none of the others
  const char* what;
  std::vector<std::string> options;
  int (*run)(Job& job);
};

/// One of three functions: the `result` object, rows, text.
template <typename Result, typename Rows, typename Text>
void print(const Job& job, Result result, Rows rows, Text text, const std::optional<draw::Picture>& picture = {}) {
  const OutputFlags& output = job.flags.output;
  AnswerBody body;
  if (output.json) {
    body = JsonAnswer("validate", validate_input(job.flags, job.options), result());
  } else {
    body = output.csv ? AnswerBody(rows()) : AnswerBody(text());
  }
  put_answer(output, *job.reply, std::move(body), {picture, tabled(output, rows)});
}

template <typename Value>
void print_of(const Job& job, const Value& value, report::Json json(const Value&), report::Rows rows(const Value&),
              std::string text(const Value&)) {
  print(job, [&] { return json(value); }, [&] { return rows(value); }, [&] { return text(value); });
}

/// What the folder of recordings holds for views; nothing without a folder.
report::RecordedData recorded_data(const Job& job, const std::string& folder) {
  report::RecordedData data;
  data.devices = job.context.catalog.devices;
  data.suites = job.flags.suites;
  if (folder.empty()) return data;
  data.recordings = read_recordings(folder);
  data.sdpa = read_sdpa_recordings(folder);
  return data;
}

/// `folder`: where the recordings are, if they are in one.
int print_comparison(const Job& job, const std::vector<Suite>& suites,
                     const std::vector<Recording>& recordings, const std::string& folder = "") {
  ProgressBar bar("predicting", job.flags.output.quiet);
  const Comparison comparison =
      compare(recordings, suites, job.context.catalog.devices, job.flags.fidelity, bar.callback());
  bar.clear();
  const std::optional<std::string>& read = job.flags.recorded ? job.flags.recorded : job.flags.ncu_csv;
  if (read && !report::has_throughput_table(recordings))
    require_compared(comparison, job.flags.fidelity, job.flags.recorded ? "recorded" : "ncu-csv", *read);
  if (job.flags.report)
    write_file(*job.flags.report,
               report::validation_page(recordings, comparison, recorded_data(job, folder)));
  const auto rows = job.flags.rows ? report::RowsText::kAll : report::RowsText::kNone;
  std::optional<report::Closing> closing;
  if (job.flags.output.conclusion) closing = report::closing_of(comparison);
  print(
      job,
      [&] {
        report::Json result = report::validation_json(recordings, comparison);
        report::add_closing(closing, result);
        return result;
      },
      [&] { return report::validation_rows(comparison); },
      [&] { return report::validation_text(recordings, comparison, rows) + report::closing_text(closing); });
  return all_hold(comparison) ? kExitDone : kExitOutOfTolerance;
}

/// The suites that were named, in the order of the data; all without a name.
std::vector<Suite> chosen_suites(const std::vector<std::string>& names) {
  if (names.empty()) return builtin_suites();
  std::vector<Suite> suites;
  for (const std::string& name : names) (void)find_suite(builtin_suites(), name);
  for (const Suite& suite : builtin_suites()) {
    if (std::find(names.begin(), names.end(), suite.name) != names.end()) suites.push_back(suite);
  }
  return suites;
}

int run_list(Job& job) {
  print_of(job, job.suites, report::suites_json, report::suites_rows, report::suites_text);
  return kExitDone;
}

int run_freeze(Job& job) {
  if (!job.flags.profile) job.flags.profile = validate::kProfiledDevice;
  const Device& device = job.context.catalog.device(*job.flags.profile);
  ProgressBar bar("predicting", job.flags.output.quiet);
  const FrozenPredictions frozen = freeze(job.suites, device, job.flags.fidelity, bar.callback());
  bar.clear();
  print_of(job, frozen, report::frozen_json, report::frozen_rows, report::frozen_text);
  return kExitDone;
}

int run_view(Job& job) {
  const std::string& name = *job.flags.view;
  if (!job.flags.recorded)
    throw Missing("--view", "--recorded");
  const report::ViewKind& kind = report::view_kind(name);
  const std::optional<report::ValidationView> view = kind.make(recorded_data(job, *job.flags.recorded));
  if (!view) throw InvalidParameter("recorded", *job.flags.recorded, kind.needs);
  const bool drawn = job.flags.output.picture.has_value();
  if (drawn && !view->picture) throw InvalidParameter("picture", name, view_names(", ", true));
  print(
      job, [&] { return report::view_json(name, *view); },
      [&] { return report::view_rows(kind, *view); },
      [&] { return view->text; }, drawn ? view->picture : std::nullopt);
  return kExitDone;
}

int run_recorded(Job& job) {
  std::vector<Recording> recordings;
  for (Recording& recording : read_recordings(*job.flags.recorded)) {
    const auto is_its = [&](const Suite& suite) { return suite.name == recording.head.suite; };
    const std::vector<Suite>& all = builtin_suites();
    if (std::none_of(all.begin(), all.end(), is_its)) {
      Notes(job.flags.output)
          .note("left out: a recording of suite '" + recording.head.suite +
                "', which this program does not have");
    }
    if (std::any_of(job.suites.begin(), job.suites.end(), is_its)) recordings.push_back(std::move(recording));
  }
  if (recordings.empty())
    throw InvalidParameter("recorded", *job.flags.recorded, "a folder with recordings of these suites");
  return print_comparison(job, job.suites, recordings, *job.flags.recorded);
}

/// A profile of any kernel beside the models' predictions for the point that `--point` describes.
int run_ncu(Job& job) {
  ValidateFlags& flags = job.flags;
  if (flags.point.empty()) {
    throw InvalidParameter(
        "point", "absent",
        "what the profiled kernel computed, as tokens=65536 head_dim=128 ..; natten-sim explain FILE "
        "finds out by itself what it can");
  }
  if (!flags.profile) flags.profile = validate::kProfiledDevice;
  std::vector<std::string> words = flags.point;
  if (flags.kernel) {  // a forward pass, as those that PyTorch calls
    words.emplace_back("kernel=sdpa");
    words.push_back("implementation=" + to_string(*flags.kernel));
  }
  const Point point = parse_point_words(words);
  const Device& device = job.context.catalog.device(*flags.profile);
  const auto launches = parse_ncu_profile(read_text("ncu-csv", *flags.ncu_csv), *flags.ncu_csv, flags.decimal);
  const RecordedRow row = row_of_launches(launches, flags.ncu_kernel, point);
  Suite suite;
  suite.name = kProfileSuite;
  flags.suites = {suite.name};
  return print_comparison(job, {suite}, {recording_of_profile(device, *flags.ncu_csv, row)});
}

std::uint64_t seed_of(const ValidateFlags& flags) {
  if (flags.seed) return *flags.seed;
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

int gpu_index(const ValidateFlags& flags) {
  return flags.device == "auto" ? 0 : static_cast<int>(parse_integer("gpu", flags.device, 0, 1024));
}

void print_checks(Job& job, std::uint64_t seed, const std::vector<CheckedPoint>& checks) {
  job.flags.seed = seed;
  print_of(job, checks, report::checks_json, report::checks_rows, report::checks_text);
}

int run_check(Job& job) {
  const std::uint64_t seed = seed_of(job.flags);
  const kernels::GpuInfo gpu = kernels::open_gpu(gpu_index(job.flags));
  Notes(job.flags.output).note("inputs from seed " + std::to_string(seed));
  ProgressBar bar("checking", job.flags.output.quiet);
  const std::vector<CheckedPoint> checks =
      check_suites(gpu, job.suites, seed, [&](const std::string&, double fraction) { bar.show(fraction); });
  bar.clear();
  print_checks(job, seed, checks);
  if (std::any_of(checks.begin(), checks.end(), is_wrong)) return kExitOutOfTolerance;
  const bool any =
      std::any_of(checks.begin(), checks.end(), [](const CheckedPoint& check) { return check.ran; });
  return any ? kExitDone : kExitHardwareAbsent;
}

int run_sass(Job& job) {
  const std::vector<LoweringCheck> checks =
      check_lowerings(parse_sass(disassemble_this_program(job.flags.disassembler)), builtin_lowerings());
  print_of(job, checks, report::lowering_checks_json, report::lowering_checks_rows, report::lowering_checks_text);
  const auto is = [](LoweringVerdict verdict) {
    return [verdict](const LoweringCheck& check) { return check.verdict == verdict; };
  };
  if (std::any_of(checks.begin(), checks.end(), is(LoweringVerdict::kWrong))) return kExitOutOfTolerance;
  const bool any = std::any_of(checks.begin(), checks.end(), is(LoweringVerdict::kConfirmed));
  return any ? kExitDone : kExitHardwareAbsent;
}

/// Refused before a GPU is asked for, made after there is one.
std::string recording_folder(const ValidateFlags& flags) {
  if (!flags.out) throw InvalidParameter("out", "absent", "a folder for the recordings (--out DIR)");
  std::error_code ignored;
  if (flags.out->empty() ||
      (std::filesystem::exists(*flags.out, ignored) && !std::filesystem::is_directory(*flags.out, ignored)))
    throw InvalidParameter("out", "'" + *flags.out + "'", "a folder");
  return *flags.out;
}

/// One bar a suite.
std::vector<Recording> measure(Session& session, bool quiet) {
  std::optional<ProgressBar> bar;
  std::string suite;
  try {
    return session.run([&](const std::string& name, double fraction) {
      if (!bar || suite != name) bar.emplace(suite = name, quiet);
      bar->show(fraction);
    });
  } catch (const kernels::CudaError& lost) {
    bar.reset();
    throw std::runtime_error(std::string(lost.what()) + "; what was measured so far is in " + session.path() +
                             ", and --resume goes on with it");
  }
}

int run_on_gpu(Job& job) {
  const bool quiet = job.flags.output.quiet;
  const int index = gpu_index(job.flags);
  const std::string folder = recording_folder(job.flags);
  Session session(kernels::open_gpu(index), job.suites, folder, job.flags.run,
                  job.flags.resume ? IfExists::kResume : IfExists::kRefuse);
  for (const std::string& remark : session.remarks()) Notes(job.flags.output).note(remark);
  const std::uint64_t seed = seed_of(job.flags);
  ProgressBar bar("checking", quiet);
  const std::vector<CheckedPoint> wrong =
      session.wrong_kernels(seed, [&](const std::string&, double fraction) { bar.show(fraction); });
  bar.clear();
  if (!wrong.empty()) {
    print_checks(job, seed, wrong);
    return kExitOutOfTolerance;
  }
  const int exit_code = print_comparison(job, job.suites, measure(session, quiet), folder);
  return exit_code == kExitDone && !session.counts() ? kExitHardwareAbsent : exit_code;
}

/// The suite that measures the L2.
constexpr const char* kStreamSuite = "stream";

/// What the suites recorded, and what the GPU says of itself beside them.
struct MeasuredGpu {
  Recording stream;
  DeviceSamples samples;
};

MeasuredGpu recorded_gpu(const std::string& folder) {
  MeasuredGpu gpu;
  gpu.samples = read_device_samples(folder);
  for (Recording& recording : read_recordings(folder)) {
    if (recording.head.suite != kStreamSuite || recording.head.device.name != gpu.samples.device) continue;
    gpu.stream = std::move(recording);
    return gpu;
  }
  throw InvalidParameter("recorded", folder, "a folder with a recording of 'stream' on " + gpu.samples.device);
}

/// Leaves recordings of the suites and the samples in the folder.
MeasuredGpu measured_gpu(Job& job) {
  const std::string folder = recording_folder(job.flags);
  const kernels::GpuInfo info = kernels::open_gpu(gpu_index(job.flags));
  MeasuredGpu gpu;
  gpu.samples = sample_device(info);  // before a profiler is opened
  Session session(info, chosen_suites({kStreamSuite, "pace"}), folder, job.flags.run,
                  job.flags.resume ? IfExists::kResume : IfExists::kRefuse);
  for (const std::string& remark : session.remarks()) Notes(job.flags.output).note(remark);
  write_file((std::filesystem::path(folder) / "device-samples.json").string(), device_samples_json(gpu.samples));
  gpu.stream = measure(session, job.flags.output.quiet).front();
  return gpu;
}

int run_profile_device(Job& job) {
  const std::filesystem::path file = *job.flags.profile_device;
  if (file.extension() != ".json" || file.stem().empty())
    throw InvalidParameter("profile-device", "'" + file.string() + "'", "a file NAME.json", "my-gpu.json");
  const MeasuredGpu gpu = job.flags.recorded ? recorded_gpu(*job.flags.recorded) : measured_gpu(job);
  const ProfiledDevice made =
      profiled_device(file.stem().string(), gpu.stream, gpu.samples, job.context.catalog.devices);
  write_file(file.string(), device_file_json(made.device));
  print_of(job, made, report::profile_json, report::profile_rows, report::profile_text);
  return kExitDone;
}

const std::vector<Mode>& modes() {
  static const std::vector<Mode> kModes = {
      {"profile-device", "--profile-device", {"profile-device", "gpu", "out", "resume", "recorded"}, run_profile_device},
      {"list", "--list", {"suite", "list"}, run_list},
      {"freeze", "--freeze", {"suite", "freeze", "device", "fidelity"}, run_freeze},
      {"view", "--view", {"suite", "recorded", "view", "picture"}, run_view},
      {"recorded", "--recorded", {"suite", "recorded", "fidelity", "rows", "report", kNoConclusion}, run_recorded},
      {"ncu-csv",
       "--ncu-csv",
       {"ncu-csv", "ncu-kernel", "decimal", "point", "kernel", "device", "fidelity", "rows", "report", kNoConclusion},
       run_ncu},
      {"sass", "--sass", {"sass", "disassembler"}, run_sass},
      {"check-only", "--check-only", {"suite", "check-only", "gpu", "seed"}, run_check},
      {nullptr,
       "a run on the GPU",
       {"suite", "gpu", "out", "resume", "repetitions", "warm-up-ms", "inputs", "l2", "fidelity", "rows",
        "report", kNoConclusion},
       run_on_gpu}};
  return kModes;
}

void refuse_options_without_effect(const Given& given, const Mode& mode) {
  const auto shown = [](const std::string& name) { return name == "suite" ? name : "--" + name; };
  const std::vector<std::string> effective = options_with_effect(mode.options);
  std::vector<std::string> accepted;
  for (const std::string& name : mode.options) accepted.push_back(shown(name));
  for (const auto& row : validate_rows().rows()) {
    const std::string name = row.spec.name();
    if (!given.has(name) || std::find(effective.begin(), effective.end(), name) != effective.end()) continue;
    throw InvalidParameter(shown(name), std::string("given with ") + mode.what, joined(accepted));
  }
}

int run_validate(const ValidateFlags& flags, const Given& given, Reply& reply) {
  const Mode& mode = *std::find_if(modes().begin(), modes().end(), [&](const Mode& each) {
    return each.chosen_by == nullptr || given.has(each.chosen_by);
  });
  refuse_options_without_effect(given, mode);
  Job job;
  job.options = options_with_effect(mode.options);
  job.flags = flags;
  job.reply = &reply;
  job.suites = chosen_suites(job.flags.suites);
  job.flags.suites.clear();
  for (const Suite& suite : job.suites) job.flags.suites.push_back(suite.name);
  job.context = make_context(job.flags.files);
  for (const Device& device : job.context.catalog.devices) job.flags.run.profiles.push_back(device.name);
  try {
    return mode.run(job);
  } catch (const kernels::CudaError& error) {  // the GPU failed, not the input
    throw std::runtime_error(error.what());
  }
}

}  // namespace

Command validate_command();
Command validate_command() {
  Command command{.name = "validate",
                  .position = 90,
                  .summary = "Compare predictions with hardware counters, on a GPU or from recordings"};
  command.result_schema = report::validate_schema;
  bind(command, validate_rows().essentials({"list", "recorded", "out", "check-only", "view", "rows", "report", "json"}), run_validate);
  command.group = kMeasuredCommands;
  command.examples = {"natten-sim validate --recorded data/recordings",
                      "natten-sim validate stream reuse --out recordings --report report.html",
                      "natten-sim validate --check-only",
                      "natten-sim validate --profile-device my-gpu.json --out recordings",
                      "natten-sim validate --sass",
                      "natten-sim validate --recorded data/recordings --view heat-map --picture heat-map.pdf",
                      "natten-sim validate --ncu-csv profile.csv --ncu-kernel flash_fwd --point tokens=65536 head_dim=128 q_tile=128 kv_tile=64 ctas_per_sm=2 schedule=grid order=descending"};
  command.exit_codes = "0 done, 1 the GPU failed (recordings keep what was measured), 2 bad input, 3 a new miss past tolerance or a wrong kernel, 4 no GPU, or no counters (times are recorded then).";
  return command;
}

}  // namespace natten_sim::cli
