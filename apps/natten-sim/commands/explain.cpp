#include <natten_sim/report/explain_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/validate/record/ncu_report.hpp>

#include "cli/context.hpp"
#include "cli/described.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"

namespace natten_sim::cli {
namespace {

struct ExplainFlags {
  std::string profile;
  std::string ncu_kernel;
  std::optional<std::string> device;
  std::optional<std::string> family;
  std::optional<std::string> kernel;  ///< a kernel file
  std::optional<DecimalMark> decimal;
  study::ExplainedProblem given;
  CatalogFiles files;
  OutputFlags output;
};

Options<ExplainFlags> explain_rows() {
  using F = ExplainFlags;
  Options<F> rows;
  rows.positional(
      "profile", &F::profile,
      {.help = "A report of Nsight Compute (.ncu-rep), or what ncu --csv printed of it; up to 256 MiB"});
  rows.add("--ncu-kernel", &F::ncu_kernel,
           {.value = "TEXT", .help = "Only launches whose kernel name contains TEXT"});
  rows.add("--device", &F::device,
           {.value = "NAME",
            .help = "Cache and speed of the GPU [the profile's, if it says which]",
            .suggestions = device_names});
  rows.add(
      "--as", &F::family,
      {.value = "FAMILY",
       .help = "Family of launches whose names tell none, such as fa2, flexattention or triton; any: infer "
               "tiles and mask",
       .key = "family"});
  rows.add("--kernel", &F::kernel,
           {.value = "FILE",
            .help = "Kernel file of launches that it names (see natten-sim kernel), or a kernel that ships, as fa2"});
  rows.add("--decimal", &F::decimal, {.value = "MARK", .help = validate::kDecimalHelp});
  rows.group("Profile");
  rows.include(options_of<study::ExplainedProblem>(), &F::given);
  rows.include(device_file_rows(), &F::files);
  rows.include(picture_rows(report::explain_pictures()), &F::output);
  return rows.include(output_rows(), &F::output);
}

int run_explain(const ExplainFlags& flags, Reply& reply) {
  if (flags.profile.empty())
    throw InvalidParameter("profile", "none", "a report of Nsight Compute, or what ncu --csv printed");
  study::Context context = make_context(flags.files);
  const auto launches =
      validate::parse_ncu_profile(read_text("profile", flags.profile), flags.profile, flags.decimal);
  study::ExplainQuestion question;
  question.given = flags.given;
  question.device = flags.device;
  question.as = flags.family;
  if (flags.kernel) question.kernels = study::profiled_kernels_of("kernel", *flags.kernel);
  for (study::ProfiledKernel& launch : validate::profiled_kernels(launches)) {
    if (launch.name.find(flags.ncu_kernel) != std::string::npos)
      question.launches.push_back(std::move(launch));
  }
  ProgressBar bar("explaining", flags.output.quiet);
  context.progress = bar.callback();
  const study::ExplainAnswer answer = study::explain(question, context);
  bar.clear();
  AnswerBody body;
  if (flags.output.json) {
    body = JsonAnswer("explain", explain_rows().echo(flags), report::explain_result(answer));
  } else {
    body = flags.output.csv ? AnswerBody(report::explain_rows(answer)) : report::explain_text(answer, "--");
  }
  put_answer(flags.output, reply, std::move(body),
             {drawn(flags.output, report::explain_pictures(), answer, context),
              tabled(flags.output, [&] { return report::explain_rows(answer); })});
  return kExitDone;
}

}  // namespace

Command explain_command();
Command explain_command() {
  Command command{.name = "explain",
                  .position = 45,
                  .group = kMeasuredCommands,
                  .summary = "Say why attention kernels of a profile read what they read from DRAM",
                  .examples = {"natten-sim explain profile.csv",
                               "natten-sim explain profile.ncu-rep --device h100 -i 65536 -n 8",
                               "natten-sim explain profile.ncu-rep --kernel mine.json -i 65536"},
                  .notes =
                      "Profile with: ncu --clock-control none --section LaunchStats --section Occupancy "
                      "--metrics dram__bytes_read.sum,l1tex__m_xbar2l1tex_read_sectors.sum,"
                      "gpu__time_duration.sum -o profile PROGRAM",
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  command.result_schema = report::explain_schema;
  bind(command,
       explain_rows().essentials(
           {"ncu-kernel", "device", "kernel", "seqlen", "heads", "causal", "kv-tile", "csv", "json"}),
       run_explain);
  return command;
}

}  // namespace natten_sim::cli
