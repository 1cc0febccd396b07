#include <algorithm>
#include <cmath>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/kernel_schedule.hpp>

#include "schedules/kernel_intervals.hpp"
#include "schedules/whole_costs.hpp"

namespace natten_sim::study {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMostHeadDim = 65536;

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
  call.mask = kernel_mask_class(question.mask);
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
const ScheduleCostSet* find_schedule_costs(const KernelScheduleQuestion& question,
                                           const std::string& kernel, const Device& device,
                                           const Catalog& catalog, std::string& missing) {
  if (!question.costs) {
    const ScheduleCostSet* costs =
        catalog.schedule_costs_of(kernel, device.name, question.head_dim, question.dtype);
    if (costs == nullptr) {
      missing = "no measured costs of " + kernel + " on " + device.name + " at head dim " +
                std::to_string(question.head_dim) + " with " + to_string(question.dtype) + "; " +
                measured_elsewhere(kernel, catalog);
    }
    return costs;
  }
  const ScheduleCostSet& costs = catalog.schedule_cost_set(*question.costs);
  if (costs.kernel != kernel || costs.device != device.name || costs.head_dim != question.head_dim) {
    throw InvalidParameter("costs", costs.name,
                           "costs of " + kernel + " on " + device.name + " at head dim " +
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
                        ReductionMode mode, Dispatch dispatch, double missing) {
  BackwardCosts costs = chain_costs(set, tasks, problem.mask, dispatch, mode, missing);
  const double factor = crowded(tasks, problem, mode);
  costs.compute *= factor;
  costs.compute_partial *= factor;
  if (problem.heads_per_kv_head == 1) costs.reduce_kv = 0;
  // Whole nanoseconds: sums are exact, and ties do not hang on the last bit.
  for (double* cost : {&costs.compute, &costs.compute_partial, &costs.reduce, &costs.per_tile_tax,
                       &costs.handoff, &costs.reduce_kv, &costs.prologue, &costs.epilogue})
    *cost = std::round(*cost * 1000);
  return costs;
}

/// Of the main kernel, in microseconds.
struct SimulatedRun {
  double makespan = 0, lower_bound = 0, waiting = 0;
};

SimulatedRun simulate_run(const KernelScheduleAnswer& answer, const BackwardCall& call, const BackwardLaunch& launch,
                          const BackwardProblem& problem, ReductionMode mode) {
  const TaskCosts& tasks = *answer.costs->tasks_of(answer.mask);
  const double missing = missing_reads(tasks.l2_kept, call, launch.walk, launch.sections);
  ScheduleRequest request{.problem = problem};
  request.costs = run_costs(*answer.costs, tasks, problem, mode, launch.dispatch, missing);
  request.dispatch = launch.dispatch;
  request.walk = launch.walk;
  if (launch.sections.heads_per_section > 0) request.launch = launch.sections;
  request.heads_in_flight = launch.heads_in_flight;
  const PlanRun run = run_plan(plan_backward(schedule_algorithm(launch.algorithm), request));
  return {run.makespan / 1000, run.lower_bound / 1000,
          (run.bubble.startup + run.bubble.wait_for_turn) / 1000 / problem.workers};
}

/// Of five products, two operations each.
double flops_of(const BackwardCall& call, double pairs) {
  return 2 * 5 * pairs * static_cast<double>(call.head_dim * call.heads * call.batch);
}

KernelRunTime timed_run(const KernelScheduleAnswer& answer, const BackwardKernel& kernel, const BackwardCall& call,
                        const SimulatedRun& run, ReductionMode mode, double pairs) {
  KernelRunTime time;
  time.makespan_us = run.makespan;
  time.lower_bound_us = run.lower_bound;
  time.waiting_us = run.waiting;
  time.time_ms = call_us(*answer.costs, kernel, call, mode, time.makespan_us) / 1000;
  time.tflops_per_s = flops_of(call, pairs) / time.time_ms / 1e9;
  return time;
}

BackwardProblem problem_of(const KernelScheduleAnswer& answer, const BackwardCall& call,
                           const SequenceWindow& window) {
  BackwardProblem problem;
  problem.mask = window_mask({call.q_tokens, call.kv_tokens, answer.tiles.q, answer.tiles.kv}, window);
  problem.heads = static_cast<std::int32_t>(call.heads * call.batch);
  problem.heads_per_kv_head = static_cast<std::int32_t>(call.heads / call.heads_kv);
  problem.workers = answer.workers;
  return problem;
}

/// Tasks of all heads, without listing them. O(KV tiles).
double count_tasks(const KernelScheduleAnswer& answer, const BackwardCall& call,
                   const SequenceWindow& window) {
  const std::int64_t shift = call.q_tokens - call.kv_tokens;
  double tasks = 0;
  for (std::int64_t key = 0; key < call.kv_tokens; key += answer.tiles.kv) {
    poll();
    const std::int64_t last_key = std::min(key + answer.tiles.kv, call.kv_tokens) - 1;
    const std::int64_t first = window.right ? std::max<std::int64_t>(key + shift - *window.right, 0) : 0;
    const std::int64_t last =
        window.left ? std::min(last_key + shift + *window.left, call.q_tokens - 1) : call.q_tokens - 1;
    if (first <= last) tasks += static_cast<double>(last / answer.tiles.q - first / answer.tiles.q + 1);
  }
  return tasks * static_cast<double>(call.heads * call.batch);
}

/// A run that is too long to be simulated, from two shorter ones with the same heads and launch: times grow
/// with the number of tasks.
struct ShorterRuns {
  BackwardCall longer, shorter;  ///< the second half as long
  double tasks = 0, longer_tasks = 0, shorter_tasks = 0;

  [[nodiscard]] double at_full_length(double longer_us, double shorter_us) const {
    return longer_us + (longer_us - shorter_us) / (longer_tasks - shorter_tasks) * (tasks - longer_tasks);
  }
};

/// None: the call is simulated as it is.
std::optional<ShorterRuns> shorter_runs(const KernelScheduleAnswer& answer, const BackwardCall& call,
                                        const SequenceWindow& window) {
  constexpr double kSimulated = 1 << 27, kExtrapolatedFrom = 1 << 22;
  constexpr std::int64_t kLeastTokens = 16384, kMostTiles = std::int64_t{1} << 24;
  if (call.kv_tokens / answer.tiles.kv > kMostTiles) return std::nullopt;
  ShorterRuns runs{call, call, count_tasks(answer, call, window)};
  if (runs.tasks <= kSimulated) return std::nullopt;
  for (runs.longer_tasks = runs.tasks; runs.longer_tasks > kExtrapolatedFrom;
       runs.longer_tasks = count_tasks(answer, runs.longer, window)) {
    runs.longer.q_tokens /= 2;
    runs.longer.kv_tokens /= 2;
  }
  runs.shorter = runs.longer;
  runs.shorter.q_tokens /= 2;
  runs.shorter.kv_tokens /= 2;
  runs.shorter_tasks = count_tasks(answer, runs.shorter, window);
  const std::int64_t least = std::min(runs.shorter.q_tokens, runs.shorter.kv_tokens);
  const std::int64_t widest = std::max(window.left.value_or(0), window.right.value_or(0));
  if (least < kLeastTokens || widest > least / 2) return std::nullopt;  // another shape: refused as too large
  return runs;
}

/// What the kernel runs: its tiles and launches. @throws InvalidParameter for what it does not have.
void take_launches(const KernelScheduleQuestion& question, const BackwardCall& call,
                   KernelScheduleAnswer& answer) {
  const BackwardKernel& kernel = answer.kernel;
  const auto has = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  if (!has(kernel.dtypes, question.dtype)) {
    std::vector<std::string> names;
    for (const Dtype dtype : kernel.dtypes) names.emplace_back(to_string(dtype));
    throw InvalidParameter("dtype", to_string(question.dtype),
                           joined(names) + ": the element types of " + kernel.full_name());
  }
  const KernelTiles* tiles = kernel.tiles_of(call.head_dim, call.mask);
  if (tiles == nullptr) {
    const bool other_mask = kernel.tiles_of(call.head_dim, MaskClass::kFull) != nullptr;
    if (other_mask)
      throw InvalidParameter("mask", to_string(call.mask), "full: the mask of " + kernel.full_name());
    throw InvalidParameter("dim", std::to_string(call.head_dim),
                           kernel.head_dim_text() + ": the head dims of " + kernel.full_name() + " on " +
                               joined(kernel.architectures));
  }
  answer.tiles = tiles->tokens;
  answer.ctas_per_tile = tiles->ctas;
  answer.ordered = kernel_launch(kernel, call, ReductionMode::kDeterministic);
  const std::optional<BackwardLaunch> unordered = kernel_launch(kernel, call, ReductionMode::kUnordered);
  if (!unordered) throw InvalidParameter("kernel", kernel.full_name(), "a kernel with a launch for this mask");
  answer.unordered = *unordered;
}

/// Times the launches of one call.
class LaunchTimer {
 public:
  LaunchTimer(const BackwardCall& call, const SequenceWindow& window, const KernelScheduleAnswer& answer)
      : call_(call),
        answer_(answer),
        shorter_(shorter_runs(answer, call, window)),
        problem_(problem_of(answer, shorter_ ? shorter_->longer : call, window)),
        pairs_(counted_pairs(call, window)) {
    if (shorter_) half_ = problem_of(answer, shorter_->shorter, window);
  }

  [[nodiscard]] const std::optional<ShorterRuns>& shorter() const { return shorter_; }

  [[nodiscard]] KernelRunTime time(const BackwardKernel& kernel, const BackwardLaunch& launch, ReductionMode mode) const {
    SimulatedRun run = simulate_run(answer_, call_, launch, problem_, mode);
    if (shorter_) {
      const SimulatedRun less = simulate_run(answer_, call_, launch, half_, mode);
      run = {shorter_->at_full_length(run.makespan, less.makespan),
             shorter_->at_full_length(run.lower_bound, less.lower_bound),
             shorter_->at_full_length(run.waiting, less.waiting)};
      run.makespan = std::max(run.makespan, run.lower_bound);
    }
    return timed_run(answer_, kernel, call_, run, mode, pairs_);
  }

  /// The slowest of the kernel's launches in this mode, whatever memory they may take.
  [[nodiscard]] double slowest_ms(ReductionMode mode) const {
    double slowest = 0;
    for (natten_sim::KernelLaunch each : answer_.kernel.launches) {
      each.memory_limit_bytes.reset();
      BackwardKernel alone = answer_.kernel;
      alone.launches = {each};
      const std::optional<BackwardLaunch> launch = kernel_launch(alone, call_, mode);
      if (launch) slowest = std::max(slowest, time(alone, *launch, mode).time_ms);
    }
    return slowest;
  }

  /// By the device's peak rates; 0 where they are not known.
  [[nodiscard]] double floor_ms(const Device& device) const {
    constexpr double kMsPerS = 1e3, kTensors = 4;  // Q, O, dO and dQ; K, V, dK and dV
    const double of_q = static_cast<double>(call_.q_tokens) * static_cast<double>(call_.heads);
    const double of_kv = static_cast<double>(call_.kv_tokens) * static_cast<double>(call_.heads_kv);
    const double bytes =
        kTensors * static_cast<double>(call_.batch * call_.head_dim * call_.element_bytes) * (of_q + of_kv);
    double floor = 0;
    if (device.dense_bf16_flops_per_s) floor = flops_of(call_, pairs_) / device.dense_bf16_flops_per_s->value;
    if (device.dram_bytes_per_s) floor = std::max(floor, bytes / device.dram_bytes_per_s->value);
    return kMsPerS * floor;
  }

 private:
  const BackwardCall& call_;
  const KernelScheduleAnswer& answer_;
  std::optional<ShorterRuns> shorter_;
  BackwardProblem problem_, half_;
  double pairs_;
};

void time_runs(const KernelScheduleQuestion& question, const Device& device, const BackwardCall& call,
               KernelScheduleAnswer& answer) {
  const LaunchTimer timer(call, window_of(question.mask), answer);
  if (timer.shorter()) answer.extrapolated_from_tokens = timer.shorter()->longer.q_tokens;
  answer.not_deterministic = timer.time(answer.kernel, answer.unordered, ReductionMode::kUnordered);
  KernelIntervals intervals(question.mask, call, answer);
  intervals.add_unordered(timer.floor_ms(device));
  if (!answer.ordered) return;
  answer.deterministic = timer.time(answer.kernel, *answer.ordered, ReductionMode::kDeterministic);
  if (answer.deterministic->time_ms > 0)
    answer.ratio = answer.not_deterministic->time_ms / answer.deterministic->time_ms;
  intervals.add_ordered(timer.floor_ms(device), [&] { return timer.slowest_ms(ReductionMode::kDeterministic); });
}

}  // namespace

MaskClass kernel_mask_class(const ScheduleMask& mask) {
  if (std::holds_alternative<FullMask>(mask.rule)) return MaskClass::kFull;
  if (std::holds_alternative<CausalMask>(mask.rule)) return MaskClass::kCausal;
  if (std::holds_alternative<SlidingWindowMask>(mask.rule)) return MaskClass::kWindow;
  throw InvalidParameter("mask", mask_text(mask),
                         "full, causal or a window: the masks that these kernels take. Without " + mention("kernel") +
                             " any mask runs, with sizes and, for microseconds, " + mention("costs"));
}

KernelScheduleAnswer kernel_schedule(const KernelScheduleQuestion& question, const Context& given) {
  const WithKernels kernels(given, question.kernel);
  const Context& context = kernels.get();
  if (question.kernel.own != nullptr && !question.kernel.own->backward)
    throw InvalidParameter("kernel", to_string(question.kernel),
                           "a kernel file with \"backward\": tiles and launches of its backward pass");
  KernelScheduleAnswer answer;
  const Device& device = context.catalog.device(question.device);
  answer.kernel = context.catalog.backward_kernel(question.kernel.name, device);
  if (!device.sms) throw InvalidParameter("device", device.name, "a device whose number of SMs is known");
  const BackwardCall call = call_of(question, device);
  answer.mask = call.mask;
  answer.kv_tokens = call.kv_tokens;
  answer.heads_kv = static_cast<std::int32_t>(call.heads_kv);
  take_launches(question, call, answer);
  const ScheduleCostSet* costs =
      find_schedule_costs(question, answer.kernel.name, device, context.catalog, answer.missing);
  answer.workers =
      device.sms->value / answer.ctas_per_tile * (costs == nullptr ? 1 : costs->ctas_per_sm);
  if (costs == nullptr) return answer;
  const TaskCosts* tasks = costs->tasks_of(answer.mask);
  if (tasks == nullptr || tasks->q_tile != answer.tiles.q || tasks->kv_tile != answer.tiles.kv ||
      answer.ctas_per_tile != 1) {
    answer.missing = costs->name + " has no costs of " + std::to_string(answer.tiles.q) + "x" +
                     std::to_string(answer.tiles.kv) + " tiles for " + to_string(answer.mask) + " masks";
    return answer;
  }
  answer.costs = *costs;
  time_runs(question, device, call, answer);
  return answer;
}

ScheduleQuestion deterministic_run(const KernelScheduleQuestion& question,
                                   const KernelScheduleAnswer& answer) {
  if (!answer.ordered)
    throw InvalidParameter("kernel", question.kernel, "a kernel with a deterministic launch for this call");
  if (!answer.costs) throw InvalidParameter("kernel", question.kernel, "a kernel with costs: " + answer.missing);
  const BackwardLaunch& launch = *answer.ordered;
  ScheduleQuestion run;
  run.sizes = TokenSizes{question.q_tokens, answer.kv_tokens, answer.tiles.q, answer.tiles.kv};
  run.mask = question.mask;
  run.heads = question.heads;
  run.heads_kv = answer.heads_kv;
  run.batch = question.batch;
  run.workers = answer.workers;
  run.algorithms = {launch.algorithm};
  run.dispatch = launch.dispatch;
  if (launch.sections.heads_per_section > 0) run.launch = launch.sections;
  run.walk = launch.walk;
  run.heads_in_flight = launch.heads_in_flight;
  run.head_dim = question.head_dim;
  run.dtype = question.dtype;
  run.named_costs = answer.costs->name;
  return run;
}

}  // namespace natten_sim::study
