#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/report/text_table.hpp>

#include "query_tile.hpp"

namespace natten_sim::report {
namespace {

using study::FinishedSchedule;
using study::ScheduleAnswer;
using study::ScheduleResult;

const FinishedSchedule* finished_of(const ScheduleResult& result) {
  return std::get_if<FinishedSchedule>(&result.outcome);
}

/// The Q tile of a step, and its query head. Phases of a whole chain have no tile; their head is the chain's.
struct StepTile {
  std::int32_t head = 0;
  std::optional<std::int32_t> q_tile;
};

StepTile tile_of(const BackwardProblem& problem, const ScheduledChain& chain, const CriticalStep& step) {
  if (step.phase != TaskPhase::kCompute && step.phase != TaskPhase::kReduce)
    return {chain.head, std::nullopt};
  const QueryTile tile = query_tile(problem, chain, static_cast<std::size_t>(step.task));
  return {tile.head, tile.q_tile};
}

/// Visits every step of the critical path with the phase it belongs to and the time at which that starts.
template <typename Visit>
void for_each_critical_step(const FinishedSchedule& finished, const Visit& visit) {
  double offset = 0;
  for (std::size_t i = 0; i < finished.dags.size(); ++i) {
    for (const CriticalStep& step : finished.dags[i].critical_path)
      visit(finished.plan.phases[i], step, offset);
    offset += finished.dags[i].makespan;
  }
}

/// A step of the critical path, as it is printed.
struct CriticalRow {
  StepTile at;
  std::int32_t kv_tile;
  TaskPhase phase;
  std::string pass;  ///< of a schedule with several; else empty
  double start, end;
};

std::vector<CriticalRow> critical_rows(const FinishedSchedule& finished) {
  std::vector<CriticalRow> rows;
  for_each_critical_step(finished, [&](const SchedulePhase& phase, const CriticalStep& step, double offset) {
    const ScheduledChain& chain = phase.schedule.chains[static_cast<std::size_t>(step.chain)];
    rows.push_back({tile_of(phase.problem, chain, step), chain.kv_tile, step.phase, phase.name,
                    offset + step.start, offset + step.end});
  });
  return rows;
}

std::string schedule_percent(double fraction) { return ratio_text(100 * fraction) + "%"; }

std::string megabytes(std::int64_t bytes) {
  constexpr double kMebi = 1024 * 1024;
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMebi);
}

std::string bound_name(const FinishedSchedule& finished) {
  if (finished.plan.exhausted_at && !finished.run.binding) return "every schedule searched";
  return finished.run.binding ? to_string(*finished.run.binding) : "sum of passes";
}

std::string problem_text(const BackwardProblem& problem) {
  const std::int32_t tiles = problem.mask.q_tiles / problem.merged_heads;
  const std::string merged = problem.merged_heads == 1
                                 ? ""
                                 : fmt::format(" (chains of KV heads, {} heads each)", problem.merged_heads);
  return fmt::format("{} Q x {} KV tiles, {}{}, {}; times in the unit of the costs", tiles,
                     problem.mask.kv_tiles, counted(problem.heads * problem.merged_heads, "head"), merged,
                     counted(problem.workers, "worker"));
}

/// Why a schedule has no numbers; none when it has.
std::optional<std::string> deadlock_text(const ScheduleResult& result) {
  const auto* deadlock = std::get_if<Deadlock>(&result.outcome);
  return deadlock == nullptr ? std::nullopt : std::optional(deadlock->text());
}
std::optional<std::string> not_applicable_text(const ScheduleResult& result) {
  const auto* reason = std::get_if<NotApplicable>(&result.outcome);
  if (reason == nullptr) return std::nullopt;
  return InvalidParameter("algorithm", result.name, reason->needs).what();
}

/// A schedule of an answer.
struct ScheduleTold {
  const ScheduleResult* result;
  CriticalPath path;
};

/// Members of a schedule that was made and finishes; none otherwise.
template <typename... Members>
auto when_finished(Members... members) {
  return found([](const ScheduleTold& told) { return finished_of(*told.result); }, members...);
}

/// All schedules of an answer.
struct AllSchedules {
  const ScheduleAnswer* answer;
  std::vector<ScheduleTold> schedules;

  [[nodiscard]] bool several() const { return schedules.size() > 1; }
};

/// Critical path as lines of a table.
std::string critical_path_text(const FinishedSchedule& finished) {
  std::vector<std::vector<std::string>> steps = {{"start", "end", "head", "KV tile", "Q tile", "phase"}};
  for_each_critical_step(finished, [&](const SchedulePhase& phase, const CriticalStep& step, double offset) {
    const ScheduledChain& chain = phase.schedule.chains[static_cast<std::size_t>(step.chain)];
    const StepTile at = tile_of(phase.problem, chain, step);
    steps.push_back({short_number(offset + step.start), short_number(offset + step.end),
                     std::to_string(at.head), std::to_string(chain.kv_tile),
                     at.q_tile ? std::to_string(*at.q_tile) : "-", to_string(step.phase)});
  });
  return "\ncritical path\n" + text_table(steps);
}

}  // namespace

std::string short_number(double value) {
  if (value == std::clamp(value, -1e15, 1e15) &&
      value == static_cast<double>(static_cast<std::int64_t>(value)))
    return grouped(static_cast<std::int64_t>(value));
  return fmt::format("{:.6g}", value);
}

template <typename Members>
void describe(Members& m, Of<CriticalRow>) {
  m.put("head", path(&CriticalRow::at, &StepTile::head), "Query head, of a whole chain the chain's");
  m.put("kv_tile", &CriticalRow::kv_tile, "Place of the KV tile");
  m.put("q_tile", path(&CriticalRow::at, &StepTile::q_tile), "Place of the Q tile; null: of a whole chain");
  m.put("phase", &CriticalRow::phase, "What the worker does");
  m.optional("pass", unless_empty(&CriticalRow::pass), "Pass of a schedule with several");
  m.put("start", &CriticalRow::start, "Begin, in the unit of the costs");
  m.put("end", &CriticalRow::end, "End, in the unit of the costs");
}

template <typename Members>
void describe(Members& m, Of<ScheduleTold>) {
  using F = FinishedSchedule;
  const auto run = [](auto... members) { return when_finished(&F::run, members...); };
  const auto of = [](auto member) { return path(&ScheduleTold::result, member); };
  m.put("algorithm", of(&ScheduleResult::name), "Algorithm; table: a schedule from a file");
  m.put("ordered", of(&ScheduleResult::ordered), "Whether it prescribes an order of reductions");
  m.put("makespan", run(&PlanRun::makespan), "Time until the last task ends, in the unit of the costs");
  m.put("lower_bound", run(&PlanRun::lower_bound), "No schedule takes less");
  m.put("lower_bound_by", when_finished(bound_name), "What that bound follows from");
  m.put("optimality_gap", run(&PlanRun::optimality_gap), "Makespan over the lower bound, less 1");
  m.put("proved", run([](const PlanRun& each) { return each.optimality_gap == 0; }),
        "Whether no schedule is shorter");
  m.put("utilization", run(&PlanRun::utilization), "Share of the workers' time that is work, 0..1");
  m.put("total_work", run(&PlanRun::total_work), "Work of all tasks, in the unit of the costs");
  m.object("bubble", "Idle time of the workers, in the unit of the costs", [=](auto& bubble) {
    bubble.put("startup", run(&PlanRun::bubble, &ScheduleBubble::startup), "Before their first task");
    bubble.put("wait_for_turn", run(&PlanRun::bubble, &ScheduleBubble::wait_for_turn),
               "Waiting for the turn to reduce");
    bubble.put("tail", run(&PlanRun::bubble, &ScheduleBubble::tail), "After their last task");
  });
  m.put("heads_in_flight", run(&PlanRun::heads_in_flight), "The most heads at work at a time");
  m.put("workspace_bytes", when_finished(&F::workspace_bytes),
        "Memory beside inputs and gradients; null: sizes are not in tokens");
  m.optional(
      "critical_path",
      [](const ScheduleTold& told) {
        const F* finished = told.path == CriticalPath::kShown ? finished_of(*told.result) : nullptr;
        return finished != nullptr ? std::optional(critical_rows(*finished)) : std::nullopt;
      },
      "Tasks that the makespan consists of, with --critical-path");
  m.put("closed_form", when_finished(&F::closed_form), "Makespan by formula; null: none is known");
  m.put("deadlock", of(deadlock_text), "Why it never finishes; null: it does");
  m.put("hang_free", when_finished([](const F& finished) {
          return finished.finishes_on_any_workers ? "any_workers" : "these_workers";
        }),
        "On which numbers of workers it finishes");
  m.put("not_applicable", of(not_applicable_text), "Why the algorithm has no schedule here; null: it has");
  m.put("dispatch", when_finished(&F::plan, &SchedulePlan::dispatch), "How workers take their chains");
}

template <typename Members>
void describe(Members& m, Of<AllSchedules>) {
  using A = ScheduleAnswer;
  m.include([](const AllSchedules& all) { return all.several() ? nullptr : &all.schedules.front(); });
  m.when(&AllSchedules::several, [](auto& several) {
    several.put("algorithms", &AllSchedules::schedules, "Each algorithm's schedule");
    several.put("left_out", path(&AllSchedules::answer, &A::left_out),
                "Algorithms that were not asked, as they take long");
    several.optional("cost_map", path(&AllSchedules::answer, unless_empty(&A::cost_map)),
                     "The fastest algorithm over the ratios of costs", [](auto& region) {
                       using C = study::CostRegion;
                       region.put("reduce", &C::reduce, "Reduction over computation");
                       region.put("handoff", &C::handoff, "Handoff over computation");
                       region.put("fastest", &C::fastest, "The fastest algorithm there");
                     });
  });
}

Json schedule_fields(const ScheduleResult& result, CriticalPath path) {
  return json_of(ScheduleTold{&result, path});
}

Json schedule_result(const ScheduleAnswer& answer, CriticalPath path) {
  AllSchedules all{&answer, {}};
  for (const ScheduleResult& result : answer.results) all.schedules.push_back({&result, path});
  return json_of(all);
}

Json schedule_schema() { return schema_of<AllSchedules>(); }

Rows schedule_rows(const ScheduleAnswer& answer) {
  std::vector<Json> rows;
  for (const ScheduleResult& result : answer.results) {
    rows.push_back(flattened(schedule_fields(result, CriticalPath::kHidden)));
  }
  return {rows.front(), rows, {"algorithm", "makespan", "lower_bound", "optimality_gap", "utilization", "heads_in_flight"}};
}

std::string schedule_text(const ScheduleResult& result, const BackwardProblem& problem, CriticalPath path) {
  const FinishedSchedule& finished = std::get<FinishedSchedule>(result.outcome);
  const PlanRun& run = finished.run;
  std::vector<std::vector<std::string>> rows = {
      {"schedule", fmt::format("{}, {} dispatch{}", result.name, to_string(finished.plan.dispatch),
                               result.ordered ? "" : ", reductions in no prescribed order")},
      {"problem", problem_text(problem)},
      {"makespan", short_number(run.makespan)},
      {"lower bound", fmt::format("{} ({})", short_number(run.lower_bound), bound_name(finished))},
      {"gap", run.optimality_gap == 0 ? "0: optimal" : schedule_percent(run.optimality_gap)},
      {"utilization", run.utilization ? schedule_percent(*run.utilization) : "-"},
      {"total work", short_number(run.total_work)},
      {"bubbles", fmt::format("startup {}, wait for turn {}, tail {} (summed over workers)",
                              short_number(run.bubble.startup), short_number(run.bubble.wait_for_turn),
                              short_number(run.bubble.tail))},
      {"heads", fmt::format("at most {} at work at a time", run.heads_in_flight)},
      {"closed form", finished.closed_form ? short_number(*finished.closed_form) : "-"},
      {"deadlock", finished.finishes_on_any_workers ? "none, whatever the times and the number of workers"
                                                    : "none, whatever the times"}};
  if (finished.workspace_bytes)
    rows.push_back({"memory", megabytes(*finished.workspace_bytes) + " beside inputs and gradients"});
  const std::string text = text_table(rows, LastColumn::kLeft);
  return path == CriticalPath::kHidden ? text : text + critical_path_text(finished);
}

std::string cost_map_text(const std::vector<study::CostRegion>& map) {
  std::vector<std::vector<std::string>> rows = {{"reduce over compute"}};
  for (const study::CostRegion& region : map) {
    if (region.reduce == map.front().reduce)
      rows.front().push_back(fmt::format("handoff {:g}", region.handoff));
    if (region.handoff == map.front().handoff) rows.push_back({fmt::format("{:g}", region.reduce)});
    rows.back().push_back(region.fastest);
  }
  return "No costs were given: every one is 1. Which deterministic schedule is fastest depends on them:\n" +
         text_table(rows);
}

std::string schedule_comparison(const ScheduleAnswer& answer) {
  std::optional<double> fastest;
  for (const ScheduleResult& result : answer.results) {
    const FinishedSchedule* finished = finished_of(result);
    if (finished == nullptr || !result.repeatable) continue;
    fastest = std::min(fastest.value_or(finished->run.makespan), finished->run.makespan);
  }
  std::vector<std::vector<std::string>> rows = {
      {"algorithm", "dispatch", "makespan", "of fastest", "lower bound", "gap", "busy", "closed form"}};
  if (answer.tokens) rows.front().push_back("memory");
  std::string remarks;
  for (const ScheduleResult& result : answer.results) {
    const FinishedSchedule* finished = finished_of(result);
    if (finished == nullptr) {
      rows.emplace_back(rows.front().size(), "-").front() = result.name;
      const std::optional<std::string> deadlock = deadlock_text(result);
      remarks += fmt::format("{}: {}\n", result.name, deadlock ? *deadlock : *not_applicable_text(result));
      continue;
    }
    const PlanRun& run = finished->run;
    rows.push_back({result.name + (result.ordered ? "" : " *"), to_string(finished->plan.dispatch),
                    short_number(run.makespan),
                    fastest && *fastest > 0 ? ratio_text(run.makespan / *fastest, 3) : "-",
                    short_number(run.lower_bound), schedule_percent(run.optimality_gap),
                    run.utilization ? schedule_percent(*run.utilization) : "-",
                    finished->closed_form ? short_number(*finished->closed_form) : "-"});
    if (answer.tokens)
      rows.back().push_back(finished->workspace_bytes ? megabytes(*finished->workspace_bytes) : "-");
  }
  return problem_text(answer.problem) + "\n" + text_table(rows) +
         "* no prescribed dQ order in one pass; its bound is that of its own work\n" + remarks +
         (answer.cost_map.empty() ? std::string() : cost_map_text(answer.cost_map));
}

}  // namespace natten_sim::report
