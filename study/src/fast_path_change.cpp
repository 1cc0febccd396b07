#include "fast_path_change.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <natten_sim/models/tiles/fast_path.hpp>

namespace natten_sim::study {
namespace {

bool holds_with(TilingProblem problem, const TilePair& tiles) {
  problem.tiles = tiles;
  return natten_fast_path(problem);
}

/// At most so many multiples of a Q tile are tried on either side: odd tiles may have a long period.
constexpr std::int64_t kMostMultiples = 64;

bool equal_sizes(const TilePair& a, const TilePair& b) {
  return product(a.q_tile, "q_tile") == product(b.q_tile, "q_tile") &&
         product(a.kv_tile, "kv_tile") == product(b.kv_tile, "kv_tile");
}

bool holds_with(TilingProblem problem, std::size_t axis, const AxisMask& mask) {
  if (mask.window < 2 || mask.stride < 1 || mask.stride > mask.window) return false;
  if (mask.window * mask.dilation > mask.length) return false;
  problem.mask[axis] = mask;
  return natten_fast_path(problem);
}

/// Another KV tile, else another Q tile, else another pair; of each, pairs of the same sizes come first.
std::optional<FastPathChange> other_tiles(const TilingProblem& problem, std::span<const TilePair> pairs) {
  const TilePair& now = problem.tiles;
  for (const auto& [other_q, other_kv] : {std::pair{false, true}, {true, false}, {true, true}}) {
    for (const bool same_sizes : {true, false}) {
      for (const TilePair& pair : pairs) {
        if ((pair.q_tile == now.q_tile) == other_q || (pair.kv_tile == now.kv_tile) == other_kv) continue;
        if (equal_sizes(pair, now) != same_sizes || !holds_with(problem, pair)) continue;
        FastPathChange change;
        if (other_q) change.q_tile = pair.q_tile;
        if (other_kv) change.kv_tile = pair.kv_tile;
        return change;
      }
    }
  }
  return std::nullopt;
}

/// Multiples of `tile` that are at most `reach` from `value`, the nearest first, smaller ones before larger ones.
std::vector<std::int64_t> multiples_near(std::int64_t value, std::int64_t tile, std::int64_t reach) {
  std::vector<std::int64_t> near;
  std::int64_t below = value / tile * tile, above = below + tile;
  while (std::min(value - below, above - value) <= reach) {
    const bool down = value - below <= above - value;
    near.push_back(down ? below : above);
    down ? below -= tile : above += tile;
  }
  return near;
}

/// The first value of `near` with which the predicate holds on `axis`.
std::optional<std::int64_t> value_that_holds(const TilingProblem& problem, std::size_t axis,
                                             std::int64_t AxisMask::*member,
                                             const std::vector<std::int64_t>& near) {
  for (const std::int64_t value : near) {
    AxisMask mask = problem.mask[axis];
    mask.*member = value;
    if (holds_with(problem, axis, mask)) return value;
  }
  return std::nullopt;
}

std::optional<FastPathChange> other_stride(const TilingProblem& problem) {
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    // Halves of strides count modulo a KV tile: after this period nothing is new but what divides the axis.
    const std::int64_t q_tile = problem.tiles.q_tile[axis], kv_tile = problem.tiles.kv_tile[axis];
    const std::int64_t period = std::min(2 * kv_tile / std::gcd(q_tile, 2 * kv_tile), kMostMultiples);
    const std::vector<std::int64_t> near =
        multiples_near(problem.mask[axis].stride, q_tile, period * q_tile);
    if (const auto stride = value_that_holds(problem, axis, &AxisMask::stride, near)) {
      FastPathChange change{.stride = stride_of(problem.mask)};
      change.stride[axis] = *stride;
      return change;
    }
  }
  return std::nullopt;
}

std::optional<FastPathChange> other_window(const TilingProblem& problem) {
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    const std::int64_t kv_tile = problem.tiles.kv_tile[axis];
    const std::vector<std::int64_t> near =
        multiples_near(problem.mask[axis].window, kv_tile, 2 * kv_tile);
    if (const auto window = value_that_holds(problem, axis, &AxisMask::window, near)) {
      FastPathChange change{.window = window_of(problem.mask)};
      change.window[axis] = *window;
      return change;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<FastPathChange> fast_path_change(const TilingProblem& problem,
                                               std::span<const TilePair> pairs) {
  if (problem.tiling == Tiling::kSingleDimensional || natten_fast_path(problem)) return std::nullopt;
  if (auto change = other_tiles(problem, pairs)) return change;
  if (auto change = other_stride(problem)) return change;
  return other_window(problem);
}

}  // namespace natten_sim::study
