#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/core/msda_costs.hpp>

namespace natten_sim {

/// A number of a device profile, with its source.
template <typename T>
struct Sourced {
  T value{};
  bool measured = false;
  std::string source;
};

/// Empty if the profile does not have it.
template <typename T>
using Known = std::optional<Sourced<T>>;

/// SMs that follow each other in launch order, a GPC or what is left of one, and the partition of the L2 that
/// they are attached to.
struct LaunchRun {
  std::int32_t sms = 0;
  std::int32_t partition = 0;
  /// How much longer a cycle of its clock lasts than the mean of all SMs, as a fraction: GPCs have clocks of
  /// their own. Above -1.
  double slowness = 0;
};

/// The SM that each CTA of a launch of `ctas` that start at once runs on, by its place among the SMs in
/// launch order. With n SMs:
/// - Full rounds, floor(ctas / n) of them: runs take turns, and a turn gives each SM of the run one CTA. The
///   first run has a turn at the start, one after five turns of others, and one after each six more; the
///   others follow each other in a ring.
/// - The rest, one CTA an SM: the first run is filled; of the other runs, beginning with the shortest, each
///   in turn takes one SM of a pair (a TPC), and when all pairs have one, the second. They start run by run.
/// Seen on three H200 and three H100 for 1 to 528 CTAs; a rest smaller than the first run may be elsewhere.
/// Requires runs of at least one SM, ctas >= 0.
[[nodiscard]] std::vector<std::int32_t> sms_in_launch_order(const std::vector<LaunchRun>& runs,
                                                            std::int64_t ctas);

/// The partitions of those SMs.
[[nodiscard]] std::vector<std::int32_t> partitions_in_launch_order(const std::vector<LaunchRun>& runs,
                                                                   std::int64_t ctas);

/// The slowness of the runs' SMs, in launch order.
[[nodiscard]] std::vector<double> slowness_in_launch_order(const std::vector<LaunchRun>& runs);

/// The second-level cache, as far as it is known.
struct DeviceL2 {
  Known<std::int64_t> bytes;
  Known<std::int64_t> effective_bytes;  ///< what stays cached of a buffer that all SMs read repeatedly
  Known<std::int32_t> partitions;       ///< a line read by SMs of several partitions has a copy in each
  Known<std::int32_t> sector_bytes, line_bytes;
  Known<std::int32_t> ways;
  Known<double> hit_bytes_per_s, miss_bytes_per_s;  ///< rates at which data arrive at all SMs together
};

/// What the times of a tile are measured with: K of 64 tokens at head dimension 128.
inline constexpr std::int64_t kTimedTileBytes = 16 * 1024;

/// A GPU: what data/devices/ or a user's file says about it. Whatever is unknown is absent; integers are
/// 1 or more, other numbers positive.
struct Device {
  std::string name;
  std::string title;
  std::string architecture;
  std::string default_backend;
  Known<std::int32_t> sms;
  Known<std::vector<LaunchRun>> launch_runs;  ///< of all SMs, in launch order
  DeviceL2 l2;
  Known<double> dram_bytes_per_s;
  /// How long a tile of kTimedTileBytes takes from the request to its last byte: from the L2, on a GPU that
  /// does nothing else; from DRAM, while other SMs take a third of its bandwidth. Of the second the median
  /// and the quantiles of 90, 99 and 99.9%, increasing.
  Known<double> l2_tile_ns, dram_tile_ns;
  Known<double> dram_tile_p90_ns, dram_tile_p99_ns, dram_tile_p999_ns;
  Known<std::int64_t> shared_memory_per_block_bytes;
  Known<double> dense_bf16_flops_per_s;
  Known<double> boost_clock_hz;
  std::optional<DeviceAtomics> atomics;  ///< none: not measured
  std::vector<MsdaKernel> msda_kernels;  ///< the kernels that were measured on it
  std::optional<MsdaCosts> msda_costs;   ///< of this project's own; none: not measured
};

/// 90 of `sm90` and `sm_90a`; none if the architecture has no number.
[[nodiscard]] std::optional<std::int64_t> compute_capability(const Device& device);

/// The partition of the L2 that all SMs of a launch of `ctas` CTAs are near; none if they are near several,
/// or if the launch order is not known. What they read keeps one copy. Requires ctas >= 1.
[[nodiscard]] std::optional<std::int32_t> only_partition(const Device& device, std::int64_t ctas);

/// Calls `visit(name, number)` for each number, known or not, in the order of the files. `device` may be
/// const. The names are those of the JSON keys and carry the unit.
template <typename D, typename Visit>
void for_each_number(D& device, Visit&& visit) {
  visit("sms", device.sms);
  visit("l2_bytes", device.l2.bytes);
  visit("l2_effective_bytes", device.l2.effective_bytes);
  visit("l2_partitions", device.l2.partitions);
  visit("l2_sector_bytes", device.l2.sector_bytes);
  visit("l2_line_bytes", device.l2.line_bytes);
  visit("l2_ways", device.l2.ways);
  visit("l2_hit_bandwidth_bytes_per_s", device.l2.hit_bytes_per_s);
  visit("l2_miss_bandwidth_bytes_per_s", device.l2.miss_bytes_per_s);
  visit("dram_bandwidth_bytes_per_s", device.dram_bytes_per_s);
  visit("l2_tile_ns", device.l2_tile_ns);
  visit("dram_tile_ns", device.dram_tile_ns);
  visit("dram_tile_p90_ns", device.dram_tile_p90_ns);
  visit("dram_tile_p99_ns", device.dram_tile_p99_ns);
  visit("dram_tile_p999_ns", device.dram_tile_p999_ns);
  visit("shared_memory_per_block_bytes", device.shared_memory_per_block_bytes);
  visit("dense_bf16_flops_per_s", device.dense_bf16_flops_per_s);
  visit("boost_clock_hz", device.boost_clock_hz);
}

/// A known number by its name, for lists.
struct DeviceNumber {
  std::string name;
  double value = 0;
  bool measured = false;
  std::string source;
};
[[nodiscard]] std::vector<DeviceNumber> known_numbers(const Device& device);

/// The number without its source, in a type that holds it.
template <typename To, typename T>
[[nodiscard]] std::optional<To> value_of(const Known<T>& number) {
  return number ? std::optional<To>(static_cast<To>(number->value)) : std::nullopt;
}

/// @throws InvalidParameter naming the device when the catalog has no such kernel for it.
[[nodiscard]] const MsdaKernel& msda_kernel(const Device& device, MsdaTiling tiling);

}  // namespace natten_sim
