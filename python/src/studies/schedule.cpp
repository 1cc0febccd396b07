#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/default_text.hpp>
#include <natten_sim/report/schedule_picture.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/study/schedule_parts.hpp>

#include "schedule_values.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::ScheduleParts;
using study::ScheduleQuestion;

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

/// The keywords of schedule().
struct AskedSchedule {
  study::ScheduleParts parts;
  std::optional<ScheduleTable> table;
  bool critical_path = false;
};

struct ScheduleAnswers {
  AskedSchedule asked;
  study::ScheduleAnswer answer;
};

template <typename Member>
auto question(Member member) {
  return within(&ScheduleParts::question, member);
}

Keywords<ScheduleParts> size_keywords() {
  using F = ScheduleParts;
  const Accepts tiles{.hi = study::kMaxScheduleTiles}, tokens{.hi = study::kMaxScheduleTokens},
      counts{.hi = kMaxCount};
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
  rows.add("heads", question(&ScheduleQuestion::heads), "Query heads [default]", Echo::kAlways, counts);
  rows.add("heads_kv", question(&ScheduleQuestion::heads_kv),
           "KV heads; fewer than heads: dK/dV are reduced over each group in order [heads]", Echo::kAlways,
           counts);
  return rows;
}

Keywords<ScheduleParts> choice_keywords() {
  using F = ScheduleParts;
  Keywords<F> rows;
  rows.add("batch_size", question(&ScheduleQuestion::batch), "Batch size [default]", Echo::kAlways,
           {.hi = kMaxCount});
  rows.add(
      "mask", question(&ScheduleQuestion::mask),
      "full, causal, window:L,R, document:LEN,LEN,.., varlen:RULE:LEN,.., gna:i=..,w=.., a file, or a matrix of "
      "tiles with 0 "
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
           Echo::kAlways, {.hi = kMaxCount});
  rows.add("gqa_chains", question(&ScheduleQuestion::gqa_chains),
           "With heads_kv: a chain is one (query head, KV tile), or kv-heads: one (KV head, KV tile) with all its "
           "query heads [default]");
  rows.add("ctas_per_chain", question(&ScheduleQuestion::ctas_per_chain),
           "2: pairs of CTAs share two KV tiles and halve the reductions into dQ [default]", Echo::kAlways,
           {.hi = 2});
  rows.add("dim", question(&ScheduleQuestion::head_dim),
           "Head dim, of the memory that a schedule takes and of what the L2 of the device holds [default]",
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
  rows.add("release", cost(&C::release),
           "When a chain passes on the turn of a dQ tile: after-next: once it has its next one; at-once [default]");
  rows.add("dkv_turns", cost(&C::dkv_turns),
           "With heads_kv: apart: dV and dK in a turn each; together [default]");
  rows.add("early_exit", cost(&C::early_exit),
           "Cost of a chain without tasks: a CTA that exits at once [default]", Echo::kAlways, costs);
  return rows;
}

Keywords<AskedSchedule> schedule_keywords() {
  using F = AskedSchedule;
  Keywords<F> rows;
  for (const auto& part :
       {size_keywords(), choice_keywords(), walk_keywords(), worker_keywords(), cost_keywords()})
    rows.include(part, &F::parts);
  rows.add("table", &F::table,
           "Check and run this schedule instead of an algorithm's: what table() returns, its JSON, or a file "
           "[none]",
           Echo::kWhenSet);
  rows.add("critical_path", &F::critical_path, "Add the critical path [default]", Echo::kNever);
  return rows;
}

study::ScheduleAnswer run(const AskedSchedule& asked, const study::ScheduleDetail& detail,
                          const study::Context& context) {
  if (asked.table) {
    study::TableQuestion table = study::table_question_of(asked.parts, *asked.table);
    table.detail = detail;
    return study::schedule(table, context);
  }
  ScheduleQuestion question = study::question_of(asked.parts);
  question.detail = detail;
  return study::schedule(question, context);
}

ScheduleAnswers answer_schedule(const AskedSchedule& asked, const study::Context& context) {
  const bool one = asked.table || asked.parts.one_algorithm();
  ScheduleAnswers found{asked,
                        run(asked, {.plan = one, .critical_path = asked.critical_path && one}, context)};
  if (one) (void)study::require_finished(found.answer.results.front());
  return found;
}

/// The keywords with what the answer filled in.
Json schedule_input(const Keywords<AskedSchedule>& rows, const ScheduleAnswers& found) {
  AskedSchedule full = found.asked;
  full.parts = study::parts_of(full.parts, found.answer);
  Json input = rows.echo(full);
  const Keywords<ScheduleParts> choices = choice_keywords();
  if (found.asked.table) {  // which says the rest itself
    for (const auto& row : choices.rows()) input.erase(row.name);
    const Keywords<ScheduleParts> walks = walk_keywords();
    for (const auto& row : walks.rows()) input.erase(row.name);
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
    throw InvalidParameter("algorithm", found.asked.parts.algorithm, "one algorithm, as best");
  const study::ScheduleAnswer timed = run(found.asked, {.times = true, .critical_path = true}, context);
  const study::ScheduleResult& result = timed.results.front();
  return report::schedule_svg(result.name, study::require_finished(result), timed.problem);
}

nb::object schedule_table(const ScheduleAnswers& found) {
  if (found.answer.results.size() > 1)
    throw InvalidParameter("algorithm", found.asked.parts.algorithm, "one algorithm, as best");
  const study::ScheduleResult& result = found.answer.results.front();
  return to_python(parse_json(to_json(study::table_of(result.name, study::require_finished(result)))));
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
        return report::schedule_trace(study::require_finished(timed.results.front()));
      },
      "Trace events in JSON that ui.perfetto.dev opens, one track a worker.");
}

}  // namespace

StudyBinder schedule_study();
StudyBinder schedule_study() { return bind_schedule; }

}  // namespace natten_sim::python
