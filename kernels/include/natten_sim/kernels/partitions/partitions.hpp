#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels {

/// Which partition of the L2 each SM is attached to.
///
/// A GPU does not report the partitions of its L2, but latencies show them. An atomic is done where its
/// address is at home, so a chain of dependent atomics takes longer from SMs of the other partition (on an
/// H200 508 cycles an atomic against 310). Which SMs are far alternates with the address (on an H200 by a
/// hash, in units of 4 KiB).

struct SmPartitions {
  std::vector<std::int32_t> partition;  ///< of each SM, by its number (%smid); SM 0 is in partition 0
  std::int32_t partitions = 1;          ///< 1 or 2
  double near_cycles = 0;               ///< an atomic at home in the SM's partition
  double far_cycles = 0;  ///< an atomic at home in the other partition; `near_cycles` if there is only one
};

/// Partitions from latencies: `latencies[sm][address]` in cycles, all rows of one length.
///
/// The mean over each address, and then the mean over each SM, is subtracted. What is left goes up and down
/// together for SMs of one partition, and the opposite way for SMs of the other. So the sign of the
/// correlation with SM 0 tells the partition. There are two partitions only if the absolute correlation of
/// every SM is at least 0.5, SMs are on both sides, and far takes 10% longer than near. O(SMs * addresses).
/// @throws InvalidParameter on no SMs, no addresses, rows of different lengths or latencies that are no
/// positive numbers.
[[nodiscard]] SmPartitions partitions_of(const std::vector<std::vector<double>>& latencies);

/// Measures and classifies: `sms` launches in which one SM works alone, a fraction of a second. Waits. GPUs
/// with more than two partitions would be taken for one with one or two.
/// @throws CudaError, also when an SM got no CTA, as on a GPU shared with other processes.
[[nodiscard]] SmPartitions sm_partitions(const GpuInfo& gpu);

}  // namespace natten_sim::kernels
