#pragma once

#include <cstdint>

namespace natten_sim::kernels {

/// Nanoseconds of the GPU's global timer: one for all SMs.
__device__ __forceinline__ std::uint64_t global_timer() {
  std::uint64_t ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

/// Cycles of this SM's clock.
__device__ __forceinline__ std::uint64_t sm_cycles() {
  std::uint64_t cycles = 0;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  return cycles;
}

}  // namespace natten_sim::kernels
