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

/// How long a tile of 16 KiB takes to arrive, ns (Device::l2_tile_ns).
struct SampledTileTimes {
  double l2 = 0, dram = 0;    ///< means
  double dram_deviation = 0;  ///< the distance of the quartiles over 1.349
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
};

inline constexpr const char* kSamplesSchema = "natten-sim.launch-order/1";

/// Measures them: two seconds. Best before a profiler is opened. @throws CudaError.
[[nodiscard]] DeviceSamples sample_device(const kernels::GpuInfo& gpu);

[[nodiscard]] std::string device_samples_json(const DeviceSamples& samples);
/// Keys are strict. @throws MalformedData, also where an SM is none of the device's.
[[nodiscard]] DeviceSamples parse_device_samples(std::string_view json, const std::string& where);

/// A start of launches with one CTA on every SM: partitions in the order of CTAs, neighbours of one partition
/// put together.
struct SeenLaunchRuns {
  std::vector<LaunchRun> runs;
  int seen = 0;      ///< launches that started so
  int launches = 0;  ///< of all that have one CTA on every SM
};

/// The start that was seen most often; of equals the one seen first. Empty without such a launch.
[[nodiscard]] std::optional<SeenLaunchRuns> launch_runs_of(const DeviceSamples& samples);

}  // namespace natten_sim::validate
