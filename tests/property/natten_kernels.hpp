#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/core/tile_count.hpp>

// What NATTEN 0.21.6's kernels do, CTA by CTA, retold from their sources: the oracle for models/tiles.

namespace natten_sim::test {

struct KernelTrips {
  std::int64_t launched = 0;
  std::int64_t empty = 0;  ///< CTAs without a token of the walked operand
  std::int64_t trips = 0;  ///< pairs of tiles that are multiplied
  std::int64_t empty_trips = 0;
  std::int64_t unmasked = 0, bounds = 0, masked = 0;  ///< trips by mask
};

/// csrc/include/natten/cuda/fna_hopper/collective/fna_fusion.hpp (`get_trip_count`, `fully_block_sparse`) and
/// fna_collective_tma_warpspecialized.hpp; fna_blackwell has the same rules.
KernelTrips hopper_forward(const NeighborhoodMask& mask, const TilePair& tiles);
/// fna_fusion_bwd.hpp, fna_collective_bwd_tma_warpspecialized.hpp.
KernelTrips hopper_backward(const NeighborhoodMask& mask, const TilePair& tiles);
/// csrc/include/natten/cuda/fna/kernel_forward.h and na_utils.cuh.
KernelTrips cutlass_forward(const NeighborhoodMask& mask, const TilePair& tiles);
/// csrc/include/natten/cuda/fna/kernel_backward.h, one CTA a KV tile that exists.
KernelTrips cutlass_backward(const NeighborhoodMask& mask, const TilePair& tiles);
/// natten/backends/flex.py: blocks of the mask that create_block_mask makes of the first dilation group, for
/// one axis; every pair of padded tokens is looked at.
KernelTrips flex_blocks(const AxisMask& axis, std::int64_t q_tile, std::int64_t kv_tile);

/// csrc/include/natten/cuda/fmha_hopper and fmha_blackwell (`fmha_fusion.hpp`), fmha (`kernel_forward.h`,
/// `kernel_backward.h`): one dense call, tile by tile.
KernelTrips dense_forward(NattenBackend family, std::int64_t q_tile, std::int64_t kv_tile,
                          std::int64_t queries, std::int64_t keys, bool causal);
KernelTrips dense_backward(NattenBackend family, std::int64_t q_tile, std::int64_t kv_tile,
                           std::int64_t queries, std::int64_t keys, bool causal);

/// `count` of the mask with what a kernel that permutes tokens launches and visits instead; none: as it is.
TileCount count_by_kernel(std::optional<NattenBackend> kernel, const TilingProblem& problem, TileCount count);

}  // namespace natten_sim::test
