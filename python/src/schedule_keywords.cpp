#include "schedule_keywords.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/schedule_costs.hpp>
#include <natten_sim/report/default_text.hpp>

#include "schedule_values.hpp"
#include "text_file.hpp"

namespace natten_sim::python {
namespace {

using study::ScheduleParts;
using study::ScheduleQuestion;

template <typename Member>
auto question(Member member) {
  return within(&ScheduleParts::question, member);
}

Keywords<ScheduleParts> size_keywords() {
  using F = ScheduleParts;
  const Accepts tiles{.hi = study::kMaxScheduleTiles}, tokens{.hi = study::kMaxScheduleTokens},
      heads{.hi = kMaxHeads};
  Keywords<F> rows;
  rows.add("q_tiles", &F::q_tiles, "Q tiles of one head; mask lengths then count tiles [none]",
           Echo::kWhenSet, tiles);
  rows.add("kv_tiles", &F::kv_tiles, "KV tiles of one head [as many as Q tiles]", Echo::kWhenSet, tiles);
  rows.add("seqlen_q", &F::seqlen_q, "Tokens of the queries, instead of q_tiles [none]", Echo::kWhenSet,
           tokens);
  rows.add("seqlen_k", &F::seqlen_k, "Tokens of the keys [as many as queries]", Echo::kWhenSet, tokens);
  rows.add("q_tile", &F::q_tile, "Tokens of a Q tile " + report::default_text(study::TokenSizes{}.q_tile),
           Echo::kWhenSet, tokens);
  rows.add("kv_tile", &F::kv_tile, "Tokens of a KV tile " + report::default_text(study::TokenSizes{}.kv_tile),
           Echo::kWhenSet, tokens);
  rows.add("heads", question(&ScheduleQuestion::heads), "Query heads [default]", Echo::kAlways, heads);
  rows.add("heads_kv", question(&ScheduleQuestion::heads_kv),
           "KV heads; fewer than heads: dK/dV are reduced over each group in order [heads]", Echo::kAlways,
           heads);
  return rows;
}

Keywords<ScheduleParts> choice_keywords() {
  using F = ScheduleParts;
  Keywords<F> rows;
  rows.add("batch_size", question(&ScheduleQuestion::batch), "Batch size [default]", Echo::kAlways,
           {.hi = kMaxBatch});
  rows.add("mask", question(&ScheduleQuestion::mask),
           "full, causal, window:L,R, document:LEN,LEN,.., varlen:RULE:LEN,.., gna:i=..,w=.., a file, or a "
           "matrix of tiles with 0 "
           "skipped, 1 partial, 2 full [default]");
  rows.add("algorithm", &F::algorithm, "One schedule by name, or all of them side by side [default]");
  rows.add("dispatch", question(&ScheduleQuestion::dispatch),
           "dynamic: the first free worker takes the next chain; static: chains are assigned [the "
           "algorithm's own]");
  rows.add("launch_order", question(&ScheduleQuestion::launch),
           "heads, or sections:K: K heads interleaved, KV tiles slowest [the algorithm's own]");
  rows.add("effort", question(&ScheduleQuestion::effort), "Iterations of a search [2^22 / tasks, 8 to 2000]",
           Echo::kAlways, {.lo = 0, .hi = 1'000'000'000});
  rows.add("time_limit", question(&ScheduleQuestion::time_limit_s),
           "Seconds of a search that goes on until its result is proved, instead of effort [none]",
           Echo::kWhenSet, {.least = 0, .most = study::kMaxSearchSeconds});
  rows.add("seed", question(&ScheduleQuestion::seed), "Seed of a search [default]", Echo::kAlways,
           {.lo = 0, .hi = std::numeric_limits<std::int64_t>::max()});
  return rows;
}

Keywords<ScheduleParts> walk_keywords() {
  Keywords<ScheduleParts> rows;
  rows.add("walk", question(&ScheduleQuestion::walk),
           "partial-first: chains take partly masked tiles before full ones, as block-sparse kernels do "
           "[default]");
  rows.add("heads_in_flight", question(&ScheduleQuestion::heads_in_flight),
           "Of a search: heads at work at a time [with device and seqlen_q as many as its L2 holds]",
           Echo::kAlways, {.hi = kMaxHeads});
  rows.add(
      "gqa_chains", question(&ScheduleQuestion::gqa_chains),
      "With heads_kv: a chain is one (query head, KV tile), or kv-heads: one (KV head, KV tile) with all its "
      "query heads [default]");
  rows.add("ctas_per_chain", question(&ScheduleQuestion::ctas_per_chain),
           "2: pairs of CTAs share two KV tiles and halve the reductions into dQ [default]", Echo::kAlways,
           {.hi = 2});
  rows.add("dim", question(&ScheduleQuestion::head_dim),
           "Head dim, of kernel, of the memory that a schedule takes and of what the L2 of the device holds "
           "[default]",
           Echo::kAlways, {.hi = 65536});
  rows.add("dtype", question(&ScheduleQuestion::dtype), "Element type, likewise [default]");
  return rows;
}

/// `input` echoes the number of workers alone.
Keywords<ScheduleParts> worker_keywords() {
  using F = ScheduleParts;
  Keywords<F> rows;
  rows.add("workers", &F::workers, "CTAs that run at a time: SMs times CTAs an SM [the number of KV tiles]",
           Echo::kAlways, {.hi = kMaxWorkers});
  rows.add("device", &F::device, "Take the workers from a GPU, see devices() [none]", Echo::kNever);
  rows.add("ctas_per_sm", &F::ctas_per_sm, "With device: CTAs resident on an SM [default]", Echo::kNever,
           {.hi = 32});
  return rows;
}

Keywords<ScheduleParts> cost_keywords() {
  using F = ScheduleParts;
  using C = study::ScheduleCosts;
  const Accepts costs{.least = 0, .most = study::kMaxScheduleCost};
  const auto cost = [](auto member) { return within(question(&ScheduleQuestion::costs), member); };
  Keywords<F> rows;
  rows.add("compute", cost(&C::compute), "Cost of a task's compute, in any unit of time [default]",
           Echo::kAlways, costs);
  rows.add("compute_partial", cost(&C::compute_partial), "Cost of computing a partly masked tile [compute]",
           Echo::kAlways, costs);
  rows.add("reduce", cost(&C::reduce), "Cost of a task's reduction into dQ [default]", Echo::kAlways, costs);
  rows.add("reduce_kv", cost(&C::reduce_kv), "Cost of a chain's reduction into dK/dV, with heads_kv [reduce]",
           Echo::kAlways, costs);
  rows.add(
      "handoff", &F::handoff,
      "Latency between reductions of two workers into one dQ tile; (near, far): within an L2 partition and "
      "across [default]",
      Echo::kAlways, costs);
  rows.echo_only("handoff_far", within(&F::handoff, &study::Handoff::far));
  rows.add("tax", cost(&C::per_tile_tax), "The semaphore's cost, added to every ordered reduction [default]",
           Echo::kAlways, costs);
  rows.add("prologue", cost(&C::prologue), "Cost before a chain's first compute [default]", Echo::kAlways,
           costs);
  rows.add("epilogue", cost(&C::epilogue), "Cost behind a chain's tasks; a writer works meanwhile [default]",
           Echo::kAlways, costs);
  rows.add("overlap", &F::writer, "serial, or async:K for a separate dQ writer with K buffers [default]");
  return rows;
}

/// In the program's order.
Keywords<AskedSchedule> kernel_keywords() {
  using F = AskedSchedule;
  const auto part = [](auto member) { return within(&F::parts, member); };
  const auto of = [&](auto member) { return within(within(&F::parts, &ScheduleParts::question), member); };
  Keywords<F> rows;
  rows.add("kernel", &F::kernel, "");
  rows.add("dim", of(&ScheduleQuestion::head_dim), "");
  rows.add("dtype", of(&ScheduleQuestion::dtype), "");
  rows.add("costs", of(&ScheduleQuestion::named_costs), "", Echo::kWhenSet);
  rows.add("seqlen_q", part(&ScheduleParts::seqlen_q), "");
  rows.add("seqlen_k", part(&ScheduleParts::seqlen_k), "");
  rows.add("heads", of(&ScheduleQuestion::heads), "", Echo::kAlways, {.hi = kMaxHeads});
  rows.add("heads_kv", of(&ScheduleQuestion::heads_kv), "", Echo::kAlways, {.hi = kMaxHeads});
  rows.add("batch_size", of(&ScheduleQuestion::batch), "", Echo::kAlways, {.hi = kMaxBatch});
  rows.add("device", part(&ScheduleParts::device), "");
  rows.add("mask", of(&ScheduleQuestion::mask), "");
  return rows;
}

/// How chains take turns.
Keywords<ScheduleParts> turn_keywords() {
  using C = study::ScheduleCosts;
  const Accepts costs{.least = 0, .most = study::kMaxScheduleCost};
  const auto cost = [](auto member) { return within(question(&ScheduleQuestion::costs), member); };
  Keywords<ScheduleParts> rows;
  rows.add("release", cost(&C::release),
           "When a chain passes on the turn of a dQ tile: after-next: once it has its next one; at-once "
           "[default]");
  rows.add("dkv_turns", cost(&C::dkv_turns),
           "With heads_kv: apart: dV and dK in a turn each; together [default]");
  rows.add("early_exit", cost(&C::early_exit),
           "Cost of a chain without tasks: a CTA that exits at once [default]", Echo::kAlways, costs);
  return rows;
}

Keywords<AskedSchedule> table_keywords() {
  using F = AskedSchedule;
  Keywords<F> rows;
  rows.add("table", &F::table,
           "Check and run this schedule instead of an algorithm's: what table() returns, its JSON, or a file "
           "[none]",
           Echo::kWhenSet);
  rows.add("critical_path", &F::critical_path, "Add the critical path [default]", Echo::kNever);
  return rows;
}

std::string kernel_names() {
  return joined(builtin_catalog().backward_kernel_names()) + ", or name@release";
}

template <typename Q>
bool has_keyword(const Keywords<Q>& rows, nb::handle key) {
  return rows.find(key) != nullptr;
}

[[noreturn]] void refuse_beside(nb::handle key, const char* said, const std::string& accepted) {
  throw InvalidParameter(nb::cast<std::string>(key), std::string("given together with ") + said, accepted);
}

}  // namespace

Keywords<AskedSchedule> schedule_keywords() {
  using F = AskedSchedule;
  Keywords<F> rows;
  for (const auto& part : {size_keywords(), choice_keywords(), walk_keywords(), worker_keywords(),
                           cost_keywords(), turn_keywords()})
    rows.include(part, &F::parts);
  rows.add("costs", within(within(&F::parts, &ScheduleParts::question), &ScheduleQuestion::named_costs),
           "Named costs in microseconds, or a file of them [with kernel its own on the device]",
           Echo::kNever);
  rows.add("kernel", &F::kernel,
           "Times of a known kernel with its own tiles and orders, deterministic and not; needs device and "
           "seqlen_q: " +
               kernel_names() + " [none]",
           Echo::kNever);
  return rows.include(table_keywords());
}

void require_schedule_keywords(const nb::kwargs& given) {
  static const auto* const kernel = new Keywords<AskedSchedule>(kernel_keywords());
  static const auto* const table = new Keywords<AskedSchedule>(table_keywords());
  static const auto* const workers = new Keywords<ScheduleParts>(worker_keywords());
  static const auto* const costs = new Keywords<ScheduleParts>(cost_keywords());
  static const auto* const turns = new Keywords<ScheduleParts>(turn_keywords());
  const auto said = [&](const char* name) { return given.contains(name) && !given[name].is_none(); };
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    if (value.is_none() || name == "catalog" || name == "progress") continue;
    const bool cost = has_keyword(*costs, key);
    if (said("kernel") && !has_keyword(*kernel, key))
      refuse_beside(key, "kernel", "sizes, mask, device and costs: the kernel says the rest");
    if (said("costs") && (cost || name == "table")) refuse_beside(key, "costs", "one of the two");
    if (said("table") && !cost && !has_keyword(*turns, key) && !has_keyword(*table, key) &&
        !has_keyword(*workers, key))
      refuse_beside(key, "table", "costs and workers only: the table says the rest");
  }
}

Json schedule_echo(const Keywords<AskedSchedule>& rows, const AskedSchedule& asked,
                   const study::ScheduleAnswer& answer) {
  AskedSchedule full = asked;
  full.parts = study::parts_of(full.parts, answer);
  Json input = rows.echo(full);
  if (!asked.table) return input;
  const Keywords<ScheduleParts> choices = choice_keywords();
  for (const auto& row : choices.rows()) input.erase(row.name);  // the table says them itself
  const Keywords<ScheduleParts> walks = walk_keywords();
  for (const auto& row : walks.rows()) input.erase(row.name);
  return input;
}

study::KernelScheduleQuestion kernel_question_of(const AskedSchedule& asked) {
  const ScheduleParts& parts = asked.parts;
  if (!parts.device) throw InvalidParameter("device", "none", "the device that runs the kernel");
  if (!parts.seqlen_q) throw InvalidParameter("seqlen_q", "none", "the tokens of the queries");
  study::KernelScheduleQuestion question;
  question.kernel = asked.kernel.value();
  question.device = *parts.device;
  question.q_tokens = *parts.seqlen_q;
  question.kv_tokens = parts.seqlen_k;
  question.head_dim = parts.question.head_dim;
  question.heads = parts.question.heads;
  question.heads_kv = parts.question.heads_kv;
  question.batch = parts.question.batch;
  question.mask = parts.question.mask;
  question.dtype = parts.question.dtype;
  question.costs = parts.question.named_costs;
  return question;
}

Json kernel_schedule_echo(const AskedSchedule& asked, const study::KernelScheduleAnswer& answer) {
  AskedSchedule full = asked;
  full.parts.seqlen_k = answer.kv_tokens;
  full.parts.question.heads_kv = answer.heads_kv;
  if (answer.costs) full.parts.question.named_costs = answer.costs->name;
  return kernel_keywords().echo(full);
}

std::optional<study::Context> with_costs(AskedSchedule& asked, const study::Context& context) {
  std::optional<std::string>& name = asked.parts.question.named_costs;
  const auto is_its = [&](const ScheduleCostSet& set) { return set.name == *name; };
  const auto& shipped = context.catalog.schedule_costs;
  std::error_code unreadable;
  if (!name || std::any_of(shipped.begin(), shipped.end(), is_its) ||
      !std::filesystem::exists(*name, unreadable))
    return std::nullopt;  // an unknown name: the catalog says which there are
  study::Context copy = context;
  add_schedule_costs(copy.catalog, read_text_file("costs", *name), "costs file " + *name);
  name = copy.catalog.schedule_costs.front().name;
  return copy;
}

}  // namespace natten_sim::python
