#include <algorithm>
#include <cmath>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/linear_fit.hpp>
#include <natten_sim/models/msda/msda_time.hpp>

namespace natten_sim {
namespace {

/// The round trip over which `bytes_in_flight` is counted; only the ratio of the two matters.
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

/// Rows and targets of one linear fit.
struct Equations {
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;
  void add(std::vector<double> row, double target) {
    rows.push_back(std::move(row));
    targets.push_back(target);
  }
};

/// The latencies of one device that its constants are fitted to.
struct FittedCells {
  const std::vector<MsdaConfig>& configs;
  std::vector<MsdaLatency> encoder, decoder;

  FittedCells(const std::string& device, const std::vector<MsdaLatency>& latencies,
              const std::vector<MsdaConfig>& all)
      : configs(all) {
    for (const MsdaLatency& cell : latencies) {
      if (cell.device != device || !cell.fitted || !cell.tiling) continue;
      (config_named(configs, cell.config).encoder() ? encoder : decoder).push_back(cell);
    }
  }
  [[nodiscard]] MsdaWork work_of(const MsdaLatency& cell) const {
    return in_bounds_work(config_named(configs, cell.config), cell.type);
  }
};

/// What the host takes: the mean over decoder cells, whose kernels are short.
void fit_host(const FittedCells& cells, MsdaFit& fit) {
  double forward = 0, backward = 0, count = 0;
  for (const MsdaLatency& cell : cells.decoder) {
    if (cell.tiling != MsdaTiling::kBlock) continue;
    forward += cell.forward_ns;
    backward += cell.backward_ns;
    ++count;
  }
  if (count == 0) throw InvalidParameter("latencies", "no decoder cell", "at least one that is fitted");
  fit.block.host_forward_ns = fit.point.host_forward_ns = forward / count;
  fit.block.host_backward_ns = fit.point.host_backward_ns = backward / count;
}

void fit_reads(const FittedCells& cells, MsdaFit& fit) {
  Equations block, point;
  for (const MsdaLatency& cell : cells.encoder) {
    const MsdaWork work = cells.work_of(cell);
    if (cell.tiling == MsdaTiling::kBlock) {
      block.add({work.reads, work.reads * work.read_bytes}, cell.forward_ns);
    } else {
      point.add({work.reads}, cell.forward_ns);  // its requests dominate: bytes do not show
    }
  }
  const std::vector<double> reads = linear_fit(block.rows, block.targets, "encoder cells");
  fit.block.read_request_ns = reads[0];
  fit.block.read_byte_ns = reads[1];
  fit.point.read_request_ns = linear_fit(point.rows, point.targets, "encoder cells")[0];
}

/// Time that the backward pass takes beyond the reads, at fp32.
void fit_updates(const FittedCells& cells, MsdaFit& fit) {
  Equations sectors, updates;
  for (const MsdaLatency& cell : cells.encoder) {
    if (cell.type != Dtype::kFp32) continue;
    const bool block = cell.tiling == MsdaTiling::kBlock;
    const MsdaWork work = cells.work_of(cell);
    const MsdaKernel& kernel = block ? fit.block : fit.point;
    const double rest =
        cell.backward_ns - work.reads * (kernel.read_request_ns + work.read_bytes * kernel.read_byte_ns);
    if (block) {
      sectors.add({work.reads * work.read_bytes / kSectorBytes}, rest);
    } else {
      updates.add({work.reads}, rest);
    }
  }
  fit.slice_sectors_per_ns =
      1 / linear_fit(sectors.rows, sectors.targets, "fp32 encoder cells")[0];
  fit.point.write_request_ns = linear_fit(updates.rows, updates.targets, "fp32 encoder cells")[0];
}

}  // namespace

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

MsdaWork in_bounds_work(const MsdaConfig& config, Dtype type) {
  MsdaWork work;
  work.reads = 4.0 * static_cast<double>(config.batch * queries_per_image(config)) *
               static_cast<double>(config.heads * config.levels() * config.points);
  work.read_bytes = static_cast<double>(config.head_channels() * element_bytes(type));
  return work;
}

MsdaMemory msda_memory(const MsdaConfig& config, Dtype type) {
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

MsdaFit fit_msda(const std::string& device, const MsdaKernel& block, const MsdaKernel& point,
                 const std::vector<MsdaLatency>& latencies, const std::vector<MsdaConfig>& configs) {
  MsdaFit fit{block, point, 0};
  const FittedCells cells(device, latencies, configs);
  fit_host(cells, fit);
  fit_reads(cells, fit);
  fit_updates(cells, fit);
  return fit;
}

}  // namespace natten_sim
