#include <algorithm>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
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

/// Which row of the lowering table describes the gradient updates.
constexpr const char* kUpdateConstruct = "msda-triton-block";

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

/// A question with its types and what its device is known by.
struct MsdaSetting {
  MsdaQuestion question;
  ScatterDevice device;
  MsdaKernel kernel;

  MsdaSetting(const MsdaQuestion& asked, const Context& context)
      : question(checked(asked)),
        device(scatter_device(asked.device, context)),
        kernel(msda_kernel(*device.device, asked.tiling)) {
    question.device = device.device->name;
  }
  [[nodiscard]] std::int64_t tensor_bytes() const { return element_bytes(*question.dtype); }
  [[nodiscard]] std::int64_t gradient_bytes() const { return element_bytes(*question.accumulator); }
  [[nodiscard]] std::int64_t row_bytes() const { return question.config.head_channels() * tensor_bytes(); }
  [[nodiscard]] bool backward() const { return question.phase == MsdaPhase::kBackward; }

  [[nodiscard]] MsdaCache cache() const {
    const std::int64_t rows_per_granule =
        std::clamp<std::int64_t>(kernel.dram_granule_bytes / row_bytes(), 1, question.config.heads);
    const double bytes =
        question.l2_bytes ? static_cast<double>(*question.l2_bytes) : device.profile.l2_bytes;
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
  return {3 * weights * setting.tensor_bytes(), queries * config.channels * setting.tensor_bytes()};
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
  // Gradients of the parameters; those of the value are read and written back where anything is added.
  const std::int64_t gradient = checked_multiply(
      traffic.granules, granule / setting.tensor_bytes() * setting.gradient_bytes(), "bytes");
  bytes.read = checked_add(bytes.read, gradient, "bytes");
  bytes.written = checked_add(gradient, streams.parameters, "bytes");
  return bytes;
}

double l2_hit_rate(const MsdaSetting& setting, const MsdaTraffic& traffic) {
  const std::int64_t granule = setting.cache().rows_per_granule * setting.row_bytes();
  const double asked = setting.kernel.sectors_per_sample * static_cast<double>(traffic.samples) *
                       static_cast<double>(setting.row_bytes()) / 64;
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
  const std::vector<Lowering> table = builtin_lowerings();
  const Lowering& lowering =
      find_lowering(table, setting.question.construct.value_or(kUpdateConstruct),
                    setting.device.device->architecture, *setting.question.accumulator);
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
  const std::int64_t rows = config.batch * pixels_per_image(config) * config.heads;
  predict_cost(
      traffic.collisions, rows,
      {.addresses = setting.question.details.addresses, .remedies = setting.question.details.remedies}, table,
      setting.device, cost);
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
  if (setting.backward()) {
    pass.updates = cost_of_updates(setting, pass.traffic);
    pass.time =
        predict_msda_backward(pass.work, pass.updates->prediction, setting.kernel, setting.device.profile);
  } else {
    pass.time = predict_msda_forward(pass.work, setting.kernel, setting.device.profile);
  }
  return pass;
}

MsdaAnswer answer_of(const MsdaSetting& setting) {
  return {.question = setting.question,
          .kernel = setting.kernel,
          .profile = setting.device.profile,
          .peak_bytes = peak_bytes(setting)};
}

}  // namespace

MsdaAnswer msda(const MsdaQuestion& question, const Context& context) {
  const MsdaSetting setting(question, context);
  MsdaAnswer answer = answer_of(setting);
  const double orders = static_cast<double>(question.orders.size());
  for (const QueryOrder order : question.orders) {
    const double before = static_cast<double>(answer.passes.size());
    MsdaTraffic traffic =
        simulate_msda(question.config, question.sampling, order, setting.cache(), [&](double fraction) {
          if (context.progress) context.progress((before + fraction) / orders);
        });
    answer.passes.push_back(pass_of(setting, order, std::move(traffic)));
  }
  return answer;
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
