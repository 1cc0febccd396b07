#include <algorithm>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/model_data.hpp>
#include <natten_sim/study/plan.hpp>

#include "bounded.hpp"
#include "plan_parts.hpp"

namespace natten_sim::study {
namespace {

/// One question on its way to an answer. Members in the order in which they become known.
class Planner {
 public:
  Planner(const PlanQuestion& question, const Context& context) : context_(context), asked_(question) {
    context_.progress = {};
    resolve();
    answer_.question = asked_;
    if (asked_.gpus > 1) answer_.link = link();
  }

  PlanAnswer plan() {
    const CountQuestion whole = sparse_attention(asked_, context_);
    answer_.question.window = whole.window;
    answer_.question.stride = whole.stride;
    if (splits_tokens()) cut(make_mask(asked_.setting.input, whole.window, whole.stride));
    answer_.sparse.attention = count(on_one_gpu(whole), context_);
    answer_.sparse.attention_ms = time_of_pass(answer_.sparse.attention.time);
    if (const auto& backward = answer_.sparse.attention.backward)
      answer_.sparse.attention_ms = answer_.sparse.attention_ms + time_of_pass(backward->time);
    const std::string kernel = time_dense();
    const std::optional<Bounded> rest = rest_ms(kernel);
    for (PlanCase* each : {&answer_.dense, &answer_.sparse}) finish(rest, *each);
    answer_.sparse.seconds = run_seconds(answer_.sparse.step_ms);
    answer_.dense.seconds = run_seconds(answer_.dense.step_ms);
    answer_.speedup = answer_.dense.seconds.value / answer_.sparse.seconds.value;
    if (asked_.dollars_per_hour) {
      const double dollars_per_s = *asked_.dollars_per_hour * static_cast<double>(asked_.gpus) / 3600;
      for (PlanCase* each : {&answer_.dense, &answer_.sparse}) each->dollars = dollars_per_s * each->seconds;
    }
    return std::move(answer_);
  }

 private:
  void resolve() {
    Setting& setting = asked_.setting;
    if (!setting.device) throw InvalidParameter("device", "none", mention("device") + " with a GPU, such as h100");
    const std::optional<StepRatio> steps = setting.dense_steps;
    setting.dense_steps.reset();
    const bool trains = asked_.use == AdviseUse::kTraining;
    setting = resolved(setting, context_.catalog, trains);
    if (setting.input.empty())
      throw InvalidParameter("input", "none", mention("input") + " with one size an axis, or " + mention("preset"));
    if (setting.preset) answer_.preset = context_.catalog.preset(*setting.preset);
    setting.dense_steps = trains ? StepRatio{0, 1} : steps.value_or(preset_steps());
    answer_.dense_steps = setting.dense_steps->part;
    answer_.steps = setting.dense_steps->whole;
    shapes_ = model_shapes();
    if (setting.preset) shape_ = shape_of(*setting.preset, shapes_);
    if (!asked_.layers) asked_.layers = shape_ != nullptr ? shape_->layers : 1;
    if (!asked_.passes || trains) asked_.passes = shape_ != nullptr && !trains ? shape_->passes : 1;
    require_divisors();
  }

  /// The dense attention of the busiest GPU. Returns its forward kernel.
  std::string time_dense() {
    const CountAnswer& sparse = answer_.sparse.attention;
    const std::string own = *sparse.question.kernel, kernel = dense_kernel_of(sparse.time, own);
    answer_.dense.attention = count(on_one_gpu(dense_attention(asked_, kernel, Walk::kForward)), context_);
    Bounded once = time_of_pass(answer_.dense.attention.time);
    if (sparse.backward) {
      const std::string backward_kernel = dense_kernel_of(sparse.backward->time, own);
      const CountAnswer both =
          count(on_one_gpu(dense_attention(asked_, backward_kernel, Walk::kBackward)), context_);
      once = once + time_of_pass(both.backward.value().time);
    }
    // Where tokens are split, queries of one part meet the keys of each in turn.
    answer_.dense.attention_ms = (splits_tokens() ? static_cast<double>(asked_.gpus) : 1) * once;
    return kernel;
  }

  [[nodiscard]] StepRatio preset_steps() const {
    if (!answer_.preset) return {};
    return {answer_.preset->dense_steps.value_or(0), answer_.preset->steps.value_or(1)};
  }

  void require_divisors() const {
    if (asked_.gpus == 1 || asked_.split != GpuSplit::kHeads) return;
    if (*asked_.setting.heads_kv % asked_.gpus == 0 && *asked_.setting.heads % asked_.gpus == 0) return;
    throw InvalidParameter("gpus", std::to_string(asked_.gpus),
                           "a divisor of the " + std::to_string(*asked_.setting.heads_kv) +
                               " KV heads where heads are split, or " + mention("parallel") + " sequence");
  }

  [[nodiscard]] Link link() const {
    std::vector<std::string> known;
    for (const Link& each : links()) {
      if (each.device == *asked_.setting.device) return each;
      known.push_back(each.device);
    }
    throw InvalidParameter("device", *asked_.setting.device, joined(known) + ": the others' links are not known");
  }

  [[nodiscard]] bool splits_tokens() const { return asked_.gpus > 1 && asked_.split != GpuSplit::kHeads; }

  /// Along the axis on which the GPU that receives most receives least; of equal ones the first.
  void cut(const NeighborhoodMask& mask) {
    const std::int64_t tokens = token_count(asked_.setting.input);
    std::optional<std::int64_t> least;
    for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
      if (mask[axis].length < asked_.gpus) continue;
      std::vector<AxisSlab> slabs = split_axis(mask[axis], asked_.gpus);
      const std::int64_t foreign = foreign_tokens(slabs) * (tokens / mask[axis].length);
      if (least && foreign >= *least) continue;
      least = foreign;
      answer_.split_axis = axis;
      answer_.slabs = std::move(slabs);
    }
    if (!least)
      throw InvalidParameter("gpus", std::to_string(asked_.gpus), "no more than the tokens of the longest axis");
    line_tokens_ = tokens / mask[answer_.split_axis].length;
    foreign_tokens_ = *least;
  }

  /// Of the split axis, that the GPU which receives most receives: halos, or round a ring whole parts.
  [[nodiscard]] std::int64_t foreign_tokens(const std::vector<AxisSlab>& slabs) const {
    std::int64_t most = 0;
    for (const AxisSlab& slab : slabs) {
      std::int64_t foreign = slab.halo_tokens();
      if (asked_.split == GpuSplit::kRing) {
        foreign = 0;
        for (const AxisSlab& other : slabs) {
          const bool reached = other.own.begin < slab.attended.end && slab.attended.begin < other.own.end;
          if (&other != &slab && reached) foreign += other.own_tokens();
        }
      }
      most = std::max(most, foreign);
    }
    return most;
  }

  [[nodiscard]] static std::int64_t token_count(const Extents& input) {
    std::int64_t tokens = 1;
    for (const std::int64_t size : input) tokens = checked_multiply(tokens, size, "tokens");
    return tokens;
  }

  /// The call of the GPU with most to do.
  [[nodiscard]] CountQuestion on_one_gpu(CountQuestion call) const {
    if (asked_.gpus == 1) return call;
    call.setting.preset.reset();
    if (!splits_tokens()) {
      *call.setting.heads /= asked_.gpus;
      *call.setting.heads_kv /= asked_.gpus;
      return call;
    }
    std::int64_t most = 0;
    const bool dense = call.window.empty();
    for (const AxisSlab& slab : answer_.slabs)
      most = std::max(most, dense ? slab.own_tokens() : slab.computed_tokens());
    call.setting.input[answer_.split_axis] = most;
    return call;
  }

  /// Of one pass of the model, forward, on all GPUs; in training with its backward.
  std::optional<Bounded> rest_ms(const std::string& dense_kernel) {
    const Setting& setting = asked_.setting;
    if (!asked_.rest_flops && !setting.attention_share && shape_ == nullptr) return std::nullopt;
    const CountQuestion call = dense_attention(asked_, dense_kernel, Walk::kForward);
    const Bounded attention = static_cast<double>(*asked_.layers) * time_of_pass(count(call, context_).time);
    const double tokens = static_cast<double>(token_count(setting.input));
    Bounded rest;
    if (!asked_.rest_flops && setting.attention_share) {
      if (*setting.attention_share == 0) throw InvalidParameter("attention-share", "0", "more than 0 in a plan");
      answer_.rest = RestBasis::kShare;
      rest = (1 / *setting.attention_share - 1) * attention;
    } else {
      answer_.rest = RestBasis::kFlops;
      const double batch = static_cast<double>(setting.batch), layers = static_cast<double>(*asked_.layers);
      answer_.rest_flops = asked_.rest_flops
                               ? *asked_.rest_flops
                               : 2 * batch * tokens * layers * static_cast<double>(shape_->layer_weights);
      const double channels = static_cast<double>(*setting.heads * (*setting.head_dim + *setting.head_dim_value));
      const double attention_flops = 2 * batch * layers * tokens * tokens * channels;
      rest = (*answer_.rest_flops / attention_flops) * (shapes_.rest_cost * attention);
    }
    return asked_.use == AdviseUse::kTraining ? kTrainingRest * rest : rest;
  }

  void finish(const std::optional<Bounded>& rest, PlanCase& plan) const {
    const bool dense = &plan == &answer_.dense;
    add_communication(dense, plan);
    add_memory(dense, plan);
    plan.step_ms = static_cast<double>(*asked_.layers) * (plan.attention_ms + plan.communication_ms);
    if (rest) {
      plan.rest_ms = 1 / static_cast<double>(asked_.gpus) * *rest;
      plan.step_ms = plan.step_ms + *plan.rest_ms;
    }
    plan.step_ms = static_cast<double>(*asked_.passes) * plan.step_ms;
  }

  void add_communication(bool dense, PlanCase& plan) const {
    if (asked_.gpus == 1) return;
    const std::int64_t tokens = token_count(asked_.setting.input);
    plan.communication_bytes = splits_tokens()
                                   ? token_traffic(asked_, dense ? tokens - fewest_own_tokens() : foreign_tokens_)
                                   : head_traffic(asked_, tokens);
    const Bounded sent = transfer_ms(plan.communication_bytes, *answer_.link);
    plan.communication_ms = sent;
    if (asked_.split != GpuSplit::kRing) return;
    const Bounded& work = plan.attention_ms;
    plan.communication_ms = {std::max(0.0, sent.value - work.value), std::max(0.0, sent.low - work.high),
                             std::max(0.0, sent.high - work.low)};
  }

  /// Of the GPU with most of them; all without a split of tokens.
  [[nodiscard]] std::int64_t own_tokens() const {
    if (!splits_tokens()) return token_count(asked_.setting.input);
    return answer_.slabs.front().own_tokens() * line_tokens_;
  }

  /// Of the GPU with fewest of them, which receives most of the others. Requires a split of tokens.
  [[nodiscard]] std::int64_t fewest_own_tokens() const {
    const auto fewest = std::min_element(
        answer_.slabs.begin(), answer_.slabs.end(),
        [](const AxisSlab& a, const AxisSlab& b) { return a.own_tokens() < b.own_tokens(); });
    return fewest->own_tokens() * line_tokens_;
  }

  void add_memory(bool dense, PlanCase& plan) const {
    const Setting& setting = plan.attention.question.setting;  // of one GPU's heads
    const std::int64_t layer = checked_multiply(own_tokens(), qo_bytes(setting) + kv_bytes(setting), "bytes");
    plan.memory.tensors = layer;
    if (asked_.use == AdviseUse::kTraining)
      plan.memory.tensors = checked_multiply(layer, *asked_.layers + 1, "bytes");
    const auto& pass = plan.attention.kernel.forward;
    if (!dense && pass && pass->permutation) {
      for (const PermutedTensor& copy : pass->permutation->copies)
        plan.memory.copies += copy.into_tiles ? copy.bytes_written : copy.bytes_read;
    }
    if (splits_tokens()) {
      // Round a ring one part is at work while the next one comes.
      std::int64_t kept = dense ? token_count(asked_.setting.input) - own_tokens() : foreign_tokens_;
      if (asked_.split == GpuSplit::kRing) kept = std::min(kept, 2 * own_tokens());
      plan.memory.received = checked_multiply(kept, kv_bytes(setting), "bytes");
    }
    add_weights(element_bytes(*setting.dtype), plan.memory);
  }

  void add_weights(std::int64_t bytes, PlanMemory& memory) const {
    std::optional<std::int64_t> parameters = asked_.parameters;
    if (!parameters && shape_ != nullptr) parameters = checked_multiply(*asked_.layers, shape_->layer_weights, "bytes");
    if (!parameters) return;
    memory.weights = checked_multiply(*parameters, bytes, "bytes");
    if (asked_.use != AdviseUse::kTraining) return;
    memory.gradients = memory.weights;
    memory.optimizer = checked_multiply(*parameters, asked_.optimizer_bytes, "bytes");
  }

  /// Of all steps and samples: the dense steps are dense.
  [[nodiscard]] Bounded run_seconds(const Bounded& step_ms) const {
    const auto dense_steps = static_cast<double>(answer_.dense_steps);
    const Bounded steps = dense_steps * answer_.dense.step_ms +
                          (static_cast<double>(answer_.steps) - dense_steps) * step_ms;
    const std::int64_t rounds = ceil_divide(asked_.samples, asked_.setting.batch);
    return 1e-3 * static_cast<double>(rounds) * steps;
  }

  Context context_;
  PlanQuestion asked_;
  PlanAnswer answer_;
  ModelShapes shapes_;
  const ModelShape* shape_ = nullptr;  ///< of the preset; null: none
  std::int64_t foreign_tokens_ = 0;    ///< of the layout, that the GPU which receives most receives
  std::int64_t line_tokens_ = 1;       ///< of the layout, a token of the split axis
};

void require_within(const char* name, double value, double least, double most, const char* accepted) {
  if (!(value >= least && value <= most)) throw InvalidParameter(name, std::to_string(value), accepted);
}

}  // namespace

PlanAnswer plan(const PlanQuestion& question, const Context& context) {
  const auto positive = [](const char* name, std::optional<std::int64_t> value) {
    if (value && (*value < 1 || *value > kMostOfPlan))
      throw InvalidParameter(name, std::to_string(*value), "1.." + std::to_string(kMostOfPlan));
  };
  positive("layers", question.layers);
  positive("passes", question.passes);
  positive("gpus", question.gpus);
  positive("samples", question.samples);
  if (question.parameters && (*question.parameters < 1 || *question.parameters > kMostParameters))
    throw InvalidParameter("parameters", std::to_string(*question.parameters), "1.." + std::to_string(kMostParameters));
  if (question.optimizer_bytes < 0 || question.optimizer_bytes > kMostOptimizerBytes)
    throw InvalidParameter("optimizer-bytes", std::to_string(question.optimizer_bytes),
                           "0.." + std::to_string(kMostOptimizerBytes));
  if (question.rest_flops) require_within("rest-flops", *question.rest_flops, 1, 1e24, "FLOPs in 1..1e24");
  if (question.dollars_per_hour) require_within("dollars-per-hour", *question.dollars_per_hour, 0, 1e6, "0..1e6");
  return Planner(question, context).plan();
}

}  // namespace natten_sim::study
