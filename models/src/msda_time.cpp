#include <algorithm>
#include <cmath>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/msda_time.hpp>

#include "least_squares.hpp"

namespace natten_sim {
namespace {

/// Over which `bytes_in_flight` is counted; only the ratio of the two matters.
constexpr double kDramRoundTripNs = 600;

MsdaTime read_bounds(const MsdaWork& work, const MsdaKernel& kernel, const ContentionProfile& profile) {
  MsdaTime time;
  time.l2_ns = work.reads * (kernel.read_request_ns + work.read_bytes * kernel.read_byte_ns);
  const double warps = kernel.occupancy * profile.warps_per_sm * static_cast<double>(profile.sms);
  time.bandwidth_limit_bytes_per_ns =
      std::min(warps * kernel.bytes_in_flight / kDramRoundTripNs, profile.dram_bytes_per_ns);
  time.parallelism_ns = work.dram_bytes / time.bandwidth_limit_bytes_per_ns;
  time.dram_ns = work.dram_bytes / profile.dram_bytes_per_ns;
  return time;
}

void finish(double core_ns, MsdaBound core_bound, double host_ns, const MsdaWork& work, MsdaTime& time) {
  time.time_ns = std::max({core_ns, time.parallelism_ns, time.dram_ns});
  time.bound = core_ns >= time.time_ns        ? core_bound
               : time.dram_ns >= time.time_ns ? MsdaBound::kDram
                                              : MsdaBound::kMemoryParallelism;
  time.latency_ns = std::max(time.time_ns, host_ns);
  time.achieved_bytes_per_ns = time.time_ns > 0 ? work.dram_bytes / time.time_ns : 0;
}

const MsdaConfig& config_named(const std::vector<MsdaConfig>& configs, const std::string& name) {
  for (const MsdaConfig& config : configs) {
    if (config.name == name) return config;
  }
  throw InvalidParameter("configuration", name, "one of data/msda-configs.json");
}

}  // namespace

std::string to_string(MsdaBound bound) {
  switch (bound) {
    case MsdaBound::kL2:
      return "l2";
    case MsdaBound::kMemoryParallelism:
      return "memory-parallelism";
    case MsdaBound::kDram:
      return "dram";
    case MsdaBound::kAtomics:
      return "atomics";
  }
  return "";
}

MsdaTime predict_msda_forward(const MsdaWork& work, const MsdaKernel& kernel,
                              const ContentionProfile& profile) {
  MsdaTime time = read_bounds(work, kernel, profile);
  finish(time.l2_ns, MsdaBound::kL2, kernel.host_forward_ns, work, time);
  return time;
}

MsdaTime predict_msda_backward(const MsdaWork& work, const ContentionPrediction& updates,
                               const MsdaKernel& kernel, const ContentionProfile& profile) {
  MsdaTime time = read_bounds(work, kernel, profile);
  time.atomics_ns = std::max({updates.slice_throughput_ns, updates.hottest_address_ns, updates.issue_ns,
                              work.reads * kernel.write_request_ns});
  finish(time.l2_ns + time.atomics_ns, time.atomics_ns > time.l2_ns ? MsdaBound::kAtomics : MsdaBound::kL2,
         kernel.host_backward_ns, work, time);
  return time;
}

MsdaWork in_bounds_work(const MsdaConfig& config, ElementType type) {
  MsdaWork work;
  work.reads = 4.0 * static_cast<double>(config.batch * queries_per_image(config)) *
               static_cast<double>(config.heads * config.levels() * config.points);
  work.read_bytes = static_cast<double>(config.head_channels() * element_bytes(type));
  return work;
}

MsdaMemory msda_memory(const MsdaConfig& config, ElementType type) {
  const auto product = [](std::int64_t a, std::int64_t b) { return checked_multiply(a, b, "peak_bytes"); };
  const auto sum = [](std::initializer_list<std::int64_t> terms) {
    std::int64_t total = 0;
    for (const std::int64_t term : terms) total = checked_add(total, term, "peak_bytes");
    return total;
  };
  const std::int64_t queries = product(config.batch, queries_per_image(config));
  const std::int64_t value = product(product(config.batch, pixels_per_image(config)), config.channels);
  const std::int64_t output = product(queries, config.channels);
  const std::int64_t weights = product(queries, config.heads * config.levels() * config.points);
  const std::int64_t locations = product(weights, 2);
  const std::int64_t bytes = element_bytes(type);
  MsdaMemory memory;
  memory.forward_alloc_bytes = product(sum({value, locations, weights, output, output}), bytes);
  memory.forward_peak_bytes = sum({memory.forward_alloc_bytes, product(sum({weights, output}), bytes)});
  memory.backward_native_bytes =
      sum({memory.forward_alloc_bytes, product(sum({value, locations, weights}), bytes)});
  memory.backward_fp32_accumulator_bytes = sum({memory.backward_native_bytes, product(value, 4)});
  const std::int64_t in_fp32 = product(sum({value, locations, weights, output}), 4);
  memory.backward_fp32_cast_bytes =
      sum({memory.forward_alloc_bytes, in_fp32, product(sum({value, locations, weights}), 4)});
  return memory;
}

MsdaFit fit_msda(const MsdaKernel& block, const MsdaKernel& point, const std::vector<MsdaLatency>& latencies,
                 const std::vector<MsdaConfig>& configs) {
  MsdaFit fit{block, point, 0};
  std::vector<std::vector<double>> block_rows, point_rows, sector_rows, update_rows;
  std::vector<double> block_times, point_times, sector_times, update_times;
  double host_forward = 0, host_backward = 0, host_cells = 0;
  const auto work_of = [&](const MsdaLatency& cell) {
    return in_bounds_work(config_named(configs, cell.config), element_type(cell.type));
  };
  const auto uses = [&](const MsdaLatency& cell, bool encoder) {
    return cell.device == block.device && cell.fitted && cell.tiling != "cuda" &&
           config_named(configs, cell.config).encoder() == encoder;
  };
  for (const MsdaLatency& cell : latencies) {
    if (uses(cell, false) && cell.tiling == "block") {
      host_forward += cell.forward_ns;
      host_backward += cell.backward_ns;
      ++host_cells;
    }
    if (!uses(cell, true)) continue;
    const MsdaWork work = work_of(cell);
    (cell.tiling == "block" ? block_rows : point_rows).push_back({work.reads, work.reads * work.read_bytes});
    (cell.tiling == "block" ? block_times : point_times).push_back(cell.forward_ns);
  }
  if (host_cells == 0) throw InvalidParameter("latencies", "no decoder cell", "at least one that is fitted");
  fit.block.host_forward_ns = fit.point.host_forward_ns = host_forward / host_cells;
  fit.block.host_backward_ns = fit.point.host_backward_ns = host_backward / host_cells;
  const std::vector<double> reads = relative_least_squares(block_rows, block_times, "encoder cells");
  fit.block.read_request_ns = reads[0];
  fit.block.read_byte_ns = reads[1];
  for (std::vector<double>& row : point_rows) row.pop_back();  // its requests dominate: bytes do not show
  fit.point.read_request_ns = relative_least_squares(point_rows, point_times, "encoder cells")[0];

  for (const MsdaLatency& cell : latencies) {  // what the backward takes beyond the reads, at fp32
    if (!uses(cell, true) || cell.type != "fp32") continue;
    const MsdaWork work = work_of(cell);
    const MsdaKernel& kernel = cell.tiling == "block" ? fit.block : fit.point;
    const double rest =
        cell.backward_ns - work.reads * (kernel.read_request_ns + work.read_bytes * kernel.read_byte_ns);
    (cell.tiling == "block" ? sector_rows : update_rows)
        .push_back({cell.tiling == "block" ? work.reads * work.read_bytes / kSectorBytes : work.reads});
    (cell.tiling == "block" ? sector_times : update_times).push_back(rest);
  }
  fit.slice_sectors_per_ns = 1 / relative_least_squares(sector_rows, sector_times, "fp32 encoder cells")[0];
  fit.point.write_request_ns = relative_least_squares(update_rows, update_times, "fp32 encoder cells")[0];
  return fit;
}

}  // namespace natten_sim
