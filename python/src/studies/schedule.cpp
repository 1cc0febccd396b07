#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/schedule_picture.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/study/schedule.hpp>

#include "schedule_values.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::ScheduleQuestion;

constexpr std::int64_t kMaxTiles = 65536;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();
constexpr double kMaxCost = 9007199254740992.0;  // 2^53

/// The keywords of schedule(): sizes, workers and table lie side by side, as the program's options do.
struct AskedSchedule {
  ScheduleQuestion question;  ///< without sizes, workers, algorithms and detail
  std::optional<std::int64_t> q_tiles, kv_tiles, seqlen_q, seqlen_k, q_tile, kv_tile;
  std::optional<std::int32_t> workers;
  std::optional<std::string> device;
  std::int32_t ctas_per_sm = 1;
  std::string algorithm = "all";
  Handoff handoff;
  Overlap overlap;
  std::optional<ScheduleTable> table;
  bool critical_path = false;
};

struct ScheduleAnswers {
  AskedSchedule asked;
  study::ScheduleAnswer answer;
};

template <typename Member>
auto question(Member member) {
  return within(&AskedSchedule::question, member);
}

Keywords<AskedSchedule> size_keywords() {
  using F = AskedSchedule;
  const Accepts tiles{.hi = kMaxTiles}, tokens{.hi = kMaxTokens}, counts{.hi = kMaxCount};
  Keywords<F> rows;
  rows.add("q_tiles", &F::q_tiles, "Q tiles of one head; mask lengths then count tiles [none]",
           Echo::kWhenSet, tiles);
  rows.add("kv_tiles", &F::kv_tiles, "KV tiles of one head [as many as Q tiles]", Echo::kWhenSet, tiles);
  rows.add("seqlen_q", &F::seqlen_q, "Tokens of the queries, instead of q_tiles [none]", Echo::kWhenSet,
           tokens);
  rows.add("seqlen_k", &F::seqlen_k, "Tokens of the keys [as many as queries]", Echo::kWhenSet, tokens);
  rows.add("q_tile", &F::q_tile, "Tokens of a Q tile [128]", Echo::kWhenSet, tokens);
  rows.add("kv_tile", &F::kv_tile, "Tokens of a KV tile [128]", Echo::kWhenSet, tokens);
  rows.add("heads", question(&ScheduleQuestion::heads), "Query heads [1]", Echo::kAlways, counts);
  rows.add("heads_kv", question(&ScheduleQuestion::heads_kv),
           "KV heads; fewer than heads: dK/dV are reduced over each group in order [heads]", Echo::kAlways,
           counts);
  return rows;
}

Keywords<AskedSchedule> choice_keywords() {
  using F = AskedSchedule;
  Keywords<F> rows;
  rows.add("batch_size", question(&ScheduleQuestion::batch), "Batch size [1]", Echo::kAlways,
           {.hi = kMaxCount});
  rows.add(
      "mask", question(&ScheduleQuestion::mask),
      "full, causal, window:L,R, document:LEN,LEN,.., gna:i=..,w=.., a file, or a matrix of tiles with 0 "
      "skipped, 1 partial, 2 full [full]");
  rows.add("algorithm", &F::algorithm, "One schedule by name, or all of them side by side [all]");
  rows.add("dispatch", question(&ScheduleQuestion::dispatch),
           "dynamic: the first free worker takes the next chain; static: chains are assigned [the "
           "algorithm's own]");
  rows.add("launch_order", question(&ScheduleQuestion::launch),
           "heads, or sections:K: K heads interleaved, KV tiles slowest [the algorithm's own]");
  rows.add("effort", question(&ScheduleQuestion::effort), "Iterations of a search [2^22 / tasks, 8 to 2000]",
           Echo::kAlways, {.lo = 0, .hi = 1'000'000'000});
  rows.add("seed", question(&ScheduleQuestion::seed), "Seed of a search [1]", Echo::kAlways,
           {.lo = 0, .hi = std::numeric_limits<std::int64_t>::max()});
  return rows;
}

Keywords<AskedSchedule> walk_keywords() {
  Keywords<AskedSchedule> rows;
  rows.add("walk", question(&ScheduleQuestion::walk),
           "partial-first: chains take partly masked tiles before full ones, as block-sparse kernels do "
           "[in-order]");
  rows.add("heads_in_flight", question(&ScheduleQuestion::heads_in_flight),
           "Of a search: heads at work at a time [with device and seqlen_q as many as its L2 holds]",
           Echo::kAlways, {.hi = kMaxCount});
  return rows;
}

/// `input` echoes the number of workers alone.
Keywords<AskedSchedule> worker_keywords() {
  using F = AskedSchedule;
  Keywords<F> rows;
  rows.add("workers", &F::workers, "CTAs that run at a time: SMs times CTAs an SM [the number of KV tiles]",
           Echo::kAlways, {.hi = kMaxWorkers});
  rows.add("device", &F::device, "Take the workers from a GPU, see devices() [none]", Echo::kNever);
  rows.add("ctas_per_sm", &F::ctas_per_sm, "With device: CTAs resident on an SM [1]", Echo::kNever,
           {.hi = 32});
  rows.add("dim", question(&ScheduleQuestion::head_dim),
           "Head dim, for what the L2 of the device holds [128]", Echo::kNever, {.hi = 65536});
  rows.add("dtype", question(&ScheduleQuestion::dtype), "Element type, likewise [bf16]", Echo::kNever);
  return rows;
}

Keywords<AskedSchedule> cost_keywords() {
  using F = AskedSchedule;
  using C = study::ScheduleCosts;
  const Accepts costs{.least = 0, .most = kMaxCost};
  const auto cost = [](auto member) { return within(question(&ScheduleQuestion::costs), member); };
  Keywords<F> rows;
  rows.add("compute", cost(&C::compute), "Cost of a task's compute, in any unit of time [1]", Echo::kAlways,
           costs);
  rows.add("compute_partial", cost(&C::compute_partial), "Cost of computing a partly masked tile [compute]",
           Echo::kAlways, costs);
  rows.add("reduce", cost(&C::reduce), "Cost of a task's reduction into dQ [1]", Echo::kAlways, costs);
  rows.add("reduce_kv", cost(&C::reduce_kv), "Cost of a chain's reduction into dK/dV, with heads_kv [reduce]",
           Echo::kAlways, costs);
  rows.add(
      "handoff", &F::handoff,
      "Latency between reductions of two workers into one dQ tile; (near, far): within an L2 partition and "
      "across [0]",
      Echo::kAlways, costs);
  rows.echo_only("handoff_far", within(&F::handoff, &Handoff::far));
  rows.add("tax", cost(&C::per_tile_tax), "The semaphore's cost, added to every ordered reduction [0]",
           Echo::kAlways, costs);
  rows.add("prologue", cost(&C::prologue), "Cost before a chain's first compute [0]", Echo::kAlways, costs);
  rows.add("epilogue", cost(&C::epilogue), "Cost behind a chain's tasks; a writer works meanwhile [0]",
           Echo::kAlways, costs);
  rows.add("overlap", &F::overlap, "serial, or async:K for a separate dQ writer with K buffers [serial]");
  return rows;
}

Keywords<AskedSchedule> schedule_keywords() {
  using F = AskedSchedule;
  Keywords<F> rows = size_keywords();
  for (const auto& part : {choice_keywords(), walk_keywords(), worker_keywords(), cost_keywords()})
    rows.include(part);
  rows.add("table", &F::table,
           "Check and run this schedule instead of an algorithm's: what table() returns, its JSON, or a file "
           "[none]",
           Echo::kWhenSet);
  rows.add("critical_path", &F::critical_path, "Add the critical path [False]", Echo::kNever);
  return rows;
}

study::ScheduleSizes sizes_of(const AskedSchedule& asked) {
  const bool tokens = asked.seqlen_q || asked.seqlen_k;
  if (asked.q_tiles || asked.kv_tiles) {
    if (tokens || asked.q_tile || asked.kv_tile)
      throw InvalidParameter("q_tiles", "given together with tokens", "sizes in tiles or in tokens");
    return study::TileSizes{asked.q_tiles, asked.kv_tiles};
  }
  if (!tokens && !asked.q_tile && !asked.kv_tile) return {};
  if (!asked.seqlen_q) throw InvalidParameter("seqlen_q", "missing", "the tokens of the queries");
  study::TokenSizes sizes{*asked.seqlen_q, asked.seqlen_k};
  sizes.q_tile = asked.q_tile.value_or(sizes.q_tile);
  sizes.kv_tile = asked.kv_tile.value_or(sizes.kv_tile);
  return sizes;
}

study::ScheduleWorkers workers_of(const AskedSchedule& asked) {
  if (asked.workers && asked.device)
    throw InvalidParameter("device", "given together with workers", "one of the two");
  if (asked.workers) return *asked.workers;
  if (asked.device) return study::WorkersOfDevice{*asked.device, asked.ctas_per_sm};
  return {};
}

study::ScheduleCosts costs_of(const AskedSchedule& asked) {
  study::ScheduleCosts costs = asked.question.costs;
  costs.handoff = asked.handoff.near;
  costs.handoff_far = asked.handoff.far;
  costs.writer_stages = asked.overlap.writer_stages;
  return costs;
}

study::ScheduleAnswer run(const AskedSchedule& asked, const study::ScheduleDetail& detail,
                          const study::Context& context) {
  if (asked.table) {
    return study::schedule(study::TableQuestion{*asked.table, workers_of(asked), costs_of(asked), detail},
                           context);
  }
  ScheduleQuestion full = asked.question;
  full.sizes = sizes_of(asked);
  full.workers = workers_of(asked);
  full.costs = costs_of(asked);
  full.detail = detail;
  full.cost_map =
      asked.algorithm == "all" && full.costs == study::ScheduleCosts{};  // no costs: say where they decide
  if (asked.algorithm != "all") full.algorithms = {asked.algorithm};
  return study::schedule(full, context);
}

/// A single schedule has to be made and to finish; among several it may say that it does not.
const study::FinishedSchedule& require_finished(const study::ScheduleResult& result) {
  if (const auto* reason = std::get_if<NotApplicable>(&result.outcome))
    throw InvalidParameter("algorithm", result.name, reason->needs);
  if (const auto* deadlock = std::get_if<Deadlock>(&result.outcome)) throw DeadlockError(deadlock->waits);
  return std::get<study::FinishedSchedule>(result.outcome);
}

ScheduleAnswers answer_schedule(const AskedSchedule& asked, const study::Context& context) {
  const bool one = asked.table || asked.algorithm != "all";
  ScheduleAnswers found{asked,
                        run(asked, {.plan = one, .critical_path = asked.critical_path && one}, context)};
  if (one) (void)require_finished(found.answer.results.front());
  return found;
}

/// The keywords with what the answer filled in.
Json schedule_input(const Keywords<AskedSchedule>& rows, const ScheduleAnswers& found) {
  AskedSchedule full = found.asked;
  const study::ScheduleAnswer& answer = found.answer;
  if (answer.tokens) {
    full.seqlen_q = answer.tokens->q_tokens;
    full.seqlen_k = answer.tokens->kv_tokens;
    full.q_tile = answer.tokens->q_tile;
    full.kv_tile = answer.tokens->kv_tile;
  }
  full.q_tiles = answer.problem.mask.q_tiles;
  full.kv_tiles = answer.problem.mask.kv_tiles;
  full.question.heads = answer.heads;
  full.question.heads_kv = answer.heads_kv;
  full.question.batch = answer.batch;
  full.workers = answer.problem.workers;
  full.question.heads_in_flight = answer.heads_in_flight;
  full.question.costs = {.compute = answer.costs.compute,
                         .compute_partial = answer.costs.compute_partial,
                         .reduce = answer.costs.reduce,
                         .reduce_kv = answer.costs.reduce_kv,
                         .per_tile_tax = answer.costs.per_tile_tax,
                         .prologue = answer.costs.prologue,
                         .epilogue = answer.costs.epilogue};
  full.handoff = {answer.costs.handoff, answer.costs.handoff_far.value_or(answer.costs.handoff)};
  full.overlap = {answer.costs.writer_stages};
  Json input = rows.echo(full);
  const Keywords<AskedSchedule> choices = choice_keywords();
  if (found.asked.table) {  // which says the rest itself
    for (const auto& row : choices.rows()) input.erase(row.name);
    input.erase("walk");
    input.erase("heads_in_flight");
  }
  return input;
}

std::string schedule_text(const ScheduleAnswers& found, const study::Context&) {
  const report::CriticalPath path =
      found.asked.critical_path ? report::CriticalPath::kShown : report::CriticalPath::kHidden;
  if (found.answer.results.size() > 1) return report::schedule_comparison(found.answer);
  return report::schedule_text(found.answer.results.front(), found.answer.problem, path);
}

/// Runs the schedule again, and keeps its times.
std::string schedule_svg(const ScheduleAnswers& found, const study::Context& context) {
  if (found.answer.results.size() > 1)
    throw InvalidParameter("algorithm", found.asked.algorithm, "one algorithm, as best");
  const study::ScheduleAnswer timed = run(found.asked, {.times = true, .critical_path = true}, context);
  const study::ScheduleResult& result = timed.results.front();
  return report::schedule_svg(result.name, require_finished(result), timed.problem);
}

nb::object schedule_table(const ScheduleAnswers& found) {
  if (found.answer.results.size() > 1)
    throw InvalidParameter("algorithm", found.asked.algorithm, "one algorithm, as best");
  const study::ScheduleResult& result = found.answer.results.front();
  return to_python(parse_json(to_json(study::table_of(result.name, require_finished(result)))));
}

void bind_schedule(nb::module_& module) {
  auto type =
      bind(module, Study<AskedSchedule, ScheduleAnswers>{
                       .function = "schedule",
                       .type = "Schedule",
                       .schema = "schedule",
                       .doc = "Simulate and search schedules of a deterministic attention backward pass.\n\n"
                              "Times are in the unit of the costs. With one algorithm the members of the "
                              "result are those of its "
                              "schedule;\nwith all of them, `algorithms` has one record each.",
                       .duration = Duration::kLong,
                       .keywords = schedule_keywords(),
                       .answer = answer_schedule,
                       .input = schedule_input,
                       .result =
                           [](const ScheduleAnswers& found, const study::Context&) {
                             return report::schedule_result(
                                 found.answer, found.asked.critical_path ? report::CriticalPath::kShown
                                                                         : report::CriticalPath::kHidden);
                           },
                       .text = schedule_text,
                       .csv = [](const ScheduleAnswers& found, const study::Context&,
                                 const Json&) { return report::schedule_csv(found.answer); },
                       .svg = schedule_svg});
  using ScheduleObject = AnswerOf<AskedSchedule, ScheduleAnswers>;
  type.def(
      "table", [](const ScheduleObject& self) { return schedule_table(self.answer()); },
      nb::sig("def table(self) -> dict[str, typing.Any]"),
      "The schedule for a kernel to load: schema natten-sim.schedule-table/1, with the chains in launch "
      "order and, "
      "for\neach head and Q tile, the KV tiles in the order of their reductions. Raises Error for several "
      "algorithms.");
  type.def(
      "trace",
      [](const ScheduleObject& self) {
        const study::ScheduleAnswer timed = run(self.answer().asked, {.times = true}, self.context());
        return report::schedule_trace(require_finished(timed.results.front()));
      },
      "Trace events in JSON that ui.perfetto.dev opens, one track a worker.");
}

}  // namespace

StudyBinder schedule_study();
StudyBinder schedule_study() { return bind_schedule; }

}  // namespace natten_sim::python
