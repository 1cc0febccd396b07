#pragma once

#include <string>

#include <cuda_runtime.h>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels {

/// @throws OutOfDeviceMemory or CudaError with call, place and CUDA's words.
inline void throw_unless_success(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  const std::string path(file);
  const std::string place = path.substr(path.rfind('/') + 1) + ":" + std::to_string(line);
  const std::string message = std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status);
  (void)cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) throw OutOfDeviceMemory(call, message + " (" + place + ")");
  throw CudaError(call, message + " (" + place + ")");
}

}  // namespace natten_sim::kernels

/// Every CUDA call goes through this.
#define NATTEN_SIM_CUDA_CHECK(call) \
  ::natten_sim::kernels::throw_unless_success((call), #call, __FILE__, __LINE__)
