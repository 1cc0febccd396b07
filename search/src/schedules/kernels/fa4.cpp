// FlashAttention-4 (CuTe DSL) on Hopper, as flash_bwd_sm90.py, tile_scheduler.py and interface.py have it.
// One CTA a (KV tile, head), one an SM; Q tiles ascending; a warp of its own adds dQ tiles from one buffer by
// bulk reductions and, when deterministic, waits for each to be complete before it passes the turn on.
// Unordered: a plain grid, KV tiles fastest. Deterministic: sections of heads in 50 MiB of L2, KV tile by KV
// tile, heads fastest; causal masks and windows launch the last KV tile first and reduce dQ by descending KV
// tile.
#include <natten_sim/search/schedules/backward_kernel.hpp>

namespace natten_sim::schedules {
namespace {

constexpr std::int64_t kFa4SectionBytes = std::int64_t{50} << 20;

std::optional<TileTokens> fa4_tiles(std::int64_t head_dim, MaskClass mask) {
  if (head_dim <= 64) return TileTokens{128, 128};
  if (head_dim <= 96) return TileTokens{64, 128};
  if (head_dim <= 128) return TileTokens{mask == MaskClass::kFull ? 80 : 64, 128};
  if (head_dim <= 192) return TileTokens{64, 96};
  return std::nullopt;  // its kernel for 256 takes another way
}

BackwardLaunch fa4_launch(const BackwardCall& call, ReductionMode mode) {
  if (mode == ReductionMode::kUnordered) {
    return {.algorithm = "unordered",
            .launch_order = "grid: KV tiles fastest, then heads, then batch",
            .dq_order = "none"};
  }
  const bool full = call.mask == MaskClass::kFull;
  const HeadSections sections = sections_within(kFa4SectionBytes, call);
  const std::string heads = std::to_string(sections.heads_per_section);
  return {.algorithm = full ? "ascending" : "spt",
          .sections = sections,
          .launch_order = "sections of " + heads + " heads, heads fastest, KV tiles " +
                          (full ? "ascending" : "descending"),
          .dq_order = full ? "ascending KV tile" : "descending KV tile"};
}

}  // namespace

BackwardKernel fa4_kernel() {
  return {.name = "fa4",
          .title = "FlashAttention-4 on Hopper",
          .position = 30,
          .source = "flash-attn-4 4.0.0b36: flash_bwd_sm90.py, tile_scheduler.py, interface.py",
          .tiles = fa4_tiles,
          .launch = fa4_launch,
          .other_bytes = [](const BackwardCall& call, ReductionMode) { return bytes_around(call); }};
}

}  // namespace natten_sim::schedules
