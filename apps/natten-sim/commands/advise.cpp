#include <natten_sim/report/advise_report.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/window_recall.hpp>

#include "cli/context.hpp"
#include "cli/described.hpp"
#include "cli/output.hpp"
#include "cli/reply.hpp"
#include "commands.hpp"
#include "commands/rows/recall_rows.hpp"
#include "commands/rows/search_values.hpp"
#include "commands/rows/setting_values.hpp"

namespace natten_sim::cli {
namespace {

struct AdviseFlags {
  study::AdviseQuestion question;
  RecallFlags recall;
  CatalogFiles files;
  OutputFlags output;
};

const Options<study::AdviseQuestion>& advice_rows() {
  static const Options<study::AdviseQuestion> rows = options_of<study::AdviseQuestion>();
  return rows;
}

/// The search behind a question: any window, stride and tiles.
study::SearchQuestion search_of(const study::AdviseQuestion& question, const std::string& device) {
  study::SearchQuestion search;
  search.setting = question.setting;
  search.setting.device = device;
  search.phase = question.use == study::AdviseUse::kTraining ? SearchPhase::kBoth : SearchPhase::kForward;
  search.constraints.sparsity = question.sparsity;
  return search;
}

/// A window for every head, on each device.
int advise_heads(const AdviseFlags& flags, const study::AdviseQuestion& question, const study::Context& context,
                 Reply& reply) {
  if (question.devices.empty()) throw InvalidParameter("device", "none", "one device or more, for times");
  if (question.speedup) throw InvalidParameter("speedup", "given", "a least recall or a budget alone");
  study::AdviseQuestion full = question;
  report::Json devices = report::Json::array();
  std::string text;
  for (const std::string& device : question.devices) {
    const study::RecallChoice choice =
        study::choose_by_recall(search_of(question, device), *flags.recall.table, wish_of(flags.recall), context);
    devices.push_back({{"device", device}, {"sketched", false}, {"choices", report::Json::array()}});
    devices.back()["recall"] = report::recall_choice_result(choice, *flags.recall.table, context);
    text += (text.empty() ? "" : "\n") + device + ": " + report::recall_choice_text(choice, *flags.recall.table, context);
    full.setting = choice.answer.question.setting;
    full.setting.device.reset();
  }
  if (flags.output.json) {
    put_answer(flags.output, reply, JsonAnswer("advise", advice_rows().echo(full), {{"devices", std::move(devices)}}));
  } else {
    write_output(flags.output, text);
  }
  return kExitDone;
}

/// What the choices of each device keep; none: it has no choices.
std::vector<std::optional<study::MaskRecalls>> recalls_of_choices(const AdviseFlags& flags, const study::AdviseAnswer& answer,
                                                          const study::Context& context) {
  std::vector<std::optional<study::MaskRecalls>> recalls(answer.devices.size());
  if (!flags.recall.table) return recalls;
  for (std::size_t i = 0; i < recalls.size(); ++i) {
    std::vector<NeighborhoodMask> masks;
    for (const study::AdviceChoice& each : answer.devices[i].choices) masks.push_back(each.count.forward.problem.mask);
    if (!masks.empty()) recalls[i] = study::recalls_of(*flags.recall.table, input_of(masks.front()), masks, context);
  }
  return recalls;
}

/// Below the table of the choices.
std::string recall_lines(const study::AdviseAnswer& answer, const std::vector<std::optional<study::MaskRecalls>>& recalls,
                         const std::string& table) {
  std::string text;
  for (std::size_t i = 0; i < recalls.size(); ++i) {
    if (!recalls[i]) continue;
    std::vector<NeighborhoodMask> masks;
    for (const study::AdviceChoice& each : answer.devices[i].choices) masks.push_back(each.count.forward.problem.mask);
    text += "\n" + answer.devices[i].device + ": " + report::recalls_text(masks, *recalls[i], table);
  }
  return text;
}

int run_advise(const AdviseFlags& flags, Reply& reply) {
  study::Context context = make_context(flags.files);
  study::AdviseQuestion question = flags.question;
  question.devices = split_at_commas(question.devices);
  ProgressBar bar(question.speedup ? "searching one sparsity after another" : "searching windows",
                  flags.output.quiet);
  context.progress = bar.callback();
  if (has_wish(flags.recall)) return advise_heads(flags, question, context, reply);
  const study::AdviseAnswer answer = study::advise(question, context);
  bar.clear();
  note_preset(question.setting, context.catalog, Notes(flags.output));
  context.progress = {};
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answer);
  const std::vector<std::optional<study::MaskRecalls>> recalls = recalls_of_choices(flags, answer, context);
  if (flags.output.json) {
    report::Json result = report::advise_result(answer, context);
    for (std::size_t i = 0; i < recalls.size(); ++i)
      if (recalls[i]) result["devices"][i]["recall"] = report::recalls_result(*recalls[i], *flags.recall.table);
    report::add_closing(closing, result);
    put_answer(flags.output, reply, JsonAnswer("advise", advice_rows().echo(answer.question), std::move(result)));
  } else if (flags.output.csv) {
    write_output(flags.output, report::advise_csv(answer, context));
  } else {
    write_output(flags.output, report::advise_text(answer, context) +
                                   (flags.recall.table ? recall_lines(answer, recalls, *flags.recall.table) : "") +
                                   report::closing_text(closing));
  }
  return kExitDone;
}

}  // namespace

Command advise_command();
Command advise_command() {
  Options<AdviseFlags> rows;
  rows.include(advice_rows(), &AdviseFlags::question);
  rows.include(recall_rows(), &AdviseFlags::recall);
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
