// How long one tile takes from the L2, and from DRAM.
#include <cstdint>

#include <natten_sim/kernels/latency/tile_times.hpp>

#include "gpu/global_timer.cuh"
#include "gpu/cuda_check.cuh"

namespace natten_sim::kernels {
namespace {

constexpr int kThreads = 128;
constexpr int kChunkBytes = 16;  // of one cp.async
constexpr int kTiles = 2048;
/// Odd, so coprime to the number of tiles of a buffer, a power of two: no tile comes twice, and neighbours are
/// far apart.
constexpr int kStride = 2897;
static_assert(kTimedTileBytes % (kThreads * kChunkBytes) == 0);

/// Cycles of `kTiles` tiles, one after the other; then all cycles and all nanoseconds of them.
__global__ void __launch_bounds__(kThreads)
    tile_times_kernel(const std::uint8_t* buffer, std::uint32_t tiles_of_buffer, std::uint64_t* cycles) {
  extern __shared__ __align__(128) std::uint8_t shared[];
  const auto target = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)) + threadIdx.x * kChunkBytes;
  const std::uint64_t begin_ns = global_timer();
  const long long begin = clock64();
  for (int i = 0; i < kTiles; ++i) {
    const std::uint32_t tile = static_cast<std::uint32_t>(i) * kStride % tiles_of_buffer;
    const std::uint8_t* source = buffer + tile * kTimedTileBytes + threadIdx.x * kChunkBytes;
    __syncthreads();  // the tile before has arrived for all
    const long long asked = clock64();
#pragma unroll
    for (int offset = 0; offset < kTimedTileBytes; offset += kThreads * kChunkBytes) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target + offset), "l"(source + offset)
                   : "memory");
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) cycles[i] = static_cast<std::uint64_t>(clock64() - asked);
  }
  if (threadIdx.x != 0) return;
  cycles[kTiles] = static_cast<std::uint64_t>(clock64() - begin);
  cycles[kTiles + 1] = global_timer() - begin_ns;
}

std::vector<double> times_of(const DeviceBuffer& buffer, int launches) {
  DeviceBuffer on_gpu((kTiles + 2) * sizeof(std::uint64_t));
  const auto tiles = static_cast<std::uint32_t>(buffer.bytes() / kTimedTileBytes);
  for (int launch = 0; launch < launches; ++launch) {
    tile_times_kernel<<<1, kThreads, kTimedTileBytes>>>(static_cast<const std::uint8_t*>(buffer.data()), tiles,
                                                        static_cast<std::uint64_t*>(on_gpu.data()));
    NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  }
  synchronize();
  std::vector<std::uint64_t> cycles(kTiles + 2);
  on_gpu.copy_to_host(cycles.data(), on_gpu.bytes());
  const double ns_a_cycle = static_cast<double>(cycles[kTiles + 1]) / static_cast<double>(cycles[kTiles]);
  std::vector<double> times;
  for (int i = 0; i < kTiles; ++i)
    times.push_back(ns_a_cycle * static_cast<double>(cycles[static_cast<std::size_t>(i)]));
  return times;
}

}  // namespace

TileTimes tile_times(const GpuInfo& gpu) {
  constexpr std::size_t kSmall = std::size_t{1} << 22;
  std::size_t large = kSmall;
  while (large < 10 * static_cast<std::size_t>(gpu.l2_bytes)) large *= 2;
  DeviceBuffer far(large);
  fill_random(far, static_cast<std::int64_t>(large / 2), Dtype::kFp16, 1);
  DeviceBuffer near(kSmall);
  fill_random(near, static_cast<std::int64_t>(kSmall / 2), Dtype::kFp16, 2);
  L2Flusher flusher(gpu);
  flusher.flush();
  TileTimes times;
  times.dram = times_of(far, 1);
  times.l2 = times_of(near, 3);
  return times;
}

}  // namespace natten_sim::kernels
