#include "windows/option_bounds.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "windows/space.hpp"

namespace natten_sim {

AxisBounds::AxisBounds(const SearchSpace& space, const SearchConstraints& constraints, Objective objective,
                       std::size_t axis, const TileChoice& choice)
    : mask_(axis_in(space, axis, 1, 1)), last_stride_(space.stride[axis].hi), objective_(row_of(objective).ranks_by) {
  if (constraints.window_multiple_of_kv_tile) step_ = kv_tile_step(space, choice, axis);
  first_ = std::max(space.window[axis].lo, space.stride[axis].lo);
  last_ = space.window[axis].hi;
  restrict_windows(first_, last_);
  const Passes passes(space);
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    const Walk walk = passes[pass].walk;
    passes_[pass] = bounds_of_pass(passes[pass], axis_tiles(tiles_of(choice, walk), axis, walk));
  }
}

bool AxisBounds::sees_windows(const Pass& pass) const {
  return pass.walk == Walk::kBackward && pass.kv_tiling == KvTiling::kStatic && !mask_.causal && mask_.dilation == 1;
}

AxisBounds::PassBounds AxisBounds::bounds_of_pass(const Pass& pass, const AxisTiles& tiles) const {
  PassBounds bounds{.walk = pass.walk, .tiles = tiles, .sees_windows = sees_windows(pass)};
  bounds.walked_tiles = count_axis(mask_, tiles, KvTiling::kStatic, pass.walk).walked_tiles;
  const auto walked = static_cast<long double>(bounds.walked_tiles);
  const auto area = static_cast<long double>(tiles.walked) * static_cast<long double>(tiles.streamed);
  switch (objective_) {
    case Objective::kFlop:
      bounds.cost_per_pair = 1;
      break;
    case Objective::kEndToEnd:
    case Objective::kWorst:  // the largest is no smaller than the mean
      bounds.cost_per_pair = 1 / (area * walked);
      break;
    case Objective::kWork:
    case Objective::kTime:
    case Objective::kMean:  // a pair of tiles holds no more pairs than its area
      bounds.cost_per_pair = 1 / area;
      // Every Q tile visits a window's worth of keys.
      if (pass.walk == Walk::kForward && !mask_.causal) {
        bounds.cost_per_pair =
            walked / (static_cast<long double>(mask_.length) * static_cast<long double>(tiles.streamed));
      } else if (sees_windows(pass)) {
        bounds.cost_per_pair = static_cast<long double>(ceil_divide(mask_.length, tiles.streamed)) /
                               (static_cast<long double>(mask_.length) * static_cast<long double>(tiles.walked));
      }
      break;
  }
  return bounds;
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

WindowBounds AxisBounds::of_window(std::int64_t window) const {
  return {most_attended(window),
          {least_cost(window, 0), passes_[1].walked_tiles > 0 ? least_cost(window, 1) : 0},
          {least_filled(window, 0), least_filled(window, 1)}};
}

double AxisBounds::least_filled(std::int64_t window, std::size_t pass) const {
  if (passes_[pass].walk != Walk::kForward || mask_.causal || mask_.dilation > 1) return 0;
  // Each walked tile streams a window or more, t tokens, in ceil(t / tile) tiles.
  return static_cast<double>(window) / static_cast<double>(window + passes_[pass].tiles.streamed - 1);
}

std::int64_t AxisBounds::most_attended(std::int64_t window) const {
  if (!mask_.causal) return mask_.length * window;  // every query has its whole window
  AxisMask mask = mask_;
  mask.window = window;
  return attended_pairs(mask);  // stride 1: a stride moves causal windows forward only
}

std::int64_t AxisBounds::least_attended(std::int64_t window) const {
  if (!mask_.causal) return most_attended(window);
  if (mask_.dilation > 1) return mask_.length;  // a causal query attends to itself
  // Of a stride group of s queries the last attends to min(q + 1, w) keys, the others to one less each: together no less
  // than each to min(q + 1, w - (s - 1) / 2).
  const std::int64_t twice = 2 * window - (std::min(last_stride_, window) - 1), below = twice / 2;
  const Int128 pairs = static_cast<Int128>(below) * (below + 1) + static_cast<Int128>(mask_.length - below) * twice;
  return static_cast<std::int64_t>(pairs / 2);
}

std::int64_t AxisBounds::most_attended_within(long double cost, std::size_t pass) const {
  const PassBounds& bounds = passes_[pass];
  const std::int64_t walked = bounds.tiles.walked;
  const auto area = static_cast<long double>(walked) * static_cast<long double>(bounds.tiles.streamed);
  // A tile streams all that any of its tokens needs: of a causal axis half of its square is for nothing.
  const std::int64_t diagonal = mask_.causal && mask_.dilation == 1 ? mask_.length / walked * (walked * (walked - 1) / 2) : 0;
  const long double most = cost * area * kBoundSlack - static_cast<long double>(diagonal);
  constexpr auto kAny = std::numeric_limits<std::int64_t>::max();
  return most >= static_cast<long double>(kAny) ? kAny : static_cast<std::int64_t>(most);
}

std::int64_t AxisBounds::least_cost(std::int64_t window, std::size_t pass) const {
  if (objective_ == Objective::kFlop) return least_attended(window);
  const PassBounds& bounds = passes_[pass];
  // Every token attends and is attended to: strides are no larger than windows.
  const bool whole_window = bounds.walk == Walk::kForward && !mask_.causal;
  const std::int64_t of_tile = whole_window ? ceil_divide(window, bounds.tiles.streamed) : 1;
  std::int64_t of_all = checked_multiply(bounds.walked_tiles, of_tile, "visited_tiles");
  if (bounds.sees_windows)
    of_all = std::max(of_all, ceil_divide(mask_.length, bounds.tiles.streamed) * ceil_divide(window, bounds.tiles.walked));
  // Pairs of tiles that pairs of tokens fill.
  const std::int64_t filled = ceil_divide(least_attended(window), bounds.tiles.walked * bounds.tiles.streamed);
  const std::int64_t least = std::max(of_all, filled);
  return objective_ == Objective::kWorst ? ceil_divide(least, bounds.walked_tiles) : least;
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

bool counts_visits(Objective objective) {
  const Objective ranks_by = row_of(objective).ranks_by;
  return ranks_by == Objective::kMean || ranks_by == Objective::kWork;
}

namespace {

/// Stride groups whose window no end of the axis moves inwards: first .. last, maybe none.
IntRange unmoved_groups(const AxisMask& mask) {
  const std::int64_t before = mask.window / 2, lead = mask.stride / 2;
  return {ceil_divide(std::max<std::int64_t>(before - lead, 0), mask.stride),
          (mask.length - mask.window + before - lead) / mask.stride};
}

/// Q tiles across a boundary between two such groups, at strides no smaller than a Q tile.
std::int64_t tiles_across(const IntRange& groups, std::int64_t stride, std::int64_t q_tile) {
  const std::int64_t aligned = q_tile / std::gcd(stride, q_tile);  // a boundary in so many lies between Q tiles
  return groups.hi - groups.lo - (groups.hi / aligned - groups.lo / aligned);
}

/// Q tiles of such groups alone.
std::int64_t tiles_inside(const IntRange& groups, const AxisMask& mask, std::int64_t q_tile) {
  const std::int64_t end = std::min((groups.hi + 1) * mask.stride, mask.length) / q_tile;
  return std::max<std::int64_t>(end - ceil_divide(groups.lo * mask.stride, q_tile), 0);
}

}  // namespace

LeastVisited least_visited(const AxisMask& mask, const AxisTiles& tiles) {
  if (mask.causal || mask.dilation > 1) return {};
  const std::int64_t q_tiles = ceil_divide(mask.length, tiles.walked), stride = mask.stride;
  const std::int64_t of_window = ceil_divide(mask.window, tiles.streamed);
  const std::int64_t least = checked_multiply(q_tiles, of_window, "visited_tiles");
  const IntRange groups = unmoved_groups(mask);
  if (groups.hi <= groups.lo) return {least, of_window, of_window};
  const bool wide = stride >= tiles.walked;  // then a Q tile has one boundary at most
  const std::int64_t boundaries = wide ? 1 : (tiles.walked - 1) / stride;
  const std::int64_t more = ceil_divide(mask.window + boundaries * stride, tiles.streamed) - of_window;
  const std::int64_t with_more =
      wide ? tiles_across(groups, stride, tiles.walked) : tiles_inside(groups, mask, tiles.walked);
  return {least + more * with_more, with_more > 0 ? of_window + more : of_window, of_window};
}

LeastVisited least_visited_backward(const AxisMask& mask, const AxisTiles& tiles) {
  const std::int64_t all = least_visited(mask, {tiles.streamed, tiles.walked}).all;
  return {all, ceil_divide(all, ceil_divide(mask.length, tiles.walked)), 1};
}

UsefulCosts::UsefulCosts(const std::vector<AxisBounds>& axes, std::size_t axis, std::size_t passes,
                         const std::optional<CostLimit>& limit, std::int64_t attended_lo)
    : passes_(passes), limit_(limit), attended_lo_(attended_lo) {
  if (!limit) return;
  others_ = per_pair_ = limit->scale;
  for (std::size_t other = 0; other < axes.size(); ++other) {
    if (other == axis) continue;
    const AxisBounds& bounds = axes[other];
    if (axes.size() == 2) other_ = &bounds;
    for (std::size_t pass = 0; pass < passes; ++pass) {
      if (other_ == nullptr) others_[pass] *= least_cost(bounds, bounds.first_window(), pass);
      per_pair_[pass] *=
          bounds.least_cost_per_pair(pass) * limit->least_share(pass, bounds.least_filled(bounds.first_window(), pass));
    }
  }
}

long double UsefulCosts::least_cost(const AxisBounds& axis, std::int64_t window, std::size_t pass) const {
  return static_cast<long double>(axis.least_cost(window, pass)) * limit_->least_share(pass, axis.least_filled(window, pass));
}

UsefulCosts::Most UsefulCosts::of(const WindowBounds& window) const {
  constexpr long double kAny = std::numeric_limits<long double>::max();
  if (!limit_) return {{kAny, kAny}};
  const std::int64_t needed = ceil_divide(attended_lo_, window.most_attended);  // of the others together
  PerPass<long double> scaled = others_, least = {0, 0};  // cost of the other axes; of all with this window
  std::optional<std::int64_t> smallest;
  if (other_ != nullptr && !(smallest = other_->smallest_window_attending(needed))) return {{-1, -1}};
  for (std::size_t pass = 0; pass < passes_; ++pass) {
    if (smallest) scaled[pass] *= least_cost(*other_, *smallest, pass);
    scaled[pass] = std::max(scaled[pass], per_pair_[pass] * static_cast<long double>(needed));
    scaled[pass] *= limit_->least_share(pass, window.least_filled[pass]);
    least[pass] = scaled[pass] * static_cast<long double>(window.least_cost[pass]);
  }
  Most useful{{kAny, kAny}};
  for (std::size_t pass = 0; pass < passes_; ++pass) {
    const long double left = limit_->most * kBoundSlack - least[1 - pass];  // what the other pass leaves
    if (left < least[pass]) {
      useful.costs[pass] = -1;
    } else if (scaled[pass] > 0) {
      useful.costs[pass] = left / scaled[pass] * kBoundSlack;
      useful.shares[pass] = scaled[pass] / (limit_->most * kBoundSlack);
    }
  }
  return useful;
}

}  // namespace natten_sim
