#pragma once

#include <cstdint>
#include <string>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::bench {

/// Steps of the ladder that can still be built, bf16, head dimension 128, 16 heads; full and causal.
void time_ladder(const kernels::GpuInfo& gpu, std::int64_t tokens);
/// Each step once, for a profiler.
void launch_ladder_once(const kernels::GpuInfo& gpu, std::int64_t tokens, bool causal);
/// Both engines of `attention` through its interface, 16 heads, head dimension 128, grid, descending.
void time_engines(const kernels::GpuInfo& gpu, std::int64_t tokens);
/// Lengths 512 to 65536, 16384 tokens or more in all, hidden size 2048; full and causal.
void time_sizes(const kernels::GpuInfo& gpu, std::int64_t head_dim);
/// Every kernel without maxima that is built for a head dimension, beside the best, at lengths 1024 to 65536.
void time_choices(const kernels::GpuInfo& gpu, std::int64_t head_dim);
/// Every overlapping kernel that is built for a head dimension, with tickets, static and split.
void time_variants(const kernels::GpuInfo& gpu, std::int64_t head_dim, std::int64_t tokens);
/// Published video and image problems whose name contains `filter`, and the dense time of the same tokens.
/// `every`: all kernels and both dispatches besides the best.
void time_neighborhoods(const kernels::GpuInfo& gpu, const std::string& filter, bool every,
                        std::int64_t head_dim);

}  // namespace natten_sim::bench
