#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/device.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::validate {

/// A launch of CTAs of one shape, and the SM that each ran on.
struct SampledLaunch {
  std::int32_t ctas = 0, threads = 0, shared_kib = 0;
  std::vector<std::int32_t> sm;  ///< by CTA
};

/// How long a tile of 16 KiB takes to arrive, ns: from the L2 of an idle GPU, and from DRAM under load
/// (Device::l2_tile_ns, kernels::TileTimes). Increasing.
struct SampledTileTimes {
  double l2 = 0;                                     ///< mean
  double dram = 0;                                   ///< median
  double dram_p90 = 0, dram_p99 = 0, dram_p999 = 0;  ///< quantiles
};

/// What a GPU says of itself beside the recordings of suites: natten-sim.launch-order/1.
struct DeviceSamples {
  std::string device;  ///< as the driver names it
  std::int32_t sms = 0;
  std::vector<std::int32_t> partition_of_sm;  ///< 0 or 1, by the number of the SM
  std::vector<SampledLaunch> launches;
  std::optional<std::int64_t> shared_memory_per_block_bytes;
  std::optional<double> copy_bytes_per_s;  ///< read and written, of a large copy on the device
  std::optional<SampledTileTimes> tile_times;
  std::vector<double> slowness_of_sm;  ///< by the number of the SM (slowness_of_sms); empty: not measured
};

inline constexpr const char* kSamplesSchema = "natten-sim.launch-order/1";

/// Measures them: three seconds. Best before a profiler is opened. @throws CudaError.
[[nodiscard]] DeviceSamples sample_device(const kernels::GpuInfo& gpu);

[[nodiscard]] std::string device_samples_json(const DeviceSamples& samples);
/// Keys are strict. @throws MalformedData, also where an SM is none of the device's.
[[nodiscard]] DeviceSamples parse_device_samples(std::string_view json, const std::string& where);

/// A start of launches with one CTA on every SM: SMs of one GPC after the other, in the order of CTAs.
///
/// Numbers of SMs rise within a GPC, so a run ends where they fall. But some SMs come before all others in
/// every such launch, whichever GPC is next (on an H200 and an H100 eight, which are two rising rows): these
/// are the first run. It is the largest set of at most a quarter of the SMs that all launches begin with;
/// there is none if all launches have one order, which does not tell. A run is near the partition that most
/// of its SMs are near, 0 if half of them are, and as slow as they are on average.
struct SeenLaunchRuns {
  std::vector<LaunchRun> runs;
  int seen = 0;      ///< launches that started so
  int launches = 0;  ///< of all that have one CTA on every SM
};

/// The start that was seen most often; of equals the one seen first. Empty without such a launch.
[[nodiscard]] std::optional<SeenLaunchRuns> launch_runs_of(const DeviceSamples& samples);

}  // namespace natten_sim::validate
