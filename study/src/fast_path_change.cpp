#include "fast_path_change.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>

namespace natten_sim::study {
namespace {

bool holds_with(TilingProblem problem, const TilePair& tiles) {
  problem.tiles = tiles;
  return natten_fast_path(problem);
}

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

/// Adds the strides around `now` that `q_tile` divides and that are `residue` modulo `modulus`: the largest one up to it,
/// and the next.
void add_around(std::int64_t now, std::int64_t q_tile, std::int64_t residue, std::int64_t modulus,
                std::vector<std::int64_t>& near) {
  const std::int64_t common = std::gcd(q_tile, modulus);
  if (residue % common != 0) return;
  const std::int64_t steps = modulus / common;
  // q_tile / common has an inverse modulo `steps`, by Euclid's algorithm.
  std::int64_t inverse = 0, next = 1, rest = steps, divisor = q_tile / common % steps;
  while (divisor != 0) {
    const std::int64_t quotient = rest / divisor;
    inverse = std::exchange(next, inverse - quotient * next);
    rest = std::exchange(divisor, rest - quotient * divisor);
  }
  const Int128 period = Int128{steps} * q_tile;
  const Int128 first = Int128{residue / common % steps} * ((inverse + steps) % steps) % steps * q_tile;
  const Int128 below = now - ((now - first) % period + period) % period;
  for (const Int128 stride : {below, below + period}) {
    if (stride >= 1 && stride <= kMaxAxisLength) near.push_back(static_cast<std::int64_t>(stride));
  }
}

/// Divisors of `length` up to `most`.
void add_divisors(std::int64_t length, std::int64_t most, std::vector<std::int64_t>& near) {
  for (std::int64_t divisor = 1; divisor <= most && divisor <= length / divisor; ++divisor) {
    if (length % divisor == 0) near.insert(near.end(), {divisor, length / divisor});
  }
}

/// Strides, the nearest first, among which is the nearest that makes the axis block-sparse, if any does. Such a stride
/// is a multiple of the Q tile. Its half equals the window's modulo a KV tile, so it is 2 (w / 2) or 1 more modulo two
/// KV tiles; or it is half the axis or more, with two windows, one at each end. Where KV tiles do not divide the axis, the
/// stride does. Cost: the root of the length, or the window if that is smaller.
std::vector<std::int64_t> strides_near(const AxisMask& axis, std::int64_t q_tile, std::int64_t kv_tile) {
  std::vector<std::int64_t> near;
  if (axis.window % kv_tile != 0 || q_tile > axis.window) return near;
  const std::int64_t now = axis.stride, twice = axis.window / 2 * 2;
  for (const std::int64_t stride : {twice, twice + 1})
    add_around(now, q_tile, stride % (2 * kv_tile), 2 * kv_tile, near);
  for (const std::int64_t residue : {std::int64_t{0}, axis.dilation - 1}) {
    const std::int64_t length = residue_class(axis, residue).length;
    const std::int64_t half = std::max(ceil_divide(length, 2), now);
    near.insert(near.end(), {half / q_tile * q_tile, ceil_divide(half, q_tile) * q_tile});
    if (length != axis.window && length % kv_tile != 0) add_divisors(length, axis.window, near);
  }
  const auto distance = [&](std::int64_t stride) { return std::abs(stride - now); };
  std::sort(near.begin(), near.end(), [&](std::int64_t a, std::int64_t b) {
    return std::pair{distance(a), a} < std::pair{distance(b), b};
  });
  return near;
}

std::optional<FastPathChange> other_stride(const TilingProblem& problem) {
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    const std::vector<std::int64_t> near =
        strides_near(problem.mask[axis], problem.tiles.q_tile[axis], problem.tiles.kv_tile[axis]);
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
