#include "reuse/wavefront_checks.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

constexpr double kMaxLatency = 1e9;

void require_rate(const char* parameter, double value) {
  if (value > 0 && std::isfinite(value)) return;
  throw InvalidParameter(parameter, std::to_string(value), "a positive, finite rate");
}

void require_in_range(const WavefrontDevice& device, const WavefrontOptions& options) {
  if (device.sms < 1) throw InvalidParameter("sms", std::to_string(device.sms), "1 or more", "1");
  require_rate("hit_bytes_per_ns", device.hit_bytes_per_ns);
  require_rate("miss_bytes_per_ns", device.miss_bytes_per_ns);
  require_rate("dram_bytes_per_ns", device.dram_bytes_per_ns);
  require_rate("pairs_per_ns", device.pairs_per_ns);
  if (!(device.hit_latency_ns >= 0 && device.hit_latency_ns <= kMaxLatency))
    throw InvalidParameter("hit_latency_ns", std::to_string(device.hit_latency_ns), "0..1e9");
  double least = 0;
  for (const double latency : device.dram_latency_ns) {
    if (!(latency >= least && latency <= kMaxLatency)) {
      throw InvalidParameter("dram_latency_ns", std::to_string(latency),
                             "0..1e9, and none less than the one before");
    }
    least = latency;
  }
  if (!(device.score_share > 0 && device.score_share < 1))
    throw InvalidParameter("score_share", std::to_string(device.score_share), "more than 0, less than 1");
  if (!(device.lone_share > 0 && device.lone_share <= 1))
    throw InvalidParameter("lone_share", std::to_string(device.lone_share), "more than 0, at most 1");
  for (const std::int32_t partition : device.partition_of_sm) {
    if (partition < 0 || partition >= device.l2_partitions)
      throw InvalidParameter("partition_of_sm", std::to_string(partition),
                             "0.." + std::to_string(device.l2_partitions - 1));
  }
  if (!(device.slot_skew > -1 && device.slot_skew < 1))
    throw InvalidParameter("slot_skew", std::to_string(device.slot_skew), "more than -1, less than 1");
  if (options.stages < 1 || options.stages > kMaxWavefrontStages)
    throw InvalidParameter("stages", std::to_string(options.stages),
                           "1.." + std::to_string(kMaxWavefrontStages));
  for (const double slowness : device.slowness_of_sm) {
    if (!(slowness > -1 && std::isfinite(slowness)))
      throw InvalidParameter("slowness_of_sm", std::to_string(slowness), "more than -1");
  }
  for (const std::int32_t sm : device.sm_of_worker) {
    if (sm < 0 || sm >= device.sms)
      throw InvalidParameter("sm_of_worker", std::to_string(sm), "0.." + std::to_string(device.sms - 1));
  }
  for (const auto& [name, jitter] :
       {std::pair("jitter", device.jitter), {"item_jitter", device.item_jitter}}) {
    if (!(jitter >= 0 && jitter <= 0.5)) throw InvalidParameter(name, std::to_string(jitter), "0..0.5");
  }
}

void require_an_sm_each(const AttentionWork& work, const WavefrontDevice& device) {
  const auto workers = static_cast<std::size_t>(work.schedule().workers);
  if (device.sm_of_worker.empty()) return;
  const std::int32_t slots = (work.schedule().workers - 1) / device.sms + 1;
  std::vector<std::int32_t> taken(static_cast<std::size_t>(device.sms), 0);
  bool fit = device.sm_of_worker.size() == workers;
  for (const std::int32_t sm : device.sm_of_worker)
    fit = ++taken[static_cast<std::size_t>(sm)] <= slots && fit;
  if (fit) return;
  throw InvalidParameter("sm_of_worker", std::to_string(device.sm_of_worker.size()) + " of them",
                         "none, or one for each of " + std::to_string(workers) +
                             " workers, no SM more than " + std::to_string(slots) + " times");
}

}  // namespace

void require_valid(const AttentionWork& work, const WavefrontDevice& device,
                   const WavefrontOptions& options) {
  require_in_range(device, options);
  require_an_sm_each(work, device);
}

}  // namespace natten_sim
