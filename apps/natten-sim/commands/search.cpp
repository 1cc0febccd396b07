#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include <natten_sim/core/conflict.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/emit.hpp>
#include <natten_sim/report/json_sink.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/report/window_recall.hpp>
#include <natten_sim/study/search.hpp>

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
#include "commands/rows/search_values.hpp"
#include "commands/rows/setting_values.hpp"

namespace natten_sim::cli {

namespace {

using study::DevicesSearch;
using study::SearchAnswer;
using study::SearchKind;
using study::SearchQuestion;

struct SearchFlags {
  DevicesSearch asked;
  CatalogFiles files;
  std::optional<std::string> batch;  ///< file of questions
  bool with_input = false;           ///< in the answers of a batch
  std::vector<std::string> columns;  ///< that these are reduced to; empty: whole answers
  std::optional<report::EmitKind> emit;
  std::optional<unsigned> threads;  ///< none: all cores
  bool timing = false;
  OutputFlags output;
};

const Options<DevicesSearch>& asked_rows() {
  static const Options<DevicesSearch> rows = options_of<DevicesSearch>();
  return rows;
}

Options<SearchFlags> search_rows() {
  Options<SearchFlags> rows;
  rows.include(asked_rows(), &SearchFlags::asked);
  rows.include(catalog_rows(), &SearchFlags::files);
  rows.add("--batch", &SearchFlags::batch,
           {.value = "FILE",
            .help = "Answer JSON Lines from FILE (- for standard input): one result object a line",
            .echo = Echo::kNever,
            .rules_out = {{"csv", "picture", "table"}}});
  rows.add("--with-input", &SearchFlags::with_input,
           {.help = "With --batch: each answer begins with its input, with every default",
            .echo = Echo::kNever,
            .needs = {"batch"}});
  rows.add("--columns", &SearchFlags::columns,
           {.value = "NAME",
            .help = "With --batch: reduce answers to these columns of a sweep, such as visited_tiles",
            .echo = Echo::kNever,
            .excludes = {"with-input"},
            .needs = {"batch"}});
  rows.add(
      "--emit", &SearchFlags::emit,
      {.value = "KIND",
       .help = "Print what runs the winner: NATTEN's Python call, its profiler's command, a FlexAttention "
               "script, tables for its BlockMask, or the call as JSON",
       .echo = Echo::kNever,
       .excludes = {"csv", "batch"}});
  rows.add("--threads", &SearchFlags::threads,
           {.value = "N",
            .help = "Threads; the output is the same for any number [all cores]",
            .range = {1, 1024},
            .echo = Echo::kNever});
  rows.add("--timing", &SearchFlags::timing,
           {.help = "Print the time taken on stderr", .echo = Echo::kNever});
  rows.group("Many problems, calls and threads");
  rows.include(picture_rows(report::search_pictures()), &SearchFlags::output);
  rows.include(conclusion_rows(), &SearchFlags::output);
  rows.include(estimate_rows(), &SearchFlags::output);
  return rows.include(output_rows(), &SearchFlags::output);
}

std::string emitted(const SearchFlags& flags, const std::vector<SearchAnswer>& answers,
                    const study::Context& context) {
  if (!flags.emit || answers.front().candidates.empty()) return "";
  const SearchAnswer& answer = answers.front();
  if (answer.choice) {
    if (*flags.emit == report::EmitKind::kNatten) return report::launches_python(answer, context);
    throw InvalidParameter("emit", to_string(*flags.emit), "natten, where every head has its window", "natten");
  }
  const bool of_natten = *flags.emit == report::EmitKind::kNatten || *flags.emit == report::EmitKind::kNattenProfiler;
  if (of_natten && has_cycle(answer.candidates.front().counted.problem.mask))  // on the padded layout
    return report::emitted(*flags.emit, study::count(study::count_question(answer, answer.candidates.front()), context),
                           context);
  const study::CallParts parts = study::call_parts(answer, answer.candidates.front(), context.catalog);
  return report::emitted(*flags.emit, parts.setting, parts.forward,
                         parts.backward ? &*parts.backward : nullptr, context);
}

AnswerBody render(const SearchFlags& flags, const std::vector<SearchAnswer>& answers,
                  const study::Context& context) {
  const std::string call = emitted(flags, answers, context);
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answers);
  if (flags.output.json) {
    report::Json result = report::search_result(answers, context);
    if (!call.empty()) report::add_emitted(*flags.emit, call, result);
    report::add_closing(closing, result);
    return JsonAnswer("search", asked_rows().echo(study::filled_in(flags.asked, answers)), std::move(result));
  }
  if (flags.emit) return call;
  if (flags.output.csv) return report::search_rows(answers);
  const std::string text = report::search_text(answers, context);
  return text.empty() ? text : text + report::closing_text(closing);
}

void say_defaults(const SearchAnswer& answer, const Notes& notes) {
  if (answer.tiles_defaulted) {
    const TileChoice& tiles = answer.question.tiles.front();
    const TilePair& pair = tiles.tiles.q_tile.empty() ? tiles.backward_tiles : tiles.tiles;
    notes.note(fmt::format("tiles of {}: Q {}, KV {}", tiles.backend, to_string(pair.q_tile),
                           to_string(pair.kv_tile)));
  }
  if (!answer.time_missing.empty()) notes.note("not ranked by time: " + answer.time_missing);
  if (answer.unbounded) {
    notes.note(
        "neither window nor sparsity is bounded, so the smallest windows win: see --sparsity and "
        "--window-range");
  }
}

void say_what_is_missing(const std::vector<SearchAnswer>& answers) {
  for (const SearchAnswer& answer : answers) {
    if (!answer.candidates.empty()) continue;
    const std::string device = answers.size() > 1 ? *answer.question.setting.device + ": " : "";
    print_remark(device + report::nothing_found(answer));
  }
}

/// Keys that say the same thing in different ways: a line has one of them, and displaces what the command
/// line says in another.
void displace(DevicesSearch& asked, const std::string& key, const std::vector<std::string>& before) {
  SearchQuestion& question = asked.question;
  const auto one_of = [&](const std::vector<std::string>& keys) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return false;
    for (const std::string& other : before) {
      if (std::find(keys.begin(), keys.end(), other) != keys.end())
        throw Conflict(key, other, "one of " + joined(keys));
    }
    return true;
  };
  if (one_of({"window", "window_range"})) question.window = {}, question.window_range = {};
  if (one_of({"stride", "stride_max", "stride_range"}))
    question.stride = {}, question.stride_max = {}, question.stride_range = {};
  if (one_of({"ladder", "pareto", "answer"})) question.kind = SearchKind::kBest;
  const std::vector<std::string> shapes = {"q_tile", "kv_tile", "backward_q_tile", "backward_kv_tile"};
  if (key == "tiles")
    question.q_tile = question.kv_tile = question.backward_q_tile = question.backward_kv_tile = {};
  if (std::find(shapes.begin(), shapes.end(), key) == shapes.end()) return;
  if (std::find(before.begin(), before.end(), "tiles") != before.end())
    throw Conflict(key, "tiles", "one of " + joined(shapes) + ", or tiles");
  question.tiles.clear();
}

Json search_schema() { return report::with_emitted(report::search_schema()); }

int run_batch(const SearchFlags& flags, const study::Context& context) {
  (void)study::resolved(flags.asked.question.setting, context.catalog);  // what is wrong with every line
  LineReader<DevicesSearch> reader(
      asked_rows(), flags.asked,
      report::member_names(answer_schema(Invocation("search", commands()).command())), displace);
  const AnswerColumns columns("search", split_at_commas(flags.columns), commands());
  return answer_batch(*flags.batch, flags.output, [&](BatchLine& line) {
    const DevicesSearch asked = reader.read(line.text, line.id);
    const std::vector<SearchAnswer> answers =
        study::search_on(asked.question, asked.devices.names, context);
    if (!columns.empty()) {
      line.answer =
          columns.members(asked_rows().echo(study::filled_in(asked, answers)), report::search_result(answers, context));
      return;
    }
    report::JsonMembers members(line.answer);
    if (flags.with_input) members.put_json("input", asked_rows().echo(study::filled_in(asked, answers)));
    report::write_search_result(answers, context, members);
  });
}

int run_search(const SearchFlags& flags, Reply& reply) {
  const auto start = std::chrono::steady_clock::now();
  study::Context context = make_context(flags.files);
  context.threads = flags.threads.value_or(std::max(1u, std::thread::hardware_concurrency()));
  if (flags.batch && flags.output.estimate) throw Conflict(mention("estimate"), mention("batch"));
  if (flags.batch) return run_batch(flags, context);
  const std::vector<std::string>& devices = flags.asked.devices.names;
  if (flags.emit && devices.size() > 1)
    throw InvalidParameter("emit", std::to_string(devices.size()) + " devices", "one device",
                           devices.front());
  // Only a front holds more than a few MiB.
  if ((flags.output.estimate || flags.asked.question.kind == SearchKind::kPareto) &&
      answered_by_estimate(flags.output, reply, "search", asked_rows().echo(flags.asked),
                           study::estimate(flags.asked, context)))
    return kExitDone;
  const Notes notes(flags.output);
  ProgressBar bar("searching", notes.quiet());
  context.progress = bar.callback();
  const std::vector<SearchAnswer> answers = study::search_on(flags.asked.question, devices, context);
  bar.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  AnswerBody body = render(flags, answers, context);
  const std::optional<draw::Picture> picture = drawn(flags.output, report::search_pictures(), answers, context);
  note_preset(flags.asked.question.setting, context.catalog, notes);
  say_defaults(answers.front(), notes);
  say_what_is_missing(answers);
  if (flags.timing) std::fprintf(stderr, "natten-sim: %.3f s, %u threads\n", seconds, context.threads);
  put_answer(flags.output, reply, std::move(body),
             {picture, tabled(flags.output, [&] { return report::search_rows(answers); })});
  return kExitDone;
}

}  // namespace

Command search_command();
Command search_command() {
  Command command{
      .name = "search", .position = 20, .summary = "Find the best windows, strides and tile shapes, exactly"};
  command.group = kQuestionCommands;
  command.examples = {"natten-sim search --preset hunyuan-video --device h200 --sparsity 0.90:0.92",
                      "natten-sim search -i 256 256 -n 24 -d 128 --device h200 --kernel hopper-fna gna --sparsity 0.9:0.95",
                      "natten-sim search -i 256 256 --sparsity 0.9:0.95 --natten-fast-path --emit natten",
                      "natten-sim search --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8 --ladder",
                      "natten-sim search --preset flux1-dev-4k --sparsity 0.90:0.91 --phase both --device h100 b200"};
  command.notes =
      "Order: less time or larger objective, then NATTEN's fast path, then smaller stride product, then less "
      "uneven windows, then lexicographic. Rows differ in their window: see --distinct.";
  command.exit_codes = "0 done (also when nothing is feasible), 1 internal error, 2 bad input (with --batch: a line was bad).";
  command.result_schema = search_schema;
  bind(command, search_rows().essentials({"preset", "input", "device", "window", "sparsity", "max-imbalance", "objective", "top", "emit", "heads", "dim", "json"}), run_search);
  return command;
}

}  // namespace natten_sim::cli
