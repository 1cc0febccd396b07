#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/recorded_run.hpp>

namespace natten_sim::study {
namespace {

constexpr double kNsOfUs = 1000;

using TaskName = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // head, Q tile, KV tile

[[noreturn]] void refuse_recorded(const TaskName& name, const char* problem) {
  throw InvalidParameter("recorded-run",
                         std::string(problem) + " head " + std::to_string(std::get<0>(name)) + ", Q tile " +
                             std::to_string(std::get<1>(name)) + ", KV tile " +
                             std::to_string(std::get<2>(name)),
                         "every task of the schedule once");
}

/// When each task's compute started: at the end of its worker's one before.
std::vector<double> starts_of(std::span<const RecordedTask> tasks) {
  std::map<std::int32_t, std::vector<std::size_t>> of_worker;
  for (std::size_t i = 0; i < tasks.size(); ++i) of_worker[tasks[i].worker].push_back(i);
  std::vector<double> starts(tasks.size());
  for (auto& [worker, list] : of_worker) {
    std::stable_sort(list.begin(), list.end(),
                     [&](std::size_t a, std::size_t b) { return tasks[a].ready_ns < tasks[b].ready_ns; });
    for (std::size_t i = 1; i < list.size(); ++i) starts[list[i]] = tasks[list[i - 1]].ready_ns;
    const double first = tasks[list[0]].ready_ns;
    starts[list[0]] = list.size() > 1 ? 2 * first - tasks[list[1]].ready_ns : first;
  }
  return starts;
}

}  // namespace

FinishedSchedule as_recorded(const FinishedSchedule& simulated, std::span<const RecordedTask> tasks) {
  if (simulated.plan.phases.size() != 1)
    throw InvalidParameter("recorded-run", "a schedule of several passes", "one of a single pass");
  std::map<TaskName, std::size_t> known;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskName name{tasks[i].head, tasks[i].q_tile, tasks[i].kv_tile};
    if (!known.emplace(name, i).second) refuse_recorded(name, "a second time");
  }
  const std::vector<double> starts = starts_of(tasks);
  const double zero = tasks.empty() ? 0 : *std::min_element(starts.begin(), starts.end());
  const auto time = [&](double ns) { return (ns - zero) / kNsOfUs; };
  FinishedSchedule made = simulated;
  made.closed_form.reset();
  made.dags.clear();
  const SchedulePhase& phase = made.plan.phases.front();
  ScheduleRun run;
  run.worker.assign(phase.schedule.chains.size(), 0);
  for (std::size_t chain = 0; chain < phase.schedule.chains.size(); ++chain) {
    const ScheduledChain& own = phase.schedule.chains[chain];
    for (std::size_t i = 0; i < own.q_order.size(); ++i) {
      const TaskName name{own.head, own.q_order[i], own.kv_tile};
      const auto found = known.find(name);
      if (found == known.end()) refuse_recorded(name, "without");
      const RecordedTask& task = tasks[found->second];
      if (task.worker >= phase.problem.workers || (i > 0 && task.worker != run.worker[chain]))
        refuse_recorded(name, "another worker for");
      run.worker[chain] = task.worker;
      run.tasks.push_back(
          {time(starts[found->second]), time(task.ready_ns), time(task.turn_ns), time(task.end_ns)});
      run.makespan = std::max(run.makespan, run.tasks.back().reduce_end);
    }
  }
  if (run.tasks.size() != tasks.size()) {
    throw InvalidParameter("recorded-run", std::to_string(tasks.size()) + " tasks",
                           std::to_string(run.tasks.size()) + ", as the schedule has");
  }
  made.run.makespan = run.makespan;
  made.run.runs = {std::move(run)};
  return made;
}

}  // namespace natten_sim::study
