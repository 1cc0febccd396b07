#include <algorithm>

#include "family.hpp"

namespace natten_sim::study {

const std::vector<Family>& families() {
  // Axes of the grid: (Q tiles, batch, heads), (Q tiles, heads, batch), (Q tiles, heads of all batches).
  constexpr FamilyLaunch kBatchFirst{.q_tiles = 0, .heads = 2, .batch = 1},
      kHeadsFirst{.q_tiles = 0, .heads = 1, .batch = 2}, kAllHeads{.q_tiles = 0, .heads = 1, .batch = {}},
      kNoGrid{.q_tiles = {}, .heads = {}, .batch = {}};
  constexpr auto walking = [](FamilyLaunch launch, KvOrder order, bool reloads_q = false) {
    launch.order = order;
    launch.reloads_q = reloads_q;
    return launch;
  };
  static const std::vector<Family> kFamilies = {
      {"backward", "backward attention", nullptr, recognise_backward},
      {"fa2", "FlashAttention-2 forward", "fa2", recognise_fa2, "flash_fwd_kernel",
       walking(kBatchFirst, KvOrder::kDescending)},
      {"fa2-splits", "FlashAttention-2 forward, keys in parts", nullptr, recognise_fa2_splits},
      {"fa3", "FlashAttention-3 forward", "fa3", recognise_fa3, "CollectiveMainloopFwdSm90",
       walking(kNoGrid, KvOrder::kDescending)},
      {"fa1", "FlashAttention-1 forward", nullptr, recognise_fa1},
      {"fa4", "FlashAttention-4 forward", nullptr, recognise_fa4, nullptr,
       walking(kNoGrid, KvOrder::kDescending)},
      {"cudnn", "cuDNN forward", "cudnn", recognise_cudnn, nullptr, kNoGrid},
      {"efficient", "PyTorch's memory-efficient forward", nullptr, recognise_efficient, nullptr,
       walking(kHeadsFirst, KvOrder::kCyclic, true)},
      {"xformers-splits", "xFormers' forward, keys in parts", nullptr, recognise_xformers_splits},
      {"flashinfer", "FlashInfer's prefill", nullptr, recognise_flashinfer, nullptr,
       FamilyLaunch{.q_tiles = 0, .heads = 2, .batch = {}}},
      {"sageattention", "SageAttention forward", nullptr, recognise_sage, nullptr, kHeadsFirst},
      {"flexattention", "FlexAttention forward", "flexattention", recognise_flex, nullptr, kBatchFirst},
      {"hopper-fna", "NATTEN's hopper-fna forward", nullptr, recognise_hopper_fna},
      {"cutlass-fna", "NATTEN's cutlass-fna forward", nullptr, recognise_cutlass_fna},
      {"ours", "natten-sim's attention", nullptr, recognise_ours},
      {"ours-forward", "natten-sim's forward on Hopper", nullptr, recognise_ours_forward},
      {"triton", "a Triton forward", nullptr, recognise_triton, nullptr, kAllHeads},
  };
  return kFamilies;
}

void tell_tiles(Recognised& found, std::int64_t q_tile, std::int64_t kv_tile, KnownFrom from) {
  tell(found, &ExplainedProblem::q_tile, q_tile, "q-tile", from);
  tell(found, &ExplainedProblem::kv_tile, kv_tile, "kv-tile", from);
}

void tell_walk(Recognised& found, CtaSchedule schedule, KvOrder order) {
  tell(found, &ExplainedProblem::schedule, schedule, "schedule", KnownFrom::kFamily);
  tell(found, &ExplainedProblem::order, order, "order", KnownFrom::kFamily);
  tell(found, &ExplainedProblem::longest_first, false, "longest-first", KnownFrom::kFamily);
}

Recognised recognise_launch(const FamilyLaunch& family, const ProfiledKernel& launch) {
  Recognised found;
  if (family.q_tiles) found.q_tiles = launch.grid[*family.q_tiles];
  if (family.heads)
    tell(found, &ExplainedProblem::heads, launch.grid[*family.heads], "heads", KnownFrom::kGrid);
  if (family.batch)
    tell(found, &ExplainedProblem::batch, launch.grid[*family.batch], "batch-size", KnownFrom::kGrid);
  tell_walk(found, CtaSchedule::kGrid, family.order);
  found.reloads_q = family.reloads_q;
  return found;
}

Recognised recognise_kernel(const AttentionKernel& kernel, const ProfiledKernel& launch, const ExplainedProblem& given) {
  using P = ExplainedProblem;
  Recognised found;
  found.launch_order = kernel.launch;
  tell(found, &P::q_tile, kernel.q_tile, "q-tile", KnownFrom::kFile);
  for (const KernelTile& tile : kernel.kv_tiles) {
    if (given.head_dim ? *given.head_dim != tile.head_dim : kernel.kv_tiles.size() > 1) continue;
    tell(found, &P::kv_tile, tile.kv_tile, "kv-tile", KnownFrom::kFile);
    if (!given.head_dim) tell(found, &P::head_dim, tile.head_dim, "dim", KnownFrom::kFile);
  }
  tell(found, &P::dtype, kernel.dtype, "dtype", KnownFrom::kFile);
  tell(found, &P::schedule, kernel.schedule, "schedule", KnownFrom::kFile);
  tell(found, &P::order, kernel.order, "order", KnownFrom::kFile);
  tell(found, &P::longest_first, kernel.longest_first, "longest-first", KnownFrom::kFile);
  const KernelGrid& grid = kernel.grid;
  if (grid.q_tiles) found.q_tiles = launch.grid[*grid.q_tiles];
  if (grid.heads) tell(found, &P::heads, launch.grid[*grid.heads], "heads", KnownFrom::kGrid);
  if (grid.batch) tell(found, &P::batch, launch.grid[*grid.batch], "batch-size", KnownFrom::kGrid);
  return found;
}

std::optional<Dtype> dtype_in(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("bfloat16") || has("bf16")) return Dtype::kBf16;
  if (has("e4m3")) return Dtype::kE4m3;
  if (has("e5m2")) return Dtype::kE5m2;
  if (has("half") || has("f16") || has("float16")) return Dtype::kFp16;
  if (has("float32") || has("f32")) return Dtype::kFp32;
  return std::nullopt;
}

}  // namespace natten_sim::study
