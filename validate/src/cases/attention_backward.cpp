// This project's own attention backward: one point is a problem, a schedule and whether its turns are taken.
// Times are predicted by running the same table with the costs of a task (data/schedule-costs/ours-*).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/kernels/attention_backward/oracle.hpp>
#include <natten_sim/kernels/attention_backward/plan.hpp>
#include <natten_sim/kernels/attention_forward/problem.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/compare/suite.hpp>

namespace natten_sim::validate {
namespace {

namespace backward = kernels::attention_backward;

constexpr const char* kBackwardName = "attention_backward";
constexpr const char* kOurs = "ours";

struct AttentionBackwardCase final : Case {
  std::int64_t batch = 1, heads = 1, head_dim = 128, tokens = 1;
  Dtype dtype = Dtype::kBf16;
  ScheduleMask mask;
  std::string algorithm;
  TileWalk walk = TileWalk::kInOrder;
  std::int32_t heads_per_section = 0;  ///< in launch order; 0: as the algorithm has it
  bool ordered = true;
  kernels::AttentionEngine engine = kernels::AttentionEngine::kWgmma;

  [[nodiscard]] std::string key() const override;
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] Launch prepare(Bench& bench, std::uint64_t seed) const override;
  [[nodiscard]] CheckedPoint check(Bench& bench, std::uint64_t seed) const override;
  [[nodiscard]] std::vector<Point> to_check(CheckLengths lengths) const override;
  void require_built() const override;
  [[nodiscard]] std::optional<double> operations() const override;

  [[nodiscard]] backward::Problem problem() const;
  /// The schedule does not hang on measured costs: a table stays the same when they are fitted anew.
  [[nodiscard]] SchedulePlan plan(std::int32_t workers, std::int64_t l2_bytes) const;
  [[nodiscard]] BackwardCall call(std::int32_t sms) const;
};

/// Class of the costs of a task: a mask that is neither full nor causal has the tiles of windows.
MaskClass class_of(const ScheduleMask& mask) {
  if (std::holds_alternative<FullMask>(mask.rule)) return MaskClass::kFull;
  return std::holds_alternative<CausalMask>(mask.rule) ? MaskClass::kCausal : MaskClass::kWindow;
}

const char* mask_name(const ScheduleMask& mask) {
  if (std::holds_alternative<DocumentMask>(mask.rule)) return "documents";
  if (std::holds_alternative<GnaMask>(mask.rule)) return "neighborhood";
  return to_string(class_of(mask));
}

/// Number of tokens that the mask is for, if it says so.
std::optional<std::int64_t> tokens_of(const ScheduleMask& mask) {
  if (const auto* documents = std::get_if<DocumentMask>(&mask.rule))
    return std::accumulate(documents->lengths.begin(), documents->lengths.end(), std::int64_t{0});
  if (const auto* gna = std::get_if<GnaMask>(&mask.rule)) return product(gna->layout, "tokens");
  return std::nullopt;
}

/// Neighborhoods in the order of the kernel's tiles, whose last places may hold no token.
backward::TokenPairs pairs_of(const GnaMask& mask, const backward::KernelShape& kernel) {
  const NeighborhoodMask rule = make_mask(mask.layout, mask.window.empty() ? mask.layout : mask.window,
                                          mask.stride, mask.dilation, mask.causal);
  return backward::neighborhood_pairs(
      rule, mask.tiles ? *mask.tiles : backward::neighborhood_tiles(kernel, mask.layout.rank()));
}

/// Suffix of names; recordings from before there were two engines have none.
std::string engine_suffix(kernels::AttentionEngine engine) {
  return engine == kernels::AttentionEngine::kWgmma ? "" : std::string(" ") + to_string(engine);
}

/// Suffix of names; most points have no such choice.
std::string order_suffix(const AttentionBackwardCase& point) {
  std::string text = point.walk == TileWalk::kInOrder ? "" : std::string("+") + to_string(point.walk);
  if (point.heads_per_section > 0) text += "+sections:" + std::to_string(point.heads_per_section);
  return text;
}

const char* turns_name(bool ordered) { return ordered ? "deterministic" : "unordered"; }

Point read_attention_backward(const StrictObject& fields) {
  AttentionBackwardCase point;
  point.batch = fields.integer_or("batch", 1, {1, 1 << 15});
  point.heads = fields.integer_or("heads", 1, {1, 1 << 15});
  point.head_dim = fields.integer_or("head_dim", 128, {16, 1024});
  point.tokens = fields.integer("tokens", {1, std::int64_t{1} << 22});
  point.dtype = parse_name<Dtype>(fields.text_or("dtype", "bf16"));
  const auto read = parse_schedule_mask(fields.text("mask"));
  const auto* rule = std::get_if<ScheduleMask>(&read);
  if (rule == nullptr || std::holds_alternative<BlockMask>(rule->rule))
    fields.fail("mask", "full, causal, window:LEFT,RIGHT, document:LEN,.. or gna:i=..,w=..");
  point.mask = *rule;
  const std::int64_t tokens = tokens_of(point.mask).value_or(point.tokens);
  if (tokens != point.tokens) fields.fail("tokens", std::to_string(tokens) + ", as the mask has");
  point.algorithm = schedule_algorithm(fields.text("algorithm")).name;
  point.walk = parse_name<TileWalk>(fields.text_or("walk", to_string(point.walk)));
  point.heads_per_section =
      static_cast<std::int32_t>(fields.integer_or("heads_per_section", 0, {0, 1 << 15}));
  const std::string mode = fields.text("mode");
  if (mode != turns_name(true) && mode != turns_name(false))
    fields.fail("mode", "deterministic or unordered");
  point.ordered = mode == turns_name(true);
  point.engine = parse_name<kernels::AttentionEngine>(fields.text_or("engine", to_string(point.engine)));
  return point;
}

/// Inputs and gradients on the GPU; O and LSE by the forward kernel.
struct Buffers {
  std::array<kernels::DeviceBuffer, 8> operands;  // q, k, v, o, d_o, dq, dk, dv
  kernels::DeviceBuffer lse;

  [[nodiscard]] backward::Tensors tensors() const {
    const auto at = [&](std::size_t i) { return operands[i].data(); };
    return {at(0), at(1), at(2), at(3), at(4), static_cast<const float*>(lse.data()), at(5), at(6), at(7)};
  }
};

Buffers random_buffers(const Bench& bench, const backward::Problem& problem, std::uint64_t seed) {
  const std::int64_t rows = problem.batch * problem.heads * problem.q_tokens;
  const std::int64_t elements =
      problem.batch * problem.heads * std::max(problem.q_tokens, problem.kv_tokens) * problem.head_dim;
  Buffers made;
  for (std::size_t i = 0; i < made.operands.size(); ++i) {
    made.operands[i] = kernels::DeviceBuffer(static_cast<std::size_t>(elements) * 2);
    if (i < 3 || i == 4) {
      kernels::fill_random(made.operands[i], elements, problem.dtype, seed * 5 + i);
    } else {
      made.operands[i].fill(0xff);  // NaN
    }
  }
  made.lse = kernels::DeviceBuffer(static_cast<std::size_t>(rows) * sizeof(float));
  const bool has_forward = bench.gpu().compute_major == 9 && bench.gpu().compute_minor == 0;
  if (problem.pairs != nullptr || !has_forward) {
    write_forward(problem, made.tensors(), made.operands[3].data(), static_cast<float*>(made.lse.data()));
    return made;
  }
  namespace forward = kernels::attention_forward;
  const forward::Problem before = backward::forward_of(problem);
  const auto at = [&](std::size_t i) { return made.operands[i].data(); };
  forward::Plan(bench.gpu(), before, forward::best_kernel(before), forward::best_schedule(before),
                {at(0), at(1), at(2), at(3), static_cast<float*>(made.lse.data())})
      .launch();
  kernels::synchronize();
  return made;
}

backward::Plan launch_plan(const Bench& bench, const AttentionBackwardCase& point, const Buffers& buffers) {
  const backward::Problem problem = point.problem();
  const SchedulePlan plan = point.plan(bench.gpu().sms, bench.gpu().l2_bytes);
  const SchedulePhase& phase = plan.phases.front();
  return backward::Plan(
      bench.gpu(), problem, backward::best_kernel(problem, point.engine), phase.problem, phase.schedule,
      point.ordered ? backward::Turns::kOrdered : backward::Turns::kUnordered, buffers.tensors());
}

/// Costs in whole nanoseconds: sums are exact, and ties do not hang on the last bit.
BackwardCosts costs_of(const ScheduleCostSet& set, const TaskCosts& tasks, const SchedulePhase& phase,
                       bool ordered, double missing) {
  const ReductionMode mode = ordered ? ReductionMode::kDeterministic : ReductionMode::kUnordered;
  BackwardCosts costs = chain_costs(set, tasks, phase.problem.mask, phase.schedule.dispatch, mode, missing);
  for (double* cost : {&costs.compute, &costs.compute_partial, &costs.reduce, &costs.per_tile_tax,
                       &costs.handoff, &costs.prologue, &costs.epilogue})
    *cost = std::round(*cost * 1000);
  return costs;
}

/// The shipped costs were fitted to the points of two suites.
bool lies_in_fit(const std::string& key) {
  static const std::set<std::string> fitted = [] {
    std::set<std::string> keys;
    for (const char* suite : {"backward-costs", "backward-sections"}) {
      for (const Point& point : find_suite(builtin_suites(), suite).points) keys.insert(key_of(point));
    }
    return keys;
  }();
  return fitted.contains(key);
}

backward::Problem AttentionBackwardCase::problem() const {
  backward::Problem made;
  made.batch = batch;
  made.heads = made.heads_kv = heads;
  made.q_tokens = made.kv_tokens = tokens;
  made.head_dim = head_dim;
  made.dtype = dtype;
  if (std::holds_alternative<CausalMask>(mask.rule)) made.mask.right = 0;
  if (const auto* window = std::get_if<SlidingWindowMask>(&mask.rule))
    made.mask = {window->left, window->right};
  if (const auto* documents = std::get_if<DocumentMask>(&mask.rule))
    made.pairs = std::make_shared<const backward::TokenPairs>(backward::document_pairs(documents->lengths));
  if (const auto* gna = std::get_if<GnaMask>(&mask.rule)) {
    made.pairs = std::make_shared<const backward::TokenPairs>(pairs_of(*gna, backward::best_kernel(made)));
    made.q_tokens = made.pairs->q_tokens();
    made.kv_tokens = made.pairs->kv_tokens();
  }
  backward::lay_out_heads_first(made);
  return made;
}

void AttentionBackwardCase::require_built() const {
  backward::Problem shape;  // without the pairs, which take time
  shape.head_dim = head_dim;
  shape.dtype = dtype;
  static_cast<void>(backward::best_kernel(shape, engine));
}

BackwardCall AttentionBackwardCase::call(std::int32_t sms) const {
  BackwardCall made;
  made.mask = class_of(mask);
  made.batch = batch;
  made.heads = made.heads_kv = heads;
  made.q_tokens = made.kv_tokens = tokens;
  made.head_dim = head_dim;
  made.sms = sms;
  return made;
}

SchedulePlan AttentionBackwardCase::plan(std::int32_t workers, std::int64_t l2_bytes) const {
  const backward::Problem whole = problem();
  ScheduleRequest request;
  request.problem = backward::scheduling_problem(whole, backward::best_kernel(whole), workers);
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2, .handoff = 1, .writer_stages = 2};
  request.effort = 0;
  request.walk = walk;
  if (heads_per_section > 0) request.launch = HeadSections{heads_per_section};
  request.heads_in_flight =
      schedules::heads_within(l2_bytes, call(workers), workers, request.problem.mask.kv_tiles);
  const ScheduleAlgorithm& chosen = schedule_algorithm(algorithm);
  // A searched table that is dispatched dynamically finishes as it was simulated, not whatever the timing.
  if (chosen.searches) request.dispatch = Dispatch::kStatic;
  SchedulePlan made = plan_backward(chosen, request);
  if (made.phases.size() != 1) throw InvalidParameter("algorithm", algorithm, "one of a single phase");
  return made;
}

std::string AttentionBackwardCase::key() const {
  return "attention_backward b" + std::to_string(batch) + " h" + std::to_string(heads) + " s" +
         std::to_string(tokens) + " d" + std::to_string(head_dim) + " " + to_string(dtype) + " " +
         mask_text(mask) + " " + algorithm + order_suffix(*this) + " " + turns_name(ordered) +
         engine_suffix(engine);
}

std::string AttentionBackwardCase::group() const {
  return std::string("attention_backward ") + mask_name(mask) + " " +
         (ordered ? algorithm + (walk == TileWalk::kSpread ? "+spread" : "") : turns_name(false)) +
         engine_suffix(engine);
}

std::vector<Parameter> AttentionBackwardCase::parameters() const {
  std::vector<Parameter> all = {
      {"kernel", kBackwardName}, {"batch", batch},         {"heads", heads},
      {"head_dim", head_dim},    {"tokens", tokens},       {"dtype", to_string(dtype)},
      {"mask", mask_text(mask)}, {"algorithm", algorithm}, {"mode", turns_name(ordered)}};
  if (walk != TileWalk::kInOrder) all.push_back({"walk", to_string(walk)});
  if (heads_per_section > 0) all.push_back({"heads_per_section", std::int64_t{heads_per_section}});
  if (!engine_suffix(engine).empty()) all.push_back({"engine", to_string(engine)});
  return all;
}

std::vector<Prediction> AttentionBackwardCase::predict(const Device& device, Fidelity) const {
  if (engine != kernels::AttentionEngine::kWgmma) return {};  // costs were measured on that one alone
  static const study::Context context = study::default_context();
  const ScheduleCostSet* set = context.catalog.schedule_costs_of(kOurs, device.name, head_dim, dtype);
  if (set == nullptr || !device.sms || !device.l2.bytes) return {};
  const TaskCosts* tasks = set->tasks_of(class_of(mask));
  if (tasks == nullptr) return {};
  SchedulePlan made = plan(device.sms->value, device.l2.bytes->value);
  SchedulePhase& phase = made.phases.front();
  BackwardCall shape = call(device.sms->value);
  shape.l2_bytes = device.l2.bytes->value;
  const double missing = missing_reads(tasks->l2_kept, shape, walk, {heads_per_section});
  phase.costs = costs_of(*set, *tasks, phase, ordered, missing);
  if (!ordered) phase.schedule.dq_order.clear();
  const auto run = attempt_run(made);
  if (!std::holds_alternative<PlanRun>(run)) return {};
  const ReductionMode mode = ordered ? ReductionMode::kDeterministic : ReductionMode::kUnordered;
  constexpr double kNsOfUs = 1000;
  const double us = call_us(*set, context.catalog.backward_kernel(kOurs, device), shape, mode,
                            std::get<PlanRun>(run).makespan / kNsOfUs);
  return {{std::string(kLaunchTime), "table and costs", us * kNsOfUs, lies_in_fit(key())}};
}

Launch AttentionBackwardCase::prepare(Bench& bench, std::uint64_t seed) const {
  const auto buffers = std::make_shared<const Buffers>(random_buffers(bench, problem(), seed));
  const auto plan = std::make_shared<const backward::Plan>(launch_plan(bench, *this, *buffers));
  return [plan, buffers] { plan->launch(); };
}

CheckedPoint AttentionBackwardCase::check(Bench& bench, std::uint64_t seed) const {
  const backward::Problem whole = problem();
  const Buffers buffers = random_buffers(bench, whole, seed);
  launch_plan(bench, *this, buffers).launch();
  const backward::Deviation off =
      backward::deviation(whole, buffers.tensors(), backward::reference_on_gpu(whole, buffers.tensors()));
  CheckedPoint checked;
  checked.ran = true;
  checked.error = std::max({off.dq.relative_norm, off.dk.relative_norm, off.dv.relative_norm});
  checked.passed = off.within_bound();
  return checked;
}

std::vector<Point> AttentionBackwardCase::to_check(CheckLengths) const {
  AttentionBackwardCase checked = *this;
  checked.batch = 1;
  checked.heads = std::min<std::int64_t>(heads, 3);
  if (tokens_of(mask)) return {checked};
  checked.tokens = std::min<std::int64_t>(tokens, 999);
  // The symmetric shift takes an even number of KV tiles.
  if (algorithm == "symmetric-shift") checked.tokens = std::min<std::int64_t>(tokens, 1000);
  return {checked};
}

std::optional<double> AttentionBackwardCase::operations() const {
  const backward::Problem whole = problem();
  double pairs = 0;
  if (whole.pairs != nullptr) {
    for (std::int64_t query = 0; query < whole.q_tokens; ++query) {
      for (const std::uint64_t word : whole.pairs->row(query)) pairs += std::popcount(word);
    }
    return 10 * pairs * static_cast<double>(head_dim * heads * batch);
  }
  for (std::int64_t query = 0; query < tokens; ++query) {
    const std::int64_t first = std::max<std::int64_t>(query - whole.mask.left.value_or(tokens), 0);
    const std::int64_t last = std::min(query + whole.mask.right.value_or(tokens), tokens - 1);
    pairs += static_cast<double>(last - first + 1);
  }
  return 10 * pairs * static_cast<double>(head_dim * heads * batch);
}

}  // namespace

namespace cases {

CaseKind attention_backward();
CaseKind attention_backward() {
  return {kBackwardName,
          {"batch", "heads", "head_dim", "tokens", "dtype", "mask", "algorithm", "walk", "heads_per_section",
           "mode", "engine"},
          read_attention_backward};
}

}  // namespace cases
}  // namespace natten_sim::validate
