// Launches of attention. Of the mma.sync kernel (kernel.cuh: variants, floor, distance from it): which of the
// compiled variants, how much shared memory so that exactly the CTAs asked for fit on an SM, which grid.
#include <algorithm>
#include <cmath>

#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/kernels/attention_forward/attention_engine.hpp>

#include "attention/kernel.cuh"
#include "attention/tiles.hpp"
#include "gpu/kernel_limits.cuh"

namespace natten_sim::kernels {
namespace {

using Kernel = void (*)(AttentionArguments);

struct Entry {
  AttentionTiles tiles;
  Kernel fp16;
  Kernel bf16;
  Kernel bf16_with_middles;
};

#define NATTEN_SIM_ENTRY(head_dim, q_tile, kv_tile, warps, stages, most)                 \
  Entry{{head_dim, q_tile, kv_tile, warps, stages, most},                                \
        attention_kernel<__half, head_dim, q_tile, kv_tile, warps, stages, most>,        \
        attention_kernel<__nv_bfloat16, head_dim, q_tile, kv_tile, warps, stages, most>, \
        attention_kernel<__nv_bfloat16, head_dim, q_tile, kv_tile, warps, stages, most, true>},
const Entry kEntries[] = {NATTEN_SIM_ATTENTION_TILES(NATTEN_SIM_ENTRY)};
#undef NATTEN_SIM_ENTRY

const Entry& entry_of(const AttentionTiles& tiles) {
  return *std::find_if(std::begin(kEntries), std::end(kEntries), [&](const Entry& entry) {
    return entry.tiles.head_dim == tiles.head_dim && entry.tiles.q_tile == tiles.q_tile &&
           entry.tiles.kv_tile == tiles.kv_tile && entry.tiles.stages == tiles.stages;
  });
}

/// Shared memory to ask for, so that no more than `ctas` CTAs fit on an SM.
std::int64_t padded_shared_memory(std::int64_t needed, int ctas, const SharedMemoryLimits& limits) {
  const std::int64_t too_much_for_another = limits.per_sm / (ctas + 1) - limits.reserved_per_block + 1024;
  return std::min<std::int64_t>(std::max(needed, too_much_for_another / 1024 * 1024), limits.per_block);
}

void require_buffers(const AttentionProblem& problem, const AttentionBuffers& buffers) {
  const auto q_bytes = static_cast<std::size_t>(problem.query_elements()) * 2;
  const auto k_bytes = static_cast<std::size_t>(problem.key_elements()) * 2;
  if (buffers.q.bytes() < q_bytes || buffers.o.bytes() < q_bytes || buffers.k.bytes() < k_bytes ||
      buffers.v.bytes() < k_bytes) {
    throw InvalidParameter("buffers", "smaller", "Q, K, V and O of the problem");
  }
}

/// Dynamic shared memory of a launch with exactly the CTAs asked for on an SM. @throws HardwareAbsent.
std::size_t fitting_shared_memory(const GpuInfo& gpu, const AttentionTiles& tiles,
                                  const AttentionVariant& variant, const void* kernel) {
  if (tiles.shared_memory_bytes() > gpu.shared_memory_per_block_bytes) {
    throw HardwareAbsent(std::to_string(tiles.shared_memory_bytes()) + " bytes of shared memory a block",
                         gpu.name + " has " + std::to_string(gpu.shared_memory_per_block_bytes));
  }
  const auto shared = static_cast<std::size_t>(padded_shared_memory(
      tiles.shared_memory_bytes(), variant.ctas_per_sm, shared_memory_limits(gpu.index)));
  const int resident = resident_ctas(kernel, gpu.index, tiles.warps * 32, shared);
  if (resident != variant.ctas_per_sm) {
    throw HardwareAbsent(std::to_string(variant.ctas_per_sm) + " CTAs an SM",
                         gpu.name + " holds " + std::to_string(resident) + " of this kernel");
  }
  if (variant.resident_ctas(gpu.sms) > std::int64_t{gpu.sms} * variant.ctas_per_sm) {
    throw HardwareAbsent(std::to_string(variant.ctas) + " CTAs at once",
                         gpu.name + " has " + std::to_string(gpu.sms) + " SMs");
  }
  return shared;
}

AttentionArguments arguments_of(const GpuInfo& gpu, const AttentionProblem& problem,
                                const AttentionVariant& variant, const AttentionBuffers& buffers) {
  const auto tokens = static_cast<int>(problem.tokens);
  AttentionArguments arguments{};
  arguments.q = buffers.q.data();
  arguments.k = buffers.k.data();
  arguments.v = buffers.v.data();
  arguments.o = buffers.o.data();
  arguments.tokens = tokens;
  arguments.batch = static_cast<int>(problem.batch);
  arguments.heads = static_cast<int>(problem.heads);
  arguments.heads_kv = static_cast<int>(problem.heads_kv);
  arguments.q_tiles = (tokens - 1) / variant.q_tile + 1;
  arguments.kv_tiles = (tokens - 1) / variant.kv_tile + 1;
  arguments.items = arguments.q_tiles * arguments.batch * arguments.heads;
  arguments.resident = static_cast<int>(variant.resident_ctas(gpu.sms));
  arguments.scale_log2 =
      static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(problem.head_dim)));
  arguments.causal = problem.causal;
  arguments.last_q_tile_first = variant.last_q_tile_first;
  arguments.schedule = static_cast<int>(variant.schedule);
  arguments.walk = static_cast<int>(variant.walk);
  return arguments;
}

}  // namespace

AttentionLaunch prepare_attention(const GpuInfo& gpu, const AttentionProblem& problem,
                                  const AttentionVariant& variant, const AttentionBuffers& buffers,
                                  bool middles) {
  const AttentionTiles& tiles = require_valid(problem, variant);
  require_buffers(problem, buffers);
  if (variant.engine == AttentionEngine::kWgmma)
    return attention_forward::prepare(gpu, problem, variant, buffers);
  const Entry& entry = entry_of(tiles);
  const Kernel kernel = problem.dtype == Dtype::kFp16 ? entry.fp16
                        : middles                     ? entry.bf16_with_middles
                                                      : entry.bf16;
  const std::size_t shared =
      fitting_shared_memory(gpu, tiles, variant, reinterpret_cast<const void*>(kernel));
  const AttentionArguments prepared = arguments_of(gpu, problem, variant, buffers);
  const auto grid = static_cast<unsigned>(grid_size(problem, variant, gpu.sms));
  const int threads = tiles.warps * 32;
  return [=](DeviceBuffer* intervals) {
    AttentionArguments arguments = prepared;
    if (intervals != nullptr) {
      const std::size_t needed = static_cast<std::size_t>(arguments.items) * sizeof(ItemInterval);
      if (intervals->bytes() < needed)
        throw InvalidParameter("intervals", std::to_string(intervals->bytes()),
                               std::to_string(needed) + " bytes");
      arguments.intervals = static_cast<ItemInterval*>(intervals->data());
    }
    kernel<<<grid, threads, shared>>>(arguments);
    NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  };
}

void launch_attention(const GpuInfo& gpu, const AttentionProblem& problem, const AttentionVariant& variant,
                      const AttentionBuffers& buffers, DeviceBuffer* intervals) {
  prepare_attention(gpu, problem, variant, buffers)(intervals);
}

AttentionBuffers random_attention_buffers(const AttentionProblem& problem, std::uint64_t seed) {
  const auto q_bytes = static_cast<std::size_t>(problem.query_elements()) * 2;
  const auto k_bytes = static_cast<std::size_t>(problem.key_elements()) * 2;
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  AttentionBuffers buffers{DeviceBuffer(q_bytes), DeviceBuffer(k_bytes), DeviceBuffer(k_bytes),
                           DeviceBuffer(q_bytes), DeviceBuffer(q_bytes / 2 / head_dim * sizeof(float))};
  fill_random(buffers.q, problem.query_elements(), problem.dtype, seed * 3);
  fill_random(buffers.k, problem.key_elements(), problem.dtype, seed * 3 + 1);
  fill_random(buffers.v, problem.key_elements(), problem.dtype, seed * 3 + 2);
  buffers.o.fill(0xff);  // NaN in both dtypes
  buffers.lse.fill(0xff);
  synchronize();
  return buffers;
}

}  // namespace natten_sim::kernels
