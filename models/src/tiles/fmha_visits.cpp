#include <algorithm>
#include <numeric>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>

namespace natten_sim {
namespace {

/// A causal mask is a causal window of the whole axis on a static grid.
std::int64_t causal_visits(const FmhaKernel& kernel, std::int64_t length, Walk pass) {
  const AxisTiles tiles = pass == Walk::kForward ? AxisTiles{kernel.q_tile, kernel.kv_tile}
                                                 : AxisTiles{kernel.kv_tile, kernel.q_tile};
  return count_axis(AxisMask{length, length, 1, 1, true}, tiles, KvTiling::kStatic, pass).visited_tiles;
}

/// Number of visited KV tiles that the element mask runs on.
std::int64_t masked_forward(const FmhaKernel& kernel, std::int64_t length, std::int64_t q_tiles) {
  // cutlass-fmha: tiles that end at or behind the first query. Before the last Q tile those tiles are all but
  // as many as the Q tile before visits, less one, so the sums cancel.
  if (kernel.family == NattenBackend::kCutlassFna) return ceil_divide(length, kernel.kv_tile) + q_tiles - 1;
  const std::int64_t at_most = ceil_divide(kernel.q_tile, kernel.kv_tile);
  std::int64_t masked = 0;
  for (std::int64_t tile = 0; tile < q_tiles; ++tile) {
    const std::int64_t end = checked_multiply(tile + 1, kernel.q_tile, "masked_tiles");
    const std::int64_t trips = ceil_divide(std::min(length, end), kernel.kv_tile);
    if (trips >= at_most) {
      return checked_add(masked, checked_multiply(q_tiles - tile, at_most, "masked_tiles"), "masked_tiles");
    }
    masked += trips;
  }
  return masked;
}

KernelVisits causal_forward(const FmhaKernel& kernel, std::int64_t length) {
  KernelVisits visits;
  visits.launched_tiles = ceil_divide(length, kernel.q_tile);
  visits.visited_tiles = causal_visits(kernel, length, Walk::kForward);
  visits.masked_tiles = masked_forward(kernel, length, visits.launched_tiles);
  visits.unmasked_tiles = visits.visited_tiles - visits.masked_tiles;
  return visits;
}

KernelVisits causal_backward(const FmhaKernel& kernel, std::int64_t length) {
  KernelVisits visits;
  visits.launched_tiles = ceil_divide(length, kernel.kv_tile);
  visits.visited_tiles = causal_visits(kernel, length, Walk::kBackward);
  if (kernel.family == NattenBackend::kHopperFna) {
    // It also multiplies a Q tile that ends right before the KV tile.
    const std::int64_t every = kernel.q_tile / std::gcd(kernel.q_tile, kernel.kv_tile);
    visits.visited_tiles =
        checked_add(visits.visited_tiles, (visits.launched_tiles - 1) / every, "visited_tiles");
  }
  visits.masked_tiles = visits.visited_tiles;
  return visits;
}

}  // namespace

KernelVisits fmha_visits(const FmhaKernel& kernel, std::int64_t queries, std::int64_t keys, bool causal,
                         Walk pass) {
  require_extents("fmha_q_tile", Extents{kernel.q_tile}, 1, 1, kMaxAxisLength);
  require_extents("fmha_kv_tile", Extents{kernel.kv_tile}, 1, 1, kMaxAxisLength);
  if (causal && queries != keys) {
    throw InvalidParameter("causal", "with " + std::to_string(keys - queries) + " additional keys",
                           "no additional keys");
  }
  if (causal)
    return pass == Walk::kForward ? causal_forward(kernel, queries) : causal_backward(kernel, queries);
  KernelVisits visits;
  const bool forward = pass == Walk::kForward;
  const std::int64_t walked =
      forward ? ceil_divide(queries, kernel.q_tile) : ceil_divide(keys, kernel.kv_tile);
  const std::int64_t streamed =
      forward ? ceil_divide(keys, kernel.kv_tile) : ceil_divide(queries, kernel.q_tile);
  visits.launched_tiles = walked;
  visits.visited_tiles = checked_multiply(walked, streamed, "visited_tiles");
  // Only the last tile, cut off at the last key, is checked for bounds.
  const bool padded = forward ? keys % kernel.kv_tile != 0 : queries % kernel.q_tile != 0;
  visits.bounds_masked_tiles = padded ? walked : 0;
  visits.unmasked_tiles = visits.visited_tiles - visits.bounds_masked_tiles;
  return visits;
}

}  // namespace natten_sim
