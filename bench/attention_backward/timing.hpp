#pragma once

#include <string>
#include <vector>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::bench {

/// Unordered and deterministic backward of 16,384 tokens in all, hidden size 2048, by turns; full and causal.
/// The GPU rests `rest_ms` before each launch: without that a launch also depends on the one before it, which
/// left the chip hot or cool. `tables`: files of schedule tables to run besides, those that fit.
void time_orders(const kernels::GpuInfo& gpu, std::int64_t tokens, std::int64_t head_dim, int rest_ms,
                 const std::vector<std::string>& tables);
/// The steps of the ladder that can still be built, unordered and ordered; hidden size 2048. The GPU rests
/// `rest_ms` before each launch.
void time_ladder(const kernels::GpuInfo& gpu, std::int64_t tokens, std::int64_t head_dim, int rest_ms);
/// Each of them once, full mask.
void launch_once(const kernels::GpuInfo& gpu, std::int64_t tokens);
/// What the hardware gives: bulk additions to distinct and to the same tiles, turns between SMs.
void time_reductions(const kernels::GpuInfo& gpu);
/// A stage of shared memory that is filled again and again: `how` it is given back, see sm90a/stages.cu.
/// Whether all that was read was right.
[[nodiscard]] bool run_stages(int how);
/// GQA, four query heads a KV head: chains of a query head and of a group.
void time_groups(const kernels::GpuInfo& gpu, std::int64_t tokens, std::int64_t head_dim);
/// One run of each order on so many workers: its table to FOLDER/ALGORITHM-MASK.json and the times of every
/// task to FOLDER/ALGORITHM-MASK.csv, which `natten-sim schedule --table .. --recorded-run ..` draws.
void record_turns(const kernels::GpuInfo& gpu, std::int64_t tokens, const std::string& folder,
                  std::int64_t heads, std::int32_t workers);

}  // namespace natten_sim::bench
