#include "schedule_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report_text.hpp"

namespace natten_sim::cli {
namespace {

const char* phase_name(TaskPhase phase) {
  switch (phase) {
    case TaskPhase::kCompute:
      return "compute";
    case TaskPhase::kReduce:
      return "reduce";
    case TaskPhase::kReduceKv:
      return "reduce_kv";
  }
  return "";
}

/// Visits every step with the phase it belongs to and the time at which that phase starts.
template <typename Visit>
void for_each_step(const ScheduleAnswer& answer, const Visit& visit) {
  double offset = 0;
  for (std::size_t i = 0; i < answer.dags.size(); ++i) {
    for (const CriticalStep& step : answer.dags[i].critical_path) visit(answer.plan.phases[i], step, offset);
    offset += answer.dags[i].makespan;
  }
}

Json critical_path_fields(const ScheduleAnswer& answer) {
  Json steps = Json::array();
  for_each_step(answer, [&](const SchedulePhase& phase, const CriticalStep& step, double offset) {
    const ScheduledChain& chain = phase.schedule.chains[static_cast<std::size_t>(step.chain)];
    Json object = {{"head", chain.head}, {"kv_tile", chain.kv_tile}};
    object["q_tile"] = step.phase == TaskPhase::kReduceKv
                           ? Json()
                           : Json(chain.q_order[static_cast<std::size_t>(step.task)]);
    object["phase"] = phase_name(step.phase);
    if (!phase.name.empty()) object["pass"] = phase.name;
    object["start"] = offset + step.start;
    object["end"] = offset + step.end;
    steps.push_back(std::move(object));
  });
  return steps;
}

std::string dispatch_name(const ScheduleAnswer& answer) {
  return answer.plan.phases.empty() ? "" : to_string(answer.plan.dispatch);
}

std::string percent(double fraction) { return fmt::format("{:.2f}%", 100 * fraction); }

std::string bound_name(const ScheduleAnswer& answer) {
  if (answer.plan.exhausted_at && !answer.run.binding) return "every schedule searched";
  return answer.run.binding ? to_string(*answer.run.binding) : "sum of passes";
}

}  // namespace

std::string short_number(double value) {
  if (value == std::clamp(value, -1e15, 1e15) &&
      value == static_cast<double>(static_cast<std::int64_t>(value)))
    return grouped(static_cast<std::int64_t>(value));
  return fmt::format("{:.6g}", value);
}

Json schedule_fields(const ScheduleAnswer& answer, bool critical_path) {
  const bool ran = !answer.deadlock && !answer.not_applicable;
  const auto when_ran = [&](const auto& value) { return ran ? Json(value) : Json(); };
  const PlanRun& run = answer.run;
  Json result = {{"algorithm", answer.name}, {"ordered", answer.ordered}};
  result["makespan"] = when_ran(run.makespan);
  result["lower_bound"] = when_ran(run.lower_bound);
  result["lower_bound_by"] = when_ran(bound_name(answer));
  result["optimality_gap"] = when_ran(run.optimality_gap);
  result["utilization"] = ran && run.utilization ? Json(*run.utilization) : Json();
  result["total_work"] = when_ran(run.total_work);
  result["bubble"] = {{"startup", when_ran(run.bubble.startup)},
                      {"wait_for_turn", when_ran(run.bubble.wait_for_turn)},
                      {"tail", when_ran(run.bubble.tail)}};
  if (critical_path && ran) result["critical_path"] = critical_path_fields(answer);
  result["closed_form"] = answer.closed_form ? Json(*answer.closed_form) : Json();
  result["deadlock"] = answer.deadlock ? Json(*answer.deadlock) : Json();
  result["hang_free"] = when_ran(answer.hang_free ? "any_workers" : "these_workers");
  result["not_applicable"] = answer.not_applicable ? Json(*answer.not_applicable) : Json();
  const std::string dispatch = dispatch_name(answer);
  result["dispatch"] = dispatch.empty() ? Json() : Json(dispatch);
  return result;
}

std::string schedule_text(const ScheduleAnswer& answer, const BackwardProblem& problem, bool critical_path) {
  const PlanRun& run = answer.run;
  std::vector<std::vector<std::string>> rows = {
      {"schedule", fmt::format("{}, {} dispatch{}", answer.name, dispatch_name(answer),
                               answer.ordered ? "" : ", reductions in no prescribed order")},
      {"problem", fmt::format("{} Q x {} KV tiles, {} heads, {} workers", problem.mask.q_tiles,
                              problem.mask.kv_tiles, problem.heads, problem.workers)},
      {"makespan", short_number(run.makespan)},
      {"lower bound", fmt::format("{} ({})", short_number(run.lower_bound), bound_name(answer))},
      {"gap", run.optimality_gap == 0 ? "0: optimal" : percent(run.optimality_gap)},
      {"utilization", run.utilization ? percent(*run.utilization) : "-"},
      {"total work", short_number(run.total_work)},
      {"bubbles", fmt::format("startup {}, wait for turn {}, tail {} (summed over workers)",
                              short_number(run.bubble.startup), short_number(run.bubble.wait_for_turn),
                              short_number(run.bubble.tail))},
      {"closed form", answer.closed_form ? short_number(*answer.closed_form) : "-"},
      {"deadlock",
       answer.hang_free ? "none, whatever the times and the number of workers" : "none, whatever the times"}};
  std::string text = text_table(rows, LastColumn::kLeft);
  if (!critical_path) return text;
  std::vector<std::vector<std::string>> steps = {{"start", "end", "head", "KV tile", "Q tile", "phase"}};
  for_each_step(answer, [&](const SchedulePhase& phase, const CriticalStep& step, double offset) {
    const ScheduledChain& chain = phase.schedule.chains[static_cast<std::size_t>(step.chain)];
    steps.push_back({short_number(offset + step.start), short_number(offset + step.end),
                     std::to_string(chain.head), std::to_string(chain.kv_tile),
                     step.phase == TaskPhase::kReduceKv
                         ? "-"
                         : std::to_string(chain.q_order[static_cast<std::size_t>(step.task)]),
                     phase_name(step.phase)});
  });
  return text + "\ncritical path\n" + text_table(steps);
}

std::string comparison_text(const std::vector<ScheduleAnswer>& answers, const BackwardProblem& problem) {
  std::optional<double> fastest;
  for (const ScheduleAnswer& answer : answers) {
    if (answer.ordered && !answer.deadlock && !answer.not_applicable)
      fastest = fastest ? std::min(*fastest, answer.run.makespan) : answer.run.makespan;
  }
  std::vector<std::vector<std::string>> rows = {
      {"algorithm", "dispatch", "makespan", "of fastest", "lower bound", "gap", "busy", "closed form"}};
  std::string remarks;
  for (const ScheduleAnswer& answer : answers) {
    if (answer.not_applicable || answer.deadlock) {
      rows.push_back({answer.name, "-", "-", "-", "-", "-", "-", "-"});
      remarks +=
          fmt::format("{}: {}\n", answer.name, answer.deadlock ? *answer.deadlock : *answer.not_applicable);
      continue;
    }
    const PlanRun& run = answer.run;
    rows.push_back({answer.name + (answer.ordered ? "" : " *"), dispatch_name(answer),
                    short_number(run.makespan),
                    fastest && *fastest > 0 ? fmt::format("{:.3f}", run.makespan / *fastest) : "-",
                    short_number(run.lower_bound), percent(run.optimality_gap),
                    run.utilization ? percent(*run.utilization) : "-",
                    answer.closed_form ? short_number(*answer.closed_form) : "-"});
  }
  return fmt::format("{} Q x {} KV tiles, {} heads, {} workers\n", problem.mask.q_tiles,
                     problem.mask.kv_tiles, problem.heads, problem.workers) +
         text_table(rows) + "* no prescribed dQ order in one pass; its bound is that of its own work\n" +
         remarks;
}

}  // namespace natten_sim::cli
