#include "windows/promising_choices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>

#include "windows/candidate_order.hpp"
#include "windows/option_bounds.hpp"
#include "windows/time_limit.hpp"
#include "windows/timed_space.hpp"

namespace natten_sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kMargin = 1.0002;  // most bounds are no further from their times
constexpr std::size_t kNoPass = std::numeric_limits<std::size_t>::max();

/// Windows of one axis by the KV tiles that hold them.
struct WholeTiles {
  std::int64_t kv_tile = 1, first = 1, last = 1;

  [[nodiscard]] std::int64_t widest(std::int64_t tiles) const { return std::min(tiles * kv_tile, last); }
};

/// The fewest KV tiles, of all axes from `axis` on, whose windows attend to so many keys a query.
double fewest_tiles(const std::vector<WholeTiles>& axes, std::size_t axis, double keys) {
  const WholeTiles& own = axes[axis];
  if (axis + 1 == axes.size()) {
    const auto window = std::max(static_cast<std::int64_t>(std::ceil(keys * (1 - 1e-12))), own.first);
    return window > own.last ? kNever : static_cast<double>(ceil_divide(window, own.kv_tile));
  }
  double fewest = kNever;
  for (std::int64_t tiles = ceil_divide(own.first, own.kv_tile); own.widest(tiles - 1) < own.last; ++tiles) {
    poll();
    const double rest = fewest_tiles(axes, axis + 1, keys / static_cast<double>(own.widest(tiles)));
    fewest = std::min(fewest, static_cast<double>(tiles) * rest);
  }
  return fewest;
}

/// Every Q tile visits the KV tiles that hold a window, in either pass.
std::optional<double> visits_of_whole_tiles(const SearchSpace& space, const std::vector<AxisBounds>& bounds,
                                            std::int64_t attended_lo, const TilePair& tiles) {
  std::vector<WholeTiles> axes;
  double q_tiles = 1, queries = 1;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    if (space.causal[axis] || space.dilation[axis] > 1) return std::nullopt;
    const std::int64_t length = space.input[axis];
    axes.push_back({tiles.kv_tile[axis], bounds[axis].first_window(), bounds[axis].last_window()});
    q_tiles *= static_cast<double>(ceil_divide(length, tiles.q_tile[axis]));
    queries *= static_cast<double>(length);
  }
  return q_tiles * fewest_tiles(axes, 0, static_cast<double>(attended_lo) / queries);
}

/// Tiles that one pass visits at least, whatever window and stride meet the constraints; none: no window does.
std::optional<long double> least_visits(const SearchSpace& space, const SearchConstraints& constraints,
                                        const AttendedBounds& attended, const TileChoice& choice) {
  std::vector<AxisBounds> axes;
  Int128 most = 1, least = 1;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    axes.emplace_back(space, constraints, Objective::kMean, axis, choice);
    if (axes.back().empty()) return std::nullopt;
    most *= axes.back().most_attended(axes.back().last_window());
    least *= axes.back().least_attended(axes.back().first_window());
  }
  long double visits = 1, per_pair = 1;
  for (AxisBounds& bounds : axes) {
    const Int128 most_of_others = most / bounds.most_attended(bounds.last_window());
    const Int128 least_of_others = least / bounds.least_attended(bounds.first_window());
    bounds.restrict_to_attended(static_cast<std::int64_t>((attended.lo + most_of_others - 1) / most_of_others),
                                static_cast<std::int64_t>(attended.hi / least_of_others));
    if (bounds.empty()) return std::nullopt;
    visits *= static_cast<long double>(bounds.least_cost(bounds.first_window(), 0));
    per_pair *= bounds.least_cost_per_pair(0);
  }
  visits = std::max(visits, per_pair * static_cast<long double>(attended.lo));
  const bool forward = space.phase == SearchPhase::kForward;
  if (!forward && space.backward_kv_tiling != KvTiling::kStatic) return visits;
  const std::optional<double> whole =
      visits_of_whole_tiles(space, axes, attended.lo, forward ? choice.tiles : choice.backward_tiles);
  return std::max(visits, static_cast<long double>(whole.value_or(0)));
}

/// Without choices.
SearchSpace space_of_pass(const SearchSpace& space, Walk walk) {
  SearchSpace pass = space;
  pass.tiles = {};
  pass.phase = walk == Walk::kForward ? SearchPhase::kForward : SearchPhase::kBackward;
  return pass;
}

SearchRun quiet(SearchRun run) {
  run.progress = {};
  return run;
}

bool same_times(const TimedPass& a, const TimedPass& b) {
  return a.family == b.family && a.costs.unmasked_tile_us == b.costs.unmasked_tile_us && a.costs.cta_us == b.costs.cta_us &&
         a.added_ms == b.added_ms;
}

}  // namespace

ChoiceBounds::ChoiceBounds(const SearchSpace& space, const SearchConstraints& constraints, const TimeObjective& objective)
    : constraints_(constraints), objective_(objective) {
  const AttendedBounds attended = attended_bounds(space, constraints);
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    if (!has_pass(space.phase, walk)) continue;
    OnePass& pass = passes_.emplace_back();
    pass.space = space_of_pass(space, walk);
    std::map<std::pair<Extents, Extents>, std::vector<std::size_t>> known;  // pairs of tiles, by kernel
    for (std::size_t choice = 0; choice < space.tiles.size(); ++choice) {
      poll();
      const auto& timed = objective.choices[choice].passes;
      const auto own = std::find_if(timed.begin(), timed.end(), [&](const TimedPass& each) { return each.walk == walk; });
      if (own == timed.end()) {
        pass.of_choices.push_back(kNoPass);
        continue;
      }
      const TilePair& tiles = tiles_of(space.tiles[choice], walk);
      std::vector<std::size_t>& same = known[{tiles.q_tile, tiles.kv_tile}];
      const auto place = std::find_if(same.begin(), same.end(), [&](std::size_t each) {
        return same_times(pass.objective.choices[each].passes.front(), *own);
      });
      if (place != same.end()) {
        pass.of_choices.push_back(*place);
        continue;
      }
      same.push_back(pass.least_ms.size());
      pass.of_choices.push_back(pass.least_ms.size());
      const auto visits = least_visits(pass.space, constraints, attended, space.tiles[choice]);
      pass.least_ms.push_back(
          visits ? least_ms_visiting(pass.space, space.tiles[choice], *own, static_cast<double>(*visits)) : kNever);
      pass.space.tiles.push_back(space.tiles[choice]);
      pass.objective.choices.push_back({.passes = {*own}});
    }
    pass.looked_at.resize(pass.least_ms.size(), false);
  }
}

double ChoiceBounds::least_ms(std::size_t choice) const {
  double ms = 0;
  for (const OnePass& pass : passes_) ms += pass.of_choices[choice] == kNoPass ? kNever : pass.least_ms[pass.of_choices[choice]];
  return ms;
}

std::vector<std::size_t> ChoiceBounds::within(std::optional<double> within_ms) const {
  std::vector<std::size_t> kept;
  for (std::size_t choice = 0; choice < objective_.choices.size(); ++choice) {
    const double ms = least_ms(choice), most_ms = objective_.choices[choice].most_ms;
    if (std::isfinite(ms) && ms <= within_ms.value_or(ms) && (most_ms == 0 || ms <= most_ms)) kept.push_back(choice);
  }
  return kept;
}

std::vector<std::size_t> ChoiceBounds::most_promising(std::vector<std::size_t> choices, std::size_t most) const {
  if (choices.size() <= most) return choices;
  std::stable_sort(choices.begin(), choices.end(),
                   [&](std::size_t a, std::size_t b) { return least_ms(a) < least_ms(b); });
  const double last = least_ms(choices[most - 1]);
  const auto equal = std::partition_point(choices.begin(), choices.end(), [&](std::size_t i) { return least_ms(i) < last; });
  const auto end = std::partition_point(equal, choices.end(), [&](std::size_t i) { return least_ms(i) <= last; });
  const auto lower = static_cast<std::size_t>(equal - choices.begin()), ties = static_cast<std::size_t>(end - equal);
  std::vector<std::size_t> chosen(choices.begin(), equal);
  for (std::size_t i = lower; i < most; ++i)
    chosen.push_back(equal[static_cast<std::ptrdiff_t>((i - lower) * ties / (most - lower))]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<double> ChoiceBounds::ms_at(const RankedPoint& point, const OnePass& pass,
                                        std::vector<std::size_t> pairs, const SearchRun& run) {
  auto [kept, space, objective] = part_of(pass.space, pass.objective, std::move(pairs));
  for (std::size_t axis = 0; axis < point.window.rank(); ++axis) {
    space.window[axis] = {point.window[axis], point.window[axis]};
    space.stride[axis] = {point.stride[axis], point.stride[axis]};
  }
  const SearchTables tables =
      make_tables(space, {}, Objective::kMean, quiet(run), {.attended = attended_bounds(space, {}), .limit = {}});
  TimedSpace timed(space, {}, objective, tables, KindStrides::kSmallest, *run.memory);
  std::vector<double> ms;
  for (const KindTuple& least : timed.least_of_each(kNever)) ms.push_back(least.least_ms);
  return ms;
}

std::size_t ChoiceBounds::fastest_choice(const RankedPoint& point, const SearchRun& run) const {
  std::vector<std::vector<double>> ms;
  for (const OnePass& pass : passes_) {
    std::vector<std::size_t> pairs(pass.least_ms.size());
    std::iota(pairs.begin(), pairs.end(), std::size_t{0});
    ms.push_back(ms_at(point, pass, std::move(pairs), run));
  }
  std::size_t fastest = point.tile_choice;
  double least = kNever;
  for (std::size_t choice = 0; choice < objective_.choices.size(); ++choice) {
    double own = 0;
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      const std::size_t pair = passes_[i].of_choices[choice];
      own += pair == kNoPass ? kNever : ms[i][pair];
    }
    if (own < least) least = own, fastest = choice;
  }
  return fastest;
}

double ChoiceBounds::left_of(double within_ms, std::size_t pass) const {
  const std::vector<double>& other = passes_[1 - pass].least_ms;
  return within_ms - *std::min_element(other.begin(), other.end());
}

std::optional<RankedPoint> ChoiceBounds::look_at_longer(double within_ms, const RankedPoint& known, const SearchRun& run) {
  if (passes_.size() < 2) return std::nullopt;
  const std::size_t longer = left_of(within_ms, 0) < left_of(within_ms, 1) ? 1 : 0;
  OnePass& pass = passes_[longer];
  if (pass.looked_ms > 0) return std::nullopt;
  const double known_ms = kMargin * ms_at(known, pass, {pass.of_choices[known.tile_choice]}, run).front();
  look_at_options(pass, std::min(left_of(within_ms, longer), known_ms), run);
  if (!pass.fastest) return std::nullopt;
  RankedPoint point = *pass.fastest;
  const auto choice = std::find(pass.of_choices.begin(), pass.of_choices.end(), point.tile_choice);
  point.tile_choice = static_cast<std::size_t>(choice - pass.of_choices.begin());
  return point;
}

void ChoiceBounds::sharpen(double within_ms, const SearchRun& run) {
  if (passes_.size() < 2) return;
  const std::size_t looked = passes_[0].looked_ms > 0 ? 0 : 1;
  for (const std::size_t i : {1 - looked, looked}) {
    OnePass& pass = passes_[i];
    const double left_ms = left_of(within_ms, i);
    if (left_ms > pass.looked_ms) look_at_options(pass, left_ms, run);
    for (std::size_t pair = 0; pair < pass.least_ms.size(); ++pair) {
      if (!pass.looked_at[pair]) pass.least_ms[pair] = kNever;  // more than is left
    }
  }
}

void ChoiceBounds::look_at_options(OnePass& pass, double most_ms, const SearchRun& run) const {
  pass.looked_ms = most_ms;
  std::vector<std::size_t> pairs;
  for (std::size_t pair = 0; pair < pass.least_ms.size(); ++pair) {
    if (!pass.looked_at[pair] && pass.least_ms[pair] <= most_ms) pairs.push_back(pair);
  }
  if (pairs.empty()) return;
  const auto [kept, space, objective] = part_of(pass.space, pass.objective, std::move(pairs));
  const TableRequest wanted{.attended = attended_bounds(space, constraints_),
                            .limit = {},
                            .choice_limits = visits_within(space, objective, most_ms),
                            .longest_limits = longest_within(space, objective, most_ms),
                            .shortest_limits = shortest_within(space, objective, most_ms),
                            .masked_costs = masked_costs(space, objective)};
  const std::optional<SearchTables> tables =
      make_tables_if_few(space, constraints_, Objective::kMean, quiet(run), wanted, kMostTimedOptions);
  if (!tables || !few_tiles(space, *tables)) {
    for (const std::size_t pair : kept) pass.looked_at[pair] = true;  // with too many options to look at
    return;
  }
  TimedSpace timed(space, constraints_, objective, *tables, KindStrides::kSmallest, *run.memory);
  const std::vector<KindTuple> least = timed.least_of_each(most_ms);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const double ms = least[i].least_ms;
    double& bound = pass.least_ms[kept[i]];
    bound = std::max(bound, std::min(ms, most_ms));
    pass.looked_at[kept[i]] = ms <= most_ms;
    if (!(ms < pass.fastest_ms)) continue;
    pass.fastest_ms = ms;
    pass.fastest = timed.first_point(least[i]);
    pass.fastest->tile_choice = kept[i];
  }
}

ChoicePart part_of(const SearchSpace& space, const TimeObjective& objective, std::vector<std::size_t> choices) {
  ChoicePart part{.choices = std::move(choices), .space = space, .objective = {}};
  part.space.tiles.clear();
  for (const std::size_t choice : part.choices) {
    part.space.tiles.push_back(space.tiles[choice]);
    part.objective.choices.push_back(objective.choices[choice]);
  }
  part.objective.exact_ms = [&objective, kept = part.choices](const NeighborhoodMask& mask, std::size_t choice) {
    return objective.exact_ms(mask, kept[choice]);
  };
  return part;
}

}  // namespace natten_sim
