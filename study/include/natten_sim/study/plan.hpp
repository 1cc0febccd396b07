#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/model_shape.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/models/tiles/axis_split.hpp>
#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/model_share.hpp>

namespace natten_sim::study {

/// How the GPUs of a machine share one attention.
enum class GpuSplit {
  kHeads,     ///< each has some of the heads over all tokens: Q, K, V and O change places before and after
  kSequence,  ///< each has a part of the tokens, and is sent the keys that its windows reach
  kRing,      ///< the same, but K and V of whole parts go round while the GPUs compute
};

/// Most layers, passes, GPUs and samples.
inline constexpr std::int64_t kMostOfPlan = 1'000'000'000;

/// Adam in mixed precision: two moments and a copy of the parameter in fp32.
inline constexpr std::int64_t kAdamBytes = 12;
/// Most parameters of a model, and bytes of state of each.
inline constexpr std::int64_t kMostParameters = 1'000'000'000'000'000;
inline constexpr std::int64_t kMostOptimizerBytes = 1024;

/// What does a whole model cost?
struct PlanQuestion {
  Setting setting;  ///< of one attention; its device is needed, its batch is what a GPU group works on at once
  Extents window;   ///< of the sparse plan; empty: the fastest that leaves out at most kUsualSparsity of the pairs
  Extents stride;   ///< empty: the fastest, where the window is given
  std::optional<std::int64_t> layers;      ///< that run this attention; none: the preset's, or 1
  std::optional<std::int64_t> passes;      ///< of the model a step; none: the preset's, or 1; one in training
  std::optional<double> rest_flops;        ///< of all but attention, a pass; none: by the share, else the preset's
  std::optional<std::int64_t> parameters;  ///< of the model; none: the layers' weights of the preset
  std::int64_t optimizer_bytes = kAdamBytes;  ///< of optimizer state a parameter, in training
  AdviseUse use = AdviseUse::kInference;
  std::int64_t samples = 1;                ///< videos to make, or samples of an epoch
  std::int64_t gpus = 1;
  GpuSplit split = GpuSplit::kHeads;
  std::optional<double> dollars_per_hour;  ///< of one GPU
};

/// Bytes on the busiest GPU.
struct PlanMemory {
  std::int64_t tensors = 0;   ///< Q, K, V and O of one layer; in training of all, with dQ, dK, dV and dO of one
  std::int64_t copies = 0;    ///< in tiles, of one layer
  std::int64_t received = 0;  ///< K and V of other GPUs, of one layer
  /// Of the model's parameters, whole on each GPU; none: their number is not known. In training each has a gradient of
  /// the weights' type, and the optimizer's state.
  std::optional<std::int64_t> weights, gradients, optimizer;

  [[nodiscard]] std::int64_t total() const noexcept {
    return tensors + copies + received + weights.value_or(0) + gradients.value_or(0) + optimizer.value_or(0);
  }
};

/// The model with one attention in all its layers.
struct PlanCase {
  CountAnswer attention;               ///< of one call on the busiest GPU
  Bounded attention_ms;                ///< of that call, all passes that are asked for
  std::int64_t communication_bytes = 0;  ///< that the GPU which receives most receives a layer
  Bounded communication_ms;            ///< of a layer; of kRing what attention does not hide
  std::optional<Bounded> rest_ms;      ///< a pass, on each GPU
  Bounded step_ms;                     ///< all layers and passes of a step, and the rest where it is known
  Bounded seconds;                     ///< of all steps and samples; the sparse plan's dense steps are dense
  std::optional<Bounded> dollars;      ///< of all GPUs
  PlanMemory memory;
};

struct PlanAnswer {
  PlanQuestion question;  ///< with defaults filled in; its dense steps hold the steps
  std::optional<Preset> preset;
  PlanCase dense, sparse;
  double speedup = 1;             ///< dense.seconds over sparse.seconds
  std::size_t split_axis = 0;     ///< that kSequence and kRing cut: with the fewest tokens sent
  std::vector<AxisSlab> slabs;    ///< of the sparse plan; empty: heads are split
  std::int64_t steps = 1, dense_steps = 0;
  RestBasis rest = RestBasis::kUnknown;
  std::optional<double> rest_flops;  ///< a pass; none: the share was taken, or nothing is known
  std::optional<Link> link;          ///< none: one GPU
};

/// Attention by time(), everything else by `attention_share` (of dense attention, wherever it was measured) or by FLOPs
/// at ModelShapes::rest_cost; tokens of the rest are split evenly. Bounds add up: they hold if all their parts do.
/// Communication takes its bytes over the link's rate; what the links have to do at once is not modelled, nor are
/// latency, pipelines and the text encoder.
/// Cost: that of advise() on one device without a window, else of a search over the tiles.
/// @throws InvalidParameter, UnknownName when the question makes no sense, or nothing is timed there.
[[nodiscard]] PlanAnswer plan(const PlanQuestion& question, const Context& context);

template <typename Members>
void describe(Members& members, const PlanQuestion&) {
  using Q = PlanQuestion;
  constexpr IntegerBounds kCounts{1, kMostOfPlan};
  members.part(&Q::setting, [](auto& setting) { describe_layout(setting); });
  members.group("Problem");
  members.add("window", &Q::window,
              {.flags = "-w,--window,--window-size", .help = "Window of the sparse plan [the fastest that advise finds]"});
  members.add("stride", &Q::stride, {.flags = "-s,--stride", .help = "Stride, with {window} [the fastest]"});
  members.group("Model");
  members.add("layers", &Q::layers,
              {.help = "Layers that run this attention [the preset's, or 1]", .range = kCounts});
  members.add("passes", &Q::passes,
              {.help = "Passes of the model in a step, 2 with guidance [the preset's, or 1; one in training]",
               .range = kCounts});
  members.add("rest_flops", &Q::rest_flops,
              {.value = "F",
               .help = "FLOPs of a pass outside attention, all layers, 1..1e24 [by the attention share, or the preset's]",
               .interval = {1, 1e24},
               .accepted = "FLOPs in 1..1e24",
               .echo = Echo::kWhenSet});
  members.add("parameters", &Q::parameters,
              {.help = "Parameters of the model, for its memory [the layers' of the preset]",
               .range = {1, kMostParameters},
               .echo = Echo::kWhenSet});
  members.add("optimizer_bytes", &Q::optimizer_bytes,
              {.help = "Bytes of optimizer state per parameter in training; Adam with an fp32 copy has 12 [default]",
               .range = {0, kMostOptimizerBytes}});
  members.add("for", &Q::use, {.value = "USE", .help = "inference: videos; training: an epoch [default]"});
  members.add("samples", &Q::samples,
              {.help = "Videos to make, or samples of an epoch [default]", .range = kCounts});
  members.group("GPUs");
  members.add("gpus", &Q::gpus, {.help = "GPUs that share one model [default]", .range = kCounts});
  members.add("parallel", &Q::split,
              {.value = "SPLIT",
               .help = "heads: over all tokens; sequence: parts of the tokens, with the keys that windows reach; "
                       "ring: the same, whole parts going round while GPUs compute [default]"});
  members.add("dollars_per_hour", &Q::dollars_per_hour,
              {.value = "X",
               .help = "Price of one GPU, 0..1e6 [none]",
               .interval = {0, 1e6},
               .accepted = "0..1e6",
               .echo = Echo::kWhenSet});
  members.part(&Q::setting, [](auto& setting) { describe_workload(setting); });
}

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::GpuSplit> {
  using Split = study::GpuSplit;
  static constexpr const char* kConcept = "parallel";
  static constexpr Name<Split> kTable[] = {
      {Split::kHeads, "heads"}, {Split::kSequence, "sequence"}, {Split::kRing, "ring"}};
};

}  // namespace natten_sim
