#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/models/msda_time.hpp>
#include <natten_sim/sim/msda.hpp>

#include "contention_report.hpp"

namespace natten_sim::cli {

struct MsdaRequest {
  MsdaConfig config;
  MsdaPhase phase = MsdaPhase::kForward;
  std::string tiling = "block";
  ElementType type = ElementType::kBf16;         ///< of the tensors
  ElementType accumulator = ElementType::kBf16;  ///< of the value gradient
  MsdaSampling sampling;
  std::string device = "h200";
  std::optional<std::int64_t> l2_bytes;  ///< instead of the device's
};

/// One pass in one dispatch order.
struct MsdaReport {
  QueryOrder order = QueryOrder::kLinear;
  MsdaKernel kernel;
  ContentionProfile profile;
  MsdaTraffic traffic;
  MsdaWork work;
  MsdaTime time;
  std::int64_t unique_sectors = 0;
  std::int64_t bytes = 0;  ///< to and from DRAM
  std::int64_t flops = 0;
  double l2_hit_rate = 0;
  std::int64_t peak_bytes = 0;
  std::optional<ContentionReport> updates;  ///< backward
};

/// The cache that the request's device puts in front of its DRAM.
[[nodiscard]] MsdaCache cache_of(const MsdaRequest& request);

/// `traffic`: what `simulate_msda` counts for the request's configuration, sampling, cache and this order.
[[nodiscard]] MsdaReport report_msda(const MsdaRequest& request, QueryOrder order, MsdaTraffic traffic);

/// Simulates and reports.
[[nodiscard]] MsdaReport analyse_msda(const MsdaRequest& request, QueryOrder order,
                                      const std::function<void(double)>& progress = {});

}  // namespace natten_sim::cli
