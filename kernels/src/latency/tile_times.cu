// How long one tile takes from the L2 of an idle GPU, and from DRAM while other SMs read from it.
//
// From the L2: one CTA reads tiles of a small buffer, one after the other. From DRAM: one CTA on each SM. The
// first few are probes, which sleep a while, ask for one tile and take its time. The others load: each
// streams tiles from its own region with two in flight and a pause between them, until the last probe is
// done.
#include <cstdint>

#include <natten_sim/kernels/latency/tile_times.hpp>

#include "gpu/cuda_check.cuh"
#include "gpu/global_timer.cuh"

namespace natten_sim::kernels {
namespace {

constexpr int kChunkBytes = 16;  // of one cp.async

/// Asks for a tile. All threads of the CTA, each for its part.
template <int kThreads>
__device__ __forceinline__ void ask_for_tile(std::uint8_t* target, const std::uint8_t* source) {
  static_assert(kTimedTileBytes % (kThreads * kChunkBytes) == 0);
  const auto shared =
      static_cast<std::uint32_t>(__cvta_generic_to_shared(target)) + threadIdx.x * kChunkBytes;
  source += threadIdx.x * kChunkBytes;
#pragma unroll
  for (int offset = 0; offset < kTimedTileBytes; offset += kThreads * kChunkBytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + offset), "l"(source + offset)
                 : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most so many of this thread's tiles are under way.
template <int kUnderWay>
__device__ __forceinline__ void wait_for_tiles() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kUnderWay) : "memory");
}

/// Cycles from asking for a tile until it has arrived for all threads.
template <int kThreads>
__device__ __forceinline__ std::uint64_t cycles_of_tile(std::uint8_t* target, const std::uint8_t* source) {
  __syncthreads();  // all are here; the tile before has arrived for all
  const std::uint64_t asked = sm_cycles();
  ask_for_tile<kThreads>(target, source);
  wait_for_tiles<0>();
  __syncthreads();
  return sm_cycles() - asked;
}

/// Of a CTA: cycles of `kCount` tiles; then all cycles and all nanoseconds that they took together.
template <int kCount>
struct Timed {
  std::uint64_t of_tile[kCount];
  std::uint64_t cycles, nanoseconds;
};

template <int kCount>
void add_nanoseconds(const Timed<kCount>& timed, std::vector<double>& times) {
  const double ns_a_cycle = static_cast<double>(timed.nanoseconds) / static_cast<double>(timed.cycles);
  for (const std::uint64_t cycles : timed.of_tile) times.push_back(ns_a_cycle * static_cast<double>(cycles));
}

constexpr int kIdleThreads = 128;
constexpr int kIdleTiles = 2048;
/// Odd, so coprime to the number of tiles of a buffer, a power of two: no tile comes twice until all have,
/// and neighbours are far apart.
constexpr int kStride = 2897;
using IdleTimes = Timed<kIdleTiles>;

__global__ void __launch_bounds__(kIdleThreads)
    idle_tiles_kernel(const std::uint8_t* buffer, std::uint32_t tiles_of_buffer, IdleTimes* times) {
  extern __shared__ __align__(128) std::uint8_t shared[];
  const std::uint64_t begin_ns = global_timer(), begin = sm_cycles();
  for (int i = 0; i < kIdleTiles; ++i) {
    const std::uint32_t tile = static_cast<std::uint32_t>(i) * kStride % tiles_of_buffer;
    const std::uint64_t cycles = cycles_of_tile<kIdleThreads>(shared, buffer + tile * kTimedTileBytes);
    if (threadIdx.x == 0) times->of_tile[i] = cycles;
  }
  if (threadIdx.x != 0) return;
  times->cycles = sm_cycles() - begin;
  times->nanoseconds = global_timer() - begin_ns;
}

constexpr int kLoadedThreads = 256;
constexpr std::uint32_t kProbes = 4;
constexpr int kProbedTiles = 5000;  // of each probe
/// Cycles from one tile of a loading CTA to its next: 128 of them read 1.4 TB/s on an H200, a third of what
/// its DRAM gives.
constexpr std::uint64_t kPause = 2500;
constexpr std::uint32_t kTilesBetweenLooks = 8;  // at whether the probes are done
constexpr std::uint32_t kLeastSleepNs = 500, kSleepRangeNs = 1000;
using ProbedTimes = Timed<kProbedTiles>;

/// A bijection that mixes all bits.
__device__ __forceinline__ std::uint32_t mixed_bits(std::uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

/// A buffer of tiles; how many of the probes are done.
struct LoadedTiles {
  const std::uint8_t* buffer;
  std::uint32_t tiles;
  std::uint32_t* probes_done;

  __device__ __forceinline__ const std::uint8_t* at(std::uint32_t tile) const {
    return buffer + static_cast<std::size_t>(tile) * kTimedTileBytes;
  }
};

/// Times tiles at random places: the buffer is so much larger than the L2 that hardly one is in it.
__device__ void probe(const LoadedTiles& from, std::uint8_t* shared, ProbedTimes& times) {
  const std::uint64_t begin_ns = global_timer(), begin = sm_cycles();
  for (int i = 0; i < kProbedTiles; ++i) {
    const std::uint32_t random =
        mixed_bits(blockIdx.x * static_cast<std::uint32_t>(kProbedTiles) + static_cast<std::uint32_t>(i) + 1);
    const std::uint8_t* const source = from.at(mixed_bits(random + 1) % from.tiles);
    __nanosleep(kLeastSleepNs + random % kSleepRangeNs);
    const std::uint64_t cycles = cycles_of_tile<kLoadedThreads>(shared, source);
    if (threadIdx.x == 0) times.of_tile[i] = cycles;
  }
  if (threadIdx.x != 0) return;
  times.cycles = sm_cycles() - begin;
  times.nanoseconds = global_timer() - begin_ns;
  atomicAdd(from.probes_done, 1u);
}

/// Streams the CTA's region until all probes are done.
__device__ void load(const LoadedTiles& from, std::uint8_t* shared) {
  const std::uint32_t region = from.tiles / (gridDim.x - kProbes);
  const std::uint32_t first = (blockIdx.x - kProbes) * region;
  std::uint32_t next = mixed_bits(blockIdx.x) % region;  // regions begin alike in the hash of addresses
  for (std::uint32_t step = 0;; ++step) {
    if (step % kTilesBetweenLooks == 0) {
      const std::uint32_t done = *static_cast<volatile std::uint32_t*>(from.probes_done);
      if (__syncthreads_or(done >= kProbes) != 0) break;
    }
    const std::uint64_t asked = sm_cycles();
    ask_for_tile<kLoadedThreads>(shared + step % 2 * kTimedTileBytes, from.at(first + next));
    wait_for_tiles<1>();
    while (sm_cycles() - asked < kPause) {
    }
    __syncthreads();  // the tile before has arrived for all
    next = next + 1 == region ? 0 : next + 1;
  }
  wait_for_tiles<0>();
}

__global__ void __launch_bounds__(kLoadedThreads) loaded_tiles_kernel(LoadedTiles from, ProbedTimes* times) {
  extern __shared__ __align__(128) std::uint8_t shared[];
  if (blockIdx.x < kProbes) {
    probe(from, shared, times[blockIdx.x]);
  } else {
    load(from, shared);
  }
}

std::vector<double> idle_times() {
  constexpr std::size_t kBytes = std::size_t{1} << 22;
  constexpr int kLaunches = 3;  // the first two bring the buffer into the L2
  DeviceBuffer buffer(kBytes);
  fill_random(buffer, static_cast<std::int64_t>(kBytes / 2), Dtype::kFp16, 2);
  DeviceBuffer on_gpu(sizeof(IdleTimes));
  for (int launch = 0; launch < kLaunches; ++launch) {
    idle_tiles_kernel<<<1, kIdleThreads, kTimedTileBytes>>>(static_cast<const std::uint8_t*>(buffer.data()),
                                                            kBytes / kTimedTileBytes,
                                                            static_cast<IdleTimes*>(on_gpu.data()));
    NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  }
  synchronize();
  std::vector<IdleTimes> timed(1);
  on_gpu.copy_to_host(timed.data(), on_gpu.bytes());
  std::vector<double> times;
  add_nanoseconds(timed.front(), times);
  return times;
}

/// 4 GiB, or less where half of the free memory is less, but ten times the L2.
std::size_t loaded_bytes(const GpuInfo& gpu) {
  std::size_t free = 0, total = 0, bytes = std::size_t{1} << 32;
  NATTEN_SIM_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  while (bytes > free / 2 && bytes / 2 >= 10 * static_cast<std::size_t>(gpu.l2_bytes)) bytes /= 2;
  return bytes;
}

std::vector<double> loaded_times(const GpuInfo& gpu) {
  DeviceBuffer buffer(loaded_bytes(gpu)), done(sizeof(std::uint32_t)), on_gpu(kProbes * sizeof(ProbedTimes));
  fill_random(buffer, static_cast<std::int64_t>(buffer.bytes() / 2), Dtype::kFp16, 1);
  done.fill(0);
  const LoadedTiles from{static_cast<const std::uint8_t*>(buffer.data()),
                         static_cast<std::uint32_t>(buffer.bytes() / kTimedTileBytes),
                         static_cast<std::uint32_t*>(done.data())};
  loaded_tiles_kernel<<<static_cast<unsigned>(gpu.sms), kLoadedThreads, 2 * kTimedTileBytes>>>(
      from, static_cast<ProbedTimes*>(on_gpu.data()));
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  synchronize();
  std::vector<ProbedTimes> timed(kProbes);
  on_gpu.copy_to_host(timed.data(), on_gpu.bytes());
  std::vector<double> times;
  for (const ProbedTimes& each : timed) add_nanoseconds(each, times);
  return times;
}

}  // namespace

TileTimes tile_times(const GpuInfo& gpu) { return {idle_times(), loaded_times(gpu)}; }

}  // namespace natten_sim::kernels
