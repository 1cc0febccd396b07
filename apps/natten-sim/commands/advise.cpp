#include <fmt/format.h>

#include <natten_sim/report/advise_report.hpp>
#include <natten_sim/report/closing.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"
#include "commands.hpp"
#include "commands/rows/search_values.hpp"
#include "commands/rows/setting_rows.hpp"

namespace natten_sim::cli {
namespace {

struct AdviseFlags {
  study::AdviseQuestion question;
  CatalogFiles files;
  OutputFlags output;
};

Options<study::AdviseQuestion> advise_question_rows() {
  using Question = study::AdviseQuestion;
  Options<Question> rows;
  rows.include(preset_rows(), &Question::setting);
  rows.include(input_rows(), &Question::setting);
  rows.add("--device", &Question::devices,
           {.value = "NAME", .help = "GPUs, side by side (see list kernels) [all that are calibrated]",
            .suggestions = device_names});
  rows.add("--for", &Question::use,
           {.value = "USE",
            .help = "inference: the forward pass; training: both passes, optimised together, with the tiles of "
                    "each [default]"});
  rows.add("--sparsity", &Question::sparsity,
           {.value = "S",
            .help = fmt::format("Most of the token pairs that may be left out, above 0 and below 1, or a range LO:HI [{}]",
                                study::kUsualSparsity),
            .echo = Echo::kWhenSet});
  rows.add("--speedup", &Question::speedup,
           {.value = "X",
            .help = "Instead: the most context with which attention is X times faster than dense, copies included",
            .interval = {1, 1000},
            .accepted = "a factor above 1, at most 1000",
            .echo = Echo::kWhenSet,
            .excludes = {"sparsity"}});
  rows.add("--max-imbalance", &Question::max_imbalance,
           {.value = "X",
            .help = "Largest over smallest share of the axes that windows leave out [default]",
            .interval = {1, 1e9},
            .accepted = "1 or more"});
  rows.group("What to look for");
  return rows.include(workload_rows(), &Question::setting);
}

int run_advise(const AdviseFlags& flags, Reply& reply) {
  study::Context context = make_context(flags.files);
  study::AdviseQuestion question = flags.question;
  question.devices = split_at_commas(question.devices);
  ProgressBar bar(question.speedup ? "searching one sparsity after another" : "searching windows",
                  flags.output.quiet);
  context.progress = bar.callback();
  const study::AdviseAnswer answer = study::advise(question, context);
  bar.clear();
  note_preset(question.setting, context.catalog, Notes(flags.output));
  context.progress = {};
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answer);
  if (flags.output.json) {
    report::Json result = report::advise_result(answer, context);
    report::add_closing(closing, result);
    put_answer(flags.output, reply,
               JsonAnswer("advise", advise_question_rows().echo(answer.question), std::move(result)));
  } else if (flags.output.csv) {
    write_output(flags.output, report::advise_csv(answer, context));
  } else {
    write_output(flags.output, report::advise_text(answer, context) + report::closing_text(closing));
  }
  return kExitDone;
}

}  // namespace

Command advise_command();
Command advise_command() {
  Options<AdviseFlags> rows;
  rows.include(advise_question_rows(), &AdviseFlags::question);
  rows.include(catalog_rows(), &AdviseFlags::files);
  rows.include(conclusion_rows(), &AdviseFlags::output);
  rows.include(output_rows(), &AdviseFlags::output);
  Command command{
      .name = "advise",
      .summary = "Three configurations for a model on a GPU, with milliseconds and the call to paste"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim advise --preset hunyuan-video --device h200",
                      "natten-sim advise -i 256 256 -n 24 -d 128 --speedup 4 --for training"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  bind(command, rows.essentials({"preset", "input", "device", "sparsity", "speedup", "for", "heads", "dim", "json"}), run_advise);
  return command;
}

}  // namespace natten_sim::cli
