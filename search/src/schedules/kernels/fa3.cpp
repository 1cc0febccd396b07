// FlashAttention-3 since September 2025, hopper/ of its repository. As fa4.cpp, with sections of heads in 40
// MiB of L2 for causal masks, deterministic or not, and plain grids for the others. Unordered causal launches
// begin with the first KV tile, which has the longest chain.
#include <natten_sim/search/schedules/backward_kernel.hpp>

namespace natten_sim::schedules {
namespace {

constexpr std::int64_t kFa3SectionBytes = std::int64_t{40} << 20;

std::optional<TileTokens> fa3_tiles(std::int64_t head_dim, MaskClass mask) {
  if (head_dim <= 64) return TileTokens{128, 128};
  if (head_dim <= 96) return TileTokens{64, 128};
  if (head_dim <= 128) return TileTokens{mask == MaskClass::kFull ? 80 : 64, 128};
  if (head_dim <= 192) return TileTokens{64, 96};
  if (head_dim <= 256) return TileTokens{64, 80};
  return std::nullopt;
}

BackwardLaunch fa3_launch(const BackwardCall& call, ReductionMode mode) {
  const bool full = call.mask == MaskClass::kFull;
  const bool ordered = mode == ReductionMode::kDeterministic;
  BackwardLaunch launch{.algorithm = !ordered ? "unordered"
                                     : full   ? "ascending"
                                              : "spt",
                        .launch_order = "grid: KV tiles fastest, then heads, then batch",
                        .dq_order = !ordered ? "none"
                                    : full   ? "ascending KV tile"
                                             : "descending KV tile"};
  if (full) return launch;
  launch.sections = sections_within(kFa3SectionBytes, call);
  launch.launch_order = "sections of " + std::to_string(launch.sections.heads_per_section) +
                        " heads, heads fastest, KV tiles " + (ordered ? "descending" : "ascending");
  return launch;
}

}  // namespace

BackwardKernel fa3_kernel() {
  return {.name = "fa3",
          .title = "FlashAttention-3",
          .position = 20,
          .source = "github.com/Dao-AILab/flash-attention, hopper/: tile_size.h, tile_scheduler.hpp",
          .tiles = fa3_tiles,
          .launch = fa3_launch,
          .other_bytes = [](const BackwardCall& call, ReductionMode) { return bytes_around(call); }};
}

}  // namespace natten_sim::schedules
