#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels {

/// Which partition of the L2 each SM is attached to.
///
/// A GPU whose L2 has two partitions does not say so; latencies do. An atomic is done where its address is at
/// home, so a chain of dependent atomics takes longer from SMs of the other partition (on an H200 508 cycles
/// an atomic against 310), and which SMs are far alternates with the address (by a hash, in units of 4 KiB,
/// on an H200).

struct SmPartitions {
  std::vector<std::int32_t> partition;  ///< of each SM, by its number (%smid); SM 0 is in partition 0
  std::int32_t partitions = 1;          ///< 1 or 2
  double near_cycles = 0;               ///< an atomic at home in the SM's partition
  double far_cycles = 0;                ///< in the other one; `near_cycles` where there is one partition
};

/// Of latencies, `latencies[sm][address]` in cycles, all rows of one length.
///
/// What an address costs on average, and then what an SM costs on average, is taken off. What is left of SMs
/// of one partition goes up and down together, and of the other the opposite way: the sign of the correlation
/// with SM 0. There are two partitions only if every SM's correlation is at least 0.5, one way or the other,
/// SMs are on both sides, and far takes 10% longer than near. O(SMs * addresses). @throws InvalidParameter on
/// no SMs, no addresses, rows of different lengths or latencies that are no positive numbers.
[[nodiscard]] SmPartitions partitions_of(const std::vector<std::vector<double>>& latencies);

/// Measures and classifies: `sms` launches in which one SM works alone, a fraction of a second. Waits. GPUs
/// with more than two partitions would be taken for one with one or two.
/// @throws CudaError, also when an SM got no CTA, as on a GPU shared with other processes.
[[nodiscard]] SmPartitions sm_partitions(const GpuInfo& gpu);

}  // namespace natten_sim::kernels
