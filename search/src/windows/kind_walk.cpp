#include "windows/kind_walk.hpp"

#include <algorithm>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "windows/passes.hpp"
#include "windows/space.hpp"
#include "windows/time_limit.hpp"

namespace natten_sim {
namespace {

constexpr double kNoLimitMs = 1e300;
/// Covers the rounding of a bound against that of a simulation, and of a product of sizes.
constexpr double kRounding = 1e-9;

Visits visits_of(const WorkSoFar& work) { return {work.visited, work.filled}; }

/// A CTA of so many tiles, in mean CTAs, at least: FlexAttention masks tile by tile, so that its may be cheap ones.
double least_cta(double tiles, const LaunchWork& work, const TimedPass& pass) {
  const double tiles_us = work.unmasked_tiles * pass.costs.unmasked_tile_us +
                          work.bounds_masked_tiles * pass.costs.bounds_masked_tile_us +
                          work.masked_tiles * pass.costs.masked_tile_us[work.axes - 1];
  const bool mixed = pass.family == NattenBackend::kFlexFna;
  const double tile_us = mixed ? pass.costs.unmasked_tile_us : tiles_us / std::max(1.0, work.tiles());
  const double mean_us = pass.costs.cta_us + tiles_us / work.ctas;
  return (pass.costs.cta_us + tiles * tile_us) / mean_us;
}

}  // namespace

WorkSoFar WorkSoFar::with(const AxisWork& axis, bool padding_counts) const {
  return {ctas * static_cast<double>(axis.ctas), visited * static_cast<double>(axis.visited),
          without_elements * static_cast<double>(axis.without_elements),
          unmasked * static_cast<double>(padding_counts ? axis.unmasked : axis.without_elements),
          filled * axis.filled, longest * static_cast<double>(axis.longest), shortest * static_cast<double>(axis.shortest), even && axis.even};
}

KindWalk::KindWalk(const SearchSpace& space, const SearchConstraints& constraints,
                   const TimeObjective& objective, std::size_t choice, const PerAxis<const GroupedKinds*>& axes)
    : space_(space),
      imbalance_(constraints),
      bounds_(attended_bounds(space, constraints)),
      timed_(objective.choices[choice]),
      axes_(axes) {
  tuple_.choice = choice;
  for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) {
    const PassCosts& costs = timed_.passes[pass].costs;
    masked_us_[pass] = costs.masked_tile_us[axes.rank() - 1];
    least_us_[pass] = std::min({costs.unmasked_tile_us, costs.bounds_masked_tile_us, masked_us_[pass]});
  }
  share_spread();
  look_behind();
}

void KindWalk::set_spread(std::size_t index, LaunchWork& work) {
  const TimedPass& pass = timed_.passes[index];
  const TilePair& tiles = tiles_of(space_.tiles[tuple_.choice], pass.walk);
  PerAxis<const CutlassPart*> along;
  for (std::size_t axis = 0; axis < axes_.rank(); ++axis) {
    const std::uint32_t kind = tuple_.kinds[axis];
    const auto [known, is_new] = cutlass_[axis][index].try_emplace(kind);
    if (is_new) {
      const KindMember& member = kinds_of(axis)[kind].members.front();
      const AxisMask mask = axis_in(space_, axis, member.window, member.stride);
      known->second = cutlass_part(cutlass_axis(mask, axis_tiles(tiles, axis, pass.walk), pass.walk), pass.cutlass->ctas[axis]);
    }
    along.push_back(&known->second);
  }
  const CutlassWork cutlass = cutlass_work(*pass.cutlass, along);
  work.spread = cutlass.spread;
  work.spread->sms = pass.workers / pass.costs.ctas_per_sm;
  work.missing = cutlass.missing;
}

double KindWalk::least_ms(const WorkSoFar& done, std::size_t index) {
  const TimedPass& pass = timed_.passes[index];
  const auto repeats = static_cast<double>(pass.repeats);
  LaunchWork work;
  work.ctas = done.ctas * repeats;
  work.unmasked_tiles = done.unmasked * repeats;
  work.bounds_masked_tiles = (done.without_elements - done.unmasked) * repeats;
  work.masked_tiles = (done.visited - done.without_elements) * repeats;
  work.axes = axes_.rank();
  work.workers = pass.workers;
  const double mean = work.ctas / static_cast<double>(work.workers);
  if (pass.cutlass) {
    set_spread(index, work);
  } else if (work.ctas > pass.most_simulated) {
    // Equal CTAs run in waves; where there are too many to simulate, they end half a CTA after the mean.
    work.waves = done.even ? std::min(even_waves(work.ctas, work.workers), mean + 0.5) : mean;
  } else {
    // Nor does a launch that is simulated end before its longest CTA, or before as many of the shortest.
    const double longest = share_of_cta(pass) * least_cta(done.longest, work, pass);
    const double shortest = done.even ? 1 : least_cta(done.shortest, work, pass);
    work.waves = std::max({mean, longest, rounds_[index] * shortest});
  }
  return (launch_time(work, pass.costs).total_ms + pass.added_ms) * (1 - kRounding);
}

void KindWalk::share_spread() {
  for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) {
    const TimedPass& timed = timed_.passes[pass];
    const double loads = static_cast<double>(timed.repeats) / static_cast<double>(timed.workers);
    ms_of_us_[pass] = 1e-3 * (1 - kRounding) * timed.least_tail * loads;
    double ctas = 1;  // the layout alone tells how many there are
    for (const GroupedKinds* axis : axes_)
      ctas *= axis->kinds->empty() ? 0.0 : static_cast<double>(axis->kinds->front().work[pass].ctas);
    if (ctas > 0 && ctas * static_cast<double>(timed.repeats) <= timed.most_simulated)
      rounds_[pass] = least_rounds(ctas * static_cast<double>(timed.repeats), timed);
    fixed_ms_ += (1 - kRounding) * (timed.added_ms + 1e-3 * timed.costs.launch_us) + ctas * timed.costs.cta_us * ms_of_us_[pass];
  }
}

void KindWalk::look_behind() {
  const std::size_t rank = axes_.rank();
  for (const GroupedKinds* axis : axes_) {
    const std::vector<KindGroup>& groups = axis->groups;
    std::vector<PerPass<Visits>> behind(groups.size() + 1, {kEndless, kEndless});
    for (std::size_t i = groups.size(); i-- > 0;) {
      behind[i] = behind[i + 1];
      for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass)
        behind[i][pass] = behind[i][pass].least(visits_of(groups[i].least[pass]));
    }
    behind_visits_.push_back(std::move(behind));
  }
  rest_lo_ = rest_hi_ = PerAxis<double>(rank, 1.0);
  rest_visits_ = rest_per_pair_ = PerAxis<PerPass<Visits>>(rank, {});
  rest_per_pair_[rank - 1].fill({0, 0});  // there is nothing behind the last
  for (std::size_t axis = rank - 1; axis-- > 0;) {
    const GroupedKinds& next = *axes_[axis + 1];
    rest_lo_[axis] = rest_lo_[axis + 1] * next.least_attended;
    rest_hi_[axis] = rest_hi_[axis + 1] * next.most_attended_of_all;
    for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) {
      const Visits& per_pair = next.least_per_pair[pass];
      rest_visits_[axis][pass] = rest_visits_[axis + 1][pass].times(next.least[pass]);
      rest_per_pair_[axis][pass] = axis + 2 == rank ? per_pair : rest_per_pair_[axis + 1][pass].times(per_pair);
    }
  }
}

void KindWalk::collect(std::size_t most, std::vector<KindTuple>& kept, std::optional<double> within_ms) {
  most_ = most;
  within_ms_ = within_ms.value_or(kNoLimitMs);
  kept_ = &kept;
  enter(0, {}, {});
}

std::optional<RankedPoint> KindWalk::first_point(const KindTuple& tuple) {
  tuple_ = tuple;
  best_.reset();
  RankedPoint point = empty_point();
  choose(0, 1, {}, point, Wanted::kFirst);
  return best_;
}

std::vector<RankedPoint> KindWalk::first_points(const KindTuple& tuple, std::size_t most) {
  tuple_ = tuple;
  some_.clear();
  most_points_ = most;
  RankedPoint point = empty_point();
  choose(0, 1, {}, point, Wanted::kSome);
  std::sort_heap(some_.begin(), some_.end(), ContextOrder(space_));
  return std::move(some_);
}

void KindWalk::keep(const RankedPoint& point) {
  const ContextOrder before(space_);
  if (some_.size() == most_points_) {
    if (!before(point, some_.front())) return;
    std::pop_heap(some_.begin(), some_.end(), before);
    some_.pop_back();
  }
  some_.push_back(point);
  std::push_heap(some_.begin(), some_.end(), before);
}

RankedPoint KindWalk::empty_point() const {
  RankedPoint point;
  point.cost = {1, 1};  // times are compared before points are
  point.tile_choice = tuple_.choice;
  point.window = point.stride = Extents(axes_.rank(), 1);
  bool masked = false;
  for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) {
    for (std::size_t axis = 0; axis < axes_.rank(); ++axis) {
      const AxisWork& work = kinds_of(axis)[tuple_.kinds[axis]].work[pass];
      masked = masked || work.without_elements != work.visited;
    }
  }
  point.fast_path = !masked;
  return point;
}

double KindWalk::limit() const {
  const double most = timed_.most_ms > 0 ? std::min(timed_.most_ms, within_ms_) : within_ms_;
  return kept_->size() < most_ ? most : std::min(most, kept_->front().least_ms);
}

double KindWalk::least_behind(std::size_t axis, std::size_t group, const PerPass<WorkSoFar>& before) const {
  double least = fixed_ms_;
  for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) {
    const Visits visits = visits_of(before[pass]).times(behind_visits_[axis][group][pass]).times(rest_visits_[axis][pass]);
    least += visits.full(clipped_share(pass)) * least_us_[pass] * ms_of_us_[pass];
  }
  return least;
}

double KindWalk::least_with(std::size_t axis, const PerPass<WorkSoFar>& work, double attended_hi) const {
  const double needed = static_cast<double>(bounds_.lo) / attended_hi;  // of the axes behind
  double least = fixed_ms_;
  for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) {
    const WorkSoFar& done = work[pass];
    const Visits& per_pair = rest_per_pair_[axis][pass];
    const Visits rest = rest_visits_[axis][pass].most({needed * per_pair.all, needed * per_pair.filled});
    const double full = Visits{1, done.filled / done.visited}.times(rest).full(clipped_share(pass));
    // What has elements to mask on one axis has them whatever the others do.
    const double us = done.without_elements * least_us_[pass] + (done.visited - done.without_elements) * masked_us_[pass];
    least += us * full * ms_of_us_[pass];
  }
  return least;
}

double KindWalk::mean_ms(const PerPass<WorkSoFar>& work) const {
  double least = fixed_ms_;
  for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) {
    const WorkSoFar& done = work[pass];
    const PassCosts& costs = timed_.passes[pass].costs;
    const double bounds = done.without_elements - done.unmasked, masked = done.visited - done.without_elements;
    const double us = done.unmasked * costs.unmasked_tile_us + bounds * costs.bounds_masked_tile_us + masked * masked_us_[pass];
    least += us * Visits{1, done.filled / done.visited}.full(clipped_share(pass)) * ms_of_us_[pass];
  }
  return least;
}

PerPass<WorkSoFar> KindWalk::with(const PerPass<WorkSoFar>& before, std::size_t axis, const PerPass<AxisWork>& along) const {
  PerPass<WorkSoFar> work = before;
  for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) {
    work[pass] = before[pass].with(along[pass], padding_counts(timed_.passes[pass].family, axes_.rank(), axis));
  }
  return work;
}

std::size_t KindWalk::first_group(std::size_t axis, double attended_hi) const {
  const double needed = (1 - kRounding) * static_cast<double>(bounds_.lo) / (attended_hi * rest_hi_[axis]);
  const std::vector<double>& most = axes_[axis]->most_attended;
  return static_cast<std::size_t>(std::lower_bound(most.begin(), most.end(), needed) - most.begin());
}

bool KindWalk::may_allow(const Reach& reach, double rest_lo, double rest_hi) const {
  return imbalance_.may_allow(reach.largest / reach.smallest) &&
         reach.hi * rest_hi >= (1 - kRounding) * static_cast<double>(bounds_.lo) &&
         reach.lo * rest_lo <= (1 + kRounding) * static_cast<double>(bounds_.hi);
}

void KindWalk::enter(std::size_t axis, const PerPass<WorkSoFar>& before, const Reach& reach) {
  const std::vector<KindGroup>& groups = axes_[axis]->groups;
  for (std::size_t i = first_group(axis, reach.hi); i < groups.size(); ++i) {
    poll();
    if (least_behind(axis, i, before) > limit()) break;
    const Reach here = reach.with(groups[i].reach);
    if (!may_allow(here, rest_lo_[axis], rest_hi_[axis])) continue;
    entered_[axis] = &groups[i];
    const PerPass<WorkSoFar> work = with(before, axis, groups[i].least);
    if (least_with(axis, work, here.hi) > limit()) continue;
    if (axis + 1 < axes_.rank()) {
      enter(axis + 1, work, here);
    } else {
      enter_kinds(0, {}, {});
    }
  }
}

void KindWalk::enter_kinds(std::size_t axis, const PerPass<WorkSoFar>& before, const Reach& reach) {
  const std::size_t last = axes_.rank() - 1;
  double rest_lo = 1, rest_hi = 1;
  for (std::size_t behind = axis + 1; behind <= last; ++behind) {
    rest_lo *= entered_[behind]->reach.lo;
    rest_hi *= entered_[behind]->reach.hi;
  }
  for (const std::uint32_t kind : entered_[axis]->kinds) {
    poll();
    const Reach here = reach.with(axes_[axis]->reach[kind]);
    if (!may_allow(here, rest_lo, rest_hi)) continue;
    tuple_.kinds[axis] = kind;
    const PerPass<WorkSoFar> work = with(before, axis, kinds_of(axis)[kind].work);
    if (axis < last) {
      PerPass<WorkSoFar> rest = work;
      for (std::size_t behind = axis + 1; behind <= last; ++behind) rest = with(rest, behind, entered_[behind]->least);
      if (least_with(last, rest, 1) <= limit()) enter_kinds(axis + 1, work, here);
      continue;
    }
    if (mean_ms(work) > limit()) continue;
    tuple_.least_ms = 0;
    for (std::size_t pass = 0; pass < timed_.passes.size(); ++pass) tuple_.least_ms += least_ms(work[pass], pass);
    if (tuple_.least_ms <= limit()) offer();
  }
}

void KindWalk::offer() {
  if (kept_->size() >= most_ && !(tuple_ < kept_->front())) return;
  best_.reset();
  RankedPoint point = empty_point();
  choose(0, 1, {}, point, Wanted::kAny);
  if (!best_) return;
  if (kept_->size() >= most_) {
    std::pop_heap(kept_->begin(), kept_->end());
    kept_->pop_back();
  }
  kept_->push_back(tuple_);
  std::push_heap(kept_->begin(), kept_->end());
}

void KindWalk::choose(std::size_t axis, std::int64_t attended, const Unevenness& unevenness,
                      RankedPoint& point, Wanted wanted) {
  if (axis == axes_.rank()) {
    if (timed_.flattens && is_whole_window(space_, point.window)) return;  // search_fastest times it by itself
    point.unevenness = unevenness.ratio();
    point.attended = attended;
    if (wanted == Wanted::kSome) {
      keep(point);
      return;
    }
    if (!best_ || ContextOrder(space_)(point, *best_)) best_ = point;
    return;
  }
  const std::vector<KindMember>& members = kinds_of(axis)[tuple_.kinds[axis]].members;
  auto first = members.begin(), end = members.end();
  if (axis + 1 == axes_.rank()) {  // what is left of the bounds
    const auto below = [](const KindMember& member, std::int64_t value) { return member.attended < value; };
    first = std::lower_bound(members.begin(), members.end(), ceil_divide(bounds_.lo, attended), below);
    end = std::lower_bound(first, members.end(), bounds_.hi / attended + 1, below);
  }
  const std::int64_t strides = point.stride_product;
  for (auto member = first; member != end && !(wanted == Wanted::kAny && best_); ++member) {
    poll();
    Unevenness with = unevenness;
    with.add_axis(space_.input[axis], member->window);
    if (!imbalance_.allows(with)) continue;
    point.window[axis] = member->window;
    point.stride[axis] = member->stride;
    point.stride_product = strides * member->stride;
    choose(axis + 1, attended * member->attended, with, point, wanted);
  }
}

}  // namespace natten_sim
