#include "msda_report.hpp"

#include <algorithm>
#include <cmath>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/checked.hpp>

namespace natten_sim::cli {
namespace {

/// Of one sampled location and channel. Forward: three lerps of the four corners and the weight, as four
/// multiply-adds and one; backward: the same again for the weight's gradient, two more for the location's,
/// and two multiplications a corner for the value's.
constexpr std::int64_t kForwardFlops = 10, kBackwardFlops = 10 + 8 + 8;

/// Sampling locations and weights, and what has the shape of the output.
struct Streams {
  std::int64_t parameters = 0, output = 0;  // bytes
};

Streams streams_of(const MsdaRequest& request) {
  const MsdaConfig& config = request.config;
  const std::int64_t queries = config.batch * queries_per_image(config);
  const std::int64_t weights = queries * config.heads * config.levels() * config.points;
  return {3 * weights * element_bytes(request.type), queries * config.channels * element_bytes(request.type)};
}

ContentionReport analyse_updates(const MsdaRequest& request, const MsdaReport& report) {
  ContentionReport updates;
  const std::vector<Lowering> table = builtin_lowerings();
  const std::string architecture = builtin_catalog().device(request.device).architecture;
  const Lowering& lowering = find_lowering(table, "msda-triton-block", architecture, request.accumulator);
  updates.profile = report.profile;
  updates.collisions = report.traffic.collisions;
  updates.instruction = lowering.instruction;
  ScatterLoad& load = updates.load;
  describe_collisions(updates.collisions, load);
  load.width = request.config.head_channels();
  load.type = request.accumulator;
  load.path = lowering.path;
  load.vector_width = load.width % lowering.vector_width == 0 ? lowering.vector_width : 1;
  load.issue_ns = 0;  // part of the kernel's reads
  const double sms = static_cast<double>(report.profile.sms);
  load.resident_warps = report.kernel.occupancy * report.profile.warps_per_sm * sms;
  load.warps_in_flight = std::min(report.profile.warps_in_flight * sms, load.resident_warps);
  updates.prediction = predict_contention(load, report.profile);
  const std::int64_t rows = request.config.batch * pixels_per_image(request.config) * request.config.heads;
  updates.remedies =
      compare_remedies(load, rows, report.profile, table, architecture, pre_reduction_costs(request.device));
  return updates;
}

std::int64_t peak_bytes(const MsdaRequest& request) {
  const MsdaMemory memory = msda_memory(request.config, request.type);
  if (request.phase == MsdaPhase::kForward) return memory.forward_peak_bytes;
  const bool wider = element_bytes(request.accumulator) > element_bytes(request.type);
  return wider ? memory.backward_fp32_accumulator_bytes : memory.backward_native_bytes;
}

}  // namespace

MsdaCache cache_of(const MsdaRequest& request) {
  const MsdaKernel kernel = msda_kernel(request.device, request.tiling);
  const std::int64_t row_bytes = request.config.head_channels() * element_bytes(request.type);
  const std::int64_t rows_per_granule =
      std::clamp<std::int64_t>(kernel.dram_granule_bytes / row_bytes, 1, request.config.heads);
  const double bytes =
      request.l2_bytes ? static_cast<double>(*request.l2_bytes) : contention_profile(request.device).l2_bytes;
  return {static_cast<std::int64_t>(bytes) / (rows_per_granule * row_bytes), rows_per_granule};
}

MsdaReport analyse_msda(const MsdaRequest& request, QueryOrder order,
                        const std::function<void(double)>& progress) {
  require_valid(request.config);
  return report_msda(request, order,
                     simulate_msda(request.config, request.sampling, order, cache_of(request), progress));
}

MsdaReport report_msda(const MsdaRequest& request, QueryOrder order, MsdaTraffic traffic) {
  MsdaReport report;
  report.order = order;
  report.kernel = msda_kernel(request.device, request.tiling);
  report.profile = contention_profile(request.device);
  report.traffic = std::move(traffic);
  const std::int64_t row_bytes = request.config.head_channels() * element_bytes(request.type);
  const std::int64_t granule = cache_of(request).rows_per_granule * row_bytes;

  const bool backward = request.phase == MsdaPhase::kBackward;
  const Streams streams = streams_of(request);
  report.bytes = checked_add(checked_multiply(report.traffic.l2_misses, granule, "bytes"),
                             streams.parameters + streams.output, "bytes");
  if (backward) {
    // Gradients of the parameters; those of the value are read and written back where anything is added.
    const std::int64_t gradient = granule / element_bytes(request.type) * element_bytes(request.accumulator);
    report.bytes = checked_add(report.bytes + streams.parameters,
                               checked_multiply(2 * report.traffic.granules, gradient, "bytes"), "bytes");
  }
  report.unique_sectors = touched_units(report.traffic.collisions, row_bytes, kSectorBytes);
  report.flops =
      checked_multiply(report.traffic.samples,
                       (backward ? kBackwardFlops : kForwardFlops) * request.config.head_channels(), "flops");
  report.work = {static_cast<double>(report.traffic.reads), static_cast<double>(row_bytes),
                 static_cast<double>(report.bytes)};
  const double asked = report.kernel.sectors_per_sample * static_cast<double>(report.traffic.samples) *
                       static_cast<double>(row_bytes) / 64;
  const double missing =
      static_cast<double>(report.traffic.l2_misses * granule + streams.parameters) / kSectorBytes;
  report.l2_hit_rate = std::clamp(1 - missing / asked, 0.0, 1.0);
  report.peak_bytes = peak_bytes(request);
  if (backward) {
    report.updates = analyse_updates(request, report);
    report.time =
        predict_msda_backward(report.work, report.updates->prediction, report.kernel, report.profile);
  } else {
    report.time = predict_msda_forward(report.work, report.kernel, report.profile);
  }
  return report;
}

}  // namespace natten_sim::cli
