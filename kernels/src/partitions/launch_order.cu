// On which SM each CTA of a launch runs.
#include <natten_sim/kernels/partitions/launch_order.hpp>

#include "gpu/kernel_limits.cuh"
#include "gpu/sm_number.cuh"

namespace natten_sim::kernels {
namespace {

__global__ void where_kernel(std::int32_t* sms) {
  if (threadIdx.x != 0) return;
  sms[blockIdx.x] = static_cast<std::int32_t>(sm_number());
  constexpr long long kCycles = 200000;  // 0.1 ms: longer than the launch of all CTAs takes
  const long long begin = clock64();
  while (clock64() - begin < kCycles) __nanosleep(500);
}

}  // namespace

std::vector<std::int32_t> sms_of_launch(const GpuInfo& gpu, std::int32_t ctas, std::int32_t threads,
                                        std::int32_t shared_bytes) {
  allow_all_shared_memory(reinterpret_cast<const void*>(where_kernel), gpu.index);
  std::vector<std::int32_t> sms(static_cast<std::size_t>(ctas), -1);
  const std::size_t bytes = sms.size() * sizeof(std::int32_t);
  DeviceBuffer buffer(bytes);
  buffer.copy_from_host(sms.data(), bytes);
  where_kernel<<<static_cast<unsigned>(ctas), static_cast<unsigned>(threads),
                 static_cast<std::size_t>(shared_bytes)>>>(static_cast<std::int32_t*>(buffer.data()));
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  synchronize();
  buffer.copy_to_host(sms.data(), bytes);
  return sms;
}

}  // namespace natten_sim::kernels
