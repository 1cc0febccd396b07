#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/parallel.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/time_search.hpp>

#include "windows/axis_kinds.hpp"
#include "windows/candidate_order.hpp"
#include "windows/kind_walk.hpp"
#include "windows/nearest_sparsity.hpp"
#include "windows/space.hpp"

namespace natten_sim {
namespace {

constexpr std::int64_t kMostTiles = std::int64_t{1} << 28, kMostTokens = std::int64_t{1} << 33;
constexpr std::size_t kFirstCombinations = 512, kMostCombinations = std::size_t{1} << 17;
struct TimedPoint {
  double ms = 0;
  RankedPoint point;
};

/// Rows that differ as asked for, the fastest first.
class Rows {
 public:
  Rows(const SearchSpace& space, std::size_t top, Distinct distinct)
      : order_(space), top_(top), distinct_(distinct) {}

  void add(TimedPoint point) { all_.push_back(std::move(point)); }

  /// The best so far. Points come with growing bounds, so this is final once the next bound is above.
  [[nodiscard]] std::vector<TimedPoint> best() {
    std::sort(all_.begin(), all_.end(), [&](const TimedPoint& a, const TimedPoint& b) {
      return a.ms != b.ms ? a.ms < b.ms : order_(a.point, b.point);
    });
    std::vector<TimedPoint> chosen;
    std::set<std::vector<std::int64_t>> seen;
    for (const TimedPoint& each : all_) {
      if (chosen.size() == top_) break;
      std::vector<std::int64_t> key;
      if (distinct_ == Distinct::kWindow || distinct_ == Distinct::kStride)
        key.assign(each.point.window.begin(), each.point.window.end());
      if (distinct_ == Distinct::kStride)
        key.insert(key.end(), each.point.stride.begin(), each.point.stride.end());
      if (!key.empty() && !seen.insert(key).second) continue;
      chosen.push_back(each);
    }
    return chosen;
  }

 private:
  CandidateOrder order_;
  std::size_t top_;
  Distinct distinct_;
  std::vector<TimedPoint> all_;
};

bool same_kernel(const TimedChoice& a, const TimedChoice& b) {
  return std::equal(a.passes.begin(), a.passes.end(), b.passes.begin(), b.passes.end(),
                    [](const TimedPass& x, const TimedPass& y) { return x.family == y.family; });
}

/// `space` without windows that are sure to miss the sparsity range: on one axis, not causal, every query has
/// its whole window.
SearchSpace within_sparsity(const SearchSpace& space, const SearchConstraints& constraints) {
  SearchSpace narrowed = space;
  if (space.input.rank() != 1 || space.causal[0] || !constraints.sparsity) return narrowed;
  const auto length = static_cast<double>(space.input[0]);
  const auto least = static_cast<std::int64_t>((1 - constraints.sparsity->hi) * length) - 1;
  const auto most = static_cast<std::int64_t>((1 - constraints.sparsity->lo) * length) + 2;
  const IntRange asked = space.window[0];
  const IntRange range{std::max(asked.lo, least), std::min(asked.hi, most)};
  if (range.lo <= range.hi) narrowed.window[0] = range;
  return narrowed;
}

void require_timeable(const SearchSpace& space, const TimeObjective& objective,
                      const SearchConstraints& constraints) {
  if (objective.choices.size() != space.tiles.size())
    throw InvalidParameter("choices", std::to_string(objective.choices.size()), "one a tile choice");
  for (const TimedChoice& choice : objective.choices) {
    for (const TimedPass& pass : choice.passes) {
      if (pass.family == NattenBackend::kCutlassFna)
        throw InvalidParameter("kernel", "cutlass-fna", "kernels whose tiles lie on a grid");
    }
  }
  if (!few_enough_to_time(space, constraints))
    throw InvalidParameter("objective", "time", "a smaller space: fixed windows or strides, or ranges", "work");
}

/// The kinds of all choices; choices that share tiles and a kernel on an axis share its kinds.
class TimedSpace {
 public:
  TimedSpace(const SearchSpace& space, const SearchConstraints& constraints, const TimeObjective& objective,
             const SearchTables& tables, KindStrides strides)
      : space_(space), objective_(objective), strides_(strides), walks_(space.tiles.size()) {
    kinds_.reserve(tables.choices.size() * space.input.rank());  // walks point to them
    for (const ChoiceTables& choice : tables.choices) {
      const TimedChoice& timed = objective.choices[choice.tile_choice];
      if (timed.passes.empty()) continue;
      PerAxis<const Kinds*> axes;
      for (std::size_t axis = 0; axis < space.input.rank(); ++axis)
        axes.push_back(&kinds_of(choice, axis));
      walks_[choice.tile_choice].emplace(space, constraints, objective, choice.tile_choice, axes);
    }
  }

  /// The combinations with the smallest bounds, in order.
  [[nodiscard]] std::vector<KindTuple> first_combinations(std::size_t most) {
    std::vector<KindTuple> kept;
    for (std::optional<KindWalk>& walk : walks_) {
      if (walk) walk->collect(most, kept);
    }
    std::sort(kept.begin(), kept.end());
    return kept;
  }

  [[nodiscard]] RankedPoint first_point(const KindTuple& tuple) {
    return *walks_[tuple.choice]->first_point(tuple);
  }
  [[nodiscard]] std::vector<RankedPoint> first_points(const KindTuple& tuple, std::size_t most) {
    return walks_[tuple.choice]->first_points(tuple, most);
  }

 private:
  struct Known {
    const AxisTable* table = nullptr;
    std::size_t choice = 0, axis = 0, kinds = 0;
  };

  const Kinds& kinds_of(const ChoiceTables& choice, std::size_t axis) {
    const AxisTable* const table = choice.axes[axis];
    for (const Known& known : known_) {
      if (known.table == table && known.axis == axis &&
          same_kernel(objective_.choices[known.choice], objective_.choices[choice.tile_choice]))
        return kinds_[known.kinds];
    }
    kinds_.push_back(axis_kinds(space_, *table, axis, choice.tile_choice,
                                objective_.choices[choice.tile_choice], strides_));
    known_.push_back({table, choice.tile_choice, axis, kinds_.size() - 1});
    return kinds_.back();
  }

  const SearchSpace& space_;
  const TimeObjective& objective_;
  KindStrides strides_;
  std::vector<Kinds> kinds_;
  std::vector<Known> known_;
  std::vector<std::optional<KindWalk>> walks_;
};

/// What is asked for.
struct FastestRequest {
  const SearchSpace& space;
  const TimeObjective& objective;
  std::size_t top = 1;
  Distinct distinct = Distinct::kTiles;
  const SearchRun& run;
};

struct Timed {
  std::vector<TimedPoint> best;
  bool sure = false;  ///< the bound of what was not timed is above the last of the best
};

/// Times `combinations`, which are in the order of their bounds, a few at once.
Timed time_in_order(TimedSpace& timed, const std::vector<KindTuple>& combinations,
                    const FastestRequest& request) {
  Rows rows(request.space, request.top, request.distinct);
  const std::size_t batch = std::max<std::size_t>(16, request.top);
  for (std::size_t first = 0; first < combinations.size(); first += batch) {
    poll_now();
    std::vector<TimedPoint> best = rows.best();
    if (best.size() == request.top && best.back().ms < combinations[first].least_ms)
      return {std::move(best), true};
    std::vector<TimedPoint> points(std::min(batch, combinations.size() - first));
    for (std::size_t i = 0; i < points.size(); ++i)
      points[i].point = timed.first_point(combinations[first + i]);
    run_tasks(points.size(), {.threads = request.run.threads}, [&](std::size_t i, std::size_t) {
      const RankedPoint& point = points[i].point;
      points[i].ms =
          request.objective.exact_ms(mask_in(request.space, point.window, point.stride), point.tile_choice);
    });
    for (std::size_t i = 0; i < points.size(); ++i) {
      poll();
      const double ms = points[i].ms;
      const double most_ms = request.objective.choices[points[i].point.tile_choice].most_ms;
      if (most_ms > 0 && ms > most_ms) continue;
      if (request.distinct != Distinct::kNone) {
        rows.add(std::move(points[i]));
        continue;
      }
      for (RankedPoint& each : timed.first_points(combinations[first + i], request.top))
        rows.add({ms, std::move(each)});
    }
  }
  return {rows.best(), false};
}

}  // namespace

bool few_enough_to_time(const SearchSpace& asked, const SearchConstraints& constraints) {
  const SearchSpace space = within_sparsity(asked, constraints);
  // Kinds of one long axis are told apart token by token, and no other axis shares the work.
  if (space.input.rank() == 1 && axis_options(space, 0) > kMostTokens / space.input[0]) return false;
  std::int64_t tiles = 0;
  for (const TileChoice& choice : space.tiles) {
    for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
      if (!has_pass(space.phase, walk)) continue;
      for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
        const AxisTiles sizes = axis_tiles(tiles_of(choice, walk), axis, walk);
        const std::int64_t steps = walk == Walk::kForward ? ceil_divide(space.input[axis], sizes.walked)
                                                          : space.input[axis];
        const std::int64_t options = axis_options(space, axis);
        if (options > kMostTiles / steps) return false;
        tiles += options * steps;
      }
    }
  }
  return tiles <= kMostTiles;
}

DistinctResult search_fastest(const SearchSpace& whole, const SearchConstraints& constraints,
                              const TimeObjective& objective, std::size_t top, Distinct distinct,
                              const SearchRun& run) {
  SearchConstraints asked = constraints;
  asked.min_speedup.reset();
  require_valid(whole, asked);
  require_timeable(whole, objective, asked);
  const SearchSpace space = within_sparsity(whole, asked);
  if (top == 0) throw InvalidParameter("top", "0", "1 or more");
  DistinctResult result;
  result.search.space_size = space_size(whole);
  const SearchTables tables = make_tables(space, asked, Objective::kMean, run,
                                          {.attended = attended_bounds(space, asked), .from = 0, .to = 0.3});
  result.search.evaluated = tables.evaluated;
  TimedSpace timed_space(space, asked, objective, tables,
                         distinct == Distinct::kNone ? KindStrides::kAll : KindStrides::kSmallest);
  const FastestRequest request{space, objective, top, distinct, run};
  Timed timed;
  for (std::size_t most = kFirstCombinations;; most *= 8) {
    const std::vector<KindTuple> combinations = timed_space.first_combinations(most);
    timed = time_in_order(timed_space, combinations, request);
    result.complete = timed.sure || combinations.size() < most;
    if (result.complete || most >= kMostCombinations) break;
  }
  std::vector<RankedPoint> points;
  for (TimedPoint& each : timed.best) points.push_back(std::move(each.point));
  result.search.candidates = to_candidates(space, points);
  const bool limited = std::any_of(objective.choices.begin(), objective.choices.end(),
                                   [](const TimedChoice& choice) { return choice.most_ms > 0; });
  if (points.empty() && !limited)
    result.search.nearest_sparsity = nearest_sparsity(whole, asked, Objective::kMean, run);
  return result;
}

}  // namespace natten_sim
