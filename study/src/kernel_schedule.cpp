#include <algorithm>
#include <cmath>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/study/kernel_schedule.hpp>

#include "schedules/whole_costs.hpp"

namespace natten_sim::study {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMostHeadDim = 65536;

MaskClass class_of(const ScheduleMask& mask) {
  if (std::holds_alternative<FullMask>(mask.rule)) return MaskClass::kFull;
  if (std::holds_alternative<CausalMask>(mask.rule)) return MaskClass::kCausal;
  if (std::holds_alternative<SlidingWindowMask>(mask.rule)) return MaskClass::kWindow;
  throw InvalidParameter("mask", mask_text(mask),
                         "full, causal or a window: the masks that these kernels take");
}

SequenceWindow window_of(const ScheduleMask& mask) {
  if (std::holds_alternative<CausalMask>(mask.rule)) return {std::nullopt, 0};
  if (const auto* window = std::get_if<SlidingWindowMask>(&mask.rule)) return {window->left, window->right};
  return {};
}

/// Pairs of tokens of one head that count as work.
double counted_pairs(const BackwardCall& call, const SequenceWindow& window) {
  const auto q = static_cast<double>(call.q_tokens), kv = static_cast<double>(call.kv_tokens);
  if (call.mask == MaskClass::kFull) return q * kv;
  if (call.mask == MaskClass::kCausal) return q * kv / 2;
  double pairs = 0;
  for (std::int64_t query = 0; query < call.q_tokens; ++query) {
    poll();
    const std::int64_t diagonal = query + call.kv_tokens - call.q_tokens;
    const std::int64_t first = std::max<std::int64_t>(diagonal - window.left.value_or(diagonal), 0);
    const std::int64_t last = std::min(diagonal + window.right.value_or(call.kv_tokens), call.kv_tokens - 1);
    pairs += static_cast<double>(std::max<std::int64_t>(last - first + 1, 0));
  }
  return pairs;
}

BackwardCall call_of(const KernelScheduleQuestion& question, const Device& device) {
  BackwardCall call;
  call.mask = class_of(question.mask);
  call.batch = question.batch;
  call.heads = question.heads;
  call.heads_kv = question.heads_kv.value_or(question.heads);
  call.q_tokens = question.q_tokens;
  call.kv_tokens = question.kv_tokens.value_or(question.q_tokens);
  call.head_dim = question.head_dim;
  call.element_bytes = element_bytes(question.dtype);
  call.sms = device.sms->value;
  if (device.l2.bytes) call.l2_bytes = device.l2.bytes->value;
  for (const auto& [name, tokens] :
       {std::pair{"seqlen-q", call.q_tokens}, std::pair{"seqlen-k", call.kv_tokens}}) {
    if (tokens < 1 || tokens > kMostTokens)
      throw InvalidParameter(name, std::to_string(tokens), "1 to 2^40 tokens");
  }
  if (call.head_dim < 1 || call.head_dim > kMostHeadDim)
    throw InvalidParameter("dim", std::to_string(call.head_dim), "1 to 65536");
  for (const auto& [name, count] : {std::pair{"heads", call.heads}, std::pair{"batch-size", call.batch}}) {
    if (count < 1) throw InvalidParameter(name, std::to_string(count), "1 or more");
  }
  if (call.heads * call.batch > (std::int64_t{1} << 27))
    throw InvalidParameter("heads", std::to_string(call.heads * call.batch) + " with the batch",
                           "at most 2^27");
  if (call.heads_kv < 1 || call.heads % call.heads_kv != 0) {
    throw InvalidParameter("heads-kv", std::to_string(call.heads_kv),
                           "a divisor of the heads, " + std::to_string(call.heads));
  }
  return call;
}

/// "there are costs of fa4-h200-d128, fa4-h200-d64", or that there are none.
std::string measured_elsewhere(const std::string& kernel, const Catalog& catalog) {
  std::vector<std::string> own, all;
  for (const ScheduleCostSet& costs : catalog.schedule_costs) {
    const std::string text =
        costs.name + " (" + costs.device + ", head dim " + std::to_string(costs.head_dim) + ")";
    all.push_back(text);
    if (costs.kernel == kernel) own.push_back(text);
  }
  if (!own.empty()) return "there are " + joined(own);
  return "of " + kernel + " there are none, of other kernels " + joined(all);
}

/// The costs of the question, or what is missing.
const ScheduleCostSet* find_schedule_costs(const KernelScheduleQuestion& question, const Device& device,
                                           const Catalog& catalog, std::string& missing) {
  if (!question.costs) {
    const ScheduleCostSet* costs =
        catalog.schedule_costs_of(question.kernel, device.name, question.head_dim, question.dtype);
    if (costs == nullptr) {
      missing = "no measured costs of " + question.kernel + " on " + device.name + " at head dim " +
                std::to_string(question.head_dim) + " with " + to_string(question.dtype) + "; " +
                measured_elsewhere(question.kernel, catalog);
    }
    return costs;
  }
  const ScheduleCostSet& costs = catalog.schedule_cost_set(*question.costs);
  if (costs.kernel != question.kernel || costs.device != device.name || costs.head_dim != question.head_dim) {
    throw InvalidParameter("costs", costs.name,
                           "costs of " + question.kernel + " on " + device.name + " at head dim " +
                               std::to_string(question.head_dim) + "; these are of " + costs.kernel + " on " +
                               costs.device + " at head dim " + std::to_string(costs.head_dim));
  }
  return &costs;
}

/// Unordered full masks: chains of one head in step share their dQ tile.
double crowded(const TaskCosts& tasks, const BackwardProblem& problem, ReductionMode mode) {
  if (mode == ReductionMode::kDeterministic) return 1;
  const std::int32_t together = std::min(problem.mask.kv_tiles, problem.workers);
  return 1 + tasks.crowding * together / problem.workers;
}

BackwardCosts run_costs(const ScheduleCostSet& set, const TaskCosts& tasks, const BackwardProblem& problem,
                        ReductionMode mode, Dispatch dispatch) {
  BackwardCosts costs = chain_costs(set, tasks, problem.mask, dispatch);
  const double factor = crowded(tasks, problem, mode);
  costs.compute *= factor;
  costs.compute_partial *= factor;
  if (mode == ReductionMode::kUnordered) costs.per_tile_tax = 0;
  if (problem.heads_per_kv_head == 1) costs.reduce_kv = 0;
  // Whole nanoseconds: sums are exact, and ties do not hang on the last bit.
  for (double* cost : {&costs.compute, &costs.compute_partial, &costs.reduce, &costs.per_tile_tax,
                       &costs.handoff, &costs.reduce_kv, &costs.prologue, &costs.epilogue})
    *cost = std::round(*cost * 1000);
  return costs;
}

KernelRunTime time_run(const KernelScheduleAnswer& answer, const BackwardCall& call,
                       const BackwardProblem& problem, ReductionMode mode, double pairs) {
  const ScheduleCostSet& set = *answer.costs;
  const BackwardLaunch& launch = mode == ReductionMode::kDeterministic ? answer.ordered : answer.unordered;
  ScheduleRequest request;
  request.problem = problem;
  request.costs = run_costs(set, *set.tasks_of(answer.mask), problem, mode, launch.dispatch);
  request.dispatch = launch.dispatch;
  request.walk = launch.walk;
  if (launch.sections.heads_per_section > 0) request.launch = launch.sections;
  request.heads_in_flight = launch.heads_in_flight;
  const PlanRun run = run_plan(plan_backward(schedule_algorithm(launch.algorithm), request));
  KernelRunTime time;
  time.makespan_us = run.makespan / 1000;
  time.lower_bound_us = run.lower_bound / 1000;
  time.waiting_us = (run.bubble.startup + run.bubble.wait_for_turn) / 1000 / problem.workers;
  time.time_ms = call_us(set, *answer.kernel, call, mode, time.makespan_us) / 1000;
  constexpr double kProducts = 5;
  const double flops = 2 * kProducts * pairs * static_cast<double>(call.head_dim * call.heads * call.batch);
  time.tflops_per_s = flops / time.time_ms / 1e9;
  return time;
}

}  // namespace

KernelScheduleAnswer kernel_schedule(const KernelScheduleQuestion& question, const Context& context) {
  KernelScheduleAnswer answer;
  answer.kernel = &backward_kernel(question.kernel);
  const Device& device = context.catalog.device(question.device);
  if (!device.sms) throw InvalidParameter("device", device.name, "a device whose number of SMs is known");
  const BackwardCall call = call_of(question, device);
  answer.mask = call.mask;
  answer.kv_tokens = call.kv_tokens;
  answer.heads_kv = static_cast<std::int32_t>(call.heads_kv);
  const std::optional<TileTokens> tiles = answer.kernel->tiles(call.head_dim, call.mask);
  if (!tiles) {
    throw InvalidParameter("dim", std::to_string(call.head_dim),
                           "a head dim that " + question.kernel + " has a backward kernel for");
  }
  answer.tiles = *tiles;
  answer.ordered = answer.kernel->launch(call, ReductionMode::kDeterministic);
  answer.unordered = answer.kernel->launch(call, ReductionMode::kUnordered);
  const ScheduleCostSet* costs = find_schedule_costs(question, device, context.catalog, answer.missing);
  answer.workers = device.sms->value * (costs == nullptr ? 1 : costs->ctas_per_sm);
  if (costs == nullptr) return answer;
  const TaskCosts* tasks = costs->tasks_of(answer.mask);
  if (tasks == nullptr || tasks->q_tile != tiles->q || tasks->kv_tile != tiles->kv) {
    answer.missing = costs->name + " has no costs of " + std::to_string(tiles->q) + "x" +
                     std::to_string(tiles->kv) + " tiles for " + to_string(answer.mask) + " masks";
    return answer;
  }
  answer.costs = *costs;
  const SequenceWindow window = window_of(question.mask);
  BackwardProblem problem;
  problem.mask = window_mask({call.q_tokens, call.kv_tokens, tiles->q, tiles->kv}, window);
  problem.heads = static_cast<std::int32_t>(call.heads * call.batch);
  problem.heads_per_kv_head = static_cast<std::int32_t>(call.heads / call.heads_kv);
  problem.workers = answer.workers;
  const double pairs = counted_pairs(call, window);
  answer.deterministic = time_run(answer, call, problem, ReductionMode::kDeterministic, pairs);
  answer.not_deterministic = time_run(answer, call, problem, ReductionMode::kUnordered, pairs);
  if (answer.deterministic->time_ms > 0)
    answer.ratio = answer.not_deterministic->time_ms / answer.deterministic->time_ms;
  return answer;
}

}  // namespace natten_sim::study
