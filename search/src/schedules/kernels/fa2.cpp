// FlashAttention-2, csrc/flash_attn of its repository, as PyTorch carries it. Unordered: a grid of (KV tile,
// batch, head), dQ by atomics. Deterministic: ceil(SMs / (batch * heads)) CTAs a head, each of which walks
// every n-th KV tile into a dQ buffer of its own; then all buffers are summed.
#include <natten_sim/core/checked.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>

namespace natten_sim::schedules {
namespace {

std::int64_t fa2_splits(const BackwardCall& call) {
  return ceil_divide(std::int64_t{call.sms}, call.batch * call.heads);
}

std::optional<TileTokens> fa2_tiles(std::int64_t head_dim, MaskClass) {
  if (head_dim <= 64) return TileTokens{128, 128};
  if (head_dim <= 128) return TileTokens{64, 128};
  if (head_dim <= 256) return TileTokens{64, 64};
  return std::nullopt;
}

BackwardLaunch fa2_launch(const BackwardCall& call, ReductionMode mode) {
  if (mode == ReductionMode::kUnordered) {
    return {.algorithm = "unordered",
            .launch_order = "grid: KV tiles fastest, then batch, then heads",
            .dq_order = "none"};
  }
  const std::string splits = std::to_string(fa2_splits(call));
  return {.algorithm = "fa2-split",
          .launch_order = splits + " CTAs a head, each with every " + splits + "th KV tile",
          .dq_order = "none: a buffer a CTA, summed afterwards"};
}

/// Every buffer is cleared; the sum reads them in the second phase of its schedule.
double fa2_bytes(const BackwardCall& call, ReductionMode mode) {
  const double bytes = bytes_around(call);
  if (mode == ReductionMode::kUnordered) return bytes;
  const double fp32_dq = 4.0 * static_cast<double>(call.batch * call.heads * call.q_tokens * call.head_dim);
  return bytes + fp32_dq * (static_cast<double>(fa2_splits(call)) - 2);
}

}  // namespace

BackwardKernel fa2_kernel() {
  return {.name = "fa2",
          .title = "FlashAttention-2",
          .position = 10,
          .source = "github.com/Dao-AILab/flash-attention, csrc/flash_attn/src/flash_bwd_launch_template.h",
          .tiles = fa2_tiles,
          .launch = fa2_launch,
          .other_bytes = fa2_bytes};
}

}  // namespace natten_sim::schedules
