#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/// One kernel each for constructs of the lowering table that no path of scatter-add uses. Never launched:
/// `natten-sim validate --sass` reads what they became.

extern "C" __global__ void probe_cuda_atomicadd_half2(__half2* target, const __half2* values) {
  atomicAdd(target + threadIdx.x, values[threadIdx.x]);
}

extern "C" __global__ void probe_cuda_atomicadd_bfloat162(__nv_bfloat162* target,
                                                          const __nv_bfloat162* values) {
  atomicAdd(target + threadIdx.x, values[threadIdx.x]);
}

extern "C" __global__ void probe_ptx_red_relaxed_bf16(__nv_bfloat16* target, const unsigned short* values) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.noftz.bf16 [%0], %1;" ::"l"(target + threadIdx.x),
               "h"(values[threadIdx.x])
               : "memory");
#endif
}
