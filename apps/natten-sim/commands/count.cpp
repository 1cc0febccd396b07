#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/emit.hpp>
#include <natten_sim/report/json_sink.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/report/tile_picture.hpp>
#include <natten_sim/study/count.hpp>

#include "cli/answer_columns.hpp"
#include "cli/answer_schema.hpp"
#include "cli/batch.hpp"
#include "cli/context.hpp"
#include "cli/described.hpp"
#include "cli/estimates.hpp"
#include "cli/invocation.hpp"
#include "cli/picture_file.hpp"
#include "cli/reply.hpp"
#include "cli/table_file.hpp"
#include "commands.hpp"
#include "commands/rows/mask_answer.hpp"
#include "commands/rows/mask_values.hpp"
#include "commands/rows/search_values.hpp"
#include "commands/rows/setting_values.hpp"

namespace natten_sim::cli {
namespace {

using study::CountAnswer;
using study::CountQuestion;

struct CountFlags {
  CountQuestion question;
  std::optional<GivenMask> mask;  ///< in place of a window
  CatalogFiles files;
  std::optional<std::string> batch;  ///< file of questions
  bool with_input = false;           ///< in the answers of a batch
  std::vector<std::string> columns;  ///< that these are reduced to; empty: whole answers
  std::optional<report::EmitKind> emit;
  bool ascii = false;
  Extents at_q_tile;
  OutputFlags output;
};

const Options<CountQuestion>& question_rows() {
  static const Options<CountQuestion> rows = options_of<CountQuestion>();
  return rows;
}

Options<CountFlags> count_rows() {
  Options<CountFlags> rows;
  rows.include(question_rows(), &CountFlags::question);
  rows.add("--mask", &CountFlags::mask,
           {.value = "MASK",
            .help = std::string("In place of a window, answered as `mask` is: ") + study::kGivenMaskHelp,
            .echo = Echo::kNever,
            .rules_out = {{"window", "stride", "dilation", "causal", "cyclic", "kv-tiling", "tiling",
                           "backward-q-tile", "backward-kv-tile", "backward-q-tiling", "kernel-schedule",
                           "mask-function", "batch", "emit", "ascii", "at-q-tile"}}});
  rows.group("Problem");
  rows.include(catalog_rows(), &CountFlags::files);
  rows.add("--batch", &CountFlags::batch,
           {.value = "FILE",
            .help = "Answer JSON Lines from FILE (- for standard input): one result object a line",
            .echo = Echo::kNever,
            .rules_out = {{"picture", "table", "ascii", "csv", "at-q-tile"}}});
  rows.add("--with-input", &CountFlags::with_input,
           {.help = "With --batch: each answer begins with its input, with every default",
            .echo = Echo::kNever,
            .needs = {"batch"}});
  rows.add("--columns", &CountFlags::columns,
           {.value = "NAME",
            .help = "With --batch: reduce answers to these columns of a sweep, such as visited_tiles",
            .echo = Echo::kNever,
            .excludes = {"with-input"},
            .needs = {"batch"}});
  rows.add(
      "--emit", &CountFlags::emit,
      {.value = "KIND",
       .help = "Print what runs the problem: NATTEN's Python call, its profiler's command, a FlexAttention "
               "script, tables for its BlockMask, or the call as JSON",
       .echo = Echo::kNever,
       .excludes = {"csv", "ascii", "batch"}});
  rows.include(picture_rows("the visited tiles"), &CountFlags::output);
  rows.add(
      "--ascii", &CountFlags::ascii,
      {.help = "Draw the visited tiles in the terminal", .echo = Echo::kNever, .excludes = {"json", "csv"}});
  rows.add("--at-q-tile", &CountFlags::at_q_tile,
           {.value = "INDEX",
            .help = "Q tile to draw in 2-D and 3-D, one index an axis from 0 [the middle one]",
            .range = {.lo = 0},
            .echo = Echo::kNever});
  rows.group("Many problems, calls and pictures");
  rows.include(conclusion_rows(), &CountFlags::output);
  rows.include(estimate_rows(), &CountFlags::output);
  return rows.include(output_rows(), &CountFlags::output);
}

void say_defaults(const CountAnswer& answer, const Notes& notes) {
  const study::Setting& setting = answer.question.setting;
  const TilePair& tiles = answer.forward.problem.tiles;
  if (answer.tiles_defaulted) {
    const std::optional<KernelChoice>& kernel = answer.question.kernel;
    const bool own = kernel && (!setting.backend || !study::natten_runs(*kernel));
    notes.note(fmt::format("tiles of {}{}: Q {}, KV {}", own ? kernel->name : answer.implemented_by.value_or(""),
                           answer.chosen_backend || own ? "" : " (the default backend)", to_string(tiles.q_tile),
                           to_string(tiles.kv_tile)));
  } else if (!answer.implemented_by && answer.chosen_backend &&
             (!answer.question.kernel || study::natten_runs(*answer.question.kernel))) {
    notes.note(fmt::format("{} does not implement Q {} with KV {} at head dim {}; counted all the same",
                           *answer.chosen_backend, to_string(tiles.q_tile), to_string(tiles.kv_tile),
                           *setting.head_dim));
  }
  if (answer.window_defaulted)
    notes.note(fmt::format("no window given: {} (dense)", to_string(answer.question.window)));
}

/// Of results, and of candidates of a search: of these no key that a line sets, such as their window.
std::vector<std::string> keys_of_answers() {
  std::vector<std::string> keys =
      report::member_names(answer_schema(Invocation("count", commands()).command()));
  const Json searched = answer_schema(Invocation("search", commands()).command());
  const Options<CountQuestion>& options = question_rows();
  for (const std::string& key :
       report::member_names(searched.at("properties").at("candidates").at("items"))) {
    const bool settable =
        std::any_of(options.rows().begin(), options.rows().end(), [&](const auto& row) { return row.spec.key == key; });
    if (!settable) keys.push_back(key);
  }
  return keys;
}

Json count_schema() { return report::with_emitted(report::count_schema()); }

int run_batch(const CountFlags& flags, const study::Context& context) {
  (void)study::resolved(flags.question.setting, context.catalog);  // what is wrong with every line
  LineReader<CountQuestion> reader(question_rows(), flags.question, keys_of_answers());
  AxisCountMemo memo;
  const AnswerColumns columns("count", split_at_commas(flags.columns), commands());
  return answer_batch(*flags.batch, flags.output, [&](BatchLine& line) {
    const CountQuestion question = reader.read(line.text, line.id);
    const CountAnswer answer = study::count_with_memo(question, context, memo);
    if (!columns.empty()) {
      const report::Json input = columns.of_input() ? question_rows().echo(answer.question) : report::Json();
      line.answer = columns.members(input, report::count_result(answer));
      return;
    }
    report::JsonMembers members(line.answer);
    if (flags.with_input) members.put_json("input", question_rows().echo(answer.question));
    report::write_count_result(answer, members);
  });
}

std::string emitted(const CountFlags& flags, const CountAnswer& answer, const study::Context& context) {
  return flags.emit ? report::emitted(*flags.emit, answer, context) : "";
}

std::optional<report::Closing> closing_of(const CountFlags& flags, const CountAnswer& answer,
                                          const study::Context& context) {
  if (!flags.output.conclusion) return std::nullopt;
  return report::closing_of(answer, study::conclude(answer, context));
}

/// The result of a count, written half a microsecond after it is asked for.
class CountFields final : public ResultFields {
 public:
  explicit CountFields(CountAnswer answer) : answer_(std::move(answer)) {}
  [[nodiscard]] Json tree() const override { return report::count_result(answer_); }
  [[nodiscard]] std::string text() const override {
    std::string text = "{";
    {
      report::JsonMembers members(text);
      report::write_count_result(answer_, members);
    }
    return text + "}";
  }

 private:
  CountAnswer answer_;
};

AnswerBody plain_json(const CountAnswer& answer) {
  return JsonAnswer("count", question_rows().echo(answer.question), std::make_shared<CountFields>(answer));
}

report::Rows csv_rows(const CountAnswer& answer) {
  return report::count_rows(question_rows().echo(answer.question), answer);
}

AnswerBody render_any(const CountFlags& flags, const CountAnswer& answer, const study::Context& context) {
  if (flags.ascii) return report::tile_ascii(answer.forward.problem, flags.at_q_tile);
  const std::string call = emitted(flags, answer, context);
  if (flags.output.json && !flags.emit && !flags.output.conclusion) return plain_json(answer);
  if (flags.output.json) {
    report::Json result = report::count_result(answer);
    if (flags.emit) report::add_emitted(*flags.emit, call, result);
    report::add_closing(closing_of(flags, answer, context), result);
    return JsonAnswer("count", question_rows().echo(answer.question), std::move(result));
  }
  if (flags.emit) return call;
  if (flags.output.csv) return csv_rows(answer);
  return report::count_text(answer) + report::closing_text(closing_of(flags, answer, context));
}

AnswerBody render(const CountFlags& flags, const CountAnswer& answer, const study::Context& context) {
  if constexpr (kJsonAlone) {
    return plain_json(answer);
  } else {
    return render_any(flags, answer, context);
  }
}

/// Who asks many questions asks about axes that they share.
CountAnswer answer_of(const CountQuestion& question, const study::Context& context, const Reply& reply) {
  if (!reply.is_kept()) return study::count(question, context);
  thread_local AxisCountMemo memo;
  return study::count_with_memo(question, context, memo);
}

int run_count(const CountFlags& flags, Reply& reply) {
  AnswerContext kept(flags.files);
  study::Context& context = kept.get();
  if (flags.mask)
    return answer_mask(study::mask_question_of(flags.question, *flags.mask, context.catalog), context, flags.output, reply);
  if constexpr (kJsonAlone) {
    if (flags.batch) refuse_beyond_json("batch");
    if (flags.emit) refuse_beyond_json("emit");
  } else {
    if (flags.batch && flags.output.estimate) throw Conflict(mention("estimate"), mention("batch"));
    if (flags.batch) return run_batch(flags, context);
  }
  // A count of boxes takes microseconds and little memory: nothing is asked before it.
  if ((flags.output.estimate || flags.question.tiling == Tiling::kSingleDimensional) &&
      answered_by_estimate(flags.output, reply, "count", question_rows().echo(flags.question),
                           study::estimate(flags.question, context)))
    return kExitDone;
  const Notes notes(flags.output);
  ProgressBar bar("counting", notes.quiet());
  context.progress = bar.callback();
  const CountAnswer answer = answer_of(flags.question, context, reply);
  bar.clear();
  AnswerBody body = render(flags, answer, context);
  std::optional<draw::Picture> picture;
  if constexpr (!kJsonAlone) {
    if (flags.output.picture) picture = report::tile_picture(answer.forward.problem, flags.at_q_tile);
  }
  note_preset(flags.question.setting, context.catalog, notes);
  say_defaults(answer, notes);
  put_answer(flags.output, reply, std::move(body), {picture, tabled(flags.output, [&] { return csv_rows(answer); })});
  return kExitDone;
}

}  // namespace

Command count_command();
Command count_command() {
  Command command{
      .name = "count", .position = 10, .summary = "Count exactly which tiles an attention problem visits"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim count --preset flux1-dev-4k -w 80 80 -s 16 16",
                      "natten-sim count -i 30 48 80 -w 18 24 24 --device h200 -n 24 -d 128",
                      "natten-sim count --mask 'document:4096,12288&causal' -n 16 -d 128 --device h200 --kernel flexattention",
                      "natten-sim count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4 --ascii",
                      "natten-sim count -i 30 48 80 -w 18 24 24 -s 1 1 1 --q-tile 4 8 8 --kv-tile 2 8 8 --json"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input (with --batch: a line was bad).";
  command.without_effect = {"--persistent"};  // counts and times are of kernels as NATTEN's calls run them
  command.result_schema = count_schema;
  bind(command, count_rows().essentials({"preset", "input", "device", "window", "stride", "q-tile", "kv-tile", "heads", "dim", "backprop", "emit", "json"}), run_count);
  return command;
}

}  // namespace natten_sim::cli
