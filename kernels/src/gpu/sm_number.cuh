#pragma once

namespace natten_sim::kernels {

/// The SM that this thread runs on.
__device__ __forceinline__ unsigned sm_number() {
  unsigned number = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

}  // namespace natten_sim::kernels
