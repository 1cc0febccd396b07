#include <algorithm>
#include <set>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/report/trust_picture.hpp>
#include <natten_sim/report/trust_report.hpp>

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"

namespace natten_sim::cli {
namespace {

using validate::JudgedAnswer;

struct TrustFlags {
  std::vector<std::string> regimes;     ///< texts that regimes contain; empty: all
  std::optional<std::string> kind;      ///< none: all
  std::optional<std::string> device;    ///< none: all
  std::optional<std::string> recorded;  ///< folder; none: the stored answers
  bool answers = false;
  OutputFlags output;
};

std::vector<std::string> names_of(std::string JudgedAnswer::* member) {
  std::set<std::string> names;
  for (const JudgedAnswer& answer : validate::stored_judged_answers()) names.insert(answer.*member);
  return {names.begin(), names.end()};
}
std::vector<std::string> kinds() { return names_of(&JudgedAnswer::kind); }
std::vector<std::string> devices() { return names_of(&JudgedAnswer::device); }

Options<TrustFlags> trust_options() {
  using F = TrustFlags;
  Options<F> rows;
  rows.positional("regime", &F::regimes,
                  {.help = "Only regimes that contain this text, such as hopper-fna, backward or \"head dim 64\"; several may be given [all]"}, 8);
  rows.add("--kind", &F::kind,
           {.value = "KIND", .help = "Only answers of this kind: time (count, search, advise, plan), schedule or scatter [all]", .suggestions = kinds});
  rows.add("--device", &F::device, {.value = "NAME", .help = "Only answers about this device [all]", .suggestions = devices});
  rows.add("--answers", &F::answers, {.help = "List every answer with its interval and what was measured, those outside first"});
  rows.add("--recorded", &F::recorded,
           {.value = "DIR", .help = "Judge the recordings in DIR by today's models (minutes), instead of the stored answers about data/recordings"});
  rows.group("Which answers");
  rows.include(picture_rows("intervals beside what was measured, a line for each regime"), &F::output);
  return rows.include(output_rows(), &F::output);
}

/// @throws UnknownName where no stored answer has it.
void require_known(const char* parameter, const std::optional<std::string>& name, const std::vector<std::string>& known) {
  if (name && std::find(known.begin(), known.end(), *name) == known.end())
    throw UnknownName(parameter, *name, closest_name(*name, known), joined(known));
}

bool is_asked(const TrustFlags& flags, const JudgedAnswer& answer) {
  if (flags.kind && answer.kind != *flags.kind) return false;
  if (flags.device && answer.device != *flags.device) return false;
  return std::all_of(flags.regimes.begin(), flags.regimes.end(),
                     [&](const std::string& text) { return answer.regime.find(text) != std::string::npos; });
}

std::vector<JudgedAnswer> judged(const TrustFlags& flags) {
  if (!flags.recorded) return validate::stored_judged_answers();
  ProgressBar bar("comparing", flags.output.quiet);
  const study::Context context = study::default_context();
  const validate::Comparison comparison =
      validate::compare(validate::read_recordings(*flags.recorded), validate::builtin_suites(), context.catalog.devices,
                        Fidelity::kClosedForm, bar.callback());
  bar.clear();
  return validate::judged_answers(comparison);
}

report::Rows csv_rows(const TrustFlags& flags, const std::vector<JudgedAnswer>& answers) {
  const std::vector<report::Json> rows = flags.answers ? report::judged_answer_rows(answers) : report::trust_rows(answers);
  return {rows.front(), rows};
}

AnswerBody render(const TrustFlags& flags, const std::vector<JudgedAnswer>& answers) {
  if (flags.output.csv) {
    return csv_rows(flags, answers);
  }
  if (flags.output.json) return JsonAnswer("trust", trust_options().echo(flags), report::trust_fields(answers, flags.answers));
  return (flags.answers ? report::judged_answers_text(answers) + "\n" : "") + report::trust_text(answers);
}

int run_trust(const TrustFlags& flags, Reply& reply) {
  require_known("--kind", flags.kind, kinds());
  if (!flags.recorded) require_known("--device", flags.device, devices());
  std::vector<JudgedAnswer> answers = judged(flags);
  std::erase_if(answers, [&](const JudgedAnswer& answer) { return !is_asked(flags, answer); });
  if (answers.empty())
    throw InvalidParameter("regime", flags.regimes.empty() ? "of this kind and device" : joined(flags.regimes),
                           "what natten-sim trust lists");
  std::optional<draw::Picture> picture;
  if (flags.output.picture) picture = report::trust_picture(answers);
  put_answer(flags.output, reply, render(flags, answers),
             {picture, tabled(flags.output, [&] { return csv_rows(flags, answers); })});
  return kExitDone;
}

}  // namespace

Command trust_command();
Command trust_command() {
  Command command{.name = "trust",
                  .position = 91,
                  .group = kMeasuredCommands,
                  .summary = "Say how many measured answers lay in the interval that was stated",
                  .examples = {"natten-sim trust", "natten-sim trust hopper-fna backward --device h100 --answers"},
                  .notes = "Judged are launches that no constant behind the answer was fitted to. Intervals are meant to hold 90%: "
                           "\"narrow\" holds less than 85%, \"wide\" more than 97%, \"few\" has under 20 answers.",
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  command.result_schema = report::trust_schema;
  bind(command, trust_options().essentials({"kind", "device", "answers", "json"}), run_trust);
  return command;
}

}  // namespace natten_sim::cli
