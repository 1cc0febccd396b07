#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/default_text.hpp>
#include <natten_sim/report/emit.hpp>
#include <natten_sim/report/json_sink.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/study/search.hpp>

#include "cli/answer_columns.hpp"
#include "cli/batch.hpp"
#include "cli/context.hpp"
#include "cli/reply.hpp"
#include "cli/values.hpp"
#include "commands.hpp"
#include "commands/rows/search_values.hpp"
#include "commands/rows/setting_rows.hpp"

namespace natten_sim::cli {

namespace {

using study::SearchAnswer;
using study::SearchKind;
using study::SearchQuestion;

/// What is asked, and of which devices; none: of the backend.
struct AskedSearch {
  SearchQuestion question;
  DeviceNames devices;
};

struct SearchFlags {
  AskedSearch asked;
  CatalogFiles files;
  std::optional<std::string> batch;  ///< file of questions
  bool with_input = false;           ///< in the answers of a batch
  std::vector<std::string> columns;  ///< that these are reduced to; empty: whole answers
  std::optional<report::EmitKind> emit;
  std::optional<unsigned> threads;  ///< none: all cores
  bool timing = false;
  OutputFlags output;
};

void add_shape_rows(Options<SearchQuestion>& rows) {
  rows.add("-w,--window,--window-size", &SearchQuestion::window,
           {.value = "N", .help = "Fixed window, one size an axis", .echo = Echo::kNever, .batch = true});
  rows.add("--window-range", &SearchQuestion::window_range,
           {.value = "LO:HI",
            .help = "Windows to try, for all axes or one range an axis [1..length/dilation]",
            .excludes = {"window"}});
  rows.add("-s,--stride", &SearchQuestion::stride,
           {.value = "N", .help = "Fixed stride, one an axis", .echo = Echo::kNever, .batch = true});
  rows.add("--stride-max", &SearchQuestion::stride_max,
           {.value = "N",
            .help = "Largest stride, for all axes or one an axis [the window]",
            .echo = Echo::kNever,
            .batch = true,
            .excludes = {"stride"}});
  rows.add_key("stride_range", &SearchQuestion::stride_range);
  rows.add("--dilation", &SearchQuestion::dilation,
           {.value = "N", .help = "Dilation, one an axis " + report::axis_default(&AxisMask::dilation)});
  rows.add("-c,--causal", &SearchQuestion::causal,
           {.value = "BOOL",
            .help = "Causal mask: alone, on every axis; true/false/1/0, one an axis " +
                    report::axis_default(&AxisMask::causal),
            .bare = "true"});
  rows.add("--cyclic", &SearchQuestion::cyclic,
           {.value = "BOOL",
            .help = "Axes that go round, as longitudes: alone, all; true/false/1/0, one an axis " +
                    report::axis_default(&AxisMask::cyclic),
            .echo = Echo::kWhenSet,
            .bare = "true"});
  rows.group("Windows");
  rows.add("--kv-tiling", &SearchQuestion::kv_tiling,
           {.value = "KIND",
            .help = "static or dynamic " +
                    report::default_text("the chosen backend's", study::kDefaultKvTiling)});
  rows.add(
      "--q-tile", &SearchQuestion::q_tile,
      {.value = "N", .help = "Q tile shape [all of the backend's]", .echo = Echo::kNever, .batch = true});
  rows.add(
      "--kv-tile", &SearchQuestion::kv_tile,
      {.value = "N", .help = "KV tile shape [all of the backend's]", .echo = Echo::kNever, .batch = true});
  rows.add(
      "--phase", &SearchQuestion::phase,
      {.value = "NAME",
       .help = "Passes to search; both: one window and stride for the two, work weighted 2 to 5 for equal "
               "head dims [default]"});
  rows.add("--backward-q-tile", &SearchQuestion::backward_q_tile,
           {.value = "N",
            .help = "Q tile shape of the backward pass [all of the backend's]",
            .echo = Echo::kNever,
            .batch = true});
  rows.add("--backward-kv-tile", &SearchQuestion::backward_kv_tile,
           {.value = "N",
            .help = "KV tile shape of the backward pass [all of the backend's]",
            .echo = Echo::kNever,
            .batch = true});
  rows.add_key("tiles", &SearchQuestion::tiles);
  rows.group("Tiles and passes");
}

void add_constraint_rows(Options<SearchQuestion>& rows) {
  const auto constraint = [](auto member) { return path(&SearchQuestion::constraints, member); };
  rows.add("--sparsity", constraint(&SearchConstraints::sparsity),
           {.value = "LO:HI", .help = "Sparsity range, fractions, both included, or the most alone"});
  rows.add("--window-multiple-of-kv-tile", constraint(&SearchConstraints::window_multiple_of_kv_tile),
           {.help = "Windows that are multiples of the KV tile on every axis"});
  rows.add(
      "--max-imbalance", constraint(&SearchConstraints::max_imbalance),
      {.value = "X",
       .help = fmt::format("Largest over smallest length/window among the axes, 1 or more [{} with a preset "
                           "and free windows, else any]",
                           study::kPresetMaxImbalance),
       .interval = {1, 1e12},
       .accepted = "a number of 1 or more"});
  rows.add("--fully-block-sparse", constraint(&SearchConstraints::fully_block_sparse),
           {.help = "Only configurations without partially masked tiles"});
  rows.add("--natten-fast-path", constraint(&SearchConstraints::natten_fast_path),
           {.help = "Only configurations that NATTEN runs without masking"});
  rows.add("--min-speedup", constraint(&SearchConstraints::min_speedup),
           {.value = "X",
            .help = "Smallest speedup, of the kind that --objective names",
            .interval = {1e-6, 1e12},
            .accepted = "a positive number"});
  rows.add("--no-padding", constraint(&SearchConstraints::no_padding),
           {.help = "Only tiles that divide every axis"});
  rows.add("--dense-axes", &SearchQuestion::dense_axes,
           {.value = "AXIS", .help = "Axes, from 0, whose window is the whole axis", .range = {.lo = 0}});
  rows.add("--any", &SearchQuestion::any, {.help = "Keep configurations that NATTEN refuses"});
  rows.group("Constraints");
}

Options<SearchQuestion> space_rows() {
  Options<SearchQuestion> rows;
  rows.include(input_rows(), &SearchQuestion::setting);
  add_shape_rows(rows);
  rows.include(backend_rows(Echo::kNever), &SearchQuestion::setting);
  add_constraint_rows(rows);
  rows.add("--objective", &SearchQuestion::objective,
           {.value = "NAME",
            .help = "What to rank by: time (predicted, copies into tiles included), or a speedup: work, worst "
                    "(the published measure), mean, flop, e2e (ranks by worst) [time where it is known; else "
                    "work, or worst for one tile pair]"});
  rows.add("--kernel", &SearchQuestion::kernels,
           {.value = "NAME",
            .help = "Kernels whose tiles and times are compared on the device: hopper-fna, blackwell-fna, "
                    "flexattention, gna [the backend's]",
            .echo = Echo::kNever,  // the tiles say it
            .batch = true,
            .excludes = {"backend", "any"}});
  rows.add("--kernel-schedule", &SearchQuestion::kernel_schedule,
           {.value = "NAME",
            .help = fmt::format("Launch of hopper-fna: cooperative or pingpong [{}]",
                                to_string(study::TimeQuestion{}.schedule)),
            .echo = Echo::kWhenSet});
  rows.add("--rest-ms", &SearchQuestion::rest_ms,
           {.value = "MS",
            .help = "Rest, or lighter work, between one launch and the next; 0: back to back; without it, "
                    "longer than the GPU's power limit remembers",
            .interval = {0, 1e9},
            .accepted = "0 to 1e9 milliseconds",
            .echo = Echo::kWhenSet});
  rows.choose(
      "--ladder", &SearchQuestion::kind, SearchKind::kLadder,
      {.help = "Stride ladder of a fixed window: the front over stride product and worst-case speedup",
       .echo = Echo::kNever,
       .batch = true});
  rows.choose("--pareto", &SearchQuestion::kind, SearchKind::kPareto,
              {.help = "Whole Pareto front over lower sparsity, smaller stride product, higher speedup",
               .echo = Echo::kNever,
               .batch = true,
               .excludes = {"ladder"}});
  rows.add_key("answer", &SearchQuestion::kind);
  rows.add(
      "--distinct", &SearchQuestion::distinct,
      {.value = "WHAT",
       .help = "Rows differ in their window, their window and stride, or the tiles that are visited; none: "
               "every configuration is a row [window; tiles for a fixed window]",
       .echo = Echo::kWhenSet,
       .excludes = {"ladder", "pareto"}});
  rows.add("--top", &SearchQuestion::top,
           {.value = "N",
            .help = fmt::format("How many candidates [{}]", study::kDefaultTop),
            .range = {1, 100'000},
            .echo = Echo::kWhenSet});
  rows.include(workload_rows(), &SearchQuestion::setting);
  return rows;
}

Options<AskedSearch> asked_rows() {
  Options<AskedSearch> rows;
  rows.include(preset_rows(), path(&AskedSearch::question, &SearchQuestion::setting));
  rows.add("--device", &AskedSearch::devices,
           {.value = "NAME",
            .help = "Take the backend that suits a GPU (see list devices); several stand side by side",
            .echo = Echo::kWhenSet,
            .suggestions = device_names});
  return rows.include(space_rows(), &AskedSearch::question);
}

Options<SearchFlags> search_rows() {
  Options<SearchFlags> rows;
  rows.include(asked_rows(), &SearchFlags::asked);
  rows.include(catalog_rows(), &SearchFlags::files);
  rows.add("--batch", &SearchFlags::batch,
           {.value = "FILE",
            .help = "Answer JSON Lines from FILE (- for standard input): one result object a line",
            .echo = Echo::kNever,
            .rules_out = {{"csv"}}});
  rows.add("--with-input", &SearchFlags::with_input,
           {.help = "With --batch: each answer begins with its input, with every default",
            .echo = Echo::kNever,
            .needs = {{"batch", "--batch FILE too"}}});
  rows.add("--columns", &SearchFlags::columns,
           {.value = "NAME",
            .help = "With --batch: reduce answers to these columns of a sweep, such as visited_tiles",
            .echo = Echo::kNever,
            .excludes = {"with-input"},
            .needs = {{"batch", "--batch FILE too"}}});
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
  rows.include(conclusion_rows(), &SearchFlags::output);
  return rows.include(output_rows(), &SearchFlags::output);
}

std::string emitted(const SearchFlags& flags, const std::vector<SearchAnswer>& answers,
                    const study::Context& context) {
  if (!flags.emit || answers.front().candidates.empty()) return "";
  const SearchAnswer& answer = answers.front();
  const study::CallParts parts = study::call_parts(answer, answer.candidates.front(), context.catalog);
  return report::emitted(*flags.emit, parts.setting, parts.forward,
                         parts.backward ? &*parts.backward : nullptr, context);
}

/// What was asked with every default filled in, as far as it is one for all devices.
AskedSearch filled_in(const AskedSearch& asked, const std::vector<SearchAnswer>& answers) {
  AskedSearch full = asked;
  full.question = answers.front().question;
  if (answers.size() == 1) return full;
  full.question.tiles = asked.question.tiles;
  full.question.kv_tiling = asked.question.kv_tiling;
  return full;
}

AnswerBody render(const SearchFlags& flags, const std::vector<SearchAnswer>& answers,
                  const study::Context& context) {
  const std::string call = emitted(flags, answers, context);
  std::optional<report::Closing> closing;
  if (flags.output.conclusion) closing = report::closing_of(answers);
  if (flags.output.json) {
    report::Json result = report::search_result(answers);
    if (!call.empty()) report::add_emitted(*flags.emit, call, result);
    report::add_closing(closing, result);
    return JsonAnswer("search", asked_rows().echo(filled_in(flags.asked, answers)), std::move(result));
  }
  if (flags.emit) return call;
  if (flags.output.csv) return report::search_csv(answers);
  const std::string text = report::search_text(answers);
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
void displace(AskedSearch& asked, const std::string& key, const std::vector<std::string>& before) {
  SearchQuestion& question = asked.question;
  const auto one_of = [&](const std::vector<std::string>& keys) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return false;
    for (const std::string& other : before) {
      if (std::find(keys.begin(), keys.end(), other) != keys.end())
        throw InvalidParameter(key, "together with " + other, "one of " + joined(keys));
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
    throw InvalidParameter(key, "together with tiles", "one of " + joined(shapes) + ", or tiles");
  question.tiles.clear();
}

int run_batch(const SearchFlags& flags, const study::Context& context) {
  (void)study::resolved(flags.asked.question.setting, context.catalog);  // what is wrong with every line
  LineReader<AskedSearch> reader(asked_rows(), flags.asked, report::search_result_keys(), displace);
  const AnswerColumns columns("search", split_at_commas(flags.columns), commands());
  return answer_batch(*flags.batch, flags.output, [&](BatchLine& line) {
    const AskedSearch asked = reader.read(line.text, line.id);
    const std::vector<SearchAnswer> answers =
        study::search_on(asked.question, asked.devices.names, context);
    if (!columns.empty()) {
      line.answer =
          columns.members(asked_rows().echo(filled_in(asked, answers)), report::search_result(answers));
      return;
    }
    report::JsonMembers members(line.answer);
    if (flags.with_input) members.put_json("input", asked_rows().echo(filled_in(asked, answers)));
    report::write_search_result(answers, members);
  });
}

int run_search(const SearchFlags& flags, Reply& reply) {
  const auto start = std::chrono::steady_clock::now();
  study::Context context = make_context(flags.files);
  context.threads = flags.threads.value_or(std::max(1u, std::thread::hardware_concurrency()));
  if (flags.batch) return run_batch(flags, context);
  const std::vector<std::string>& devices = flags.asked.devices.names;
  if (flags.emit && devices.size() > 1)
    throw InvalidParameter("emit", std::to_string(devices.size()) + " devices", "one device",
                           devices.front());
  const Notes notes(flags.output);
  ProgressBar bar("searching", notes.quiet());
  context.progress = bar.callback();
  const std::vector<SearchAnswer> answers = study::search_on(flags.asked.question, devices, context);
  bar.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  AnswerBody body = render(flags, answers, context);
  note_preset(flags.asked.question.setting, context.catalog, notes);
  say_defaults(answers.front(), notes);
  say_what_is_missing(answers);
  if (flags.timing) std::fprintf(stderr, "natten-sim: %.3f s, %u threads\n", seconds, context.threads);
  put_answer(flags.output, reply, std::move(body));
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
  bind(command, search_rows().essentials({"preset", "input", "device", "window", "sparsity", "max-imbalance", "objective", "top", "emit", "heads", "dim", "json"}), run_search);
  return command;
}

}  // namespace natten_sim::cli
