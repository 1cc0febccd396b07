#include "timed.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim::study {
namespace {

constexpr std::int64_t kMaxStages = 16;

/// The kernel's measured speed at this head dim. @throws InvalidParameter when it is not known.
const KernelRate& rate_of(const AttentionKernel& kernel, const Device& device, std::int64_t head_dim) {
  const auto rate = std::find_if(kernel.rates.begin(), kernel.rates.end(), [&](const KernelRate& at) {
    return at.device == device.name && at.head_dim == head_dim;
  });
  if (rate != kernel.rates.end()) return *rate;
  throw InvalidParameter(
      "kernel", kernel.name,
      "a kernel whose rate at head dim " + std::to_string(head_dim) + " on " + device.name + " is known");
}

/// The rate while all SMs are busy: the measured kernel ran in whole rounds, its last one left SMs idle.
double busy_flops_per_s(const KernelRate& rate, const AttentionKernel& kernel, std::int64_t sms) {
  const std::int64_t slots = sms * kernel.ctas_per_sm;
  const std::int64_t items = ceil_divide(rate.tokens, kernel.q_tile) * rate.heads;
  return rate.flops_per_s * static_cast<double>(ceil_divide(items, slots) * slots) /
         static_cast<double>(items);
}

double known_number(const std::optional<double>& number, const Device& device, const char* name) {
  if (number) return *number;
  throw InvalidParameter("device", device.name + " without " + name,
                         "a device whose profile has it, for " + mention("fidelity") + " timed (see " +
                             mention("device-file") + ")");
}

/// From the kernel's rate in the catalog; without a kernel, the device's peak.
MeasuredPace pace_of(const DeviceNumbers& numbers, const AttentionKernel* kernel, const Device& device,
                     const AttentionSubject& subject) {
  const auto sms = known_number(numbers.sms, device, "sms");
  MeasuredPace pace;
  double flops_per_s = 0;
  if (kernel != nullptr) {
    const KernelRate& rate = rate_of(*kernel, device, subject.head_dim);
    flops_per_s = busy_flops_per_s(rate, *kernel, static_cast<std::int64_t>(sms));
    pace.lone_share = rate.lone_share;
    pace.slot_skew = rate.slot_skew;
    pace.jitter = rate.jitter;
    pace.score_share = rate.score_share;
    pace.arrival_ns = rate.arrival_ns;
  } else {
    flops_per_s = known_number(numbers.bf16_flops_per_s, device, "dense_bf16_flops_per_s");
  }
  const auto flops_a_pair = static_cast<double>(2 * (subject.head_dim + *subject.dim_value));
  pace.pairs_per_ns = flops_per_s / sms / flops_a_pair * 1e-9;
  return pace;
}

/// What the measured times of a tile leave beside its transfer; nothing where they were not measured.
/// A quantile that nobody measured is the one before.
void set_latencies(const DeviceNumbers& numbers, double arrival_ns, WavefrontDevice& wavefront) {
  if (!numbers.l2_tile_ns || !numbers.dram_tile_ns) return;
  const double transfer = static_cast<double>(kTimedTileBytes) / wavefront.hit_bytes_per_ns;
  const double hit = std::max(*numbers.l2_tile_ns, arrival_ns);
  wavefront.hit_latency_ns = std::max(0.0, hit - transfer);
  double least = 0;
  std::size_t i = 0;
  for (const std::optional<double>& quantile : {numbers.dram_tile_ns, numbers.dram_tile_p90_ns,
                                                numbers.dram_tile_p99_ns, numbers.dram_tile_p999_ns}) {
    if (quantile) least = std::max(least, *quantile - *numbers.l2_tile_ns);
    wavefront.dram_latency_ns[i++] = least;
  }
}

}  // namespace

WavefrontDevice wavefront_device(const ReuseSetting& setting, const DeviceNumbers& numbers,
                                 const AttentionKernel* kernel, const AttentionSubject& subject,
                                 const TimedRun& timed) {
  if (!setting.device) {
    throw InvalidParameter(
        "device", "not given",
        "a device whose profile has its bandwidths, for " + mention("fidelity") + " timed");
  }
  const Device& device = *setting.device;
  const auto sms = known_number(numbers.sms, device, "sms");
  if (!setting.capacity()) {
    throw InvalidParameter("l2-bytes", "not given",
                           "the effective capacity, for " + mention("fidelity") + " timed");
  }
  WavefrontDevice wavefront;
  wavefront.capacity_bytes = *setting.capacity();
  wavefront.sms = static_cast<std::int32_t>(*setting.question.sms);
  wavefront.l2_partitions = static_cast<std::int32_t>(numbers.l2_partitions.value_or(1));
  if (numbers.l2_ways) wavefront.l2_ways = static_cast<std::int32_t>(*numbers.l2_ways);
  wavefront.hit_bytes_per_ns =
      known_number(numbers.hit_bytes_per_s, device, "l2_hit_bandwidth_bytes_per_s") / sms * 1e-9;
  wavefront.miss_bytes_per_ns =
      known_number(numbers.miss_bytes_per_s, device, "l2_miss_bandwidth_bytes_per_s") / sms * 1e-9;
  wavefront.dram_bytes_per_ns =
      known_number(numbers.dram_bytes_per_s, device, "dram_bandwidth_bytes_per_s") * 1e-9;
  const MeasuredPace pace = timed.pace ? *timed.pace : pace_of(numbers, kernel, device, subject);
  wavefront.pairs_per_ns = pace.pairs_per_ns;
  wavefront.lone_share = pace.lone_share;
  wavefront.slot_skew = pace.slot_skew;
  wavefront.jitter = timed.jitter.value_or(pace.jitter);
  wavefront.item_jitter = pace.item_jitter;
  wavefront.score_share = pace.score_share;
  set_latencies(numbers, pace.arrival_ns, wavefront);
  return wavefront;
}

void place_ctas(const ReuseSetting& setting, const AttentionWork& work, const TimedRun& timed,
                WavefrontDevice& wavefront) {
  const Device& device = *setting.device;
  if (!device.launch_runs) return;
  std::vector<LaunchRun> runs = device.launch_runs->value;
  if (runs.size() > 2) {
    const auto ring = runs.begin() + 1;
    std::rotate(ring, ring + timed.launch_start % (runs.end() - ring), runs.end());
  }
  wavefront.partition_of_sm = partitions_in_launch_order(runs, wavefront.sms);
  if (wavefront.sms != device.sms->value) return;
  wavefront.slowness_of_sm = slowness_in_launch_order(runs);
  const std::int64_t workers = work.schedule().workers;
  std::vector<std::int32_t> sms = sms_in_launch_order(runs, std::min(workers, work.items()));
  // Slots that no CTA is launched on, on the SMs that have the fewest.
  std::vector<std::int64_t> taken(static_cast<std::size_t>(wavefront.sms), 0);
  for (const std::int32_t sm : sms) ++taken[static_cast<std::size_t>(sm)];
  using Place = std::pair<std::int64_t, std::int32_t>;  // slots taken, SM
  std::priority_queue<Place, std::vector<Place>, std::greater<>> emptiest;
  for (std::int32_t sm = 0; sm < wavefront.sms; ++sm) emptiest.emplace(taken[static_cast<std::size_t>(sm)], sm);
  while (static_cast<std::int64_t>(sms.size()) < workers) {
    poll();
    const auto [slots, sm] = emptiest.top();
    emptiest.pop();
    emptiest.emplace(slots + 1, sm);
    sms.push_back(sm);
  }
  wavefront.sm_of_worker = std::move(sms);
}

WavefrontOptions wavefront_options(const DeviceNumbers& numbers, const SplitQProblem& problem,
                                   std::int64_t ctas_per_sm, const TimedRun& timed) {
  WavefrontOptions options;
  options.seed = timed.seed;
  if (timed.stages) {
    require_in("stages", *timed.stages, 1, kMaxStages);
    options.stages = *timed.stages;
    return options;
  }
  if (!numbers.shared_memory_per_block_bytes) return options;
  const OperandSizes& sizes = problem.sizes;
  // In doubles: a tile of 2^60 tokens is legal, and fills any memory.
  const auto bytes_of = [](const Extents& tile, const char* name, std::int64_t row_bytes) {
    return static_cast<double>(product(tile, name)) * static_cast<double>(row_bytes);
  };
  const double q = bytes_of(problem.tiles.q_tile, "q_tile", sizes.key_row_bytes());
  const double kv = bytes_of(problem.tiles.kv_tile, "kv_tile", sizes.key_row_bytes() + sizes.value_row_bytes());
  const auto room = static_cast<double>(*numbers.shared_memory_per_block_bytes / ctas_per_sm);
  options.stages = static_cast<std::int32_t>(std::clamp((room - q) / kv, 1.0, static_cast<double>(kMaxStages)));
  return options;
}

}  // namespace natten_sim::study
