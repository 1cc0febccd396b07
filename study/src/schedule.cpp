#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/schedule_costs.hpp>
#include <natten_sim/models/schedules/launch_monotone.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/search/schedules/schedule_tasks.hpp>
#include <natten_sim/search/schedules/schedule_work.hpp>
#include <natten_sim/study/estimate.hpp>
#include <natten_sim/study/schedule.hpp>

#include "schedules/cost_map.hpp"
#include "schedules/schedule_problem.hpp"
#include "schedules/whole_costs.hpp"
#include "schedules/workspace.hpp"

namespace natten_sim::study {
namespace {

constexpr std::size_t kMaxDagTasks = std::size_t{1} << 22;  // about 1.1 KB a task
constexpr std::int32_t kMaxCtasPerSm = 32;

std::int32_t workers_of(const WorkersOfDevice& workers, const Catalog& catalog) {
  const Device& device = catalog.device(workers.device);
  if (!device.sms)
    throw InvalidParameter("device", device.name,
                           "a device whose profile has 'sms'; " + mention("workers") + " says it directly");
  if (workers.ctas_per_sm < 1 || workers.ctas_per_sm > kMaxCtasPerSm)
    throw InvalidParameter("ctas-per-sm", std::to_string(workers.ctas_per_sm), "integers in 1..32");
  return device.sms->value * workers.ctas_per_sm;
}

std::int32_t count_workers(const ScheduleWorkers& workers, const Catalog& catalog, std::int32_t otherwise) {
  if (const auto* count = std::get_if<std::int32_t>(&workers)) return *count;
  if (const auto* device = std::get_if<WorkersOfDevice>(&workers)) return workers_of(*device, catalog);
  return otherwise;
}

BackwardCosts resolve_costs(const ScheduleCosts& given, bool grouped_heads) {
  BackwardCosts costs;
  costs.compute = given.compute;
  costs.compute_partial = given.compute_partial.value_or(given.compute);
  costs.reduce = given.reduce;
  costs.reduce_kv = grouped_heads ? given.reduce_kv.value_or(given.reduce) : 0.0;
  costs.per_tile_tax = given.per_tile_tax;
  costs.prologue = given.prologue;
  costs.epilogue = given.epilogue;
  costs.handoff = given.handoff;
  costs.handoff_far = given.handoff_far;
  costs.writer_stages = given.writer_stages;
  costs.early_exit = given.early_exit;
  costs.release = given.release;
  costs.dkv_turns = given.dkv_turns;
  return costs;
}

/// Costs of a set of the catalog, for tiles and masks such as these.
BackwardCosts costs_of_set(const ScheduleQuestion& question, const std::optional<SequenceTiling>& tokens,
                           bool grouped_heads, const Catalog& catalog) {
  const ScheduleCostSet& set = catalog.schedule_cost_set(*question.named_costs);
  const MaskClass kind = std::holds_alternative<FullMask>(question.mask.rule)     ? MaskClass::kFull
                         : std::holds_alternative<CausalMask>(question.mask.rule) ? MaskClass::kCausal
                                                                                  : MaskClass::kWindow;
  const TaskCosts* tasks = set.tasks_of(kind);
  if (tasks == nullptr) {
    throw InvalidParameter("costs", set.name,
                           std::string("costs that have ") + to_string(kind) + " masks; these do not");
  }
  if (tokens && (tokens->q_tile != tasks->q_tile || tokens->kv_tile != tasks->kv_tile)) {
    throw InvalidParameter("q-tile", std::to_string(tokens->q_tile) + "x" + std::to_string(tokens->kv_tile),
                           std::to_string(tasks->q_tile) + "x" + std::to_string(tasks->kv_tile) +
                               " (Q x KV): the tiles that the costs " + set.name + " are of");
  }
  BackwardCosts costs = backward_costs(set, *tasks);
  if (!grouped_heads) costs.reduce_kv = 0;
  costs.early_exit = question.costs.early_exit;  // not measured
  costs.release = question.costs.release;
  costs.dkv_turns = question.costs.dkv_turns;
  return costs;
}

/// Chains of KV heads: the Q tiles of a group's heads one after the other.
void merge_heads(BackwardProblem& problem) {
  problem.merged_heads = problem.heads_per_kv_head;
  problem.heads /= problem.merged_heads;
  problem.heads_per_kv_head = 1;
  problem.mask = stacked_q_tiles(problem.mask, problem.merged_heads);
}

/// Everything of a question but its schedules.
ScheduleAnswer describe_problem(const ScheduleQuestion& question, const Catalog& catalog) {
  ScheduleAnswer answer;
  answer.heads = question.heads;
  answer.heads_kv = question.heads_kv.value_or(question.heads);
  answer.batch = question.batch;
  if (answer.heads_kv < 1 || answer.heads % answer.heads_kv != 0) {
    throw InvalidParameter("heads-kv", std::to_string(answer.heads_kv),
                           "a divisor of the heads, " + std::to_string(answer.heads));
  }
  const std::int64_t all = std::int64_t{answer.heads} * answer.batch;
  if (all > std::numeric_limits<std::int32_t>::max())
    throw InvalidParameter("heads", std::to_string(all) + " with the batch", "heads times batch below 2^31");
  const auto told = told_tiles(question.sizes, question.mask, question.ctas_per_chain);
  if (told && all >= 1) require_schedulable(all, *told);
  MaskedTiles tiles = masked_tiles(question.sizes, question.mask, question.ctas_per_chain, catalog);
  answer.tokens = tiles.tokens;
  answer.tiles = tiles.given;
  BackwardProblem& problem = answer.problem;
  problem.mask = std::move(tiles.mask);
  problem.heads = static_cast<std::int32_t>(all);
  problem.heads_per_kv_head = answer.heads / answer.heads_kv;
  answer.ctas = count_workers(question.workers, catalog, question.ctas_per_chain * problem.mask.kv_tiles);
  if (answer.ctas < question.ctas_per_chain)
    throw InvalidParameter("workers", std::to_string(answer.ctas), "2 or more, for pairs of CTAs");
  problem.workers = answer.ctas / question.ctas_per_chain;
  if (question.gqa_chains == GqaChains::kKvHeads) merge_heads(problem);
  const bool grouped = problem.heads_per_kv_head > 1;
  answer.costs = question.named_costs ? costs_of_set(question, answer.tokens, grouped, catalog)
                                      : resolve_costs(question.costs, grouped);
  return answer;
}

/// Heads at work at a time, as asked for or as the device's L2 holds them.
std::optional<std::int32_t> heads_limit(const ScheduleQuestion& question, const ScheduleAnswer& answer,
                                        const Catalog& catalog) {
  if (question.heads_in_flight) return question.heads_in_flight;
  const auto* workers = std::get_if<WorkersOfDevice>(&question.workers);
  if (workers == nullptr || !answer.tokens) return std::nullopt;
  const Device& device = catalog.device(workers->device);
  if (!device.l2.bytes) return std::nullopt;
  constexpr std::int64_t kMostHeadDim = 65536;
  if (question.head_dim < 1 || question.head_dim > kMostHeadDim)
    throw InvalidParameter("dim", std::to_string(question.head_dim), "1 to 65536");
  BackwardCall call;
  call.q_tokens = answer.tokens->q_tokens * answer.problem.merged_heads;
  call.head_dim = question.head_dim;
  call.element_bytes = element_bytes(question.dtype);
  return schedules::heads_within(device.l2.bytes->value, call, answer.problem.workers,
                                 answer.problem.mask.kv_tiles);
}

bool finishes_on_any_workers(const SchedulePlan& plan) {
  return plan.dispatch == Dispatch::kDynamic &&
         std::all_of(plan.phases.begin(), plan.phases.end(), [](const SchedulePhase& phase) {
           return !find_launch_violation(phase.problem, phase.schedule);
         });
}

std::vector<DagSolution> solve_dags(const FinishedSchedule& finished) {
  std::vector<DagSolution> dags;
  for (std::size_t i = 0; i < finished.plan.phases.size(); ++i) {
    const SchedulePhase& phase = finished.plan.phases[i];
    std::size_t tasks = 0;
    for (const ScheduledChain& chain : phase.schedule.chains) tasks += chain.q_order.size();
    if (tasks > kMaxDagTasks) {
      throw InvalidParameter("critical-path", std::to_string(tasks) + " tasks",
                             "at most " + std::to_string(kMaxDagTasks));
    }
    dags.push_back(
        solve_schedule_dag(phase.problem, phase.costs, phase.schedule, finished.run.runs[i].worker));
  }
  return dags;
}

/// Runs a plan whose costs are in parts, and keeps what was asked for.
std::variant<FinishedSchedule, Deadlock> finish_plan(SchedulePlan plan, double parts,
                                                     const std::optional<double>& form,
                                                     const ScheduleDetail& detail) {
  std::variant<PlanRun, Deadlock> run =
      attempt_run(plan, detail.times ? RecordTimes::kYes : RecordTimes::kNo);
  if (auto* deadlock = std::get_if<Deadlock>(&run)) return std::move(*deadlock);
  FinishedSchedule finished;
  finished.plan = std::move(plan);
  finished.run = std::move(std::get<PlanRun>(run));
  finished.closed_form = form;
  finished.finishes_on_any_workers = finishes_on_any_workers(finished.plan);
  if (detail.critical_path) finished.dags = solve_dags(finished);
  if (!detail.plan) {
    for (SchedulePhase& phase : finished.plan.phases) phase.schedule = {};
    finished.run.runs.clear();
  }
  divide_times(finished, parts);
  return finished;
}

ScheduleResult run_algorithm(const ScheduleAlgorithm& algorithm, const ScheduleRequest& request, double parts,
                             const ScheduleDetail& detail) {
  ScheduleResult result{algorithm.name, algorithm.ordered, algorithm.repeatable, {}};
  PlanOutcome planned = attempt_plan(algorithm, request);
  if (auto* reason = std::get_if<NotApplicable>(&planned)) {
    result.outcome = std::move(*reason);
  } else if (auto* deadlock = std::get_if<Deadlock>(&planned)) {
    result.outcome = std::move(*deadlock);
  } else {
    SchedulePlan& plan = std::get<SchedulePlan>(planned);
    const std::optional<double> form = closed_form(algorithm, request, plan.dispatch);
    std::visit([&](auto outcome) { result.outcome = std::move(outcome); },
               finish_plan(std::move(plan), parts, form, detail));
  }
  return result;
}

std::int64_t count_tasks(const BackwardProblem& problem) {
  return problem.heads * problem.mask.attended().count;
}

/// The progress of one step after another, as that of all of them.
class StepProgress {
 public:
  StepProgress(const std::function<void(double)>& whole, std::size_t steps)
      : whole_(whole), steps_(static_cast<double>(steps)) {}
  /// For the step behind `done` others, which it says are done.
  [[nodiscard]] std::function<void(double)> of(std::size_t done) const {
    if (!whole_) return {};
    const double before = static_cast<double>(done);
    whole_(before / steps_);
    return [*this, before](double share) { whole_((before + share) / steps_); };
  }

 private:
  std::function<void(double)> whole_;
  double steps_;
};

/// The named algorithms, or all, less the searches that nobody asked for and that take long here.
std::vector<const ScheduleAlgorithm*> chosen_algorithms(const ScheduleQuestion& question,
                                                        const BackwardProblem& problem,
                                                        std::vector<std::string>& left_out) {
  std::vector<const ScheduleAlgorithm*> algorithms;
  for (const std::string& name : question.algorithms) algorithms.push_back(&schedule_algorithm(name));
  if (!algorithms.empty()) return algorithms;
  const bool search = question.effort || question.time_limit_s || count_tasks(problem) <= kCheapTasks;
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
    if (algorithm->searches && !search) {
      left_out.push_back(algorithm->name);
    } else {
      algorithms.push_back(algorithm);
    }
  }
  return algorithms;
}

/// Where the search begins, and whom it tells how far it is.
void take_standing(const ScheduleQuestion& question, const std::vector<const ScheduleAlgorithm*>& algorithms,
                   ScheduleRequest& request) {
  if (!question.start && !question.standing) return;
  if (algorithms.size() != 1 || !algorithms.front()->searches) {
    throw InvalidParameter(
        "checkpoint",
        algorithms.size() == 1 ? "given with " + algorithms.front()->name : "given with several algorithms",
        "one that searches, as best");
  }
  if (question.start) {
    if (question.start->best.problem != request.problem)
      throw InvalidParameter("checkpoint", "a schedule of another problem",
                             "one of this mask, heads and workers");
    request.start = SearchStanding{question.start->iterations, question.start->best.schedule};
  }
  if (question.standing) {
    request.standing = [&problem = request.problem, &tell = question.standing](std::int64_t iterations,
                                                                               const BackwardSchedule& best) {
      tell(problem, iterations, best);
    };
  }
}

}  // namespace

ScheduleAnswer schedule(const ScheduleQuestion& question, const Context& context) {
  for (const std::string& name : question.algorithms) (void)schedule_algorithm(name);
  ScheduleAnswer answer = describe_problem(question, context.catalog);
  if (question.begins) question.begins(answer.problem);
  const std::vector<const ScheduleAlgorithm*> algorithms = chosen_algorithms(question, answer.problem, answer.left_out);
  BackwardCosts costs = answer.costs;
  costs.reduce /= question.ctas_per_chain;  // each of a pair reduces half of a dQ tile
  const WholeCosts whole = whole_costs(answer.problem, costs);
  answer.heads_in_flight = heads_limit(question, answer, context.catalog);
  const bool maps = question.cost_map && !question.named_costs && count_tasks(answer.problem) <= kCheapTasks;
  const StepProgress steps(context.progress, algorithms.size() + (maps ? 1 : 0));
  ScheduleRequest request{.problem = answer.problem,
                          .costs = whole.costs,
                          .dispatch = question.dispatch,
                          .launch = question.launch,
                          .walk = question.walk,
                          .effort = question.effort,
                          .seed = question.seed,
                          .time_limit_s = question.time_limit_s,
                          .heads_in_flight = answer.heads_in_flight};
  take_standing(question, algorithms, request);
  for (const ScheduleAlgorithm* algorithm : algorithms) {
    request.progress = steps.of(answer.results.size());
    answer.results.push_back(run_algorithm(*algorithm, request, whole.parts, question.detail));
    if (auto* finished = std::get_if<FinishedSchedule>(&answer.results.back().outcome);
        finished && answer.tokens)
      finished->workspace_bytes = workspace_bytes(*finished, answer, question);
  }
  request.progress = steps.of(answer.results.size());
  request.start.reset();
  request.standing = {};
  if (maps) answer.cost_map = cost_map(request);
  return answer;
}

Estimate estimate(const ScheduleQuestion& question, const BackwardProblem& problem) {
  std::vector<std::string> left_out;
  const std::vector<const ScheduleAlgorithm*> algorithms = chosen_algorithms(question, problem, left_out);
  Estimate estimate;
  for (const ScheduleAlgorithm* algorithm : algorithms) {
    const ScheduleWork work = schedule_work(*algorithm, problem, question.effort);
    estimate.steps += work.steps;
    estimate.at_most = estimate.at_most || algorithm->searches;
    estimate.bytes = std::max(estimate.bytes, work.bytes);
  }
  constexpr double kCellsOfStep = 32;  // to list those that attend
  estimate.steps += static_cast<double>(problem.mask.work.size()) / kCellsOfStep;
  constexpr double kOfTimes = 32, kOfPath = 1100;  // a task
  const auto tasks = static_cast<double>(count_tasks(problem));
  if (question.detail.times) estimate.bytes += kOfTimes * tasks;
  if (question.detail.critical_path) estimate.bytes += kOfPath * tasks;
  if (question.detail.plan)  // those of the others are kept
    estimate.bytes += static_cast<double>(algorithms.size() - 1) * static_cast<double>(schedule_bytes(problem));
  const bool in_tokens = std::holds_alternative<TokenSizes>(question.sizes);
  if (problem.heads >= std::max(problem.mask.q_tiles, problem.mask.kv_tiles)) {
    estimate.option = "heads";
    estimate.value = std::to_string(question.heads);
  } else {
    estimate.option = in_tokens ? "input" : "q-tiles";
    estimate.value = std::to_string(in_tokens ? std::get<TokenSizes>(question.sizes).q_tokens
                                              : std::int64_t{problem.mask.q_tiles});
  }
  return estimate;
}

Estimate estimate(const ScheduleQuestion& question, const Context& context) {
  return estimate(question, describe_problem(question, context.catalog).problem);
}

ScheduleAnswer schedule(const TableQuestion& question, const Context& context) {
  const ScheduleTable& table = question.table;
  ScheduleAnswer answer;
  answer.problem = table.problem;
  answer.tiles = {table.problem.mask.q_tiles / table.problem.merged_heads, table.problem.mask.kv_tiles};
  answer.heads = table.problem.heads * table.problem.merged_heads;
  answer.heads_kv = table.problem.heads / table.problem.heads_per_kv_head;
  answer.problem.workers = count_workers(question.workers, context.catalog, table.problem.workers);
  answer.ctas = answer.problem.workers;
  if (table.schedule.dispatch == Dispatch::kStatic && answer.problem.workers < table.problem.workers) {
    throw InvalidParameter(
        "workers", std::to_string(answer.problem.workers),
        std::to_string(table.problem.workers) + " or more: the table's dispatch is static");
  }
  answer.costs = resolve_costs(question.costs, table.problem.heads_per_kv_head > 1);
  const WholeCosts whole = whole_costs(answer.problem, answer.costs);
  SchedulePlan plan;
  plan.dispatch = table.schedule.dispatch;
  plan.phases.push_back({"", answer.problem, whole.costs, table.schedule});
  const bool ordered = !table.schedule.dq_order.empty();
  ScheduleResult result{"table", ordered, ordered, {}};
  std::visit([&](auto outcome) { result.outcome = std::move(outcome); },
             finish_plan(std::move(plan), whole.parts, std::nullopt, question.detail));
  answer.results.push_back(std::move(result));
  return answer;
}

const FinishedSchedule& require_finished(const ScheduleResult& result) {
  if (const auto* reason = std::get_if<NotApplicable>(&result.outcome))
    throw InvalidParameter("algorithm", result.name, reason->needs);
  if (const auto* deadlock = std::get_if<Deadlock>(&result.outcome)) throw DeadlockError(deadlock->waits);
  return std::get<FinishedSchedule>(result.outcome);
}

ScheduleTable table_of(const std::string& name, const FinishedSchedule& finished) {
  if (finished.plan.phases.size() > 1) {
    throw InvalidParameter("emit-table", name,
                           "an algorithm of one pass: two passes have no dQ order that a kernel would need");
  }
  const SchedulePhase& phase = finished.plan.phases.front();
  return {phase.problem, phase.schedule};
}

}  // namespace natten_sim::study
