#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/study/describe/members.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/kernel_schedule.hpp>
#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// Latency between reductions of two workers into one dQ tile: within an L2 partition, and across.
struct Handoff {
  double near = ScheduleCosts{}.handoff;
  std::optional<double> far;  ///< none: the same
};

/// Who writes dQ: buffers of an asynchronous writer, 0 for none.
struct DqWriter {
  std::int32_t stages = ScheduleCosts{}.writer_stages;
};

/// A ScheduleQuestion or TableQuestion taken apart: sizes, workers and costs side by side, as whoever reads
/// them by name has them, from options, keywords or the keys of a file.
///
///     ScheduleParts parts;
///     parts.q_tiles = 8;
///     parts.algorithm = "spt";
///     ScheduleAnswer answer = schedule(question_of(parts), default_context());
struct ScheduleParts {
  ScheduleQuestion question;  ///< without sizes, workers, algorithms, handoff, writer and detail
  std::optional<std::int64_t> q_tiles, kv_tiles;
  std::optional<std::int64_t> seqlen_q, seqlen_k;  ///< instead of tiles
  std::optional<std::int64_t> q_tile, kv_tile;     ///< with `seqlen_q`
  std::optional<std::int32_t> workers;
  std::optional<std::string> device;                         ///< instead of workers
  std::int32_t ctas_per_sm = WorkersOfDevice{}.ctas_per_sm;  ///< with `device`
  std::string algorithm = kAllAlgorithms;
  Handoff handoff;
  DqWriter writer;
  std::optional<KernelChoice> kernel;  ///< its times instead: what kernel_question_of() asks

  [[nodiscard]] bool one_algorithm() const { return algorithm != kAllAlgorithms; }
  static constexpr const char* kAllAlgorithms = "all";
};

/// The question that the parts ask. It asks for the plan of one algorithm; and of all, where nobody gave
/// costs, for the map of where costs decide.
/// @throws InvalidParameter for sizes that are missing, contradict each other, or those of a mask that brings
/// its own, and for workers given twice. What `parts_of` echoes contradicts nothing.
[[nodiscard]] ScheduleQuestion question_of(const ScheduleParts& parts);

/// For callers that read a mask's file only when nothing speaks against it. @throws InvalidParameter for
/// tokens beside `mask`, which brings its own sizes. Numbers of tiles may stand there, if they are the
/// mask's.
void require_no_sizes(const ScheduleParts& parts, const std::string& mask);

/// The question of parts about a schedule that was made elsewhere: it says all but workers and costs.
[[nodiscard]] TableQuestion table_question_of(const ScheduleParts& parts, ScheduleTable table);

/// What the parts ask of their kernel. Requires `kernel`. @throws InvalidParameter without device or `seqlen_q`.
[[nodiscard]] KernelScheduleQuestion kernel_question_of(const ScheduleParts& parts);
/// The parts of a kernel with what the answer filled in.
[[nodiscard]] ScheduleParts parts_of(ScheduleParts asked, const KernelScheduleAnswer& answer);

/// The parts with everything that the answer filled in. They do not depend on a device any more.
[[nodiscard]] ScheduleParts parts_of(ScheduleParts asked, const ScheduleAnswer& answer);

/// `serial`, or `async:K` with K buffers. @throws InvalidParameter naming `parameter`.
[[nodiscard]] DqWriter parse_dq_writer(const std::string& parameter, const std::string& text);
[[nodiscard]] std::string to_string(const DqWriter& writer);

/// `heads`, or `sections:K` with K heads a section. @throws InvalidParameter naming `parameter`.
[[nodiscard]] HeadSections parse_head_sections(const std::string& parameter, const std::string& text);
[[nodiscard]] std::string section_text(const HeadSections& launch);

// ---- The description, in the groups of help.

inline constexpr const char* kScheduleCostRange = "a number from 0 to 2^53";
/// Separated by spaces: `all`, and the registry's.
[[nodiscard]] std::string schedule_algorithm_names();
/// Kernels whose backward pass is known, newest releases first by their names alone.
[[nodiscard]] std::vector<std::string> schedule_kernel_names();
/// The beginnings of masks.
[[nodiscard]] std::vector<std::string> schedule_mask_beginnings();
/// What makes no sense beside a known kernel, and beside a table that was made elsewhere.
[[nodiscard]] RuledOut ruled_out_by_kernel();
[[nodiscard]] RuledOut ruled_out_by_table();

[[nodiscard]] inline auto in_question(auto member) { return within(&ScheduleParts::question, member); }

template <typename Members>
void describe_sizes(Members& members) {
  using P = ScheduleParts;
  using Q = ScheduleQuestion;
  constexpr IntegerBounds kTiles{1, kMaxScheduleTiles}, kTokens{1, kMaxScheduleTokens};
  const auto add = [&](const char* name, auto member, const std::string& help, IntegerBounds range) {
    members.add(name, member, {.help = help, .range = range, .echo = Echo::kWhenSet});
  };
  members.group("Problem");
  add("q_tiles", &P::q_tiles, "Q tiles of one head; mask lengths then count tiles", kTiles);
  add("kv_tiles", &P::kv_tiles, "KV tiles of one head [as many as Q tiles]", kTiles);
  members.add("seqlen_q", &P::seqlen_q,
              {.flags = "-i,--seqlen-q",
               .help = "Tokens of the queries, instead of {q_tiles}",
               .range = kTokens,
               .echo = Echo::kWhenSet,
               .spellings = {{.flag = "--input"}}});
  add("seqlen_k", &P::seqlen_k, "Tokens of the keys [as many as queries]", kTokens);
  add("q_tile", &P::q_tile, "Tokens per Q tile " + default_text(TokenSizes{}.q_tile), kTokens);
  add("kv_tile", &P::kv_tile, "Tokens per KV tile " + default_text(TokenSizes{}.kv_tile), kTokens);
  members.add("heads", in_question(&Q::heads),
              {.flags = "-n,--heads", .help = "Query heads [default]", .range = {1, kMaxHeads}});
  members.add("heads_kv", in_question(&Q::heads_kv),
              {.help = "KV heads; fewer than heads: dK/dV are reduced over each group in order [heads]",
               .range = {1, kMaxHeads}});
}

template <typename Members>
void describe_batch(Members& members) {
  members.group("Problem");
  members.add("batch_size", in_question(&ScheduleQuestion::batch),
              {.flags = "-b,--batch-size", .help = "Batch size [default]", .range = {1, kMaxBatch}});
}

template <typename Members>
void describe_chains(Members& members) {
  members.group("Problem");
  members.add("gqa_chains", in_question(&ScheduleQuestion::gqa_chains),
              {.value = "HOW",
               .help = "With {heads_kv}: a chain is one (query head, KV tile), or kv-heads: one (KV head, KV "
                       "tile) with all its query heads; query-heads [default]"});
  members.add("ctas_per_chain", in_question(&ScheduleQuestion::ctas_per_chain),
              {.help = "2: pairs of CTAs share two KV tiles and halve the reductions into dQ [default]",
               .range = {1, 2}});
}

/// `input` echoes the number of workers alone: with it, the run does not depend on a device.
template <typename Members>
void describe_workers_of(Members& members) {
  using P = ScheduleParts;
  members.group("Device");
  members.add("workers", &P::workers,
              {.help = "CTAs that run at a time [the number of KV tiles]", .range = {1, kMaxWorkers}});
  members.add("device", &P::device,
              {.help = "Take the workers from a GPU",
               .echo = Echo::kNever,
               .excludes = {"workers"},
               .names = NamesOfCatalog::kDevices});
  members.add("ctas_per_sm", &P::ctas_per_sm,
              {.help = "With {device}: CTAs resident on an SM [default]",
               .range = {1, 32},
               .echo = Echo::kNever,
               .needs = {"device"}});
}

template <typename Members>
void describe_choice(Members& members) {
  using P = ScheduleParts;
  using Q = ScheduleQuestion;
  members.group("Mask and order");
  members.add("mask", in_question(&Q::mask),
              {.value = "MASK",
               .help = "full, causal, window:L,R, document:LEN,.., prefix:LEN, dilated:STEP, joined by & and |, varlen:RULE:LEN,.., gna:i=..,w=.., or a "
                       "file [default]",
               .spellings = {{.flag = "--causal", .bare = "causal"}, {.flag = "--is-causal", .bare = "causal"}},
               .suggestions = schedule_mask_beginnings});
  members.add("algorithm", &P::algorithm,
              {.help = "One schedule, or all; searches with {effort} or few tasks [default]",
               .choices = schedule_algorithm_names()});
  members.add("dispatch", in_question(&Q::dispatch),
              {.value = "WHERE",
               .help = "dynamic: the first free worker takes the next chain; static: chains are assigned [the "
                       "algorithm's own]"});
  members.add("launch_order", in_question(&Q::launch),
              {.value = "ORDER",
               .help = "heads, or sections:K: K heads interleaved, KV tiles slowest [the algorithm's own]"});
  members.add("effort", in_question(&Q::effort),
              {.help = "Iterations of a search [2^22 / tasks, 8 to 2000]", .range = {0, kMaxSearchIterations}});
  members.add("time_limit", in_question(&Q::time_limit_s),
              {.value = "S",
               .help = "Time limit of a search in seconds, instead of {effort}; stops early once optimal; the "
                       "result depends on the machine",
               .interval = {0, kMaxSearchSeconds},
               .accepted = "a number from 0 to 86400",
               .echo = Echo::kWhenSet,
               .excludes = {"effort"}});
  members.add("seed", in_question(&Q::seed),
              {.help = "Seed of a search [default]", .range = {0, std::numeric_limits<std::int64_t>::max()}});
}

template <typename Members>
void describe_walk(Members& members) {
  using Q = ScheduleQuestion;
  members.group("Mask and order");
  members.add("walk", in_question(&Q::walk),
              {.value = "ORDER",
               .help = "partial-first: chains take partly masked tiles before full ones, as block-sparse "
                       "kernels do; spread: chains of a shift begin spread over their tiles; in-order "
                       "[default]"});
  members.add("heads_in_flight", in_question(&Q::heads_in_flight),
              {.help = "Heads that a search has at work at a time [with {device} and {seqlen_q} as many as its "
                       "L2 holds]",
               .range = {1, kMaxHeads}});
}

template <typename Members>
void describe_turns(Members& members) {
  using C = ScheduleCosts;
  members.add("release", &C::release,
              {.value = "WHEN",
               .help = "When a chain passes on the turn of a dQ tile: after-next: once it has its next one, as "
                       "FlashAttention-4 on sm_100; at-once [default]"});
  members.add("dkv_turns", &C::dkv_turns,
              {.value = "HOW",
               .help = "With {heads_kv}: apart: dV and dK in a turn each; together [default]"});
  members.add("early_exit", &C::early_exit,
              {.value = "C",
               .help = "Cost of a chain without tasks: a CTA that exits at once [default]",
               .interval = {0, kMaxScheduleCost},
               .accepted = kScheduleCostRange});
}

[[nodiscard]] inline About about_cost(const char* help, const char* value = "C") {
  return {.value = value, .help = help, .interval = {0, kMaxScheduleCost}, .accepted = kScheduleCostRange};
}

template <typename Members>
void describe_costs(Members& members) {
  using P = ScheduleParts;
  using C = ScheduleCosts;
  const auto costs = in_question(&ScheduleQuestion::costs);
  const auto add = [&](const char* name, auto member, const char* help) {
    members.add(name, within(costs, member), about_cost(help));
  };
  members.group("Costs");
  add("compute", &C::compute, "Cost of a task's compute, in any unit of time [default]");
  add("compute_partial", &C::compute_partial, "Cost of computing a partly masked tile [{compute}]");
  add("reduce", &C::reduce, "Cost of a task's reduction into dQ [default]");
  add("reduce_kv", &C::reduce_kv, "Cost of a chain's reduction into dK/dV, with {heads_kv} [{reduce}]");
  members.add("handoff", &P::handoff,
              {.value = "H",
               .help = "Latency between reductions of two workers into one dQ tile; NEAR,FAR: within an L2 "
                       "partition and across [default]",
               .interval = {0, kMaxScheduleCost},
               .echo = Echo::kNever});
  members.key("handoff", within(&P::handoff, &Handoff::near), about_cost(""));
  members.add("handoff_far", within(&P::handoff, &Handoff::far),
              about_cost("Across L2 partitions, FAR of {handoff} [NEAR]", "H"));
  add("tax", &C::per_tile_tax, "The semaphore's cost, added to every ordered reduction [default]");
  add("prologue", &C::prologue, "Cost before a chain's first compute [default]");
  add("epilogue", &C::epilogue, "Cost after a chain's last task; overlaps the dQ writer [default]");
  members.add("overlap", &P::writer,
              {.value = "HOW", .help = "serial, or async:K for a separate dQ writer with K buffers [default]"});
  members.part(costs, [](auto& part) { describe_turns(part); });
}

template <typename Members>
void describe_memory(Members& members) {
  members.group("Times of a known kernel");
  members.add("dim", in_question(&ScheduleQuestion::head_dim),
              {.flags = "-d,--dim",
               .help = "Head dim, of {kernel}, of the memory that a schedule takes and of what the L2 of "
                       "{device} holds [default]",
               .range = {1, 65536},
               .spellings = {{.flag = "--head-dim"}}});
  members.add("dtype", in_question(&ScheduleQuestion::dtype),
              {.value = "TYPE", .help = "Element type, likewise [default]"});
}

template <typename Members>
void describe_kernel_of(Members& members) {
  members.group("Times of a known kernel");
  members.add("kernel", &ScheduleParts::kernel,
              {.value = "NAME",
               .help = "Times of a known kernel with its own tiles and orders, deterministic and not (" +
                       joined(builtin_catalog().backward_kernel_names()) +
                       ", or NAME@RELEASE); needs {device}, {seqlen_q}",
               .echo = Echo::kNever,
               .batch = true,
               .needs = {"device"},
               .rules_out = ruled_out_by_kernel(),
               .suggestions = schedule_kernel_names});
  describe_memory(members);
  members.add("costs", in_question(&ScheduleQuestion::named_costs),
              {.help = "Named costs in microseconds, or a file of them [with {kernel} its own on the device]",
               .echo = Echo::kNever,
               .batch = true,
               .excludes = {"compute", "compute_partial", "reduce", "reduce_kv", "prologue", "epilogue",
                            "handoff", "tax", "overlap", "table"}});
}

template <typename Members>
void describe(Members& members, const ScheduleParts&) {
  describe_sizes(members);
  describe_batch(members);
  describe_chains(members);
  describe_workers_of(members);
  describe_choice(members);
  describe_walk(members);
  describe_costs(members);
  describe_kernel_of(members);
}

/// Those that `input` of an answer holds; a table says the others itself.
template <typename Members>
void describe_answered(Members& members, const ScheduleParts&, bool of_table) {
  describe_sizes(members);
  if (!of_table) {
    describe_batch(members);
    describe_choice(members);
    describe_walk(members);
    describe_chains(members);
    describe_memory(members);
  }
  describe_workers_of(members);
  describe_costs(members);
}

/// Those of a kernel's answer.
template <typename Members>
void describe_answered_kernel(Members& members, const ScheduleParts&) {
  using P = ScheduleParts;
  using Q = ScheduleQuestion;
  members.key("kernel", &P::kernel, {.echo = Echo::kWhenSet});
  members.key("dim", in_question(&Q::head_dim), {.range = {1, 65536}});
  members.key("dtype", in_question(&Q::dtype), {});
  members.key("costs", in_question(&Q::named_costs), {.echo = Echo::kWhenSet});
  members.key("seqlen_q", &P::seqlen_q, {});
  members.key("seqlen_k", &P::seqlen_k, {});
  members.key("heads", in_question(&Q::heads), {.range = {1, kMaxHeads}});
  members.key("heads_kv", in_question(&Q::heads_kv), {.range = {1, kMaxHeads}});
  members.key("batch_size", in_question(&Q::batch), {.range = {1, kMaxBatch}});
  members.key("device", &P::device, {});
  members.key("mask", in_question(&Q::mask), {});
}

}  // namespace natten_sim::study
