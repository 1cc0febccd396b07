#pragma once

#include <optional>

#include <natten_sim/study/count.hpp>

namespace natten_sim::study {

/// What a count comes down to: what holds the forward pass back, and the one change that helps most: both passes, where
/// both were asked for and have times. Every gain is that of asking count() again.
///
///     CountConclusion end = conclude(answer, context);
///     if (end.change) end.change->gain;  // 1.2: a fifth faster with end.change->tiles

/// kTiles: another tile pair of the backend in a pass or both, the same attention. kStride: another stride, so that queries
/// share windows, maybe with other tiles; kWindow: half the window on every axis or more, so that no window between it
/// and the question's is as fast with more context. Those two change the model. kOrder: the other order of the tokens,
/// tile by tile or row-major, with the blocks that suit it: of kernels that read tokens as they lie.
enum class CountLever { kTiles, kStride, kWindow, kOrder };

struct CountChange {
  CountLever lever = CountLever::kTiles;
  TilePair tiles;          ///< with it
  std::optional<TilePair> backward_tiles;  ///< with it, where both passes count
  Extents stride, window;  ///< with it
  double gain = 1;         ///< before over after, of CountConclusion::of
  double after = 0;        ///< in its unit
  Tiling tiling = Tiling::kMultiDimensional;  ///< with it
};

/// The quantity of a gain: predicted milliseconds, else multiplied pairs of the forward pass.
enum class CountGain { kTime, kPairs };

struct CountConclusion {
  double busiest_over_mean = 1;  ///< tiles of the Q tile that streams most, over the mean
  double wasted_share = 0;       ///< of the multiplied pairs
  CountGain of = CountGain::kPairs;
  double before = 0;                  ///< in the unit of `of`
  std::optional<CountChange> change;  ///< none: nothing that was asked gains kWorthwhile
  std::size_t tile_pairs_asked = 0;   ///< of the forward pass, besides the answer's own
};

/// Smaller gains are not worth a change.
inline constexpr double kWorthwhile = 1.02;

/// Asks count() for the tile pairs of the backend; if none gains, for strides of whole Q tiles with each of
/// them, then for a window of half the size, widened where that costs nothing. Without a predicted time only Q tiles with as many tokens are
/// compared: a smaller one multiplies less and takes longer a pair. Nothing is asked where NATTEN refuses the
/// call or tiles do not factorise over axes. Of FlexAttention and kernels of files the other order of the tokens is asked
/// first, as both are predicted alike: copies into the order are the caller's. O(100) counts, with a backward pass O(1000).
[[nodiscard]] CountConclusion conclude(const CountAnswer& answer, const Context& context);

}  // namespace natten_sim::study
