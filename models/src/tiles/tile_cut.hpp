#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "tiles/divisor.hpp"

namespace natten_sim {

/// How the windows of consecutive tokens move: `step` tokens at a time, begin and end at once if `together`.
struct Steps {
  std::int64_t step = 1;
  bool together = true;
};

/// A way to cut walked tiles into progressions: tiles at equal distances whose windows begin and end at equal
/// distances too.
///   single     each tile alone
///   by phase   tiles at the same place of a stride group: one progression a phase, of which there are
///              step / gcd(step, tile)
///   by run     neighbors that share begin and end of their windows: a few for each stride group
/// On an axis of L tokens whose attended pairs fit in 63 bits, L * stride < 2^63 (2^64 if causal), so that the
/// number of phases or that of stride groups is at most 2^22.
struct Cut {
  enum class Way { kSingle, kByPhase, kByRun } way = Way::kSingle;
  std::int64_t steps = 0;
  std::int64_t phases = 1;
};

/// The way of least steps.
[[nodiscard]] inline Cut best_cut(const Steps& moves, std::int64_t walked, std::int64_t tiles) noexcept {
  constexpr std::int64_t kNotWorthIt = 4;  // finding another way costs as much as a few tiles
  Cut cut{.way = Cut::Way::kSingle, .steps = tiles};
  if (tiles <= kNotWorthIt) return cut;
  const std::int64_t phases = moves.step / std::gcd(moves.step, walked);
  if (phases < tiles) cut = {.way = Cut::Way::kByPhase, .steps = phases, .phases = phases};
  const std::int64_t runs_per_step =
      (walked == 1 ? 1 : 2) * (moves.together ? 1 : 2);  // first and last token's
  const std::int64_t steps = tiles * walked / moves.step + 1;
  if (steps < cut.steps / runs_per_step) cut = {.way = Cut::Way::kByRun, .steps = runs_per_step * steps};
  return cut;
}

/// Tokens at which the windows move in another way; the last one is where the tiles end.
using Breaks = std::array<std::int64_t, 5>;

/// Calls stretch(first token, tiles) for whole tiles between breaks, and tile(first, last) for each tile across
/// a break and for one that the end of the axis, at `length`, cuts off.
template <typename Stretch, typename Tile>
void for_each_stretch(Breaks breaks, std::int64_t walked_size, std::int64_t length, const Stretch& stretch,
                      const Tile& tile) {
  for (std::int64_t& each : breaks) each = std::min(each, breaks.back());
  std::sort(breaks.begin(), breaks.end());
  const Divisor walked(walked_size);
  std::int64_t token = 0;
  for (const std::int64_t next : breaks) {
    while (token < next) {
      const std::int64_t whole_tiles = walked.floor(next - token);
      if (whole_tiles > 0) {
        stretch(token, whole_tiles);
        token += whole_tiles * walked_size;
        continue;
      }
      tile(token, std::min(token + walked_size, length) - 1);
      token += walked_size;
    }
  }
}

}  // namespace natten_sim
