#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/plan_report.hpp>
#include <natten_sim/study/plan.hpp>

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

struct PlanFlags {
  study::PlanQuestion question;
  CatalogFiles files;
  OutputFlags output;
};

int run_plan(const PlanFlags& flags, Reply& reply) {
  study::Context context = make_context(flags.files);
  if (flags.output.estimate) {
    put_estimate(flags.output, reply, "plan", options_of<study::PlanQuestion>().echo(flags.question),
                 study::estimate(flags.question, context));
    return kExitDone;
  }
  const study::PlanAnswer answer = study::plan(flags.question, context);
  note_preset(flags.question.setting, context.catalog, Notes(flags.output));
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answer);
  AnswerBody body;
  if (flags.output.json) {
    report::Json result = report::plan_result(answer);
    report::add_closing(closing, result);
    body = JsonAnswer("plan", options_of<study::PlanQuestion>().echo(answer.question), std::move(result));
  } else if (flags.output.csv) {
    body = report::plan_rows(answer);
  } else {
    body = report::plan_text(answer) + report::closing_text(closing);
  }
  put_answer(flags.output, reply, std::move(body),
             {drawn(flags.output, report::plan_pictures(), answer, context),
              tabled(flags.output, [&] { return report::plan_rows(answer); })});
  return kExitDone;
}

}  // namespace

Command plan_command();
Command plan_command() {
  Options<PlanFlags> rows;
  rows.include(options_of<study::PlanQuestion>(), &PlanFlags::question);
  rows.include(catalog_rows(), &PlanFlags::files);
  rows.include(picture_rows(report::plan_pictures()), &PlanFlags::output);
  rows.include(conclusion_rows(), &PlanFlags::output);
  rows.include(estimate_rows(), &PlanFlags::output);
  rows.include(output_rows(), &PlanFlags::output);
  Command command{.name = "plan",
                  .summary = "Time, money, memory and communication of a whole model on one or more GPUs"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim plan --preset hunyuan-video --device h100 --gpus 8 --dollars-per-hour 3",
                      "natten-sim plan -i 30 48 80 -n 24 -d 128 --layers 60 --attention-share 0.6 --device h200"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  command.result_schema = report::plan_schema;
  bind(command,
       rows.essentials({"preset", "input", "device", "window", "gpus", "parallel", "dollars-per-hour", "for", "json"}),
       run_plan);
  return command;
}

}  // namespace natten_sim::cli
