#include <natten_sim/core/error.hpp>
#include <natten_sim/report/calibrate_report.hpp>
#include <natten_sim/report/calibration_plan_report.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/kernel_times_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/validate/record/measured_runs.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>

#include "cli/context.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kSuggestions = 3, kPlanned = 6;

struct CalibrateFlags {
  std::string runs;  ///< CSV file
  bool plan = false;
  std::optional<std::string> script;
  std::optional<KernelChoice> kernel;
  std::optional<std::string> device;
  std::int64_t head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  std::optional<std::string> times;
  std::string ncu_kernel;
  std::optional<DecimalMark> decimal;
  std::string source;
  std::optional<std::string> save;
  std::optional<std::int64_t> suggestions;
  CatalogFiles files;
  OutputFlags output;
};

Options<CalibrateFlags> calibrate_rows() {
  using F = CalibrateFlags;
  Options<F> rows;
  rows.positional(
      "runs", &F::runs,
      {.help = "CSV file of measured runs (data/kernel-runs has two), or a recording of validate"});
  rows.add("--plan", &F::plan,
           {.help = "Say which runs of --kernel on --device tell most, before any is measured; --csv makes their table"});
  rows.add("--script", &F::script,
           {.value = "FILE", .help = "With --plan: write a Python script that measures the runs", .echo = Echo::kNever});
  rows.add("--kernel", &F::kernel,
           {.value = "NAME", .help = "Kernel of runs that name none: hopper-fna, flexattention, fmha, .., or a kernel file (FILE.json)"});
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
                    "profile of Nsight Compute (.ncu-rep or CSV); of several launches for each run the median"});
  rows.add("--ncu-kernel", &F::ncu_kernel,
           {.value = "TEXT",
            .help = "With --times of Nsight Compute: only launches whose kernel name contains TEXT"});
  rows.add("--decimal", &F::decimal, {.value = "MARK", .help = validate::kDecimalHelp});
  rows.add("--source", &F::source,
           {.value = "TEXT", .help = "Where the runs come from, stored with the costs [the file's name]"});
  rows.add("--save", &F::save,
           {.value = "FILE", .help = "Write the costs to FILE, for --costs", .echo = Echo::kNever});
  rows.add("--suggestions", &F::suggestions,
           {.value = "N",
            .help = "Further runs to suggest for each pass, 0..20 [3; with --plan 6]",
            .range = {0, 20}});
  rows.group("Measured runs and costs");
  rows.include(catalog_rows(), &F::files);
  rows.include(picture_rows(report::calibrate_pictures()), &F::output);
  rows.include(conclusion_rows(), &F::output);
  return rows.include(output_rows(), &F::output);
}

AnswerBody render_calibration(const CalibrateFlags& flags, const study::CalibrateAnswer& answer,
                              const study::Context& context) {
  if (flags.output.csv) return report::calibrate_rows(answer);
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answer);
  if (!flags.output.json) return report::calibrate_text(answer, context) + report::closing_text(closing);
  report::Json result = report::calibrate_result(answer, context);
  report::add_closing(closing, result);
  return JsonAnswer("calibrate", calibrate_rows().echo(flags), std::move(result));
}

int plan_runs(const CalibrateFlags& flags, const study::Context& context, Reply& reply) {
  if (!flags.runs.empty())
    throw InvalidParameter("runs", flags.runs, "no file: " + mention("plan") + " comes before any run");
  if (!flags.kernel) throw InvalidParameter("kernel", "none", "the kernel that is to be measured");
  if (!flags.device) throw InvalidParameter("device", "none", "the device that is to be measured (see list devices)");
  study::CalibrationPlanQuestion question{.kernel = flags.kernel->name, .device = *flags.device};
  question.head_dim = flags.head_dim;
  question.dtype = flags.dtype;
  question.runs = static_cast<std::size_t>(flags.suggestions.value_or(kPlanned));
  const study::CalibrateAnswer plan = study::plan_calibration(question, context);
  if (flags.script) write_file(*flags.script, report::calibration_plan_script(plan));
  const auto body = [&]() -> AnswerBody {
    if (flags.output.csv) return report::calibration_plan_rows(plan);
    if (!flags.output.json) return report::calibration_plan_text(plan, context);
    return JsonAnswer("calibrate", calibrate_rows().echo(flags), report::calibrate_result(plan, context));
  };
  put_answer(flags.output, reply, body(), {{}, tabled(flags.output, [&] { return report::calibration_plan_rows(plan); })});
  return kExitDone;
}

int run_calibrate(const CalibrateFlags& given, Reply& reply) {
  CalibrateFlags flags = given;
  const study::Context known = make_context(flags.files);
  const study::WithKernels kernels(known, flags.kernel);
  const study::Context& context = kernels.get();
  if (flags.plan) return plan_runs(flags, context, reply);
  if (flags.script) throw InvalidParameter("script", *flags.script, "a plan: " + mention("plan"));
  if (flags.runs.empty())
    throw InvalidParameter("runs", "none", "a CSV file of measured runs, or a recording");
  if (flags.source.empty()) flags.source = flags.runs;
  KernelRun defaults;
  if (flags.kernel) defaults.kernel = flags.kernel->name;
  defaults.device = flags.device.value_or("");
  defaults.head_dim = flags.head_dim;
  defaults.dtype = flags.dtype;
  study::CalibrateQuestion question;
  question.runs = validate::read_kernel_runs(read_text("runs", flags.runs), flags.runs, defaults);
  if (flags.times)
    validate::add_measured_times(read_text("times", *flags.times), *flags.times, flags.ncu_kernel,
                                 question.runs, flags.decimal);
  question.source = flags.source;
  question.suggestions = static_cast<std::size_t>(flags.suggestions.value_or(kSuggestions));
  const study::CalibrateAnswer answer = study::calibrate(question, context);
  if (flags.save)
    write_file(*flags.save, json_text(report::kernel_times_file(answer.entries), JsonLayout::kIndented) + "\n");
  put_answer(flags.output, reply, render_calibration(flags, answer, context),
             {drawn(flags.output, report::calibrate_pictures(), answer, context),
              tabled(flags.output, [&] { return report::calibrate_rows(answer); })});
  return kExitDone;
}

}  // namespace

Command calibrate_command();
Command calibrate_command() {
  Command command{.name = "calibrate",
                  .summary = "Fit what the tiles of an attention kernel cost, from a few measured times"};
  command.group = kMeasuredCommands;
  command.examples = {"natten-sim calibrate data/kernel-runs/natten-h200.csv",
                      "natten-sim calibrate --plan --kernel cudnn --device a100 --script measure.py",
                      "natten-sim calibrate runs.csv --kernel hopper-fna --device h100 --times profiler.txt --save costs.json",
                      "natten-sim count -i 30 48 80 -w 18 24 24 -d 128 --device h100 --costs costs.json"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  command.result_schema = report::calibrate_schema;
  bind(command, calibrate_rows().essentials({"plan", "kernel", "device", "times", "save", "suggestions", "json"}), run_calibrate);
  return command;
}

}  // namespace natten_sim::cli
