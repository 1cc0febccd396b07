#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <natten_sim/core/kernel_costs.hpp>
#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/models/tiles/cutlass_ctas.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/search/windows/distinct.hpp>

namespace natten_sim {

/// The fastest combinations by predicted time (models/tiles/kernel_time.hpp), exactly.
///
/// Along an axis, windows and strides that visit, mask and launch the same tiles are one kind. A launch's
/// work is a product over the axes of sums that kinds have: Q tiles, visited pairs, pairs without a mask.
/// It bounds the time from below, since a launch takes at least the mean load of its workers, so kinds are
/// combined in the order of that bound, and each combination is timed by `exact_ms` until no bound is left
/// below the worst of the best.

/// One pass of a tile choice: what its kernel costs, and how it is launched.
struct TimedPass {
  Walk walk = Walk::kForward;
  NattenBackend family = NattenBackend::kHopperFna;
  PassCosts costs;
  std::int64_t repeats = 1;  ///< heads times batch
  std::int64_t workers = 1;
  double least_tail = 1;  ///< what a launch lasts over the mean load of its workers, at least, whatever the window
  double least_pair = 1;  ///< what a pair of tiles takes, over that of full tiles, at least, whatever the window
  /// CTAs of a launch that `exact_ms` runs one by one; of more it takes no less than their mean load.
  double most_simulated = 0;
  double added_ms = 0;  ///< what windows and strides do not change: copies into tiles, additional keys
  std::optional<CutlassLayout> cutlass = {};  ///< of cutlass-fna; what it prepares is in added_ms
};

/// What a tile choice of the space takes.
struct TimedChoice {
  std::vector<TimedPass> passes;  ///< those of the space's phase; empty: it has no time, and is left out
  double most_ms = 0;             ///< slower combinations of the choice are left out; 0: none is
  /// The window over the input, if no axis is causal, runs as one sequence: what its tiles tell is no bound of it, and it
  /// is a row of its own.
  bool flattens = false;
};

struct TimeObjective {
  std::vector<TimedChoice> choices;  ///< one a tile choice of the space
  /// The time of all passes, in milliseconds; never below the bound, but for TimedChoice::flattens.
  std::function<double(const NeighborhoodMask&, std::size_t tile_choice)> exact_ms;
};

/// Times are equal when they differ by no more than this share of the shortest of them: what the rounding of a
/// simulation's sums can make of one time.
inline constexpr double kEqualTimes = 1e-12;

/// The `top` fastest: by time, then more attended pairs, then as search_best (NATTEN's fast path first, then
/// smaller product of strides, ..). Of combinations of one tile choice that visit, mask and launch the same
/// tiles the first counts; of what is left, with Distinct::kStride or kWindow, one for each window and stride,
/// or window. With Distinct::kNone every combination counts. `min_speedup` of the constraints is not looked at.
///
/// Windows and strides that tiles divide are timed first; of the others only those that could be as fast are
/// looked at. Where more than 2^23 (axis, window, stride, tile sizes), or 2^28 tiles of theirs, could be, the
/// result is that of the first ones alone, and DistinctResult::sketched.
/// Incomplete when more than 2^17 combinations of kinds would have to be timed.
/// @throws as search_best; InvalidParameter for cutlass-fna with dilation, whose visits are no product of sums.
[[nodiscard]] DistinctResult search_fastest(const SearchSpace& space, const SearchConstraints& constraints,
                                            const TimeObjective& objective, std::size_t top,
                                            Distinct distinct, const SearchRun& run = {});

/// The front of time against attended pairs, the fastest first: of each point no combination attends to as many pairs
/// in less time, or to more in the same. Each attends to `step` times the pairs of the one before it or more; with a
/// step of 1 the front is whole. Cost: a search_fastest a point.
/// @throws as search_fastest; InvalidParameter for a step below 1.
[[nodiscard]] DistinctResult search_time_front(const SearchSpace& space, const SearchConstraints& constraints,
                                               const TimeObjective& objective, double step,
                                               const SearchRun& run = {});

}  // namespace natten_sim
