#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/search/windows/search.hpp>

#include "windows/passes.hpp"

namespace natten_sim {

/// Bounds of every option of one window.
struct WindowBounds {
  std::int64_t most_attended = 0;
  PerPass<std::int64_t> least_cost = {0, 0};
  PerPass<double> least_filled = {0, 0};  ///< share of the tokens of visited tiles that are there
};

/// What is known of the options of one axis under the tile sizes of one choice before any is counted: sound
/// bounds, so that what they exclude is never among the answers.
class AxisBounds {
 public:
  AxisBounds(const SearchSpace& space, const SearchConstraints& constraints, Objective objective,
             std::size_t axis, const TileChoice& choice);

  /// Windows of the space that meet the constraints on windows alone: first, first + step, .. last.
  [[nodiscard]] std::int64_t first_window() const noexcept { return first_; }
  [[nodiscard]] std::int64_t last_window() const noexcept { return last_; }
  [[nodiscard]] std::int64_t window_step() const noexcept { return step_; }
  [[nodiscard]] bool empty() const noexcept { return first_ > last_; }
  /// Keeps the windows that can attend to `lo` pairs and need not attend to more than `hi`.
  void restrict_to_attended(std::int64_t lo, std::int64_t hi);

  /// Attended pairs of a window lie between these for every stride; both do not decrease with the window.
  [[nodiscard]] std::int64_t least_attended(std::int64_t window) const;
  [[nodiscard]] std::int64_t most_attended(std::int64_t window) const;
  /// No option of the window costs less in this pass; does not decrease with the window.
  [[nodiscard]] std::int64_t least_cost(std::int64_t window, std::size_t pass) const;
  /// Of cutlass-fna's tiles of keys, which begin with a window's first key: the share of their tokens that is there, of
  /// any option; does not decrease with the window. 0 where nothing is known.
  [[nodiscard]] double least_filled(std::int64_t window, std::size_t pass) const;
  /// No option that costs as little, by visits, attends to more.
  [[nodiscard]] std::int64_t most_attended_within(long double cost, std::size_t pass) const;
  /// No option costs less in this pass for each pair that it attends to.
  [[nodiscard]] long double least_cost_per_pair(std::size_t pass) const noexcept {
    return passes_[pass].cost_per_pair;
  }
  [[nodiscard]] WindowBounds of_window(std::int64_t window) const;
  /// Smallest allowed window with `most_attended` of at least `attended`; none if there is none.
  [[nodiscard]] std::optional<std::int64_t> smallest_window_attending(std::int64_t attended) const;

 private:
  struct PassBounds {
    Walk walk = Walk::kForward;
    AxisTiles tiles;
    bool sees_windows = false;  ///< backward: Q tiles on a grid, each of which visits a window's worth of keys
    std::int64_t walked_tiles = 0;
    long double cost_per_pair = 0;
  };

  /// Keeps the windows lo .. hi.
  void restrict_windows(std::int64_t lo, std::int64_t hi);
  [[nodiscard]] bool sees_windows(const Pass& pass) const;
  [[nodiscard]] PassBounds bounds_of_pass(const Pass& pass, const AxisTiles& tiles) const;

  AxisMask mask_;  // window and stride of 1
  std::int64_t last_stride_ = 1;
  Objective objective_;
  PerPass<PassBounds> passes_;
  std::int64_t first_ = 1, last_ = 0, step_ = 1;
};

/// What an answer of one tile choice costs at most: the sum over passes of scale times the product of the axis costs,
/// less `clipped_share` of it where tiles lack all of their tokens.
struct CostLimit {
  PerPass<long double> scale = {1, 0};
  long double most = 0;
  PerPass<double> clipped_share = {0, 0};

  /// What costs are multiplied with, at least, along an axis. The product over axes is no more than what shares of all
  /// axes together make of it: 1 - c + c * a * b >= (1 - c + c * a) * (1 - c + c * b).
  [[nodiscard]] double least_share(std::size_t pass, double filled) const {
    return 1 - clipped_share[pass] * (1 - filled);
  }
};

/// Largest costs of options on one axis that can be part of an answer of one tile choice: what the other axes cost at
/// least is worked out once.
class UsefulCosts {
 public:
  /// `axes`: the bounds of all axes, which outlive this. `attended_lo`: the fewest pairs that an answer attends to.
  UsefulCosts(const std::vector<AxisBounds>& axes, std::size_t axis, std::size_t passes,
              const std::optional<CostLimit>& limit, std::int64_t attended_lo);

  /// What costs of options of one window have to meet.
  struct Most {
    PerPass<long double> costs;            ///< one a pass; negative where no option can
    PerPass<long double> shares = {0, 0};  ///< and the sum over passes of these times the costs is at most 1
  };
  [[nodiscard]] Most of(const WindowBounds& window) const;

 private:
  [[nodiscard]] long double least_cost(const AxisBounds& axis, std::int64_t window, std::size_t pass) const;

  std::size_t passes_;
  std::optional<CostLimit> limit_;
  std::int64_t attended_lo_;
  PerPass<long double> others_ = {1, 1}, per_pair_ = {1, 1};  ///< scaled costs of the other axes; of a pair of them
  const AxisBounds* other_ = nullptr;                         ///< of two axes: its window depends on this one's
};

/// Whether costs of an axis are visited pairs of tiles.
[[nodiscard]] bool counts_visits(Objective objective);

/// Bounds of what an axis visits forward.
struct LeastVisited {
  std::int64_t all = 1;
  std::int64_t longest = 1;   ///< by the Q tile with most
  std::int64_t shortest = 1;  ///< by each
};

/// No kernel visits less of an axis forward, found without counting: every Q tile streams a window's worth of keys, and
/// one across boundaries of stride groups those of windows that lie a stride apart. O(1).
[[nodiscard]] LeastVisited least_visited(const AxisMask& mask, const AxisTiles& tiles);

/// The same backward, where Q tiles lie on a grid: a Q tile that visits a KV tile is visited by it.
[[nodiscard]] LeastVisited least_visited_backward(const AxisMask& mask, const AxisTiles& tiles);

/// Relative slack that covers the rounding of the bounds.
inline constexpr long double kBoundSlack = 1 + 1e-12L;

}  // namespace natten_sim
