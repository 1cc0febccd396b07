#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/emit.hpp>
#include <natten_sim/report/search_report.hpp>
#include <natten_sim/study/search.hpp>

#include "cli/context.hpp"
#include "cli/output.hpp"
#include "cli/values.hpp"
#include "commands/rows/setting_rows.hpp"

namespace natten_sim::cli {

/// Tile pairs with their backends: JSON only.
template <>
struct OptionValue<std::vector<TileChoice>> {
  static constexpr int kMaxValues = 1;
  static std::vector<TileChoice> from_words(const std::string& name, const std::vector<std::string>&,
                                            const About&) {
    throw InvalidParameter(name, "given in words", "JSON");
  }
  static std::vector<TileChoice> from_json(const std::string& key, const Json& value, const About&) {
    const char* accepted = "an array of {\"q_tile\", \"kv_tile\", \"backend\"}";
    std::vector<TileChoice> choices;
    for_each_element(key, value, accepted, [&](const Json& element) {
      if (!element.is_object() || !element.contains("q_tile") || !element.contains("kv_tile"))
        throw InvalidParameter(key, element.dump(), accepted);
      TileChoice choice;
      choice.tiles.q_tile = OptionValue<Extents>::from_json("q_tile", element["q_tile"], {});
      choice.tiles.kv_tile = OptionValue<Extents>::from_json("kv_tile", element["kv_tile"], {});
      if (element.contains("backend") && element["backend"].is_string())
        choice.backend = element["backend"].get<std::string>();
      choices.push_back(choice);
    });
    return choices;
  }
  static bool to_json(const std::vector<TileChoice>& choices, Json& out) {
    out = Json::array();
    for (const TileChoice& choice : choices) {
      out.push_back({{"q_tile", report::to_json(choice.tiles.q_tile)},
                     {"kv_tile", report::to_json(choice.tiles.kv_tile)},
                     {"backend", choice.backend.empty() ? Json() : Json(choice.backend)}});
    }
    return true;
  }
};

namespace {

using study::SearchAnswer;
using study::SearchKind;
using study::SearchQuestion;

struct SearchFlags {
  SearchQuestion question;
  CatalogFiles files;
  std::optional<report::EmitKind> emit;
  std::optional<unsigned> threads;  ///< none: all cores
  bool timing = false;
  OutputFlags output;
};

void add_shape_rows(Options<SearchQuestion>& rows) {
  rows.add("-w,--window,--window-size", &SearchQuestion::window,
           {.value = "N", .help = "Fixed window, one size an axis", .echo = Echo::kNever});
  rows.add("--window-range", &SearchQuestion::window_range,
           {.value = "LO:HI",
            .help = "Windows to try, for all axes or one range an axis [1..length/dilation]",
            .excludes = {"window"}});
  rows.add("-s,--stride", &SearchQuestion::stride,
           {.value = "N", .help = "Fixed stride, one an axis", .echo = Echo::kNever});
  rows.add("--stride-max", &SearchQuestion::stride_max,
           {.value = "N",
            .help = "Largest stride, for all axes or one an axis [the window]",
            .echo = Echo::kNever,
            .excludes = {"stride"}});
  rows.add_key("stride_range", &SearchQuestion::stride_range);
  rows.add("--dilation", &SearchQuestion::dilation, {.value = "N", .help = "Dilation, one an axis [1]"});
  rows.add("-c,--causal", &SearchQuestion::causal,
           {.value = "BOOL", .help = "true/false/1/0, one an axis [false]"});
  rows.add("--kv-tiling", &SearchQuestion::kv_tiling,
           {.value = "KIND", .help = "static or dynamic [the chosen backend's, or static]"});
  rows.add("--q-tile", &SearchQuestion::q_tile,
           {.value = "N", .help = "Q tile shape [all of the backend's]", .echo = Echo::kNever});
  rows.add("--kv-tile", &SearchQuestion::kv_tile,
           {.value = "N", .help = "KV tile shape [all of the backend's]", .echo = Echo::kNever});
  rows.add_key("tiles", &SearchQuestion::tiles);
}

void add_constraint_rows(Options<SearchQuestion>& rows) {
  const auto constraint = [](auto member) { return path(&SearchQuestion::constraints, member); };
  rows.add("--sparsity", constraint(&SearchConstraints::sparsity),
           {.value = "LO:HI", .help = "Sparsity range, fractions, both included"});
  rows.add("--window-multiple-of-kv-tile", constraint(&SearchConstraints::window_multiple_of_kv_tile),
           {.help = "Windows that are multiples of the KV tile on every axis"});
  rows.add("--max-imbalance", constraint(&SearchConstraints::max_imbalance),
           {.value = "X",
            .help = "Largest over smallest length/window among the axes, 1 or more",
            .interval = {1, 1e12},
            .accepted = "a number of 1 or more"});
  rows.add("--fully-block-sparse", constraint(&SearchConstraints::fully_block_sparse),
           {.help = "Only configurations without partially masked tiles"});
  rows.add("--no-padding", constraint(&SearchConstraints::no_padding),
           {.help = "Only tiles that divide every axis"});
  rows.add("--dense-axes", &SearchQuestion::dense_axes,
           {.value = "AXIS", .help = "Axes, from 0, whose window is the whole axis", .range = {.lo = 0}});
}

Options<SearchQuestion> question_rows() {
  Options<SearchQuestion> rows;
  rows.include(layout_rows(), &SearchQuestion::setting);
  add_shape_rows(rows);
  rows.include(backend_rows(Echo::kNever), &SearchQuestion::setting);
  add_constraint_rows(rows);
  rows.add("--objective", &SearchQuestion::objective,
           {.value = "NAME",
            .help = "Speedup to maximise: work, worst, mean, flop or e2e (ranks by worst) [work; worst for "
                    "one tile pair]"});
  rows.choose(
      "--ladder", &SearchQuestion::kind, SearchKind::kLadder,
      {.help = "Stride ladder of a fixed window: the front over stride product and worst-case speedup",
       .echo = Echo::kNever});
  rows.choose("--pareto", &SearchQuestion::kind, SearchKind::kPareto,
              {.help = "Whole Pareto front over lower sparsity, smaller stride product, higher speedup",
               .excludes = {"ladder"}});
  rows.add_key("answer", &SearchQuestion::kind);
  rows.add("--top", &SearchQuestion::top,
           {.value = "N", .help = "How many candidates [10]", .range = {1, 100'000}, .echo = Echo::kWhenSet});
  rows.include(workload_rows(), &SearchQuestion::setting);
  return rows;
}

Options<SearchFlags> search_rows() {
  Options<SearchFlags> rows;
  rows.include(question_rows(), &SearchFlags::question);
  rows.include(catalog_rows(), &SearchFlags::files);
  rows.add(
      "--emit", &SearchFlags::emit,
      {.value = "KIND",
       .help = "Print what runs the winner: NATTEN's Python call, its profiler's command, a FlexAttention "
               "script, or the call as JSON",
       .echo = Echo::kNever,
       .excludes = {"csv"}});
  rows.add("--threads", &SearchFlags::threads,
           {.value = "N",
            .help = "Threads; the output is the same for any number [all cores]",
            .range = {1, 1024},
            .echo = Echo::kNever});
  rows.add("--timing", &SearchFlags::timing,
           {.help = "Print the time taken on stderr", .echo = Echo::kNever});
  return rows.include(output_rows(), &SearchFlags::output);
}

std::string emitted(const SearchFlags& flags, const SearchAnswer& answer, const study::Context& context) {
  if (!flags.emit || answer.candidates.empty()) return "";
  const TilingProblem& best = answer.candidates.front().counted.problem;
  return report::emitted(*flags.emit, answer.question.setting, best, nullptr, context);
}

std::string render(const SearchFlags& flags, const SearchAnswer& answer, const study::Context& context) {
  const std::string call = emitted(flags, answer, context);
  if (flags.output.json) {
    report::Json result = report::search_result(answer);
    if (!call.empty()) report::add_emitted(*flags.emit, call, result);
    return report::envelope("search", question_rows().echo(answer.question), std::move(result));
  }
  if (flags.emit) return call;
  return flags.output.csv ? report::search_csv(answer) : report::search_text(answer);
}

void say_defaults(const SearchAnswer& answer, const Notes& notes) {
  if (answer.tiles_defaulted) {
    const TileChoice& tiles = answer.question.tiles.front();
    notes.note(fmt::format("tiles of {}: Q {}, KV {}", tiles.backend, to_string(tiles.tiles.q_tile),
                           to_string(tiles.tiles.kv_tile)));
  }
  if (answer.unbounded) {
    notes.note(
        "neither window nor sparsity is bounded, so the smallest windows win: see --sparsity and "
        "--window-range");
  }
}

int run_search(const SearchFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  study::Context context = make_context(flags.files);
  context.threads = flags.threads.value_or(std::max(1u, std::thread::hardware_concurrency()));
  const Notes notes(flags.output);
  ProgressBar bar("searching", notes.quiet());
  context.progress = bar.callback();
  const SearchAnswer answer = study::search(flags.question, context);
  bar.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string text = render(flags, answer, context);
  say_defaults(answer, notes);
  if (answer.candidates.empty())
    std::fprintf(stderr, "natten-sim: %s\n", report::nothing_found(answer).c_str());
  if (flags.timing) std::fprintf(stderr, "natten-sim: %.3f s, %u threads\n", seconds, context.threads);
  write_output(flags.output, text);
  return kExitDone;
}

}  // namespace

Command search_command();
Command search_command() {
  Command command{.name = "search", .position = 20, .summary = "Find the best windows, strides and tile shapes, exactly"};
  command.footer =
      "Order: larger objective, then smaller stride product, then less uneven windows, then lexicographic.\n"
      "Examples:\n"
      "  natten-sim search --preset hunyuan-video --sparsity 0.90:0.92\n"
      "  natten-sim search --preset hunyuan-video -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8 --ladder\n"
      "  natten-sim search -i 256 256 --sparsity 0.9:0.95 --fully-block-sparse --emit natten\n"
      "Exit codes: 0 done (also when nothing is feasible), 1 internal error, 2 bad input.";
  bind(command, search_rows(), run_search);
  return command;
}

}  // namespace natten_sim::cli
