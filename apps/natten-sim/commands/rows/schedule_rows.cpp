#include "commands/rows/schedule_rows.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_table.hpp>

#include "cli/values.hpp"
#include "commands/rows/kernel_schedule_rows.hpp"

namespace natten_sim::cli {
namespace {

constexpr double kMaxCost = 9007199254740992.0;  // 2^53
constexpr const char* kCostRange = "a number from 0 to 2^53";
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMaxTiles = 65536;
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();

MaskOption parse_option(const std::string&, const std::string& text, MaskOption*) {
  return {parse_schedule_mask(text)};
}

HandoffOption parse_option(const std::string& name, const std::string& text, HandoffOption*) {
  const std::size_t comma = text.find(',');
  HandoffOption handoff;
  handoff.near =
      parse_number(name, text.substr(0, comma), 0, kMaxCost, "a number from 0 to 2^53, or NEAR,FAR");
  if (comma != std::string::npos)
    handoff.far = parse_number(name, text.substr(comma + 1), 0, kMaxCost, kCostRange);
  return handoff;
}

OverlapOption parse_option(const std::string& name, const std::string& text, OverlapOption*) {
  if (text == "serial") return {};
  if (!text.starts_with("async:"))
    throw InvalidParameter(name, text, "serial, or async:K with 1 to 64 buffers");
  return {static_cast<std::int32_t>(parse_integer(name, text.substr(6), 1, 64))};
}

HeadSections parse_option(const std::string& name, const std::string& text, HeadSections*) {
  if (text == "heads") return {1};
  if (!text.starts_with("sections:"))
    throw InvalidParameter(name, text, "heads, or sections:K with K heads a section");
  return {static_cast<std::int32_t>(parse_integer(name + " sections", text.substr(9), 1, 1 << 30))};
}

std::string option_text(const MaskOption& mask) {
  if (const auto* file = std::get_if<MaskFile>(&mask.value)) return file->path;
  return mask_text(std::get<ScheduleMask>(mask.value));
}
std::string option_text(const HandoffOption& handoff) {
  return fmt::format("{}", handoff.near) + (handoff.far ? fmt::format(",{}", *handoff.far) : "");
}
std::string option_text(const OverlapOption& overlap) {
  return overlap.writer_stages == 0 ? "serial" : "async:" + std::to_string(overlap.writer_stages);
}
std::string option_text(const HeadSections& launch) {
  return "sections:" + std::to_string(launch.heads_per_section);
}

}  // namespace

/// An option that is one text with a grammar of its own.
template <typename T>
struct GrammarValue {
  static constexpr int kMaxValues = 1;
  static T from_words(const std::string& name, const std::vector<std::string>& words, const About&) {
    return parse_option(name, words.front(), static_cast<T*>(nullptr));
  }
  static T from_json(const std::string& key, const Json& value, const About& about) {
    return parse_option(key, OptionValue<std::string>::from_json(key, value, about),
                        static_cast<T*>(nullptr));
  }
  static bool to_json(const T& value, Json& out) {
    put_text(option_text(value), out);
    return true;
  }
};

template <>
struct OptionValue<MaskOption> : GrammarValue<MaskOption> {};
template <>
struct OptionValue<HandoffOption> : GrammarValue<HandoffOption> {
  static bool from_number(double cost, const About&, HandoffOption& out) {
    if (!(cost >= 0 && cost <= kMaxCost)) return false;
    out = {.near = cost};
    return true;
  }
};
template <>
struct OptionValue<OverlapOption> : GrammarValue<OverlapOption> {};
template <>
struct OptionValue<HeadSections> : GrammarValue<HeadSections> {};

namespace {

using Flags = ScheduleFlags;
using Question = study::ScheduleQuestion;

template <typename Member>
auto question(Member member) {
  return path(&Flags::question, member);
}
template <typename Member>
auto cost(Member member) {
  return path(question(&Question::costs), member);
}

About tiles_about(const char* help) {
  return {.value = "N", .help = help, .range = {1, kMaxTiles}, .echo = Echo::kWhenSet};
}
About tokens_about(const std::string& help) {
  return {.value = "N", .help = help, .range = {1, kMaxTokens}, .echo = Echo::kWhenSet};
}
About count_about(const char* help, std::int64_t hi = kMaxInt32) {
  return {.value = "N", .help = help, .range = {1, hi}};
}
About cost_about(const char* value, const char* help) {
  return {.value = value, .help = help, .interval = {0, kMaxCost}, .accepted = kCostRange};
}

Options<Flags> size_rows() {
  const study::TokenSizes tokens;
  Options<Flags> rows;
  rows.add("--q-tiles", &Flags::q_tiles, tiles_about("Q tiles of one head; mask lengths then count tiles"));
  rows.add("--kv-tiles", &Flags::kv_tiles, tiles_about("KV tiles of one head [as many as Q tiles]"));
  rows.add("-i,--seqlen-q", &Flags::seqlen_q, tokens_about("Tokens of the queries, instead of --q-tiles"));
  rows.add("--seqlen-k", &Flags::seqlen_k, tokens_about("Tokens of the keys [as many as queries]"));
  rows.add("--q-tile", &Flags::q_tile, tokens_about(fmt::format("Tokens of a Q tile [{}]", tokens.q_tile)));
  rows.add("--kv-tile", &Flags::kv_tile, tokens_about(fmt::format("Tokens a KV tile [{}]", tokens.kv_tile)));
  rows.add("-n,--heads", question(&Question::heads), count_about("Query heads [default]"));
  rows.add("--heads-kv", question(&Question::heads_kv),
           count_about("KV heads; fewer than heads: dK/dV are reduced over each group in order [heads]"));
  return rows;
}

Options<Flags> batch_rows() {
  Options<Flags> rows;
  rows.add("-b,--batch-size", question(&Question::batch), count_about("Batch size [default]"));
  return rows;
}

/// `input` echoes the number of workers alone: with it, the run does not depend on a device.
Options<Flags> worker_rows() {
  Options<Flags> rows;
  rows.add("--workers", &Flags::workers,
           count_about("CTAs that run at a time [the number of KV tiles]", kMaxWorkers));
  rows.add("--device", &Flags::device,
           {.value = "NAME",
            .help = "Take the workers from a GPU (see list devices)",
            .echo = Echo::kNever,
            .excludes = {"workers"}});
  rows.include(device_file_rows(), &Flags::files);
  About ctas = count_about("With --device: CTAs resident on an SM [default]", 32);
  ctas.echo = Echo::kNever;
  ctas.needs = {{.option = "device", .accepted = "--device too, or --workers alone", .with_dashes = true}};
  rows.add("--ctas-per-sm", path(&Flags::sms, &study::WorkersOfDevice::ctas_per_sm), ctas);
  return rows;
}

Options<Flags> schedule_choice_rows() {
  Options<Flags> rows = mask_rows();
  std::string algorithms = "all";
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) algorithms += " " + algorithm->name;
  rows.add("--algorithm", &Flags::algorithm,
           {.value = "NAME",
            .help = "One schedule, or all; searches with --effort or few tasks [default]",
            .choices = algorithms});
  rows.add("--dispatch", question(&Question::dispatch),
           {.value = "WHERE",
            .help = "dynamic: the first free worker takes the next chain; static: chains are assigned [the "
                    "algorithm's own]"});
  rows.add("--launch-order", question(&Question::launch),
           {.value = "ORDER",
            .help = "heads, or sections:K: K heads interleaved, KV tiles slowest [the algorithm's own]"});
  rows.add("--effort", question(&Question::effort),
           {.value = "N",
            .help = "Iterations of a search [2^22 / tasks, 8 to 2000]",
            .range = {0, 1'000'000'000}});
  rows.add("--seed", question(&Question::seed),
           {.value = "N",
            .help = "Seed of a search [default]",
            .range = {0, std::numeric_limits<std::int64_t>::max()}});
  return rows;
}

Options<Flags> cost_rows() {
  using Costs = study::ScheduleCosts;
  Options<Flags> rows;
  const auto add = [&](const char* flag, auto member, const char* help) {
    rows.add(flag, cost(member), cost_about("C", help));
  };
  add("--compute", &Costs::compute, "Cost of a task's compute [default]");
  add("--compute-partial", &Costs::compute_partial, "Compute of a partly masked tile [that of --compute]");
  add("--reduce", &Costs::reduce, "Cost of a task's reduction into dQ [default]");
  add("--reduce-kv", &Costs::reduce_kv,
      "Cost of a chain's reduction into dK/dV, with --heads-kv [that of --reduce]");
  rows.add("--handoff", &Flags::handoff,
           {.value = "H",
            .help = "Latency between reductions of two workers into one dQ tile; NEAR,FAR: within an L2 "
                    "partition and across [default]",
            .echo = Echo::kNever});
  rows.add_key("handoff", path(&Flags::handoff, &HandoffOption::near));
  rows.add_key("handoff_far", path(&Flags::handoff, &HandoffOption::far));
  add("--tax", &Costs::per_tile_tax, "The semaphore's cost, added to every ordered reduction [default]");
  add("--prologue", &Costs::prologue, "Cost before a chain's first compute [default]");
  add("--epilogue", &Costs::epilogue, "Cost behind a chain's tasks; a writer works meanwhile [default]");
  rows.add("--overlap", &Flags::overlap,
           {.value = "HOW", .help = "serial, or async:K for a separate dQ writer with K buffers [default]"});
  return rows;
}

Options<Flags> table_rows() {
  Options<Flags> rows;
  rows.add("--table", &Flags::table,
           {.value = "FILE",
            .help = "Check and run the schedule in FILE (- for standard input) instead of an algorithm's",
            .echo = Echo::kWhenSet,
            .rules_out = {{"mask", "q-tiles", "kv-tiles", "seqlen-q", "seqlen-k", "q-tile", "kv-tile",
                           "heads", "heads-kv", "batch-size", "algorithm", "dispatch", "launch-order",
                           "effort", "seed", "heads-in-flight", "walk", "emit-table"},
                          "costs and workers only: the table says the rest"}});
  return rows;
}

Options<Flags> file_rows() {
  Options<Flags> rows;
  rows.add("--emit-table", &Flags::emit_table,
           {.value = "FILE", .help = "Write the schedule for a kernel to load"});
  rows.add("--critical-path", &Flags::critical_path, {.help = "Add the critical path"});
  rows.add("--ascii", &Flags::ascii,
           {.help = "Draw a Gantt chart in the terminal", .excludes = {"json", "csv"}});
  rows.add("--svg", &Flags::svg,
           {.value = "FILE", .help = "Draw a Gantt chart: heads coloured, the critical path outlined"});
  rows.add("--perfetto", &Flags::perfetto,
           {.value = "FILE", .help = "Write a trace for ui.perfetto.dev, one track a worker"});
  rows.include(output_rows(), &Flags::output);
  return rows;
}

/// The size options that were given, by their names.
std::vector<std::string> given_sizes(const Flags& flags) {
  std::vector<std::string> names;
  for (const auto& [name, size] :
       {std::pair{"q-tiles", flags.q_tiles}, std::pair{"kv-tiles", flags.kv_tiles},
        std::pair{"seqlen-q", flags.seqlen_q}, std::pair{"seqlen-k", flags.seqlen_k},
        std::pair{"q-tile", flags.q_tile}, std::pair{"kv-tile", flags.kv_tile}}) {
    if (size) names.emplace_back(name);
  }
  return names;
}

study::ScheduleSizes sizes_of(const Flags& flags) {
  const bool tiles = flags.q_tiles || flags.kv_tiles, tokens = flags.seqlen_q || flags.seqlen_k;
  if (tiles && tokens)
    throw InvalidParameter("--q-tiles", "given together with --seqlen-q", "sizes in tiles or in tokens");
  if (tiles) {
    for (const auto& [name, size] :
         {std::pair{"q-tile", flags.q_tile}, std::pair{"kv-tile", flags.kv_tile}}) {
      if (size)
        throw InvalidParameter(std::string("--") + name, "given together with --q-tiles",
                               "tile sizes with --seqlen-q");
    }
    return study::TileSizes{flags.q_tiles, flags.kv_tiles};
  }
  if (!tokens) {
    throw InvalidParameter("--q-tiles", "missing",
                           "--q-tiles and --kv-tiles, or --seqlen-q, or a mask of gna: or a file");
  }
  if (!flags.seqlen_q) throw InvalidParameter("seqlen-q", "missing", "the tokens of the queries");
  study::TokenSizes sizes{*flags.seqlen_q, flags.seqlen_k};
  sizes.q_tile = flags.q_tile.value_or(sizes.q_tile);
  sizes.kv_tile = flags.kv_tile.value_or(sizes.kv_tile);
  return sizes;
}

void refuse_sizes(const Flags& flags, const std::string& mask) {
  for (const std::string& name : given_sizes(flags))
    throw InvalidParameter("--" + name, "given together with --mask " + mask,
                           "no sizes: this mask brings its own");
}

study::ScheduleWorkers workers_flag(const Flags& flags) {
  if (flags.workers) return *flags.workers;
  if (flags.device) return study::WorkersOfDevice{*flags.device, flags.sms.ctas_per_sm};
  return {};
}

study::ScheduleCosts costs_of(const Flags& flags) {
  study::ScheduleCosts costs = flags.question.costs;
  costs.handoff = flags.handoff.near;
  costs.handoff_far = flags.handoff.far;
  costs.writer_stages = flags.overlap.writer_stages;
  return costs;
}

study::ScheduleDetail detail_of(const Flags& flags) {
  return {.plan = flags.table || flags.algorithm != "all",
          .times = flags.svg || flags.ascii || flags.perfetto,
          .critical_path = flags.critical_path || flags.svg};
}

/// The flags with what the answer filled in.
Flags resolved_flags(Flags flags, const study::ScheduleAnswer& answer) {
  if (answer.tokens) {
    flags.seqlen_q = answer.tokens->q_tokens;
    flags.seqlen_k = answer.tokens->kv_tokens;
    flags.q_tile = answer.tokens->q_tile;
    flags.kv_tile = answer.tokens->kv_tile;
  }
  flags.q_tiles = answer.problem.mask.q_tiles;
  flags.kv_tiles = answer.problem.mask.kv_tiles;
  flags.question.heads = answer.heads;
  flags.question.heads_kv = answer.heads_kv;
  flags.question.batch = answer.batch;
  flags.workers = answer.problem.workers;
  flags.question.heads_in_flight = answer.heads_in_flight;
  const BackwardCosts& costs = answer.costs;
  study::ScheduleCosts& given = flags.question.costs;
  given.compute = costs.compute;
  given.compute_partial = costs.compute_partial;
  given.reduce = costs.reduce;
  given.reduce_kv = costs.reduce_kv;
  given.per_tile_tax = costs.per_tile_tax;
  given.prologue = costs.prologue;
  given.epilogue = costs.epilogue;
  flags.handoff = {costs.handoff, costs.handoff_far.value_or(costs.handoff)};
  flags.overlap = {costs.writer_stages};
  return flags;
}

/// The mask and, unless it brings them, its sizes.
void put_mask(const Flags& flags, study::ScheduleQuestion& question) {
  if (const auto* file = std::get_if<MaskFile>(&flags.mask.value)) {
    refuse_sizes(flags, "FILE");
    question.mask = {parse_block_mask(read_text("mask", file->path), "mask file " + file->path), file->path};
    return;
  }
  question.mask = std::get<ScheduleMask>(flags.mask.value);
  if (brings_sizes(question.mask)) {
    refuse_sizes(flags, "gna:");
  } else {
    question.sizes = sizes_of(flags);
  }
}

}  // namespace

Options<ScheduleFlags> mask_rows() {
  Options<Flags> rows;
  rows.add("--mask", &Flags::mask,
           {.value = "MASK",
            .help = "full, causal, window:L,R, document:LEN,LEN,.., gna:i=..,w=.., or FILE [default]"});
  return rows;
}

Options<ScheduleFlags> schedule_rows() {
  Options<ScheduleFlags> rows;
  for (auto part : {size_rows(), batch_rows(), worker_rows(), schedule_choice_rows(), walk_rows(),
                    cost_rows(), measured_rows(), table_rows(), export_rows(), file_rows()})
    rows.include(part);
  return rows;
}

Json schedule_input(const ScheduleFlags& flags, const study::ScheduleAnswer& answer) {
  const ScheduleFlags resolved = resolved_flags(flags, answer);
  Options<ScheduleFlags> rows;
  if (flags.table) {
    for (auto part : {table_rows(), size_rows()}) rows.include(part);
  } else {
    for (auto part : {size_rows(), batch_rows(), schedule_choice_rows(), walk_rows()}) rows.include(part);
  }
  for (auto part : {worker_rows(), cost_rows()}) rows.include(part);
  return rows.echo(resolved);
}

study::ScheduleQuestion schedule_question(const ScheduleFlags& flags) {
  study::ScheduleQuestion question = flags.question;
  put_mask(flags, question);
  question.workers = workers_flag(flags);
  if (flags.algorithm != "all") question.algorithms = {flags.algorithm};
  question.costs = costs_of(flags);
  question.detail = detail_of(flags);
  question.cost_map = flags.algorithm == "all" && question.costs == study::ScheduleCosts{};
  return question;
}

study::TableQuestion table_question(const ScheduleFlags& flags) {
  const std::string& path = flags.table.value();
  return {.table = parse_schedule_table(read_text("table", path), "table " + path),
          .workers = workers_flag(flags),
          .costs = costs_of(flags),
          .detail = detail_of(flags)};
}

}  // namespace natten_sim::cli
