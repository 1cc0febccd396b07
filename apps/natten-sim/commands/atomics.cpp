#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/study/scatter.hpp>

#include "cli/context.hpp"
#include "cli/described.hpp"
#include "cli/estimates.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"
#include "commands/rows/row_source.hpp"

namespace natten_sim::cli {

/// `auto` is the construct's own path.
template <>
struct OptionValue<std::optional<InstructionPath>> {
  static constexpr int kMaxValues = 1;
  static std::string choices() { return "auto " + joined(names_of<InstructionPath>(), " "); }
  static std::optional<InstructionPath> from_words(const std::string& name,
                                                   const std::vector<std::string>& words, const About&) {
    require_choice(name, words.front(), choices());
    if (words.front() == "auto") return std::nullopt;
    return parse_name<InstructionPath>(words.front(), name);
  }
  static bool to_json(std::optional<InstructionPath> path, Json& out) {
    put_text(path ? to_string(*path) : "auto", out);
    return true;
  }
};

namespace {

using study::ScatterAnswer;
using study::ScatterQuestion;

struct AtomicsFlags {
  ScatterQuestion question;
  CatalogFiles files;
  OutputFlags output;
};

Options<AtomicsFlags> atomics_rows() {
  Options<AtomicsFlags> rows;
  rows.include(options_of<ScatterQuestion>(), &AtomicsFlags::question);
  rows.include(device_file_rows(), &AtomicsFlags::files);
  rows.include(picture_rows(report::scatter_pictures()), &AtomicsFlags::output);
  rows.include(conclusion_rows(), &AtomicsFlags::output);
  rows.include(estimate_rows(), &AtomicsFlags::output);
  return rows.include(output_rows(), &AtomicsFlags::output);
}

AnswerBody render_any(const AtomicsFlags& flags, const ScatterAnswer& answer) {
  std::optional<report::Closing> closing;
  if (flags.output.conclusion && !flags.output.csv) closing = report::closing_of(answer);
  if (flags.output.json) {
    report::Json result = report::scatter_fields(answer);
    report::add_closing(closing, result);
    return JsonAnswer("atomics", options_of<ScatterQuestion>().echo(answer.question), std::move(result));
  }
  if (!flags.output.csv) return report::scatter_text(answer) + report::closing_text(closing);
  return report::scatter_rows(answer);
}

AnswerBody render(const AtomicsFlags& flags, const ScatterAnswer& answer) {
  if constexpr (kJsonAlone) {
    return JsonAnswer("atomics", options_of<ScatterQuestion>().echo(answer.question), report::scatter_fields(answer));
  } else {
    return render_any(flags, answer);
  }
}

int run_atomics(const AtomicsFlags& flags, Reply& reply) {
  study::Context context = make_context(flags.files);
  const Notes notes(flags.output);
  ProgressBar bar("counting", notes.quiet());
  context.progress = bar.callback();
  ScatterQuestion question = flags.question;
  question.details = {.addresses = !flags.output.csv, .remedies = true, .calibration = true};
  if (answered_by_estimate(flags.output, reply, "atomics", options_of<ScatterQuestion>().echo(question),
                           study::estimate(question)))
    return kExitDone;
  const ScatterAnswer answer = study::scatter(question, context);
  bar.clear();
  AnswerBody body = render(flags, answer);
  if (const std::optional<std::string> note = report::saturation_note(answer)) notes.note(*note);
  put_answer(flags.output, reply, std::move(body),
             {drawn(flags.output, report::scatter_pictures(), answer, context),
              tabled(flags.output, [&] { return report::scatter_rows(answer); })});
  return kExitDone;
}

}  // namespace

Command atomics_command();
Command atomics_command() {
  Command command{.name = "atomics",
                  .position = 50,
                  .summary = "Predict what scattered atomic additions cost, and rank the remedies"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim atomics --updates 262144 --rows 32768 --width 256 --distribution zipf:1.5 --dtype bf16",
                      "natten-sim atomics --distribution hot:4 --dtype fp32 --device a100-40gb --json",
                      "natten-sim atomics --distribution file:index.npy --rows 100000 --picture collisions.pdf"};
  command.notes =
      "When you measure, add values that keep changing the sum. A constant saturates a half-precision word (in "
      "bf16, 256 + 1 = 256); the compare-and-swap then succeeds without retries, and the kernel looks fast.";
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  command.result_schema = report::scatter_schema;
  bind(command, atomics_rows().essentials({"updates", "rows", "width", "distribution", "dtype", "construct", "device", "json"}), run_atomics);
  return command;
}

}  // namespace natten_sim::cli
