#include "commands/rows/schedule_rows.hpp"

#include <limits>

#include <fmt/format.h>

#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/search_checkpoint.hpp>

#include "commands/rows/kernel_schedule_rows.hpp"
#include "commands/rows/schedule_values.hpp"

namespace natten_sim::cli {
namespace {

using Flags = ScheduleFlags;
using Parts = study::ScheduleParts;
using Question = study::ScheduleQuestion;

template <typename Member>
auto question(Member member) {
  return path(schedule_part(&Parts::question), member);
}
template <typename Member>
auto cost(Member member) {
  return path(question(&Question::costs), member);
}

About tiles_about(const char* help) {
  return {.value = "N", .help = help, .range = {1, study::kMaxScheduleTiles}, .echo = Echo::kWhenSet};
}
About tokens_about(const std::string& help) {
  return {.value = "N", .help = help, .range = {1, study::kMaxScheduleTokens}, .echo = Echo::kWhenSet};
}
About count_about(const char* help, std::int64_t hi) {
  return {.value = "N", .help = help, .range = {1, hi}};
}
About cost_about(const char* value, const char* help) {
  return {.value = value, .help = help, .interval = {0, study::kMaxScheduleCost}, .accepted = kCostRange};
}

Options<Flags> size_rows() {
  const study::TokenSizes tokens;
  Options<Flags> rows;
  rows.add("--q-tiles", schedule_part(&Parts::q_tiles),
           tiles_about("Q tiles of one head; mask lengths then count tiles"));
  rows.add("--kv-tiles", schedule_part(&Parts::kv_tiles),
           tiles_about("KV tiles of one head [as many as Q tiles]"));
  rows.add("-i,--seqlen-q", schedule_part(&Parts::seqlen_q),
           tokens_about("Tokens of the queries, instead of --q-tiles"));
  rows.add("--seqlen-k", schedule_part(&Parts::seqlen_k),
           tokens_about("Tokens of the keys [as many as queries]"));
  rows.add("--q-tile", schedule_part(&Parts::q_tile),
           tokens_about(fmt::format("Tokens of a Q tile [{}]", tokens.q_tile)));
  rows.add("--kv-tile", schedule_part(&Parts::kv_tile),
           tokens_about(fmt::format("Tokens a KV tile [{}]", tokens.kv_tile)));
  rows.add("-n,--heads", question(&Question::heads), count_about("Query heads [default]", kMaxHeads));
  rows.add("--heads-kv", question(&Question::heads_kv),
           count_about("KV heads; fewer than heads: dK/dV are reduced over each group in order [heads]",
                       kMaxHeads));
  return rows;
}

Options<Flags> batch_rows() {
  Options<Flags> rows;
  rows.add("-b,--batch-size", question(&Question::batch), count_about("Batch size [default]", kMaxBatch));
  return rows;
}

/// `input` echoes the number of workers alone: with it, the run does not depend on a device.
Options<Flags> worker_rows() {
  Options<Flags> rows;
  rows.add("--workers", schedule_part(&Parts::workers),
           count_about("CTAs that run at a time [the number of KV tiles]", kMaxWorkers));
  rows.add("--device", schedule_part(&Parts::device),
           {.value = "NAME",
            .help = "Take the workers from a GPU (see list devices)",
            .echo = Echo::kNever,
            .excludes = {"workers"},
            .suggestions = device_names});
  rows.include(device_file_rows(), &Flags::files);
  About ctas = count_about("With --device: CTAs resident on an SM [default]", 32);
  ctas.echo = Echo::kNever;
  ctas.needs = {{.option = "device", .accepted = "--device too, or --workers alone", .with_dashes = true}};
  rows.add("--ctas-per-sm", schedule_part(&Parts::ctas_per_sm), ctas);
  return rows;
}

Options<Flags> schedule_choice_rows() {
  Options<Flags> rows = mask_rows();
  std::string algorithms = "all";
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) algorithms += " " + algorithm->name;
  rows.add("--algorithm", schedule_part(&Parts::algorithm),
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
            .range = {0, kMaxSearchIterations}});
  rows.add(
      "--time-limit", question(&Question::time_limit_s),
      {.value = "S",
       .help = "Seconds of a search that goes on until its result is proved, instead of --effort; what it "
               "finds then depends on the machine",
       .interval = {0, study::kMaxSearchSeconds},
       .accepted = "a number from 0 to 86400",
       .echo = Echo::kWhenSet,
       .excludes = {"effort"}});
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
  rows.add("--handoff", schedule_part(&Parts::handoff),
           {.value = "H",
            .help = "Latency between reductions of two workers into one dQ tile; NEAR,FAR: within an L2 "
                    "partition and across [default]",
            .echo = Echo::kNever});
  rows.add_key("handoff", path(schedule_part(&Parts::handoff), &study::Handoff::near),
               {.interval = {0, study::kMaxScheduleCost}, .accepted = kCostRange});
  rows.add("--handoff-far", path(schedule_part(&Parts::handoff), &study::Handoff::far),
           cost_about("H", "Across L2 partitions, FAR of --handoff [NEAR]"));
  add("--tax", &Costs::per_tile_tax, "The semaphore's cost, added to every ordered reduction [default]");
  add("--prologue", &Costs::prologue, "Cost before a chain's first compute [default]");
  add("--epilogue", &Costs::epilogue, "Cost behind a chain's tasks; a writer works meanwhile [default]");
  rows.add("--overlap", schedule_part(&Parts::writer),
           {.value = "HOW", .help = "serial, or async:K for a separate dQ writer with K buffers [default]"});
  rows.include(turn_rows());
  return rows;
}

Options<Flags> table_rows() {
  Options<Flags> rows;
  rows.add("--table", &Flags::table,
           {.value = "FILE",
            .help = "Check and run the schedule in FILE (- for standard input; up to 512 MiB) instead of an "
                    "algorithm's",
            .echo = Echo::kWhenSet,
            .rules_out = {{"mask",      "q-tiles",         "kv-tiles",     "seqlen-q",   "seqlen-k",
                           "q-tile",    "kv-tile",         "heads",        "heads-kv",   "batch-size",
                           "algorithm", "dispatch",        "launch-order", "effort",     "time-limit",
                           "seed",      "heads-in-flight", "walk",         "gqa-chains", "ctas-per-chain",
                           "dim",       "dtype",           "emit-table",   "checkpoint"},
                          "costs and workers only: the table says the rest"}});
  rows.add("--recorded-run", &Flags::recorded_run,
           {.value = "FILE",
            .help = "With --table: times of a kernel's run of it, drawn below the simulation (CSV)"});
  return rows;
}

Options<Flags> file_rows() {
  Options<Flags> rows;
  rows.add("--emit-table", &Flags::emit_table,
           {.value = "FILE", .help = "Write the schedule for a kernel to load"});
  rows.add("--checkpoint", &Flags::checkpoint,
           {.value = "FILE",
            .help = "Of a search: keep the best schedule so far in FILE, every few seconds; a run that finds "
                    "FILE goes on from there"});
  rows.add("--critical-path", &Flags::critical_path, {.help = "Add the critical path"});
  rows.add("--ascii", &Flags::ascii,
           {.help = "Draw a Gantt chart in the terminal", .excludes = {"json", "csv"}});
  rows.add("--svg", &Flags::svg,
           {.value = "FILE", .help = "Draw a Gantt chart: heads coloured, the critical path outlined"});
  rows.add(
      "--perfetto", &Flags::perfetto,
      {.value = "FILE", .help = "Write a trace for ui.perfetto.dev, one track a worker; at most 2^21 tasks"});
  rows.include(conclusion_rows(), &Flags::output);
  rows.include(output_rows(), &Flags::output);
  return rows;
}

/// The parts, with the mask's file read.
Parts read_parts(const Flags& flags) {
  Parts parts = flags.parts;
  if (const auto* file = std::get_if<MaskFile>(&flags.mask.value)) {
    study::require_no_sizes(parts, file->path);
    parts.question.mask = {
        parse_block_mask(read_text("mask", file->path, kMaxMaskBytes), "mask file " + file->path),
        file->path};
  } else {
    parts.question.mask = std::get<ScheduleMask>(flags.mask.value);
  }
  return parts;
}

void put_detail(const Flags& flags, study::ScheduleDetail& detail) {
  detail.times = flags.svg || flags.ascii || flags.perfetto;
  detail.critical_path = flags.critical_path || flags.svg;
}

}  // namespace

Options<ScheduleFlags> mask_rows() {
  Options<Flags> rows;
  rows.add(
      "--mask", &Flags::mask,
      {.value = "MASK",
       .help = "full, causal, window:L,R, document:LEN,LEN,.., varlen:RULE:LEN,.., gna:i=..,w=.., or FILE "
               "[default]",
       .spellings = {{.flag = "--causal", .bare = "causal"}, {.flag = "--is-causal", .bare = "causal"}},
       .suggestions = [] {
         return std::vector<std::string>{"full", "causal", "window:", "document:", "varlen:", "gna:"};
       }});
  return rows;
}

Options<ScheduleFlags> schedule_rows() {
  Options<ScheduleFlags> rows;
  for (auto part : {size_rows(), batch_rows(), chain_rows()}) rows.include(part);
  rows.group("Problem");
  rows.include(worker_rows()).group("Device");
  for (auto part : {schedule_choice_rows(), walk_rows()}) rows.include(part);
  rows.group("Mask and order");
  rows.include(cost_rows()).group("Costs");
  rows.include(measured_rows()).group("Times of a known kernel");
  for (auto part : {table_rows(), export_rows(), file_rows()}) rows.include(part);
  return rows.group("Tables and pictures");
}

Json schedule_input(const ScheduleFlags& flags, const study::ScheduleAnswer& answer) {
  ScheduleFlags resolved = flags;
  resolved.parts = study::parts_of(flags.parts, answer);
  Options<ScheduleFlags> rows;
  if (flags.table) {
    for (auto part : {table_rows(), size_rows()}) rows.include(part);
  } else {
    for (auto part :
         {size_rows(), batch_rows(), schedule_choice_rows(), walk_rows(), chain_rows(), memory_rows()})
      rows.include(part);
  }
  for (auto part : {worker_rows(), cost_rows()}) rows.include(part);
  return rows.echo(resolved);
}

Json schedule_input_schema() {
  Options<ScheduleFlags> rows;
  for (auto part : {table_rows(), size_rows(), batch_rows(), schedule_choice_rows(), walk_rows(), chain_rows(),
                    memory_rows(), worker_rows(), cost_rows(), kernel_input_rows()})
    rows.include(part);
  return rows.input_schema();
}

study::ScheduleQuestion schedule_question(const ScheduleFlags& flags) {
  study::ScheduleQuestion question = study::question_of(read_parts(flags));
  put_detail(flags, question.detail);
  return question;
}

study::TableQuestion table_question(const ScheduleFlags& flags) {
  const std::string& path = flags.table.value();
  study::TableQuestion question = study::table_question_of(
      flags.parts, parse_schedule_table(read_text("table", path, kMaxTableBytes), "table " + path));
  put_detail(flags, question.detail);
  return question;
}

}  // namespace natten_sim::cli
