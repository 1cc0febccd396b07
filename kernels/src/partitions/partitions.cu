// Latency of atomics from each SM to many addresses.
//
// One launch an SM: a CTA on every SM, all of which wait until the last has started, so that none takes two
// in turn; then all but the one on the SM in question leave, and that one works alone. A few milliseconds a
// launch: 256 addresses * 4 chains * 8 atomics of some 400 cycles at 1.98 GHz.
#include <algorithm>
#include <array>
#include <string>

#include <natten_sim/kernels/partitions/partitions.hpp>

#include "gpu/kernel_limits.cuh"
#include "gpu/sm_number.cuh"

namespace natten_sim::kernels {
namespace {

constexpr int kAddresses = 256;
constexpr std::size_t kStrideBytes = 20480;  // 5 * 4 KiB: no power of two, so that homes vary
constexpr int kChain = 8;                    // atomics between two looks at the clock
constexpr int kChains = 4;                   // the first warms the TLB; of the others the shortest counts

__global__ void latency_kernel(unsigned target, unsigned* memory, unsigned* arrived, unsigned* cycles) {
  atomicAdd(arrived, 1u);
  while (atomicAdd(arrived, 0u) < gridDim.x) __nanosleep(200);
  if (sm_number() != target) return;
  for (int address = 0; address < kAddresses; ++address) {
    unsigned* const place = memory + address * (kStrideBytes / sizeof(unsigned));
    unsigned shortest = ~0u;
    for (int chain = 0; chain < kChains; ++chain) {
      unsigned value = 0;
      const long long begin = clock64();
      // Each atomic's address depends on the value before, which stays below 2^31.
#pragma unroll 1
      for (int i = 0; i < kChain; ++i) value = atomicAdd(place + (value >> 31), 1u);
      // A real branch on the last value, or the second look at the clock would not wait for it.
      if (value == 0xfffffff0u) cycles[0] = value;
      const auto elapsed = static_cast<unsigned>(clock64() - begin);
      if (chain > 0 && elapsed < shortest) shortest = elapsed;
    }
    cycles[address] = shortest;
  }
}

}  // namespace

SmPartitions sm_partitions(const GpuInfo& gpu) {
  DeviceBuffer memory(kAddresses * kStrideBytes);
  memory.fill(0);
  DeviceBuffer arrived(sizeof(unsigned)), cycles(kAddresses * sizeof(unsigned));
  // More than half of an SM's shared memory, so that one CTA fits; a cooperative launch, so that all fit.
  const auto shared = static_cast<std::size_t>(gpu.shared_memory_per_block_bytes) / 10 * 9;
  allow_all_shared_memory(reinterpret_cast<const void*>(latency_kernel), gpu.index);
  std::vector<std::vector<double>> latencies;
  std::array<unsigned, kAddresses> measured{};
  for (std::int32_t sm = 0; sm < gpu.sms; ++sm) {
    arrived.fill(0);
    cycles.fill(0);
    auto target = static_cast<unsigned>(sm);
    auto* at = static_cast<unsigned*>(memory.data());
    auto* count = static_cast<unsigned*>(arrived.data());
    auto* out = static_cast<unsigned*>(cycles.data());
    std::array<void*, 4> arguments = {&target, &at, &count, &out};
    NATTEN_SIM_CUDA_CHECK(cudaLaunchCooperativeKernel(latency_kernel, dim3(static_cast<unsigned>(gpu.sms)),
                                                      dim3(1), arguments.data(), shared, nullptr));
    cycles.copy_to_host(measured.data(), sizeof measured);
    if (measured[0] == 0) {
      throw CudaError("sm_partitions", "SM " + std::to_string(sm) + " of " + std::to_string(gpu.sms) +
                                           " got no CTA; is another process on this GPU?");
    }
    std::vector<double> row;
    for (const unsigned chain : measured) row.push_back(static_cast<double>(chain) / kChain);
    latencies.push_back(std::move(row));
  }
  return partitions_of(latencies);
}

}  // namespace natten_sim::kernels
