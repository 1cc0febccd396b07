// What decides the design of the backward, measured without attention: how fast bulk additions of dQ tiles
// are, to distinct and to the same tiles, and how long a turn takes from one SM to another. Floor of the
// first: 4 bytes added an element over the L2's rate, which is what it finds.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include "../timing.hpp"

namespace natten_sim::bench {
namespace {

constexpr unsigned kTileBytes = 32768;

__device__ __forceinline__ unsigned load_acquire(const unsigned* word) {
  unsigned value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
__device__ __forceinline__ void store_release(unsigned* word, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ __forceinline__ void add_tile(float* to, unsigned from) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
               "r"(from), "r"(kTileBytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Each CTA adds `count` tiles, `step` apart from where it begins, of `tiles` in all; two in flight.
__global__ void add_kernel(float* to, int tiles, int step, int count) {
  extern __shared__ __align__(1024) float tile[];
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x) tile[i] = 1.0f;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  int at = static_cast<int>(static_cast<long long>(blockIdx.x) * tiles / gridDim.x);
  for (int i = 0; i < count; ++i) {
    add_tile(to + static_cast<long long>(at) * (kTileBytes / 4), from);
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    at = (at + step) % tiles;
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// CTA 0 and CTA `other` pass a turn to and fro; the others leave. With `add`, each adds a tile before it
/// passes.
__global__ void turn_kernel(unsigned* turn, float* to, int other, int count, bool add, long long* cycles) {
  extern __shared__ __align__(1024) float tile[];
  const int mine = blockIdx.x == 0 ? 0 : static_cast<int>(blockIdx.x) == other ? 1 : 2;
  if (mine == 2) return;
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x) tile[i] = 1.0f;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  long long begin = 0;
  for (int i = mine; i < count; i += 2) {
    for (unsigned tries = 0; load_acquire(turn) != static_cast<unsigned>(i); ++tries) {
      if (tries > 1u << 21) __trap();
    }
    if (i == 10) begin = clock64();
    if (add) {
      asm volatile("fence.proxy.async.global;" ::: "memory");
      add_tile(to, from);
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
      asm volatile("fence.proxy.async.global;" ::: "memory");
    }
    store_release(turn, static_cast<unsigned>(i + 1));
  }
  if (mine == 0) *cycles = clock64() - begin;
}

void check(cudaError_t status) {
  if (status != cudaSuccess) throw kernels::CudaError("reductions", cudaGetErrorString(status));
}

}  // namespace

void time_reductions(const kernels::GpuInfo& gpu) {
  constexpr int kTiles = 8192;  // 256 MiB
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(kTiles) * kTileBytes);
  buffer.fill(0);
  auto* to = static_cast<float*>(buffer.data());
  check(cudaFuncSetAttribute(add_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTileBytes));
  constexpr int kCount = 2000;
  for (const int tiles : {1, 4, 16, 64, 132, 256, 1024, 4096, 8192}) {
    const auto milliseconds = kernels::time_with_events(
        [&] {
          add_kernel<<<gpu.sms, 128, kTileBytes>>>(to, tiles, 1, kCount);
          check(cudaGetLastError());
        },
        3);
    const double best = *std::min_element(milliseconds.begin(), milliseconds.end());
    std::printf("bulk additions, %d CTAs over %d tiles (%.1f MiB): %.2f TB/s\n", gpu.sms, tiles, tiles / 32.0,
                static_cast<double>(gpu.sms) * kCount * kTileBytes / best / 1e9);
  }
  kernels::DeviceBuffer words(64);
  for (const bool add : {false, true}) {
    std::vector<double> cycles;
    constexpr int kTurns = 410;
    for (int other = 1; other < gpu.sms; other += 3) {
      words.fill(0);
      auto* turn = static_cast<unsigned*>(words.data());
      auto* result = reinterpret_cast<long long*>(turn + 8);
      turn_kernel<<<gpu.sms, 128, kTileBytes>>>(turn, to, other, kTurns, add, result);
      check(cudaGetLastError());
      long long total = 0;
      words.copy_to_host(&total, 8, 32);
      cycles.push_back(static_cast<double>(total) / (kTurns - 10));
    }
    std::sort(cycles.begin(), cycles.end());
    std::printf("turn from SM to SM%s: %.0f cycles at least, %.0f median, %.0f at most\n",
                add ? ", with the addition of 32 KiB before it" : "", cycles.front(),
                cycles[cycles.size() / 2], cycles.back());
  }
  std::fflush(stdout);
}

}  // namespace natten_sim::bench
