#include <algorithm>
#include <string>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/schedule_plan.hpp>
#include <natten_sim/search/schedules/schedule_tasks.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kMaxTasks = std::int64_t{1} << 27;
constexpr double kMaxTimeLimit = 86400;

/// What grows with the heads, and what does not.
struct ScheduleMemory {
  std::int64_t a_head = 0, of_mask = 0;
};

ScheduleMemory memory_of(const BlockMask& mask) {
  constexpr std::int64_t kChain = 96, kDqTile = 72, kTask = 14, kTaskOfMask = 16;
  const std::int64_t tasks = mask.attended().count;
  return {.a_head = kChain * mask.kv_tiles + kDqTile * mask.q_tiles + kTask * tasks, .of_mask = kTaskOfMask * tasks};
}

void require_room(const BackwardProblem& problem) {
  const ScheduleMemory memory = memory_of(problem.mask);
  const std::int64_t most = (kMaxScheduleBytes - memory.of_mask) / memory.a_head;
  if (problem.heads <= most) return;
  throw InvalidParameter("heads", std::to_string(problem.heads) + " with the batch",
                         "at most " + std::to_string(most) + ": a head of these tiles takes " +
                             std::to_string(memory.a_head) + " bytes, and a schedule takes 4 GiB at most",
                         std::to_string(most));
}

}  // namespace

std::int64_t schedule_bytes(const BackwardProblem& problem) {
  const ScheduleMemory memory = memory_of(problem.mask);
  return memory.a_head * problem.heads + memory.of_mask;
}

void require_schedulable(std::int64_t heads, std::int64_t tasks_of_a_head) {
  if (tasks_of_a_head <= kMaxTasks / heads) return;
  throw InvalidParameter("tasks", std::to_string(heads) + " heads of " + std::to_string(tasks_of_a_head),
                         "at most " + std::to_string(kMaxTasks) + " tasks: fewer heads, or larger tiles");
}

void require_valid(const ScheduleRequest& request) {
  require_valid(request.problem);
  const std::int64_t a_head = request.problem.mask.attended().count;
  // Chains count too: those without tasks are still launched.
  require_schedulable(request.problem.heads, std::max<std::int64_t>(a_head, request.problem.mask.kv_tiles));
  require_room(request.problem);
  if (request.launch && request.launch->heads_per_section < 1) {
    throw InvalidParameter("launch_order", std::to_string(request.launch->heads_per_section),
                           "sections of 1 head or more");
  }
  if (request.heads_in_flight && *request.heads_in_flight < 1)
    throw InvalidParameter("heads_in_flight", std::to_string(*request.heads_in_flight), "1 or more");
  if (request.time_limit_s && !(*request.time_limit_s >= 0 && *request.time_limit_s <= kMaxTimeLimit))
    throw InvalidParameter("time_limit", std::to_string(*request.time_limit_s), "0 to 86400 seconds");
  if (request.effort && *request.effort < 0)
    throw InvalidParameter("effort", std::to_string(*request.effort), "0 or more");
}

SchedulePlan one_phase(const ScheduleRequest& request, BackwardSchedule schedule) {
  SchedulePlan plan;
  plan.dispatch = schedule.dispatch;
  plan.memory.dq_counters = !schedule.dq_order.empty();
  plan.memory.dkv_counters = schedule.dkv_order == DkvOrder::kByHead;
  plan.phases.push_back({"", request.problem, request.costs, std::move(schedule)});
  return plan;
}

std::variant<PlanRun, Deadlock> attempt_run(const SchedulePlan& plan, RecordTimes record) {
  PlanRun result;
  double capacity = 0, busy = 0;
  for (const SchedulePhase& phase : plan.phases) {
    std::variant<ScheduleRun, Deadlock> outcome =
        attempt_schedule(phase.problem, phase.costs, phase.schedule, record);
    if (auto* deadlock = std::get_if<Deadlock>(&outcome)) return std::move(*deadlock);
    ScheduleRun& run = std::get<ScheduleRun>(outcome);
    const ReductionOrder order = !phase.schedule.dq_order.empty() ? ReductionOrder::kPrescribed
                                 : phase.schedule.dkv_order == DkvOrder::kByHead
                                     ? ReductionOrder::kUnorderedDq
                                     : ReductionOrder::kUnordered;
    const ScheduleBounds bounds = schedule_bounds(phase.problem, phase.costs, order);
    result.makespan += run.makespan;
    result.total_work += run.total_work;
    result.bubble.startup += run.bubble.startup;
    result.bubble.wait_for_turn += run.bubble.wait_for_turn;
    result.bubble.tail += run.bubble.tail;
    result.lower_bound += bounds.best();
    if (plan.phases.size() == 1) result.binding = bounds.binding();
    result.heads_in_flight = std::max(result.heads_in_flight, heads_in_flight(phase.schedule, run));
    capacity += run.makespan * phase.problem.workers;
    busy += phase.costs.writer_stages == 0 ? run.total_work : run.compute_work;
    result.runs.push_back(std::move(run));
  }
  if (plan.exhausted_at && *plan.exhausted_at > result.lower_bound) {
    result.lower_bound = *plan.exhausted_at;
    result.binding.reset();
  }
  // Fractional costs: the bound and the run round differently.
  if (result.lower_bound > result.makespan && result.lower_bound <= result.makespan * (1 + 1e-9))
    result.lower_bound = result.makespan;
  if (capacity > 0) result.utilization = busy / capacity;
  result.optimality_gap = result.lower_bound > 0 ? result.makespan / result.lower_bound - 1 : 0.0;
  return result;
}

PlanRun run_plan(const SchedulePlan& plan, RecordTimes record) {
  std::variant<PlanRun, Deadlock> outcome = attempt_run(plan, record);
  if (const auto* deadlock = std::get_if<Deadlock>(&outcome)) throw DeadlockError(deadlock->waits);
  return std::move(std::get<PlanRun>(outcome));
}

}  // namespace natten_sim
