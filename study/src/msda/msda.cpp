#include <algorithm>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/parallel.hpp>
#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/study/msda.hpp>

#include "scatter/scatter_device.hpp"

namespace natten_sim::study {
namespace {

/// Of one sampled location and channel. Forward: three lerps of the four corners and the weight, as four
/// multiply-adds and one; backward: the same again for the weight's gradient, two more for the location's,
/// and two multiplications a corner for the value's.
constexpr std::int64_t kForwardFlops = 10, kBackwardFlops = 10 + 8 + 8;

/// Which row of the lowering table describes the gradient updates of the paper's kernel.
constexpr const char* kUpdateConstruct = "msda-triton-block";

/// What this project's kernels were measured with.
constexpr std::int64_t kLeastRowBytes = 16, kMostRowBytes = 512, kMostPoints = 16, kMostLevels = 5,
                       kCtaWarps = 8;

MsdaQuestion with_types(MsdaQuestion question) {
  const Dtype accumulator = question.accumulator.value_or(question.dtype.value_or(Dtype::kBf16));
  const Dtype tensors = question.dtype.value_or(accumulator == Dtype::kFp16 ? Dtype::kFp16 : Dtype::kBf16);
  if (accumulator != tensors && accumulator != Dtype::kFp32) {
    throw InvalidParameter("accumulator", to_string(accumulator),
                           std::string("fp32, or the type of the tensors, ") + to_string(tensors),
                           to_string(tensors));
  }
  question.accumulator = accumulator;
  question.dtype = tensors;
  return question;
}

MsdaQuestion checked(MsdaQuestion question) {
  require_valid(question.config);
  if (question.orders.empty()) throw InvalidParameter("orders", "none", "at least one order");
  return with_types(std::move(question));
}

/// What a question says about a launch of this project's kernel.
MsdaUpdate update_of(const MsdaQuestion& question, const std::string& architecture) {
  if (question.update) return *question.update;
  if (*question.accumulator != *question.dtype) return MsdaUpdate::kAccumulator;
  if (!question.construct) return MsdaUpdate::kRed16;
  const std::vector<Lowering>& table = builtin_lowerings();
  const Lowering& lowering = find_lowering(table, *question.construct, architecture, *question.accumulator);
  if (lowering.path == InstructionPath::kAtom) return MsdaUpdate::kAtom;
  if (lowering.path == InstructionPath::kCas)
    return *question.dtype == Dtype::kFp32 ? MsdaUpdate::kCas : MsdaUpdate::kScalar;
  return lowering.vector_width * element_bytes(*question.accumulator) > 4 ? MsdaUpdate::kRed16
                                                                          : MsdaUpdate::kRed4;
}

MsdaRun run_of(const MsdaQuestion& question, const std::string& architecture) {
  const MsdaConfig& config = question.config;
  return {.phase = question.phase,
          .tiling = question.tiling,
          .update =
              question.phase == MsdaPhase::kBackward ? update_of(question, architecture) : MsdaUpdate::kRed16,
          .element_bytes = element_bytes(*question.dtype),
          .parameter_bytes = element_bytes(question.parameters.value_or(Dtype::kFp32)),
          .pairs = static_cast<double>(config.batch * queries_per_image(config) * config.heads),
          .levels = static_cast<double>(config.levels()),
          .points = static_cast<double>(config.points),
          .head_channels = static_cast<double>(config.head_channels())};
}

/// A question with its types and what its device is known by.
struct MsdaSetting {
  MsdaQuestion question;
  ScatterDevice device;
  MsdaKernel kernel;
  MsdaRun run;  ///< as far as the question tells

  MsdaSetting(const MsdaQuestion& asked, const Context& context)
      : question(checked(asked)), device(scatter_device(asked.device, context)) {
    question.device = device.device->name;
    if (!own()) {
      kernel = msda_kernel(*device.device, asked.tiling);
      return;
    }
    run = run_of(question, device.device->architecture);
    kernel.tiling = asked.tiling;
    kernel.dram_granule_bytes = 1;  // a row
    kernel.occupancy = static_cast<double>(msda_variant(run, *costs()).ctas_per_sm * kCtaWarps) /
                       device.profile.warps_per_sm;
  }
  [[nodiscard]] const std::optional<MsdaCosts>& costs() const { return device.device->msda_costs; }
  /// Whether this project's kernel is answered for.
  [[nodiscard]] bool own() const { return costs().has_value(); }
  [[nodiscard]] std::int64_t tensor_bytes() const { return element_bytes(*question.dtype); }
  [[nodiscard]] std::int64_t gradient_bytes() const { return element_bytes(*question.accumulator); }
  [[nodiscard]] std::int64_t row_bytes() const { return question.config.head_channels() * tensor_bytes(); }
  [[nodiscard]] bool backward() const { return question.phase == MsdaPhase::kBackward; }
  [[nodiscard]] double value_bytes() const {
    return static_cast<double>(question.config.batch * pixels_per_image(question.config) *
                               question.config.channels * tensor_bytes());
  }
  [[nodiscard]] MsdaRun run_on(const MsdaTraffic& traffic) const {
    MsdaRun known = run;
    known.reads = static_cast<double>(traffic.reads);
    known.rows = static_cast<double>(traffic.rows);
    known.value_bytes = value_bytes();
    known.missed_bytes = static_cast<double>(traffic.l2_misses * cache().rows_per_granule * row_bytes());
    return known;
  }
  [[nodiscard]] std::string construct() const {
    if (question.construct) return *question.construct;
    if (!own()) return kUpdateConstruct;
    // Compare-and-swap and private copies begin with an element's atomic.
    return construct_of(run.update, *question.dtype)
        .value_or(*construct_of(MsdaUpdate::kScalar, *question.dtype));
  }

  [[nodiscard]] MsdaCache cache() const {
    const std::int64_t rows_per_granule =
        std::clamp<std::int64_t>(kernel.dram_granule_bytes / row_bytes(), 1, question.config.heads);
    double bytes = question.l2_bytes ? static_cast<double>(*question.l2_bytes) : device.profile.l2_bytes;
    if (own() && backward()) bytes /= 2;  // gradients take the other half
    return {static_cast<std::int64_t>(bytes) / (rows_per_granule * row_bytes()), rows_per_granule};
  }
};

/// Bytes of the sampling locations and weights, and of what has the shape of the output.
struct Streams {
  std::int64_t parameters = 0, output = 0;
};

Streams streams_of(const MsdaSetting& setting) {
  const MsdaConfig& config = setting.question.config;
  const std::int64_t queries = config.batch * queries_per_image(config);
  const std::int64_t weights = queries * config.heads * config.levels() * config.points;
  const std::int64_t parameter = setting.own() ? setting.run.parameter_bytes : setting.tensor_bytes();
  return {3 * weights * parameter, queries * config.channels * setting.tensor_bytes()};
}

/// Bytes that a pass reads from DRAM and writes there.
struct DramBytes {
  std::int64_t read = 0, written = 0;
};

DramBytes dram_bytes(const MsdaSetting& setting, const MsdaTraffic& traffic) {
  const Streams streams = streams_of(setting);
  const std::int64_t granule = setting.cache().rows_per_granule * setting.row_bytes();
  DramBytes bytes;
  bytes.read =
      checked_add(checked_multiply(traffic.l2_misses, granule, "bytes"), streams.parameters, "bytes");
  (setting.backward() ? bytes.read : bytes.written) += streams.output;
  if (!setting.backward()) return bytes;
  if (setting.own()) {
    // Gradients were zeroed just before: those that the L2 has kept are not read.
    MsdaRun run = setting.run;
    run.value_bytes = setting.value_bytes();
    const double gradient = msda_gradient_bytes(run);
    const auto leaving =
        static_cast<std::int64_t>(static_cast<double>(traffic.l2_misses * granule) * gradient /
                                  run.value_bytes * msda_share_that_leaves(gradient, *setting.costs()));
    bytes.read = checked_add(bytes.read, leaving, "bytes");
    bytes.written = checked_add(leaving, streams.parameters, "bytes");
    return bytes;
  }
  // Gradients of the parameters; those of the value are read and written back where anything is added.
  const std::int64_t gradient = checked_multiply(
      traffic.granules, granule / setting.tensor_bytes() * setting.gradient_bytes(), "bytes");
  bytes.read = checked_add(bytes.read, gradient, "bytes");
  bytes.written = checked_add(gradient, streams.parameters, "bytes");
  return bytes;
}

double l2_hit_rate(const MsdaSetting& setting, const MsdaTraffic& traffic) {
  const std::int64_t granule = setting.cache().rows_per_granule * setting.row_bytes();
  const double row = static_cast<double>(setting.row_bytes());
  // The L1 of this project's kernels answers what a query and head reads again.
  const double asked =
      setting.own() ? static_cast<double>(traffic.query_reads) * std::max(row / kSectorBytes, 1.0)
                    : setting.kernel.sectors_per_sample * static_cast<double>(traffic.samples) * row / 64;
  const double missing =
      static_cast<double>(traffic.l2_misses * granule + streams_of(setting).parameters) / kSectorBytes;
  return std::clamp(1 - missing / asked, 0.0, 1.0);
}

std::int64_t peak_bytes(const MsdaSetting& setting) {
  const MsdaMemory memory = msda_memory(setting.question.config, *setting.question.dtype);
  if (!setting.backward()) return memory.forward_peak_bytes;
  const bool wider = setting.gradient_bytes() > setting.tensor_bytes();
  return wider ? memory.backward_fp32_accumulator_bytes : memory.backward_native_bytes;
}

ScatterCost cost_of_updates(const MsdaSetting& setting, const MsdaTraffic& traffic) {
  const MsdaConfig& config = setting.question.config;
  const ContentionProfile& profile = setting.device.profile;
  const std::vector<Lowering>& table = builtin_lowerings();
  const Lowering& lowering = find_lowering(table, setting.construct(), setting.device.device->architecture,
                                           *setting.question.accumulator);
  ScatterCost cost;
  cost.instruction = lowering.instruction;
  ScatterLoad& load = cost.load;
  describe_collisions(traffic.collisions, load);
  load.width = config.head_channels();
  load.type = *setting.question.accumulator;
  load.path = lowering.path;
  load.vector_width = load.width % lowering.vector_width == 0 ? lowering.vector_width : 1;
  load.issue_ns = 0;  // part of the kernel's reads
  const double sms = static_cast<double>(profile.sms);
  load.resident_warps = setting.kernel.occupancy * profile.warps_per_sm * sms;
  load.warps_in_flight = std::min(profile.warps_in_flight * sms, *load.resident_warps);
  predict_cost(traffic.collisions, {.addresses = setting.question.details.addresses}, setting.device, cost);
  if (!setting.question.details.remedies) return cost;
  std::vector<OtherConstruct> others;  // within the same kernel
  for (const OtherLowering& other : other_lowerings(lowering, load.width)) {
    if (other.effort == RemedyEffort::kOperator) continue;
    ScatterLoad changed = load;
    changed.path = other.lowering->path;
    changed.vector_width = other.lowering->vector_width;
    others.push_back({other.remedy, other.effort, other.lowering->construct, changed});
  }
  const std::int64_t rows = config.batch * pixels_per_image(config) * config.heads;
  cost.remedies = compare_remedies(load, rows, profile, others, setting.device.pre_reduction);
  return cost;
}

MsdaPass pass_of(const MsdaSetting& setting, QueryOrder order, MsdaTraffic traffic) {
  MsdaPass pass;
  pass.order = order;
  pass.traffic = std::move(traffic);
  const DramBytes dram = dram_bytes(setting, pass.traffic);
  pass.read_bytes = dram.read;
  pass.bytes = checked_add(dram.read, dram.written, "bytes");
  pass.flops = checked_multiply(
      pass.traffic.samples,
      (setting.backward() ? kBackwardFlops : kForwardFlops) * setting.question.config.head_channels(),
      "flops");
  pass.work = {static_cast<double>(pass.traffic.reads), static_cast<double>(setting.row_bytes()),
               static_cast<double>(pass.bytes)};
  pass.l2_hit_rate = l2_hit_rate(setting, pass.traffic);
  if (setting.question.details.addresses)
    pass.unique_sectors = touched_units(pass.traffic.collisions, setting.row_bytes(), kSectorBytes);
  if (setting.backward()) pass.updates = cost_of_updates(setting, pass.traffic);
  if (setting.own()) {
    pass.time = predict_msda_run(setting.run_on(pass.traffic), *setting.costs(), setting.device.profile);
  } else if (setting.backward()) {
    pass.time =
        predict_msda_backward(pass.work, pass.updates->prediction, setting.kernel, setting.device.profile);
  } else {
    pass.time = predict_msda_forward(pass.work, setting.kernel, setting.device.profile);
  }
  return pass;
}

std::optional<MsdaError> known_error(const MsdaSetting& setting) {
  if (!setting.own()) return std::nullopt;
  const std::optional<MsdaCostError> known = msda_cost_error(setting.run, *setting.costs());
  if (!known) return std::nullopt;
  MsdaError error{setting.costs()->held_out,
                  known->unfitted_points,
                  known->unfitted_worst_ratio,
                  known->unfitted_mean_ratio,
                  {}};
  const MsdaConfig& config = setting.question.config;
  if (setting.row_bytes() < kLeastRowBytes || setting.row_bytes() > kMostRowBytes)
    error.outside.emplace_back("head_channels");
  if (config.points > kMostPoints) error.outside.emplace_back("points");
  if (config.levels() > kMostLevels) error.outside.emplace_back("levels");
  return error;
}

MsdaAnswer answer_of(const MsdaSetting& setting) {
  return {.question = setting.question,
          .kernel = setting.kernel,
          .own_kernel = setting.own(),
          .error = known_error(setting),
          .profile = setting.device.profile,
          .peak_bytes = peak_bytes(setting)};
}

}  // namespace

MsdaAnswer msda(const MsdaQuestion& question, const Context& context) {
  const MsdaSetting setting(question, context);
  MsdaAnswer answer = answer_of(setting);
  answer.passes.resize(question.orders.size());
  run_parts(question.orders.size(), {.threads = context.threads, .progress = context.progress},
            [&](std::size_t i, const ProgressFunction& progress) {
              const QueryOrder order = question.orders[i];
              answer.passes[i] = pass_of(
                  setting, order,
                  simulate_msda(question.config, question.sampling, order, setting.cache(), progress));
            });
  return answer;
}

std::vector<std::string> msda_config_names() {
  std::vector<std::string> names;
  for (const MsdaConfig& config : builtin_msda_configs()) names.push_back(config.name);
  return names;
}

bool is_no_options_file(const std::string& value) { return !value.ends_with(".toml"); }

std::optional<std::string> construct_of(MsdaUpdate update, Dtype dtype) {
  const bool half = dtype == Dtype::kFp16, single = dtype == Dtype::kFp32;
  switch (update) {
    case MsdaUpdate::kAccumulator:
      return "ptx-red-relaxed-v4-f32";
    case MsdaUpdate::kRed16:
      return single ? "ptx-red-relaxed-v4-f32" : half ? "ptx-red-relaxed-v8-f16" : "ptx-red-relaxed-v8-bf16";
    case MsdaUpdate::kRed4:
      return single ? "cuda-atomicadd-float" : half ? "ptx-red-relaxed-f16x2" : "ptx-red-relaxed-bf16x2";
    case MsdaUpdate::kScalar:
      return single ? "cuda-atomicadd-float" : half ? "cuda-atomicadd-half" : "cuda-atomicadd-bfloat16";
    case MsdaUpdate::kAtom:
      if (single) return std::nullopt;
      return half ? "cuda-atomicadd-half2" : "cuda-atomicadd-bfloat162";
    case MsdaUpdate::kCas:
    case MsdaUpdate::kPrivate:
      break;
  }
  return std::nullopt;
}

MsdaCache msda_cache(const MsdaQuestion& question, const Context& context) {
  return MsdaSetting(question, context).cache();
}

MsdaAnswer msda_from_traffic(const MsdaQuestion& question, std::vector<MsdaTraffic> traffic,
                             const Context& context) {
  if (traffic.size() != question.orders.size()) {
    throw InvalidParameter("traffic", std::to_string(traffic.size()) + " entries",
                           std::to_string(question.orders.size()) + ", one an order");
  }
  const MsdaSetting setting(question, context);
  MsdaAnswer answer = answer_of(setting);
  for (std::size_t i = 0; i < traffic.size(); ++i)
    answer.passes.push_back(pass_of(setting, question.orders[i], std::move(traffic[i])));
  return answer;
}

}  // namespace natten_sim::study
