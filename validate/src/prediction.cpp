#include <cmath>
#include <optional>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/attention_traffic.hpp>
#include <natten_sim/models/scan_reuse.hpp>
#include <natten_sim/sim/wavefront.hpp>
#include <natten_sim/validate/prediction.hpp>

namespace natten_sim::validate {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// A whole number of the device profile. @throws InvalidParameter when the profile lacks it.
std::int64_t number_of(const Device& device, const char* name) {
  const DeviceValue* const value = find_value(device, name);
  if (value == nullptr)
    throw InvalidParameter(name, "absent", "a device profile that has it (" + device.name + ")");
  return std::llround(value->value);
}

/// Every CTA reads every sector in every pass.
std::vector<Prediction> stream_sectors(const Point& point, const Device& device) {
  const auto* const stream = std::get_if<StreamPoint>(&point);
  if (stream == nullptr) return {};
  const std::int64_t ctas = stream->ctas == 0 ? number_of(device, "sms") : stream->ctas;
  const std::int64_t sectors =
      checked_multiply(ctas * stream->passes, stream->buffer_mib * kMiB, "stream bytes") /
      number_of(device, "l2_sector_bytes");
  return {{"l2_read_sectors", "every load", static_cast<double>(sectors), false}};
}

/// LRU of the effective capacity in front of repeated scans, all CTAs in step.
std::vector<Prediction> stream_dram(const Point& point, const Device& device) {
  const auto* const stream = std::get_if<StreamPoint>(&point);
  if (stream == nullptr || find_value(device, "l2_effective_bytes") == nullptr) return {};
  RepeatedScan scan;
  scan.bytes = stream->buffer_mib * kMiB;
  scan.passes = stream->passes;
  scan.order = stream->order == kernels::StreamOrder::kSawtooth ? Traversal::kSawtooth : Traversal::kCyclic;
  return {{"dram_read_bytes", "LRU of the effective capacity, all CTAs in step",
           static_cast<double>(missed_bytes(scan, number_of(device, "l2_effective_bytes"))), false}};
}

SplitQProblem split_q(const kernels::AttentionProblem& problem, const kernels::AttentionVariant& variant,
                      const Device& device) {
  SplitQProblem split;
  split.mask = {{problem.tokens, problem.tokens, 1, 1, problem.causal}};
  split.tiles = {{variant.q_tile}, {variant.kv_tile}};
  split.sizes = {problem.batch,
                 problem.heads,
                 problem.heads_kv,
                 problem.head_dim,
                 problem.head_dim,
                 2,
                 number_of(device, "l2_sector_bytes")};
  return split;
}

Traversal traversal_of(kernels::KvWalk walk) {
  return walk == kernels::KvWalk::kCyclic     ? Traversal::kCyclic
         : walk == kernels::KvWalk::kSawtooth ? Traversal::kSawtooth
                                              : Traversal::kDescending;
}

std::vector<Prediction> attention_sectors(const Point& point, const Device& device) {
  const auto* const attention = std::get_if<AttentionPoint>(&point);
  if (attention == nullptr) return {};
  const SectorCounts sectors =
      attention_traffic(split_q(attention->problem, attention->variant, device)).sectors;
  return {{"l2_read_sectors", "split-Q sectors, closed form", static_cast<double>(sectors.total - sectors.o),
           false}};
}

/// All CTAs in step in front of an LRU of the effective capacity: closed form, full masks.
std::vector<Prediction> attention_lockstep(const Point& point, const Device& device) {
  const auto* const attention = std::get_if<AttentionPoint>(&point);
  if (attention == nullptr || attention->variant.schedule == kernels::CtaSchedule::kTile ||
      find_value(device, "l2_effective_bytes") == nullptr) {
    return {};
  }
  const SplitQProblem problem = split_q(attention->problem, attention->variant, device);
  const std::optional<LockstepReuse> reuse = lockstep_reuse(
      problem, traversal_of(attention->variant.walk),
      attention->variant.resident_ctas(number_of(device, "sms")), number_of(device, "l2_effective_bytes"));
  if (!reuse) return {};
  // Stores are written, not read.
  const std::int64_t read = reuse->miss_sectors - attention_traffic(problem).sectors.o;
  return {{"dram_read_bytes", "lockstep LRU, closed form",
           static_cast<double>(read * problem.sizes.sector_bytes), false}};
}

/// The rate at which one SM multiplies, from a measured whole-kernel rate whose last round left slots idle.
std::optional<double> flops_per_s_of(const AttentionPoint& point, const Device& device) {
  for (const MeasuredRate& rate : builtin_rates()) {
    const kernels::AttentionVariant &a = rate.variant, &b = point.variant;
    if (rate.device != device.name || rate.problem.head_dim != point.problem.head_dim ||
        a.q_tile != b.q_tile || a.kv_tile != b.kv_tile || a.stages != b.stages ||
        a.ctas_per_sm != b.ctas_per_sm) {
      continue;
    }
    const std::int64_t slots = number_of(device, "sms") * a.ctas_per_sm;
    const std::int64_t items = ceil_divide(rate.problem.tokens, a.q_tile) * rate.problem.heads;
    return rate.flops_per_s * static_cast<double>(ceil_divide(items, slots) * slots) /
           static_cast<double>(items);
  }
  return std::nullopt;
}

/// CTAs as processes in time, in front of one LRU. Rates are measured; none is fitted to DRAM reads.
std::vector<Prediction> attention_timed(const Point& point, const Device& device) {
  const auto* const attention = std::get_if<AttentionPoint>(&point);
  if (attention == nullptr) return {};
  for (const char* name : {"l2_effective_bytes", "l2_hit_bandwidth_bytes_per_s",
                           "l2_miss_bandwidth_bytes_per_s", "dram_bandwidth_bytes_per_s", "sms"}) {
    if (find_value(device, name) == nullptr) return {};
  }
  const std::optional<double> flops_per_s = flops_per_s_of(*attention, device);
  if (!flops_per_s) return {};
  const kernels::AttentionVariant& variant = attention->variant;
  AttentionSchedule schedule;
  schedule.schedule = variant.schedule == kernels::CtaSchedule::kPersistent ? Schedule::kPersistent
                      : variant.schedule == kernels::CtaSchedule::kGrid     ? Schedule::kGrid
                                                                            : Schedule::kTile;
  schedule.order = traversal_of(variant.walk);
  schedule.workers = static_cast<std::int32_t>(variant.resident_ctas(number_of(device, "sms")));
  schedule.last_q_tile_first = variant.last_q_tile_first;
  const auto sms = static_cast<double>(number_of(device, "sms"));
  const auto per_ns = [&](const char* name) { return find_value(device, name)->value * 1e-9; };
  WavefrontDevice wavefront;
  wavefront.capacity_bytes = number_of(device, "l2_effective_bytes");
  wavefront.sms = static_cast<std::int32_t>(sms);
  wavefront.hit_bytes_per_ns = per_ns("l2_hit_bandwidth_bytes_per_s") / sms;
  wavefront.miss_bytes_per_ns = per_ns("l2_miss_bandwidth_bytes_per_s") / sms;
  wavefront.dram_bytes_per_ns = per_ns("dram_bandwidth_bytes_per_s");
  wavefront.pairs_per_ns = *flops_per_s / sms / static_cast<double>(4 * attention->problem.head_dim) * 1e-9;
  WavefrontOptions options;
  options.lookahead_tiles = variant.stages;
  const SplitQProblem problem = split_q(attention->problem, variant, device);
  const WavefrontRun run = run_wavefront(AttentionWork(problem, schedule), wavefront, options);
  return {{"dram_read_bytes", "timed wavefronts",
           static_cast<double>(run.load_miss_sectors * problem.sizes.sector_bytes), false}};
}

}  // namespace

const std::vector<Predictor>& predictors(Fidelity fidelity) {
  static const std::vector<Predictor> closed = {stream_sectors, stream_dram, attention_sectors,
                                                attention_lockstep};
  static const std::vector<Predictor> all = {stream_sectors, stream_dram, attention_sectors,
                                             attention_lockstep, attention_timed};
  return fidelity == Fidelity::kClosedForm ? closed : all;
}

std::vector<Prediction> predict(const Point& point, const Device& device, Fidelity fidelity) {
  std::vector<Prediction> predictions;
  for (const Predictor& predictor : predictors(fidelity)) {
    for (Prediction& prediction : predictor(point, device)) predictions.push_back(std::move(prediction));
  }
  return predictions;
}

}  // namespace natten_sim::validate
