#include <algorithm>
#include <set>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/study/schedule.hpp>

#include "cli/context.hpp"
#include "cli/reply.hpp"
#include "commands/rows/schedule_rows.hpp"

namespace natten_sim::cli {
namespace {

using study::FinishedSchedule;

constexpr std::size_t kMostTasks = 20'000;

struct GanttFlags {
  ScheduleFlags schedule;
  std::optional<std::string> table_text;
};

Options<GanttFlags> gantt_rows() {
  Options<GanttFlags> rows;
  rows.include(schedule_rows(), &GanttFlags::schedule);
  rows.add("--table-text", &GanttFlags::table_text,
           {.value = "JSON", .help = "A schedule table itself, as --table names its file"});
  return rows;
}

/// [chain, task, reduces, start, end, critical] of every step, chains in launch order.
Json steps_of(const FinishedSchedule& finished, std::size_t pass) {
  const ScheduleRun& run = finished.run.runs[pass];
  std::set<std::tuple<std::int32_t, std::int32_t, TaskPhase>> critical;
  if (pass < finished.dags.size()) {
    for (const CriticalStep& step : finished.dags[pass].critical_path)
      critical.emplace(step.chain, step.task, step.phase);
  }
  Json steps = Json::array();
  std::size_t index = 0;
  const auto& chains = finished.plan.phases[pass].schedule.chains;
  for (std::size_t chain = 0; chain < chains.size(); ++chain) {
    for (std::size_t task = 0; task < chains[chain].q_order.size(); ++task, ++index) {
      const TaskTimes& times = run.tasks[index];
      for (const bool reduces : {false, true}) {
        const auto key = std::tuple(static_cast<std::int32_t>(chain), static_cast<std::int32_t>(task),
                                    reduces ? TaskPhase::kReduce : TaskPhase::kCompute);
        Json step = Json::array();
        step.push_back(chain);
        step.push_back(chains[chain].q_order[task]);
        step.push_back(reduces ? 1 : 0);
        step.push_back(reduces ? times.reduce_start : times.compute_start);
        step.push_back(reduces ? times.reduce_end : times.compute_end);
        step.push_back(critical.contains(key) ? 1 : 0);
        steps.push_back(step);
      }
    }
  }
  return steps;
}

/// Per pass: its chains with the worker of each, and their steps.
Json passes_of(const FinishedSchedule& finished) {
  Json passes = Json::array();
  double offset = 0;
  for (std::size_t pass = 0; pass < finished.plan.phases.size(); ++pass) {
    const SchedulePhase& phase = finished.plan.phases[pass];
    Json chains = Json::array();
    for (std::size_t i = 0; i < phase.schedule.chains.size(); ++i) {
      const ScheduledChain& chain = phase.schedule.chains[i];
      chains.push_back({{"head", chain.head}, {"kv_tile", chain.kv_tile}, {"worker", finished.run.runs[pass].worker[i]}});
    }
    passes.push_back({{"offset", offset}, {"workers", phase.problem.workers}, {"chains", chains}, {"steps", steps_of(finished, pass)}});
    offset += finished.run.runs[pass].makespan;
  }
  return passes;
}

study::ScheduleDetail everything() { return {.plan = true, .times = true, .critical_path = true}; }

study::ScheduleAnswer answered(const GanttFlags& flags, const study::Context& context) {
  if (flags.table_text) {
    study::TableQuestion question = study::table_question_of(
        flags.schedule.parts, parse_schedule_table(*flags.table_text, "the schedule"));
    question.detail = everything();
    return study::schedule(question, context);
  }
  study::ScheduleQuestion question = schedule_question(flags.schedule);
  if (question.algorithms.size() != 1)
    throw InvalidParameter("algorithm", "all", "one algorithm, whose steps are listed");
  question.detail = everything();
  return study::schedule(question, context);
}

int run_gantt(const GanttFlags& flags, Reply& reply) {
  const study::ScheduleAnswer answer = answered(flags, make_context({}));
  Json result = report::schedule_result(answer, report::CriticalPath::kHidden);
  const study::ScheduleResult& only = answer.results.front();
  result["passes"] = Json::array();
  result["table"] = nullptr;
  if (const auto* finished = std::get_if<FinishedSchedule>(&only.outcome)) {
    std::size_t tasks = 0;
    for (const ScheduleRun& run : finished->run.runs) tasks += run.tasks.size();
    if (tasks > kMostTasks)
      throw InvalidParameter("q-tiles", std::to_string(tasks) + " tasks", "at most " + std::to_string(kMostTasks));
    result["passes"] = passes_of(*finished);
    if (finished->plan.phases.size() == 1) result["table"] = to_json(study::table_of(only.name, *finished));
  }
  put_answer(flags.schedule.output, reply, JsonAnswer("gantt", Json::object(), std::move(result)));
  return kExitDone;
}

}  // namespace

Command gantt_lesson();
Command gantt_lesson() {
  Command command{.name = "gantt", .summary = "A backward schedule step by step"};
  bind(command, gantt_rows(), run_gantt);
  return command;
}

}  // namespace natten_sim::cli
