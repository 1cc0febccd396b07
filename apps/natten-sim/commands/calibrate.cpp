#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/report/calibrate_report.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

struct CalibrateFlags {
  std::string runs;  ///< CSV file
  std::optional<std::string> kernel;
  std::optional<std::string> device;
  std::int64_t head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  std::optional<std::string> times;
  std::string ncu_kernel;
  std::string source;
  std::optional<std::string> save;
  std::int64_t suggestions = 3;
  CatalogFiles files;
  OutputFlags output;
};

Options<CalibrateFlags> calibrate_rows() {
  using F = CalibrateFlags;
  Options<F> rows;
  rows.positional("runs", &F::runs, {.help = "CSV file of measured runs (data/kernel-runs has two), or a recording of validate"});
  rows.add("--kernel", &F::kernel,
           {.value = "NAME", .help = "Kernel of runs that name none: hopper-fna, flexattention, fmha, .."});
  rows.add("--device", &F::device,
           {.value = "NAME", .help = "Device of runs that name none (see list devices)"});
  rows.add("-d,--dim,--head-dim", &F::head_dim,
           {.value = "D",
            .help = "Head dim of runs that state none [default]",
            .range = {1, 4096},
            .key = "head_dim"});
  rows.add("--dtype", &F::dtype, {.value = "TYPE", .help = "Element type of runs that state none [default]"});
  rows.add("--times", &F::times,
           {.value = "FILE",
            .help = "Times of the runs without one, in their order: what NATTEN's profiler printed, or a "
                    "profile of Nsight Compute (ncu --csv)"});
  rows.add("--ncu-kernel", &F::ncu_kernel,
           {.value = "TEXT",
            .help = "With --times of Nsight Compute: only launches whose kernel name contains TEXT"});
  rows.add("--source", &F::source,
           {.value = "TEXT", .help = "Where the runs come from, stored with the costs [the file's name]"});
  rows.add("--save", &F::save,
           {.value = "FILE", .help = "Write the costs to FILE, for --costs", .echo = Echo::kNever});
  rows.add("--suggestions", &F::suggestions,
           {.value = "N", .help = "Further runs to suggest for each pass [default]", .range = {0, 20}});
  rows.include(catalog_rows(), &F::files);
  return rows.include(output_rows(), &F::output);
}

/// Milliseconds of the launches of a profile, in order.
std::vector<double> profiled_times(const CalibrateFlags& flags) {
  const std::string text = read_text("times", *flags.times);
  std::vector<double> times = profiler_times_ms(text);
  if (!times.empty()) return times;
  for (const validate::ProfiledLaunch& launch : validate::parse_ncu_csv(text, *flags.times)) {
    const auto duration = launch.counters.find("gpu_time_ns");
    if (launch.kernel.find(flags.ncu_kernel) == std::string::npos || duration == launch.counters.end())
      continue;
    times.push_back(1e-6 * duration->second);
  }
  return times;
}

void add_times(const CalibrateFlags& flags, std::vector<KernelRun>& runs) {
  if (!flags.times) return;
  const std::vector<double> times = profiled_times(flags);
  std::size_t next = 0, wanted = 0;
  for (KernelRun& run : runs) {
    if (run.ms) continue;
    ++wanted;
    if (next < times.size()) run.ms = times[next++];
  }
  if (wanted == times.size()) return;
  throw InvalidParameter("times", fmt::format("{} times", times.size()),
                         fmt::format("{}, one for each run without a time", wanted));
}

/// Of a recording of `validate`, or a table.
std::vector<KernelRun> read_runs(const CalibrateFlags& flags, const KernelRun& defaults) {
  const std::string text = read_text("runs", flags.runs);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{')
    return parse_kernel_runs(text, flags.runs, defaults);
  std::vector<KernelRun> runs = validate::kernel_runs_of(validate::parse_recording(text, flags.runs));
  if (runs.empty())
    throw InvalidParameter("runs", flags.runs, "a recording of timed attention kernels, as of the suite flex");
  return runs;
}

int run_calibrate(const CalibrateFlags& given) {
  CalibrateFlags flags = given;
  const study::Context context = make_context(flags.files);
  if (flags.runs.empty()) throw InvalidParameter("runs", "none", "a CSV file of measured runs, or a recording");
  if (flags.source.empty()) flags.source = flags.runs;
  KernelRun defaults;
  defaults.kernel = flags.kernel.value_or("");
  defaults.device = flags.device.value_or("");
  defaults.head_dim = flags.head_dim;
  defaults.dtype = flags.dtype;
  study::CalibrateQuestion question;
  question.runs = read_runs(flags, defaults);
  for (const KernelRun& run : question.runs) {
    if (run.kernel.empty()) throw InvalidParameter("kernel", "none", "a kernel column, or --kernel NAME");
    if (run.device.empty()) throw InvalidParameter("device", "none", "a device column, or --device NAME");
  }
  add_times(flags, question.runs);
  question.source = flags.source;
  question.suggestions = static_cast<std::size_t>(flags.suggestions);
  const study::CalibrateAnswer answer = study::calibrate(question, context);
  if (flags.save)
    write_file(*flags.save, json_text(kernel_times_file(answer.entries), JsonLayout::kIndented) + "\n");
  write_output(flags.output, flags.output.json  ? report::envelope("calibrate", calibrate_rows().echo(flags),
                                                                   report::calibrate_result(answer, context))
                             : flags.output.csv ? report::calibrate_csv(answer)
                                                : report::calibrate_text(answer, context));
  return kExitDone;
}

}  // namespace

Command calibrate_command();
Command calibrate_command() {
  Command command{.name = "calibrate",
                  .summary = "Fit what the tiles of an attention kernel cost, from a few measured times"};
  command.footer =
      "Examples:\n"
      "  natten-sim calibrate data/kernel-runs/natten-h200.csv\n"
      "  natten-sim calibrate runs.csv --kernel hopper-fna --device h100 --times profiler.txt --save "
      "costs.json\n"
      "  natten-sim count -i 30 48 80 -w 18 24 24 -d 128 --device h100 --costs costs.json\n"
      "Exit codes: 0 done, 1 internal error, 2 bad input.";
  bind(command, calibrate_rows(), run_calibrate);
  return command;
}

}  // namespace natten_sim::cli
