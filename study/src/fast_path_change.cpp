#include "fast_path_change.hpp"

#include <algorithm>
#include <cstdlib>

#include <natten_sim/models/tiles/fast_path.hpp>

namespace natten_sim::study {
namespace {

bool holds_with(TilingProblem problem, const TilePair& tiles) {
  problem.tiles = tiles;
  return natten_fast_path(problem);
}

bool holds_with(TilingProblem problem, std::size_t axis, const AxisMask& mask) {
  if (mask.window < 2 || mask.stride < 1 || mask.stride > mask.window) return false;
  if (mask.window * mask.dilation > mask.length) return false;
  problem.mask[axis] = mask;
  return natten_fast_path(problem);
}

std::optional<FastPathChange> other_tiles(const TilingProblem& problem, std::span<const TilePair> pairs) {
  for (const TilePair& pair : pairs) {
    if (pair.q_tile == problem.tiles.q_tile && holds_with(problem, pair))
      return FastPathChange{.kv_tile = pair.kv_tile};
  }
  for (const TilePair& pair : pairs) {
    if (pair.kv_tile == problem.tiles.kv_tile && holds_with(problem, pair))
      return FastPathChange{.q_tile = pair.q_tile};
  }
  return std::nullopt;
}

/// The multiples of `tile` on both sides of `value`, the nearer one first.
std::vector<std::int64_t> multiples_near(std::int64_t value, std::int64_t tile) {
  const std::int64_t below = value / tile * tile;
  std::vector<std::int64_t> near = {below, below + tile};
  if (2 * (value - below) > tile) std::swap(near[0], near[1]);
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
    const std::vector<std::int64_t> near =
        multiples_near(problem.mask[axis].stride, problem.tiles.q_tile[axis]);
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
    const std::vector<std::int64_t> near =
        multiples_near(problem.mask[axis].window, problem.tiles.kv_tile[axis]);
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
