#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "gpu/cuda_check.cuh"

namespace natten_sim::kernels {

/// What launches ask of the driver, each once in a process: limits of a GPU, attributes and occupancy of a
/// kernel. A launch costs a look-up then, not calls into the driver.

/// Bytes of shared memory.
struct SharedMemoryLimits {
  int per_sm = 0;
  int reserved_per_block = 0;
  int per_block = 0;  ///< with opt-in
};

[[nodiscard]] inline SharedMemoryLimits shared_memory_limits(int gpu) {
  static std::mutex mutex;
  static std::map<int, SharedMemoryLimits> known;
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(gpu); found != known.end()) return found->second;
  SharedMemoryLimits limits;
  NATTEN_SIM_CUDA_CHECK(
      cudaDeviceGetAttribute(&limits.per_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, gpu));
  NATTEN_SIM_CUDA_CHECK(
      cudaDeviceGetAttribute(&limits.reserved_per_block, cudaDevAttrReservedSharedMemoryPerBlock, gpu));
  NATTEN_SIM_CUDA_CHECK(
      cudaDeviceGetAttribute(&limits.per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu));
  return known[gpu] = limits;
}

/// Lets the kernel have as much dynamic shared memory as a block of the GPU can have.
inline void allow_all_shared_memory(const void* kernel, int gpu) {
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, bool> allowed;
  const std::scoped_lock lock(mutex);
  bool& done = allowed[{kernel, gpu}];
  if (done) return;
  cudaFuncAttributes attributes{};
  NATTEN_SIM_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  const int most = shared_memory_limits(gpu).per_block - static_cast<int>(attributes.sharedSizeBytes);
  NATTEN_SIM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  done = true;
}

/// CTAs of so many threads, each with so much dynamic shared memory, that an SM holds at once. Calls
/// allow_all_shared_memory.
[[nodiscard]] inline int resident_ctas(const void* kernel, int gpu, int threads, std::size_t shared_bytes) {
  static std::mutex mutex;
  static std::map<std::tuple<const void*, int, int, std::size_t>, int> known;
  allow_all_shared_memory(kernel, gpu);
  const std::scoped_lock lock(mutex);
  const auto place = known.try_emplace({kernel, gpu, threads, shared_bytes}, -1).first;
  if (place->second < 0) {
    NATTEN_SIM_CUDA_CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&place->second, kernel, threads, shared_bytes));
  }
  return place->second;
}

}  // namespace natten_sim::kernels
