#include <fmt/format.h>

#include <natten_sim/report/plan_report.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"
#include "commands.hpp"
#include "commands/rows/search_values.hpp"
#include "commands/rows/setting_rows.hpp"

namespace natten_sim::cli {
namespace {

struct PlanFlags {
  study::PlanQuestion question;
  CatalogFiles files;
  OutputFlags output;
};

Options<study::PlanQuestion> plan_question_rows() {
  using Question = study::PlanQuestion;
  constexpr IntegerBounds kCounts{1, study::kMostOfPlan};
  Options<Question> rows;
  rows.include(layout_rows(), &Question::setting);
  rows.add("-w,--window,--window-size", &Question::window,
           {.value = "W", .help = "Window of the sparse plan [the fastest that advise finds]"});
  rows.add("-s,--stride", &Question::stride, {.value = "S", .help = "Stride, with --window [the fastest]"});
  rows.group("Problem");
  rows.add("--layers", &Question::layers,
           {.value = "N", .help = "Layers that run this attention [the preset's, or 1]", .range = kCounts});
  rows.add("--passes", &Question::passes,
           {.value = "N",
            .help = "Passes of the model in a step, 2 with guidance [the preset's, or 1; one in training]",
            .range = kCounts});
  rows.add("--rest-flops", &Question::rest_flops,
           {.value = "F",
            .help = "FLOPs of a pass outside attention, all layers [by the attention share, or the preset's]",
            .interval = {1, 1e24},
            .accepted = "FLOPs in 1..1e24",
            .echo = Echo::kWhenSet});
  rows.add("--for", &Question::use, {.value = "USE", .help = "inference: videos; training: an epoch [default]"});
  rows.add("--samples", &Question::samples,
           {.value = "N", .help = "Videos to make, or samples of an epoch [default]", .range = kCounts});
  rows.group("Model");
  rows.add("--gpus", &Question::gpus, {.value = "N", .help = "GPUs that share one model [default]", .range = kCounts});
  rows.add("--parallel", &Question::split,
           {.value = "SPLIT",
            .help = "heads: over all tokens; sequence: parts of the tokens, with the keys that windows reach; ring: "
                    "the same, whole parts going round while GPUs compute [default]"});
  rows.add("--dollars-per-hour", &Question::dollars_per_hour,
           {.value = "X",
            .help = "Price of one GPU [none]",
            .interval = {0, 1e6},
            .accepted = "0..1e6",
            .echo = Echo::kWhenSet});
  rows.group("GPUs");
  return rows.include(workload_rows(), &Question::setting);
}

int run_plan(const PlanFlags& flags, Reply& reply) {
  study::Context context = make_context(flags.files);
  const study::PlanAnswer answer = study::plan(flags.question, context);
  note_preset(flags.question.setting, context.catalog, Notes(flags.output));
  if (flags.output.json) {
    put_answer(flags.output, reply,
               JsonAnswer("plan", plan_question_rows().echo(answer.question), report::plan_result(answer)));
  } else if (flags.output.csv) {
    write_output(flags.output, report::plan_csv(answer));
  } else {
    write_output(flags.output, report::plan_text(answer));
  }
  return kExitDone;
}

}  // namespace

Command plan_command();
Command plan_command() {
  Options<PlanFlags> rows;
  rows.include(plan_question_rows(), &PlanFlags::question);
  rows.include(catalog_rows(), &PlanFlags::files);
  rows.include(output_rows(), &PlanFlags::output);
  Command command{.name = "plan",
                  .summary = "Time, money, memory and communication of a whole model on one or more GPUs"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim plan --preset hunyuan-video --device h100 --gpus 8 --dollars-per-hour 3",
                      "natten-sim plan -i 30 48 80 -n 24 -d 128 --layers 60 --attention-share 0.6 --device h200"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  bind(command,
       rows.essentials({"preset", "input", "device", "window", "gpus", "parallel", "dollars-per-hour", "for", "json"}),
       run_plan);
  return command;
}

}  // namespace natten_sim::cli
