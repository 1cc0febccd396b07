#include <natten_sim/report/advise_report.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/pictures.hpp>

#include "cli/context.hpp"
#include "cli/described.hpp"
#include "cli/estimates.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"
#include "commands.hpp"
#include "commands/rows/search_values.hpp"
#include "commands/rows/setting_values.hpp"

namespace natten_sim::cli {
namespace {

struct AdviseFlags {
  study::AdviseQuestion question;
  CatalogFiles files;
  OutputFlags output;
};

const Options<study::AdviseQuestion>& advice_rows() {
  static const Options<study::AdviseQuestion> rows = options_of<study::AdviseQuestion>();
  return rows;
}

int run_advise(const AdviseFlags& flags, Reply& reply) {
  study::Context context = make_context(flags.files);
  study::AdviseQuestion question = flags.question;
  question.devices = split_at_commas(question.devices);
  if (flags.output.estimate) {
    put_estimate(flags.output, reply, "advise", advice_rows().echo(question), study::estimate(question, context));
    return kExitDone;
  }
  ProgressBar bar(question.speedup ? "searching one sparsity after another" : "searching windows",
                  flags.output.quiet);
  context.progress = bar.callback();
  const study::AdviseAnswer answer = study::advise(question, context);
  bar.clear();
  note_preset(question.setting, context.catalog, Notes(flags.output));
  context.progress = {};
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answer);
  const std::optional<draw::Picture> picture = drawn(flags.output, report::advise_pictures(), answer, context);
  AnswerBody body;
  if (flags.output.json) {
    report::Json result = report::advise_result(answer, context);
    report::add_closing(closing, result);
    body = JsonAnswer("advise", advice_rows().echo(answer.question), std::move(result));
  } else if (flags.output.csv) {
    body = report::advise_rows(answer, context);
  } else {
    body = report::advise_text(answer, context) + report::closing_text(closing);
  }
  put_answer(flags.output, reply, std::move(body),
             {picture, tabled(flags.output, [&] { return report::advise_rows(answer, context); })});
  return kExitDone;
}

}  // namespace

Command advise_command();
Command advise_command() {
  Options<AdviseFlags> rows;
  rows.include(advice_rows(), &AdviseFlags::question);
  rows.include(catalog_rows(), &AdviseFlags::files);
  rows.include(picture_rows(report::advise_pictures()), &AdviseFlags::output);
  rows.include(conclusion_rows(), &AdviseFlags::output);
  rows.include(estimate_rows(), &AdviseFlags::output);
  rows.include(output_rows(), &AdviseFlags::output);
  Command command{
      .name = "advise",
      .summary = "Three configurations for a model on a GPU, with milliseconds and the call to paste"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim advise --preset hunyuan-video --device h200",
                      "natten-sim advise -i 256 256 -n 24 -d 128 --speedup 4 --for training"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  command.result_schema = report::advise_schema;
  bind(command, rows.essentials({"preset", "input", "device", "sparsity", "speedup", "for", "heads", "dim", "json"}), run_advise);
  return command;
}

}  // namespace natten_sim::cli
