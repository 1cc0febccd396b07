#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/windows/count.hpp>
#include <natten_sim/study/kernel.hpp>
#include <natten_sim/study/many_times.hpp>

#include "count_time.hpp"
#include "dense_sequence.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

bool covers_input(const NeighborhoodMask& mask) {
  return std::all_of(mask.begin(), mask.end(), [](const AxisMask& axis) { return axis.window == axis.length; });
}

}  // namespace

Setting counted_setting(const CountQuestion& question, const Context& context) {
  return resolved(setting_of_kernel(question, context.catalog), context.catalog, question.backward);
}

bool names_dense_kernel(const CountQuestion& question, const Context& context) {
  return named_dense_kernel(question, context.catalog).has_value();
}

struct ManyCountTimes::State {
  State(CountQuestion asked, Walk walk, const Context& known, WaveCount count_of_waves)
      : question(std::move(asked)), pass(walk), context(known), waves(count_of_waves) {}

  CountQuestion question;
  Walk pass;
  const Context& context;
  WaveCount waves;
  TimeQuestion timed;
  bool has_kernel = true;
  std::vector<std::pair<std::string, ManyTimes>> kernels;
  std::shared_ptr<ManyTimes> axes;  ///< asked nothing: keeps the axes of all

  ManyTimes& times_of(const std::string& kernel) {
    for (auto& [name, times] : kernels) {
      if (name == kernel) return times;
    }
    return kernels.emplace_back(kernel, ManyTimes(context, waves, axes.get())).second;
  }

  /// By count(), whose word on a window over the input is NATTEN's on its dense kernels.
  [[nodiscard]] std::optional<std::string> kernel_of_count(const TilingProblem& problem) const {
    CountQuestion one = question;
    one.window = window_of(problem.mask);
    one.stride = stride_of(problem.mask);
    one.dilation = dilation_of(problem.mask);
    one.causal = causal_of(problem.mask);
    one.setting.input = input_of(problem.mask);
    one.backward = pass == Walk::kBackward;
    (one.backward ? one.backward_q_tile : one.q_tile) = problem.tiles.q_tile;
    (one.backward ? one.backward_kv_tile : one.kv_tile) = problem.tiles.kv_tile;
    const CountAnswer answer = count(one, context);
    const std::optional<KernelPass>& ran = one.backward ? answer.kernel.backward : answer.kernel.forward;
    return ran ? std::optional<std::string>(name_of(ran->attention)) : std::nullopt;
  }

  /// What NATTEN runs, as kernel_answer() says it.
  [[nodiscard]] std::optional<std::string> natten_kernel(const TilingProblem& problem) const {
    if (covers_input(problem.mask)) return kernel_of_count(problem);
    TilingProblem forward = problem;
    if (pass == Walk::kBackward) {
      forward.walk = Walk::kForward;
      forward.kv_tiling = effective_kv_tiling(std::nullopt, question.setting, context.catalog);
      forward.tiles = choose_tiles(question.setting, context.catalog, {}, {}, problem.mask.rank(), Walk::kForward).tiles;
    }
    const auto call = natten_call_of(question.setting, forward, pass == Walk::kBackward ? &problem : nullptr, context);
    if (!call) return std::nullopt;
    const NattenRules& rules = context.catalog.natten_release(question.setting.natten);
    NattenVerdict verdict = verdict_of(rules, *call);
    if (verdict.refusal && !question.setting.backend) return std::nullopt;  // nobody spoke of NATTEN
    if (!verdict.dispatch) {  // tiles that NATTEN does not have
      NattenCall with_own = *call;
      with_own.tiles = with_own.backward_tiles = std::nullopt;
      verdict = verdict_of(rules, with_own);
    }
    if (!verdict.dispatch) return std::nullopt;
    return std::string(to_string(verdict.dispatch->backend));
  }
};

ManyCountTimes::ManyCountTimes(const CountQuestion& question, Walk pass, const Context& context, WaveCount waves,
                               const ManyCountTimes* like)
    : state_(std::make_unique<State>(question, pass, context, waves)) {
  state_->question.setting = counted_setting(question, context);
  state_->axes = like != nullptr ? like->state_->axes : std::make_shared<ManyTimes>(context, waves);
  const Setting& setting = state_->question.setting;
  if (!setting.device) return;
  TimeQuestion& timed = state_->timed;
  timed = time_question(setting, {}, {}, pass, question.kernel_schedule);
  if (question.kernel) timed.kernel = question.kernel->name;
  timed.rest_ms = question.rest_ms;
  timed.mask_function = question.mask_function;
  timed.mask_cost = question.mask_cost;
}
bool ManyCountTimes::has_kernel() const { return state_->has_kernel; }
ManyCountTimes::~ManyCountTimes() = default;
ManyCountTimes::ManyCountTimes(ManyCountTimes&&) noexcept = default;

std::optional<TimeNumbers> ManyCountTimes::of(const TilingProblem& problem, const TileCount* count) {
  const CountQuestion& question = state_->question;
  if (!question.setting.device) return std::nullopt;
  TimeQuestion& timed = state_->timed;
  timed.mask = problem.mask;
  timed.tiles = problem.tiles;
  timed.tiling = Tiling::kMultiDimensional;
  timed.visits = std::nullopt;
  if (problem.tiling == Tiling::kSingleDimensional && problem.mask.rank() > 1) {
    if (!question.kernel || (*question.kernel != kFlexAttention && !question.kernel->own)) return std::nullopt;
    timed.tiling = problem.tiling;
    timed.visits = visits_of_blocks(count != nullptr ? *count : natten_sim::count(problem));
  }
  if (!question.kernel) {
    const std::optional<std::string> kernel = state_->natten_kernel(problem);
    state_->has_kernel = kernel.has_value();
    if (!kernel) return std::nullopt;
    timed.kernel = *kernel;
  }
  // What names a kernel, refuses a mask or leaves out tiles.
  const bool open = timed.tiles.q_tile.empty() || timed.tiles.kv_tile.empty() || timed.kernel == "fmha" || has_cycle(timed.mask);
  if (!open) return state_->times_of(timed.kernel).of(timed);
  const TimeQuestion whole = resolved(timed, state_->context);
  return state_->times_of(whole.kernel).of(whole);
}

}  // namespace natten_sim::study
