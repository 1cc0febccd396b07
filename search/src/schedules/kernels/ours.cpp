// This project's own backward kernel, which consumes schedule tables: the shift with spread starts for full
// masks, the best schedule that a search finds for others, with as many heads at work as the L2 holds. Its
// costs were measured on an H200.
#include <natten_sim/core/checked.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>

namespace natten_sim::schedules {
namespace {

std::optional<TileTokens> ours_tiles(std::int64_t head_dim, MaskClass) {
  if (head_dim <= 64) return TileTokens{128, 128};
  if (head_dim <= 128) return TileTokens{64, 128};
  return std::nullopt;
}

BackwardLaunch ours_launch(const BackwardCall& call, ReductionMode mode) {
  if (mode == ReductionMode::kUnordered) {
    return {.algorithm = "unordered",
            .launch_order = "grid: KV tiles fastest, then heads, then batch",
            .dq_order = "none"};
  }
  const bool full = call.mask == MaskClass::kFull;
  std::optional<std::int32_t> heads;
  if (call.l2_bytes)
    heads = heads_within(*call.l2_bytes, call, call.sms, ceil_divide(call.kv_tokens, std::int64_t{128}));
  return {.algorithm = full ? "shift" : "best",
          .dispatch = Dispatch::kStatic,
          .walk = full ? TileWalk::kSpread : TileWalk::kInOrder,
          .sections = {full ? 0 : 1},
          .heads_in_flight = heads,
          .launch_order = full ? "by table, starts spread" : "by table",
          .dq_order = full ? "by visiting time" : "by table"};
}

/// The fp32 dQ is converted, and cleared only for additions without order: with turns the first part of a
/// tile is stored.
double bytes_of_dq(const BackwardCall& call) {
  return 4 * static_cast<double>(call.batch * call.heads * call.q_tokens * call.head_dim);
}

double other_bytes_of_ours(const BackwardCall& call, ReductionMode) {
  return bytes_around(call) - bytes_of_dq(call);
}

double cleared_by_ours(const BackwardCall& call, ReductionMode mode) {
  return mode == ReductionMode::kUnordered ? bytes_of_dq(call) : 0;
}

}  // namespace

BackwardKernel ours_kernel() {
  return {.name = "ours",
          .title = "this project's kernel, by table",
          .position = 40,
          .source = "this project",
          .tiles = ours_tiles,
          .launch = ours_launch,
          .other_bytes = other_bytes_of_ours,
          .cleared_bytes = cleared_by_ours};
}

}  // namespace natten_sim::schedules
