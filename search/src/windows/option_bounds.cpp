#include "windows/option_bounds.hpp"

#include <algorithm>
#include <limits>

#include <natten_sim/core/checked.hpp>

namespace natten_sim {

AxisBounds::AxisBounds(const SearchSpace& space, const SearchConstraints& constraints, Objective objective,
                       std::size_t axis, const AxisTiles& tiles)
    : mask_{space.input[axis], 1, 1, space.dilation[axis], space.causal[axis]},
      tiles_(tiles),
      objective_(objective) {
  if (constraints.window_multiple_of_kv_tile) step_ = tiles.streamed;
  first_ = std::max(space.window[axis].lo, space.stride[axis].lo);
  last_ = space.window[axis].hi;
  restrict_windows(first_, last_);
  walked_tiles_ = count_axis(mask_, tiles, KvTiling::kStatic).walked_tiles;
  const auto walked = static_cast<long double>(walked_tiles_);
  const auto length = static_cast<long double>(mask_.length),
             streamed = static_cast<long double>(tiles.streamed);
  switch (objective) {
    case Objective::kFlop:
      cost_per_pair_ = 1;
      break;
    case Objective::kWorst:  // the largest is no smaller than the mean
      cost_per_pair_ = 1 / (static_cast<long double>(tiles.walked) * streamed * walked);
      break;
    case Objective::kWork:
    case Objective::kMean:  // a pair of tiles holds no more pairs than its area
      cost_per_pair_ = mask_.causal ? 1 / (static_cast<long double>(tiles.walked) * streamed)
                                    : walked / (length * streamed);
      break;
  }
}

void AxisBounds::restrict_windows(std::int64_t lo, std::int64_t hi) {
  first_ = ceil_divide(std::max({lo, first_, std::int64_t{1}}), step_) * step_;
  last_ = std::max<std::int64_t>(std::min(hi, last_), 0) / step_ * step_;
  if (first_ > last_) first_ = 1, last_ = 0;
}

void AxisBounds::restrict_to_attended(std::int64_t lo, std::int64_t hi) {
  if (empty()) return;
  const std::optional<std::int64_t> smallest = smallest_window_attending(lo);
  if (!smallest || least_attended(*smallest) > hi) {
    restrict_windows(1, 0);
    return;
  }
  // The last window whose least is within `hi`; `smallest` is such a window.
  std::int64_t low = *smallest / step_, high = last_ / step_;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (least_attended(middle * step_) <= hi) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  restrict_windows(*smallest, low * step_);
}

std::int64_t AxisBounds::most_attended(std::int64_t window) const {
  AxisMask mask = mask_;
  mask.window = window;
  return attended_pairs(mask);  // stride 1: a stride moves causal windows forward only
}

std::int64_t AxisBounds::least_attended(std::int64_t window) const {
  return mask_.causal ? mask_.length : most_attended(window);  // a causal query attends to itself
}

std::int64_t AxisBounds::least_cost(std::int64_t window) const {
  if (objective_ == Objective::kFlop) return least_attended(window);
  const std::int64_t of_tile = mask_.causal ? 1 : ceil_divide(window, tiles_.streamed);
  if (objective_ == Objective::kWorst) return of_tile;
  return checked_multiply(walked_tiles_, of_tile, "visited_tiles");
}

std::optional<std::int64_t> AxisBounds::smallest_window_attending(std::int64_t attended) const {
  if (empty() || most_attended(last_) < attended) return std::nullopt;
  std::int64_t low = first_ / step_, high = last_ / step_;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (most_attended(middle * step_) >= attended) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low * step_;
}

long double largest_useful_cost(const ChoiceBounds& choice, std::size_t axis, std::int64_t window,
                                std::int64_t attended_lo) {
  if (choice.limit < 0) return std::numeric_limits<long double>::max();
  const std::int64_t attended = choice.axes[axis]->most_attended(window);
  const std::int64_t needed = ceil_divide(attended_lo, attended);  // of the other axes together
  long double least = 1, per_pair = 1;
  for (std::size_t other = 0; other < choice.axes.rank(); ++other) {
    if (other == axis) continue;
    const AxisBounds& bounds = *choice.axes[other];
    std::optional<std::int64_t> smallest = bounds.first_window();
    if (choice.axes.rank() == 2) smallest = bounds.smallest_window_attending(needed);
    if (!smallest) return -1;
    least *= static_cast<long double>(bounds.least_cost(*smallest));
    per_pair *= bounds.least_cost_per_pair();
  }
  return choice.limit / std::max(least, per_pair * static_cast<long double>(needed)) * kBoundSlack;
}

}  // namespace natten_sim
