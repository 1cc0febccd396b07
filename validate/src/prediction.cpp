#include <algorithm>
#include <cmath>
#include <optional>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/attention_traffic.hpp>
#include <natten_sim/models/scan_reuse.hpp>
#include <natten_sim/sim/partitioned_stream.hpp>
#include <natten_sim/sim/wavefront.hpp>
#include <natten_sim/validate/kernel_pace.hpp>
#include <natten_sim/validate/prediction.hpp>

namespace natten_sim::validate {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr const char* kTimedModel = "timed wavefronts";

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
  std::int64_t ctas = stream->ctas == 0 ? number_of(device, "sms") : stream->ctas;
  if (stream->readers == StreamReaderSet::kOnePartition) {
    // As many SMs near each.
    if (find_value(device, "l2_partitions") == nullptr) return {};
    ctas /= number_of(device, "l2_partitions");
  }
  const std::int64_t sectors =
      checked_multiply(ctas * stream->passes, stream->buffer_mib * kMiB, "stream bytes") /
      number_of(device, "l2_sector_bytes");
  return {{"l2_read_sectors", "every load", static_cast<double>(sectors), false}};
}

/// LRU of the effective capacity in front of repeated scans, all CTAs in step.
std::vector<Prediction> stream_dram(const Point& point, const Device& device) {
  const auto* const stream = std::get_if<StreamPoint>(&point);
  if (stream == nullptr || stream->tells_sms_apart() || find_value(device, "l2_effective_bytes") == nullptr)
    return {};
  RepeatedScan scan;
  scan.bytes = stream->buffer_mib * kMiB;
  scan.passes = stream->passes;
  scan.order = stream->order == kernels::StreamOrder::kSawtooth ? Traversal::kSawtooth : Traversal::kCyclic;
  return {{"dram_read_bytes", "LRU of the effective capacity, all CTAs in step",
           static_cast<double>(missed_bytes(scan, number_of(device, "l2_effective_bytes"))), false}};
}

/// SMs of one partition, or groups that lag, in step in front of the L2's partitions. Where all SMs read
/// together, that is the LRU of the effective capacity above; what crosses between partitions is new.
std::vector<Prediction> stream_partitions(const Point& point, const Device& device) {
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 22;  // of all passes: half a second
  const auto* const stream = std::get_if<StreamPoint>(&point);
  if (stream == nullptr || stream->step_cycles == 0 || stream->ctas != 0) return {};
  for (const char* name : {"l2_effective_bytes", "l2_partitions", "l2_ways"}) {
    if (find_value(device, name) == nullptr) return {};
  }
  PartitionedStream walk;
  walk.step_bytes = kernels::kStreamStepBytes;
  walk.steps = stream->buffer_mib * kMiB / walk.step_bytes;
  walk.passes = stream->passes;
  walk.sawtooth = stream->order == kernels::StreamOrder::kSawtooth;
  const L2Shape shape = {number_of(device, "l2_effective_bytes"),
                         static_cast<std::int32_t>(number_of(device, "l2_partitions")),
                         static_cast<std::int32_t>(number_of(device, "l2_ways"))};
  if (shape.partitions != 2 || walk.steps > kMostSteps / walk.passes) return {};
  walk.readers = reading_groups(*stream, shape.partitions);
  const std::int64_t sector_bytes = number_of(device, "l2_sector_bytes");
  const PartitionedStreamReads reads = read_in_step(walk, sector_bytes, shape);
  constexpr const char* kModel = "L2 partitions, readers in step";
  std::vector<Prediction> predictions = {
      {"l2_fabric_sectors", kModel, static_cast<double>(reads.fabric_bytes / sector_bytes), false}};
  if (stream->tells_sms_apart())
    predictions.push_back({"dram_read_bytes", kModel, static_cast<double>(reads.dram_bytes), false});
  return predictions;
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

/// The pace of the point's kernel, or null.
const KernelPace* find_pace(const AttentionPoint& point, const Device& device) {
  const std::vector<KernelPace>& paces = builtin_paces();
  const auto found = std::find_if(paces.begin(), paces.end(), [&](const KernelPace& pace) {
    const kernels::AttentionVariant &a = pace.variant, &b = point.variant;
    return pace.device == device.name && pace.problem.head_dim == point.problem.head_dim &&
           a.q_tile == b.q_tile && a.kv_tile == b.kv_tile && a.stages == b.stages &&
           a.ctas_per_sm == b.ctas_per_sm;
  });
  return found == paces.end() ? nullptr : &*found;
}

std::optional<WavefrontDevice> wavefront_device(const AttentionPoint& point, const Device& device) {
  for (const char* name :
       {"l2_effective_bytes", "l2_partitions", "l2_ways", "gpc_sms", "l2_hit_bandwidth_bytes_per_s",
        "l2_miss_bandwidth_bytes_per_s", "dram_bandwidth_bytes_per_s", "sms"}) {
    if (find_value(device, name) == nullptr) return std::nullopt;
  }
  const KernelPace* const pace = find_pace(point, device);
  if (pace == nullptr) return std::nullopt;
  const auto sms = static_cast<double>(number_of(device, "sms"));
  const auto per_ns = [&](const char* name) { return find_value(device, name)->value * 1e-9; };
  WavefrontDevice wavefront;
  wavefront.capacity_bytes = number_of(device, "l2_effective_bytes");
  wavefront.l2_partitions = static_cast<std::int32_t>(number_of(device, "l2_partitions"));
  wavefront.l2_ways = static_cast<std::int32_t>(number_of(device, "l2_ways"));
  wavefront.sms = static_cast<std::int32_t>(sms);
  wavefront.gpc_sms = static_cast<std::int32_t>(number_of(device, "gpc_sms"));
  wavefront.hit_bytes_per_ns = per_ns("l2_hit_bandwidth_bytes_per_s") / sms;
  wavefront.miss_bytes_per_ns = per_ns("l2_miss_bandwidth_bytes_per_s") / sms;
  wavefront.dram_bytes_per_ns = per_ns("dram_bandwidth_bytes_per_s");
  wavefront.pairs_per_ns = pace->sm_pairs_per_ns;
  wavefront.lone_share = pace->lone_share;
  wavefront.slot_skew = pace->slot_skew;
  wavefront.jitter = pace->jitter;
  return wavefront;
}

AttentionSchedule schedule_of(const kernels::AttentionVariant& variant, std::int64_t sms) {
  AttentionSchedule schedule;
  schedule.schedule = variant.schedule == kernels::CtaSchedule::kPersistent ? Schedule::kPersistent
                      : variant.schedule == kernels::CtaSchedule::kGrid     ? Schedule::kGrid
                                                                            : Schedule::kTile;
  schedule.order = traversal_of(variant.walk);
  schedule.workers = static_cast<std::int32_t>(variant.resident_ctas(static_cast<std::int32_t>(sms)));
  schedule.last_q_tile_first = variant.last_q_tile_first;
  return schedule;
}

/// CTAs as processes in time, in front of the L2's partitions. Paces are measured; nothing is fitted to what
/// attention kernels read.
std::vector<Prediction> attention_timed(const Point& point, const Device& device) {
  const auto* const attention = std::get_if<AttentionPoint>(&point);
  if (attention == nullptr) return {};
  const std::optional<WavefrontDevice> wavefront = wavefront_device(*attention, device);
  if (!wavefront) return {};
  WavefrontOptions options;
  options.lookahead_tiles = attention->variant.stages;
  options.seed = 1;
  const SplitQProblem problem = split_q(attention->problem, attention->variant, device);
  const AttentionWork work(problem, schedule_of(attention->variant, wavefront->sms));
  const WavefrontRun run = run_wavefront(work, *wavefront, options);
  return {{"dram_read_bytes", kTimedModel,
           static_cast<double>(run.load_miss_sectors * problem.sizes.sector_bytes), false},
          {"l2_fabric_sectors", kTimedModel, static_cast<double>(run.fabric_sectors), false}};
}

}  // namespace

const std::vector<Predictor>& predictors(Fidelity fidelity) {
  static const std::vector<Predictor> closed = {stream_sectors, stream_dram, stream_partitions,
                                                attention_sectors, attention_lockstep};
  static const std::vector<Predictor> all = {stream_sectors,    stream_dram,        stream_partitions,
                                             attention_sectors, attention_lockstep, attention_timed};
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
