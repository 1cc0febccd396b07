#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/launch_monotone.hpp>
#include <natten_sim/models/schedule_closed_form.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "schedule_picture.hpp"
#include "schedule_report.hpp"
#include "schedule_request.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::size_t kMostDagTasks = std::size_t{1} << 22;  // about 1.1 KB a task

struct Wanted {
  bool critical_path = false;
  bool times = false;
};

void solve_dags(ScheduleAnswer& answer) {
  for (std::size_t i = 0; i < answer.plan.phases.size(); ++i) {
    const SchedulePhase& phase = answer.plan.phases[i];
    std::size_t tasks = 0;
    for (const ScheduledChain& chain : phase.schedule.chains) tasks += chain.q_order.size();
    if (tasks > kMostDagTasks) {
      throw InvalidParameter("critical-path", std::to_string(tasks) + " tasks",
                             "at most " + std::to_string(kMostDagTasks));
    }
    answer.dags.push_back(
        solve_schedule_dag(phase.problem, phase.costs, phase.schedule, answer.run.runs[i].worker));
  }
}

/// A run that finishes does so at any times; on any number of workers, if launched in the order of its waits.
bool finishes_on_any_workers(const SchedulePlan& plan) {
  return plan.dispatch == Dispatch::kDynamic &&
         std::all_of(plan.phases.begin(), plan.phases.end(), [](const SchedulePhase& phase) {
           return !find_launch_violation(phase.problem, phase.schedule);
         });
}

/// From parts back to the unit of the given costs.
void divide_times(ScheduleAnswer& answer, double parts) {
  PlanRun& run = answer.run;
  for (double* time : {&run.makespan, &run.total_work, &run.lower_bound, &run.bubble.startup,
                       &run.bubble.wait_for_turn, &run.bubble.tail})
    *time /= parts;
  if (answer.closed_form) *answer.closed_form /= parts;
  const auto divide_tasks = [&](std::vector<TaskTimes>& tasks) {
    for (TaskTimes& task : tasks) {
      for (double* time : {&task.compute_start, &task.compute_end, &task.reduce_start, &task.reduce_end})
        *time /= parts;
    }
  };
  for (ScheduleRun& phase : run.runs) {
    phase.makespan /= parts;
    divide_tasks(phase.tasks);
  }
  for (DagSolution& dag : answer.dags) {
    dag.makespan /= parts;
    for (CriticalStep& step : dag.critical_path) {
      step.start /= parts;
      step.end /= parts;
    }
  }
}

ScheduleAnswer answer_table(const ScheduleQuestion& question, const Wanted& wanted) {
  ScheduleAnswer answer;
  answer.name = "table";
  answer.ordered = !question.table->schedule.dq_order.empty();
  const WholeCosts whole = whole_costs(question.request.problem, question.request.costs);
  answer.plan.phases.push_back({"", question.request.problem, whole.costs, question.table->schedule});
  answer.plan.dispatch = question.table->schedule.dispatch;
  answer.run = run_plan(answer.plan, wanted.times ? RecordTimes::kYes : RecordTimes::kNo);
  answer.hang_free = finishes_on_any_workers(answer.plan);
  if (wanted.critical_path) solve_dags(answer);
  divide_times(answer, whole.parts);
  return answer;
}

ScheduleAnswer answer_algorithm(BackwardAlgorithm algorithm, const ScheduleRequest& given,
                                const Wanted& wanted) {
  ScheduleRequest request = given;
  const WholeCosts whole = whole_costs(given.problem, given.costs);
  request.costs = whole.costs;
  ScheduleAnswer answer;
  answer.name = to_string(algorithm);
  answer.ordered = is_ordered(algorithm);
  answer.plan = plan_backward(algorithm, request);
  answer.run = run_plan(answer.plan, wanted.times ? RecordTimes::kYes : RecordTimes::kNo);
  if (!request.launch || request.launch->heads_per_section == 1) {
    answer.closed_form =
        schedule_closed_form(algorithm, request.problem, request.costs, answer.plan.dispatch);
  }
  answer.hang_free = finishes_on_any_workers(answer.plan);
  if (wanted.critical_path) solve_dags(answer);
  divide_times(answer, whole.parts);
  return answer;
}

/// Every algorithm; those that cannot schedule this problem or never finish say so in their row.
std::vector<ScheduleAnswer> answer_all(const ScheduleQuestion& question, const ScheduleRequest& request) {
  std::vector<ScheduleAnswer> answers;
  for (const BackwardAlgorithm algorithm : question.algorithms) {
    try {
      answers.push_back(answer_algorithm(algorithm, request, {}));
      answers.back().plan.phases.front().schedule.dq_order.clear();  // the numbers are all that the table
                                                                     // shows
      answers.back().run.runs.clear();
      continue;
    } catch (const DeadlockError& error) {
      answers.emplace_back();
      answers.back().deadlock = error.what();
    } catch (const InvalidParameter& error) {
      if (error.parameter() != "algorithm") throw;
      answers.emplace_back();
      answers.back().not_applicable = error.what();
    }
    answers.back().name = to_string(algorithm);
    answers.back().ordered = is_ordered(algorithm);
  }
  return answers;
}

void refuse_with_all(const Arguments& arguments) {
  for (const char* name : {"emit-table", "critical-path", "ascii", "svg", "perfetto"}) {
    if (arguments.has(name)) {
      throw InvalidParameter(std::string("--") + name, "given with --algorithm all",
                             "one algorithm, as --algorithm best");
    }
  }
}

/// The one file that each of these options writes must be its own.
void refuse_shared_files(const Arguments& arguments) {
  const std::vector<std::string> names = {"output", "svg", "perfetto", "emit-table"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      if (arguments.has(names[i]) && arguments.has(names[j]) &&
          arguments.text(names[i]) == arguments.text(names[j]))
        throw InvalidParameter(names[j], arguments.text(names[j]), "another file than --" + names[i]);
    }
  }
}

std::string table_text(const ScheduleAnswer& answer) {
  if (answer.plan.phases.size() > 1) {
    throw InvalidParameter("emit-table", answer.name,
                           "an algorithm of one pass: two passes have no dQ order that a kernel would need");
  }
  const SchedulePhase& phase = answer.plan.phases.front();
  return to_json(ScheduleTable{phase.problem, phase.schedule});
}

/// The answer, and beside it each text whose option was given. Nothing is put in place before every file
/// could be opened: one that is refused leaves none.
void write_all(const Arguments& arguments, const std::string& answer,
               const std::vector<std::pair<const char*, std::string>>& texts) {
  OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
  std::vector<std::unique_ptr<OutputSink>> files;
  for (const auto& [option, text] : texts) {
    if (!arguments.has(option)) continue;
    files.push_back(std::make_unique<OutputSink>(arguments.text(option), OutputSink::Mode::kStreamed));
    files.back()->write(text);
  }
  for (const std::unique_ptr<OutputSink>& file : files) file->commit();
  sink.write(answer);
  sink.commit();
}

std::string title_of(const ScheduleAnswer& answer, const BackwardProblem& problem) {
  return fmt::format("{}: {} Q x {} KV tiles, {} heads, {} workers: makespan {}", answer.name,
                     problem.mask.q_tiles, problem.mask.kv_tiles, problem.heads, problem.workers,
                     short_number(answer.run.makespan));
}

std::string render_one(const Arguments& arguments, const ScheduleQuestion& question,
                       const ScheduleAnswer& answer) {
  const bool critical = arguments.has("critical-path");
  if (arguments.has("ascii")) return ascii_gantt(answer);
  const Json fields = schedule_fields(answer, critical);
  if (arguments.has("json")) return envelope("schedule", question.input, fields);
  if (arguments.has("csv")) {
    Json row = flattened(fields);
    row.erase("critical_path");
    return csv_table(row, {row});
  }
  return schedule_text(answer, question.request.problem, critical);
}

std::string render_all(const Arguments& arguments, const ScheduleQuestion& question,
                       const std::vector<ScheduleAnswer>& answers) {
  std::vector<Json> rows;
  for (const ScheduleAnswer& answer : answers) rows.push_back(schedule_fields(answer, false));
  if (arguments.has("json")) return envelope("schedule", question.input, {{"algorithms", rows}});
  if (arguments.has("csv")) {
    for (Json& row : rows) row = flattened(row);
    return csv_table(rows.front(), rows);
  }
  return comparison_text(answers, question.request.problem);
}

int run_schedule_command(const Arguments& arguments) {
  ScheduleQuestion question = read_schedule_question(arguments);
  refuse_shared_files(arguments);
  const Notes notes(arguments);
  ProgressBar bar("searching", notes.quiet());
  ScheduleRequest request = question.request;
  request.progress = bar.callback();
  const auto say_defaults = [&] {  // only once there is an answer
    if (question.workers_defaulted)
      notes.note(fmt::format("no workers given: {}, one a KV tile", request.problem.workers));
  };
  if (question.algorithms.size() > 1) {
    refuse_with_all(arguments);
    const std::vector<ScheduleAnswer> answers = answer_all(question, request);
    bar.clear();
    OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
    sink.write(render_all(arguments, question, answers));
    say_defaults();
    sink.commit();
    return kExitDone;
  }
  Wanted wanted;
  wanted.critical_path = arguments.has("critical-path") || arguments.has("svg");
  wanted.times = arguments.has("svg") || arguments.has("ascii") || arguments.has("perfetto");
  const ScheduleAnswer answer = question.table
                                    ? answer_table(question, wanted)
                                    : answer_algorithm(question.algorithms.front(), request, wanted);
  bar.clear();
  const std::string text = render_one(arguments, question, answer);
  const std::string svg =
      arguments.has("svg") ? svg_gantt(answer, title_of(answer, question.request.problem)) : "";
  const std::string table = arguments.has("emit-table") ? table_text(answer) : "";
  const std::string trace = arguments.has("perfetto") ? perfetto_trace(answer) : "";
  write_all(arguments, text, {{"svg", svg}, {"perfetto", trace}, {"emit-table", table}});
  say_defaults();
  return kExitDone;
}

}  // namespace

Command schedule_command() {
  Command command;
  command.name = "schedule";
  command.summary = "Simulate and search deterministic attention-backward schedules";
  command.options = schedule_request_options();
  const std::vector<OptionSpec> own = {
      {"--table", "FILE",
       "Check and run the schedule of FILE (- for standard input) instead of an algorithm's", 1, ""},
      {"--emit-table", "FILE", "Write the schedule for a kernel to load", 1, ""},
      {"--critical-path", "", "Add the critical path", 1, ""},
      {"--ascii", "", "Draw a Gantt chart in the terminal", 1, ""},
      {"--svg", "FILE", "Draw a Gantt chart: heads coloured, the critical path outlined", 1, ""},
      {"--perfetto", "FILE", "Write a trace for ui.perfetto.dev, one track a worker", 1, ""},
  };
  command.options.insert(command.options.end(), own.begin(), own.end());
  for (const OptionSpec& option : output_options()) command.options.push_back(option);
  command.footer =
      "Algorithms: ascending (FlashAttention-3 until September 2025), descending and shift, symmetric-shift "
      "(DASH),\n"
      "spt (FlashAttention-3 since, causal), fa2-split (FlashAttention-2), two-pass, unordered (atomics), "
      "best (search).\n"
      "Masks: causal and window align the ends of both sequences (bottom-right).\n"
      "Examples:\n"
      "  natten-sim schedule --q-tiles 8 --kv-tiles 8 --heads 2 --mask causal --compute 7 --reduce 2\n"
      "  natten-sim schedule -i 8192 --q-tile 64 --heads 16 -b 2 --device h200 --mask causal --algorithm spt "
      "--json\n"
      "  natten-sim schedule --q-tiles 7 --kv-tiles 7 --mask window:2,0 --algorithm best --emit-table "
      "order.json --ascii\n"
      "  natten-sim schedule --table order.json --compute 7 --reduce 2 --handoff 1\n"
      "Exit codes: 0 done, 1 internal error, 2 bad input, or a schedule that deadlocks.";
  command.run = run_schedule_command;
  return command;
}

}  // namespace natten_sim::cli
