#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
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

Json critical_path_fields(const FinishedSchedule& finished) {
  Json steps = Json::array();
  for_each_critical_step(finished, [&](const SchedulePhase& phase, const CriticalStep& step, double offset) {
    const ScheduledChain& chain = phase.schedule.chains[static_cast<std::size_t>(step.chain)];
    const StepTile at = tile_of(phase.problem, chain, step);
    Json object = {{"head", at.head}, {"kv_tile", chain.kv_tile}};
    object["q_tile"] = nullable(at.q_tile);
    object["phase"] = to_string(step.phase);
    if (!phase.name.empty()) object["pass"] = phase.name;
    object["start"] = offset + step.start;
    object["end"] = offset + step.end;
    steps.push_back(std::move(object));
  });
  return steps;
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

/// Why a schedule has no numbers; null when it has.
Json deadlock_text(const ScheduleResult& result) {
  const auto* deadlock = std::get_if<Deadlock>(&result.outcome);
  return deadlock == nullptr ? Json() : Json(deadlock->text());
}
Json not_applicable_text(const ScheduleResult& result) {
  const auto* reason = std::get_if<NotApplicable>(&result.outcome);
  return reason == nullptr ? Json() : Json(InvalidParameter("algorithm", result.name, reason->needs).what());
}

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

Json schedule_fields(const ScheduleResult& result, CriticalPath path) {
  const FinishedSchedule* finished = finished_of(result);
  const auto when_finished = [&](const auto& value_of) {
    return finished == nullptr ? Json() : Json(value_of(*finished));
  };
  Json fields = {{"algorithm", result.name}, {"ordered", result.ordered}};
  fields["makespan"] = when_finished([](const auto& f) { return f.run.makespan; });
  fields["lower_bound"] = when_finished([](const auto& f) { return f.run.lower_bound; });
  fields["lower_bound_by"] = when_finished(bound_name);
  fields["optimality_gap"] = when_finished([](const auto& f) { return f.run.optimality_gap; });
  fields["proved"] = when_finished([](const auto& f) { return f.run.optimality_gap == 0; });
  fields["utilization"] = when_finished([](const auto& f) { return nullable(f.run.utilization); });
  fields["total_work"] = when_finished([](const auto& f) { return f.run.total_work; });
  fields["bubble"] = {
      {"startup", when_finished([](const auto& f) { return f.run.bubble.startup; })},
      {"wait_for_turn", when_finished([](const auto& f) { return f.run.bubble.wait_for_turn; })},
      {"tail", when_finished([](const auto& f) { return f.run.bubble.tail; })}};
  fields["heads_in_flight"] = when_finished([](const auto& f) { return f.run.heads_in_flight; });
  fields["workspace_bytes"] = when_finished([](const auto& f) { return nullable(f.workspace_bytes); });
  if (finished != nullptr && path == CriticalPath::kShown)
    fields["critical_path"] = critical_path_fields(*finished);
  fields["closed_form"] = when_finished([](const auto& f) { return nullable(f.closed_form); });
  fields["deadlock"] = deadlock_text(result);
  fields["hang_free"] = when_finished(
      [](const auto& f) { return f.finishes_on_any_workers ? "any_workers" : "these_workers"; });
  fields["not_applicable"] = not_applicable_text(result);
  fields["dispatch"] = when_finished([](const auto& f) { return to_string(f.plan.dispatch); });
  return fields;
}

Json schedule_result(const ScheduleAnswer& answer, CriticalPath path) {
  if (answer.results.size() == 1) return schedule_fields(answer.results.front(), path);
  Json algorithms = Json::array();
  for (const ScheduleResult& result : answer.results) algorithms.push_back(schedule_fields(result, path));
  Json result = {{"algorithms", std::move(algorithms)}};
  result["left_out"] = answer.left_out;
  if (answer.cost_map.empty()) return result;
  result["cost_map"] = Json::array();
  for (const study::CostRegion& region : answer.cost_map) {
    result["cost_map"].push_back(
        {{"reduce", region.reduce}, {"handoff", region.handoff}, {"fastest", region.fastest}});
  }
  return result;
}

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
      const Json deadlock = deadlock_text(result);
      const Json reason = deadlock.is_null() ? not_applicable_text(result) : deadlock;
      remarks += fmt::format("{}: {}\n", result.name, reason.get<std::string>());
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
