
#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/reuse_report.hpp>

#include "cli/estimates.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"
#include "commands/rows/reuse_flags.hpp"

namespace natten_sim::cli {
namespace {

using report::ReusePicture;
using study::CapacitySource;
using study::ReuseAnswer;

/// What --picture draws and whose rows --csv prints; none: the rows of the answer.
const ReusePicture* chosen_picture(const ReuseFlags& flags) {
  const bool sweep = flags.parts.sweep.has_value();
  if (!flags.output.picture_kind)
    return sweep || (flags.output.picture && !flags.output.csv) ? &report::default_reuse_picture(sweep) : nullptr;
  const ReusePicture& picture = report::reuse_picture(*flags.output.picture_kind);
  if (!flags.output.picture && !flags.output.csv)
    throw Missing("--picture-kind", "--picture or --csv");
  if (picture.of_sweep == sweep) return &picture;
  std::vector<std::string> fitting;
  for (const ReusePicture* each : report::reuse_pictures()) {
    if (each->of_sweep == sweep) fitting.push_back(each->name);
  }
  throw InvalidParameter("picture", picture.name,
                         joined(fitting, " or ") + (sweep ? ", with --sweep" : ", without --sweep"));
}

/// Beside the rows of the answer, --picture draws the default.
const ReusePicture* drawn_picture(const ReuseFlags& flags, const ReusePicture* picture) {
  if (!flags.output.picture || picture != nullptr) return picture;
  return &report::default_reuse_picture(flags.parts.sweep.has_value());
}

/// What will be shown, and no more.
study::ReuseDetails details_of(const ReuseFlags& flags, const ReusePicture* picture) {
  const bool table = flags.parts.sweep && !flags.output.json && !flags.output.csv;
  study::ReuseDetails details;
  if (const ReusePicture* drawn = drawn_picture(flags, picture)) details = drawn->details;
  details.mean_distance = details.mean_distance || !table;
  details.histogram = details.histogram || flags.output.json;
  details.first_noncompulsory_seqlen = !table || flags.output.picture;
  return details;
}

AnswerBody render_any(const ReuseFlags& flags, const ReuseAnswer& answer, const ReusePicture* picture,
                      const study::Context& context) {
  std::optional<report::Closing> closing;
  if (flags.output.conclusion && !flags.output.csv)
    closing = report::closing_of(answer, study::conclude(answer, context));
  if (flags.output.json) {
    report::Json result = report::reuse_result(answer);
    report::add_closing(closing, result);
    return JsonAnswer("reuse", reuse_input(answer.question), std::move(result));
  }
  if (!flags.output.csv) return report::reuse_text(answer) + report::closing_text(closing);
  if (picture != nullptr && picture->csv != nullptr) return picture->csv(answer);
  return report::reuse_rows(answer, reuse_input(answer.question));
}

AnswerBody render_reuse(const ReuseFlags& flags, const ReuseAnswer& answer, const ReusePicture* picture,
                        const study::Context& context) {
  if constexpr (kJsonAlone) {
    return JsonAnswer("reuse", reuse_input(answer.question), report::reuse_result(answer));
  } else {
    return render_any(flags, answer, picture, context);
  }
}

void say_capacity(const ReuseAnswer& answer, const Notes& notes) {
  if (!answer.device) return;
  const std::string& device = answer.device->name;
  if (answer.capacity_source == CapacitySource::kWhole)
    notes.note("the effective capacity of " + device + " is not known: the whole L2 is assumed");
  if (answer.capacity_source == CapacitySource::kUnknown)
    notes.note("the L2 of " + device + " is not known: no misses without --l2-bytes");
}

int run_reuse(const ReuseFlags& flags, Reply& reply) {
  if (flags.predictions && flags.output.estimate) throw Conflict(mention("estimate"), mention("predictions"));
  if constexpr (kJsonAlone) {
    if (flags.predictions) refuse_beyond_json("predictions");
  } else {
    if (flags.predictions && reply.is_kept())
      throw InvalidParameter("predictions", "given for one answer of many", "a run of 'reuse' of its own");
    if (flags.predictions) return print_predictions(flags);
  }
  study::Context context = make_context(flags.files);
  study::ReuseQuestion question = study::question_of(flags.parts);
  const ReusePicture* picture = chosen_picture(flags);
  question.details = details_of(flags, picture);
  if (answered_by_estimate(flags.output, reply, "reuse", reuse_input(question), study::estimate(question, context)))
    return kExitDone;
  ProgressBar bar("simulating", flags.output.quiet);
  context.progress = bar.callback();
  const ReuseAnswer answer = study::reuse(question, context);
  bar.clear();
  ProgressBar concluding("asking how sure that is, and what reads less", flags.output.quiet);
  context.progress = concluding.callback();
  std::optional<draw::Picture> drawn;
  if (flags.output.picture) drawn = drawn_picture(flags, picture)->draw(answer);
  AnswerBody body = render_reuse(flags, answer, picture, context);
  concluding.clear();
  say_capacity(answer, Notes(flags.output));
  put_answer(flags.output, reply, std::move(body), {drawn, tabled(flags.output, [&] {
                                                      return report::reuse_rows(answer, reuse_input(answer.question));
                                                    })});
  return kExitDone;
}

}  // namespace

Command reuse_command();
Command reuse_command() {
  Command command{.name = "reuse",
                  .position = 40,
                  .summary = "Predict the sectors, L2 misses and DRAM bytes of an attention kernel"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim reuse -i 32768 -d 64 --tile 80 --json",
                      "natten-sim reuse -i 131072 -d 64 --tile 128 --device h200 --fidelity lru --compare sawtooth",
                      "natten-sim reuse --kernel fa2 -i 196608 -d 128 --causal --device h200 --fidelity timed",
                      "natten-sim reuse --stream-bytes 67108864 --passes 8 --device h200 --order sawtooth"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  command.result_schema = report::reuse_schema;
  bind(command, reuse_rows().essentials({"seqlen", "dim", "heads", "causal", "tile", "kernel", "device", "order", "compare", "fidelity", "picture", "json"}), run_reuse);
  return command;
}

}  // namespace natten_sim::cli
