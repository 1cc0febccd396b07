#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

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
#include "windows/promising_choices.hpp"
#include "windows/space.hpp"
#include "windows/time_limit.hpp"
#include "windows/timed_rows.hpp"
#include "windows/timed_space.hpp"

namespace natten_sim {
namespace {

constexpr std::int64_t kSmallSpace = 1 << 15;  // tiles of a space that needs no sketch
constexpr std::size_t kManyChoices = 24, kFewChoices = 16, kMostSketched = 256;  // tile choices
constexpr std::size_t kFirstCombinations = 64, kMostCombinations = std::size_t{1} << 17;

void require_timeable(const SearchSpace& space, const TimeObjective& objective) {
  if (objective.choices.size() != space.tiles.size())
    throw InvalidParameter("choices", std::to_string(objective.choices.size()), "one a tile choice");
  for (const TimedChoice& choice : objective.choices) {
    for (const TimedPass& pass : choice.passes) {
      if (pass.family == NattenBackend::kCutlassFna && !space.dilation.empty() && product(space.dilation, "dilation") > 1)
        throw InvalidParameter("dilation", to_string(space.dilation), "1 with cutlass-fna, whose CTAs mix groups");
    }
  }
}

/// What is asked for.
struct FastestRequest {
  const SearchSpace& space;
  const SearchConstraints& constraints;
  const TimeObjective& objective;
  std::size_t top = 1;
  Distinct distinct = Distinct::kTiles;
  const SearchRun& run;
};

struct Timed {
  std::vector<TimedPoint> best;
  bool sure = false;  ///< the bound of what was not timed is above the last of the best
};

/// Times combinations in the order of their bounds, a few at once.
class OrderedTiming {
 public:
  OrderedTiming(TimedSpace& timed, const FastestRequest& request)
      : timed_(timed), request_(request), rows_(request.space, request.top, request.distinct) {}

  /// Goes on where the last call ended: `combinations` begin with those of that call.
  Timed continue_with(const std::vector<KindTuple>& combinations) {
    while (next_ < combinations.size()) {
      poll_now();
      std::vector<TimedPoint> best = rows_.best();
      if (best.size() == request_.top && best.back().ms < combinations[next_].least_ms)
        return {std::move(best), true};
      time_batch(combinations);
    }
    return {rows_.best(), false};
  }

 private:
  void time_batch(const std::vector<KindTuple>& combinations) {
    std::vector<TimedPoint> points;
    std::vector<const KindTuple*> tuples;
    for (const std::size_t batch = std::max<std::size_t>(16, request_.top);
         points.size() < batch && next_ < combinations.size(); ++next_) {
      RankedPoint point = timed_.first_point(combinations[next_]);
      if (rows_.is_beaten(point, combinations[next_].least_ms)) continue;
      points.push_back({0, std::move(point)});
      tuples.push_back(&combinations[next_]);
    }
    run_tasks(points.size(), {.threads = request_.run.threads}, [&](std::size_t i, std::size_t) {
      const RankedPoint& point = points[i].point;
      points[i].ms =
          request_.objective.exact_ms(mask_in(request_.space, point.window, point.stride), point.tile_choice);
    });
    for (std::size_t i = 0; i < points.size(); ++i) {
      poll();
      const double ms = points[i].ms;
      const double most_ms = request_.objective.choices[points[i].point.tile_choice].most_ms;
      if (most_ms > 0 && ms > most_ms) continue;
      if (request_.distinct != Distinct::kNone) {
        rows_.add(std::move(points[i]));
        continue;
      }
      for (RankedPoint& each : timed_.first_points(*tuples[i], request_.top)) rows_.add({ms, std::move(each)});
    }
  }

  TimedSpace& timed_;
  const FastestRequest& request_;
  TimedRows rows_;
  std::size_t next_ = 0;
};

/// The fastest of the options in `tables`, none of which takes longer than `within_ms`; sure unless too many would
/// have to be timed.
Timed fastest_of(const SearchTables& tables, const FastestRequest& request, std::optional<double> within_ms) {
  const KindStrides strides =
      request.distinct == Distinct::kNone ? KindStrides::kAll : KindStrides::kSmallest;
  TimedSpace space(request.space, request.constraints, request.objective, tables, strides, *request.run.memory);
  OrderedTiming timing(space, request);
  for (std::size_t most = kFirstCombinations;; most *= 8) {
    const std::vector<KindTuple> combinations = space.first_combinations(most, within_ms);
    Timed timed = timing.continue_with(combinations);
    timed.sure = timed.sure || combinations.size() < most;
    if (timed.sure || most >= kMostCombinations) return timed;
    if (timed.best.size() == request.top)  // those with larger bounds do not matter, whatever is left to time
      within_ms = std::min(timed.best.back().ms, within_ms.value_or(timed.best.back().ms));
  }
}

bool small(const SearchSpace& space) {
  std::int64_t tiles = 0;
  for (const TileChoice& choice : space.tiles) {
    for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
      if (!has_pass(space.phase, walk)) continue;
      for (std::size_t axis = 0; axis < space.input.rank() && tiles <= kSmallSpace; ++axis)
        tiles += tiles_along(space, walk, choice, axis, axis_options(space, axis));
    }
  }
  return tiles <= kSmallSpace;
}

/// The fastest of the windows and strides that tiles divide, one stride a window where strides do not matter.
Timed fastest_of_sketch(const FastestRequest& request, TableRequest wanted, std::int64_t& evaluated) {
  wanted.sketch = true;
  if (request.distinct == Distinct::kWindow || request.distinct == Distinct::kTiles)
    wanted.leave_out = LeaveOut::kWorseStrides;
  wanted.choice_limits = visits_within(request.space, request.objective, std::nullopt);
  const SearchTables tables =
      make_tables(request.space, request.constraints, Objective::kMean, request.run, wanted);
  evaluated = tables.evaluated;
  return fastest_of(tables, request, std::nullopt);
}

/// The checked constraints, without what is of another objective.
SearchConstraints timed_constraints(const SearchSpace& space, SearchConstraints constraints,
                                    const TimeObjective& objective) {
  constraints.min_speedup.reset();
  require_valid(space, constraints);
  require_timeable(space, objective);
  return constraints;
}

/// The fastest, and what the search says of itself, without candidates.
struct Found {
  std::vector<TimedPoint> best;
  DistinctResult result;
};

/// The fastest of all options of a space: none takes longer than `within`, if that is known.
Found fastest_of_space(const FastestRequest& request, std::optional<double> within) {
  const auto& [space, asked, objective, top, distinct, run] = request;
  DistinctResult result;
  TableRequest wanted{.attended = attended_bounds(space, asked), .from = 0, .to = 0.1};
  Timed timed;
  const bool sketches = !within && !small(space);
  if (sketches) {
    timed = fastest_of_sketch(request, wanted, result.search.evaluated);
    if (timed.best.size() == top) within = timed.best.back().ms;
  }
  wanted.from = 0.1, wanted.to = 0.3;
  wanted.choice_limits = visits_within(space, objective, within);
  wanted.longest_limits = longest_within(space, objective, within);
  wanted.shortest_limits = shortest_within(space, objective, within);
  wanted.masked_costs = masked_costs(space, objective);
  const std::optional<SearchTables> tables =
      make_tables_if_few(space, asked, Objective::kMean, run, wanted, kMostTimedOptions);
  result.sketched = !tables || !few_tiles(space, *tables);
  if (!result.sketched) {
    result.search.evaluated = tables->evaluated;
    timed = fastest_of(*tables, request, within);
  } else if (!sketches) {
    timed = fastest_of_sketch(request, {.attended = wanted.attended, .from = 0.3, .to = 0.6}, result.search.evaluated);
  }
  result.complete = timed.sure && !result.sketched;
  return {std::move(timed.best), std::move(result)};
}

/// The fastest of some choices of a space, by their numbers in it.
Found fastest_of_choices(const FastestRequest& request, std::vector<std::size_t> choices, std::optional<double> within) {
  const auto& [space, asked, objective, top, distinct, run] = request;
  const ChoicePart part = part_of(space, objective, std::move(choices));
  Found found = fastest_of_space({part.space, asked, part.objective, top, distinct, run}, within);
  for (TimedPoint& each : found.best) each.point.tile_choice = part.choices[each.point.tile_choice];
  return found;
}

/// Of many choices: those that may be as fast as some of them that are looked at first.
class ChoicesWithin {
 public:
  explicit ChoicesWithin(const FastestRequest& request)
      : request_(request), bounds_(request.space, request.constraints, request.objective), kept_(bounds_.within({})) {
    quiet_run_.progress = {};
  }

  Found fastest() {
    std::int64_t evaluated = sketch();
    if (within_ && kept_.size() > kFewChoices) {
      Found some = fastest_of_choices(quiet_, bounds_.most_promising(kept_, kFewChoices / 2), within_);
      evaluated += some.result.search.evaluated;
      keep_within(std::move(some.best));
    }
    if (kept_.empty()) return {};
    Found found = fastest_of_choices(request_, kept_, within_);
    found.result.search.evaluated += evaluated;
    const auto slower = [&] { return found.best.size() < request_.top || found.best.back().ms > *within_; };
    if (found.result.sketched && within_ && slower()) found.best = std::move(best_);
    return found;
  }

 private:
  /// Sketches more and more choices, until they are few or rows were found with two passes; options evaluated.
  std::int64_t sketch() {
    const auto& [space, asked, objective, top, distinct, run] = request_;
    TableRequest wanted{.attended = attended_bounds(space, asked), .from = 0, .to = 0.03};
    std::int64_t evaluated = 0;
    const auto done = [this, phase = space.phase] { return within_ && phase == SearchPhase::kBoth; };
    for (std::size_t most = kFewChoices; !done() && most <= kMostSketched && kept_.size() > most; most *= 4) {
      const ChoicePart some = part_of(space, objective, bounds_.most_promising(kept_, most));
      std::int64_t counted = 0;
      Timed sketched = fastest_of_sketch({some.space, asked, some.objective, top, distinct, run}, wanted, counted);
      evaluated += counted;
      wanted.from = wanted.to;
      wanted.to += 0.03;
      for (TimedPoint& each : sketched.best) each.point.tile_choice = some.choices[each.point.tile_choice];
      keep_within(std::move(sketched.best));
    }
    return evaluated;
  }

  /// Keeps the choices that may be as fast as the rows that were found, or as those that these lead to.
  void keep_within(std::vector<TimedPoint> found) {
    if (!take(std::move(found))) return;
    while (step_from(best_.back().point)) poll_now();
    if (const auto point = bounds_.look_at_longer(*within_, best_.back().point, request_.run); point && step_from(*point)) {
      while (step_from(best_.back().point)) poll_now();
    }
    bounds_.sharpen(*within_, request_.run);
    kept_ = bounds_.within(within_);
  }

  /// Rows that are faster than those before.
  bool take(std::vector<TimedPoint> found) {
    if (found.size() < request_.top || (within_ && found.back().ms >= *within_)) return false;
    within_ = found.back().ms;
    best_ = std::move(found);
    return true;
  }

  /// To the fastest rows of the choice that is fastest with the window and stride of a point; whether they are faster.
  bool step_from(const RankedPoint& point) {
    const std::size_t choice = bounds_.fastest_choice(point, request_.run);
    return choice != best_.back().point.tile_choice && take(fastest_of_choices(quiet_, {choice}, within_).best);
  }

  const FastestRequest& request_;
  SearchRun quiet_run_ = request_.run;
  const FastestRequest quiet_ = {request_.space, request_.constraints, request_.objective,
                                 request_.top,   request_.distinct,    quiet_run_};
  ChoiceBounds bounds_;
  std::vector<std::size_t> kept_;
  std::vector<TimedPoint> best_;  ///< as many rows as are wanted, or none yet
  std::optional<double> within_;  ///< the time of their last
};

/// By what tiles tell.
Found fastest_by_tiles(const FastestRequest& request) {
  if (request.space.tiles.size() <= kManyChoices) return fastest_of_space(request, std::nullopt);
  return ChoicesWithin(request).fastest();
}

/// The window over the input under a choice that flattens it, timed.
std::vector<TimedPoint> whole_windows(const FastestRequest& request, std::size_t choice) {
  const auto& [space, asked, objective, top, distinct, run] = request;
  if (!is_whole_window(space, space.input)) return {};
  ChoicePart part = part_of(space, objective, {choice});
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    IntRange& windows = part.space.window[axis];
    if (windows.lo > space.input[axis] || windows.hi < space.input[axis]) return {};
    windows = {space.input[axis], space.input[axis]};
  }
  part.objective.choices[0].flattens = false;
  part.objective.choices[0].most_ms = 0;  // bounds would hold it against what tiles tell
  const SearchTables tables = make_tables(part.space, asked, Objective::kMean, run,
                                          {.attended = attended_bounds(space, asked), .from = 1, .to = 1});
  std::vector<TimedPoint> timed = fastest_of(tables, {part.space, asked, part.objective, top, distinct, run}, std::nullopt).best;
  for (TimedPoint& each : timed) each.point.tile_choice = choice;
  const double most_ms = objective.choices[choice].most_ms;
  std::erase_if(timed, [&](const TimedPoint& each) { return most_ms > 0 && each.ms > most_ms; });
  return timed;
}

/// Without the nearest sparsity.
DistinctResult fastest_rows(const FastestRequest& request) {
  Found found = fastest_by_tiles(request);
  TimedRows rows(request.space, request.top, request.distinct);
  for (std::size_t choice = 0; choice < request.objective.choices.size(); ++choice) {
    if (!request.objective.choices[choice].flattens) continue;
    for (TimedPoint& whole : whole_windows(request, choice)) rows.add(std::move(whole));
  }
  for (TimedPoint& each : found.best) rows.add(std::move(each));
  std::vector<RankedPoint> points;
  for (TimedPoint& each : rows.best()) points.push_back(std::move(each.point));
  found.result.search.candidates = to_candidates(request.space, points);
  return std::move(found.result);
}

/// The run with a memory, which the searches of a call share.
SearchRun with_memory(SearchRun run) {
  if (!run.memory) run.memory = make_axis_memory();
  return run;
}

void add_nearest_sparsity(const FastestRequest& request, SearchResult& result) {
  if (result.candidates.empty() && !has_limit(request.objective))
    result.nearest_sparsity = nearest_sparsity(request.space, request.constraints, Objective::kMean, request.run);
}

}  // namespace

DistinctResult search_fastest(const SearchSpace& space, const SearchConstraints& constraints,
                              const TimeObjective& objective, std::size_t top, Distinct distinct,
                              const SearchRun& run) {
  const SearchConstraints asked = timed_constraints(space, constraints, objective);
  if (top == 0) throw InvalidParameter("top", "0", "1 or more");
  const SearchRun remembering = with_memory(run);
  const FastestRequest request{space, asked, objective, top, distinct, remembering};
  DistinctResult result = fastest_rows(request);
  result.search.space_size = space_size(space);
  add_nearest_sparsity(request, result.search);
  return result;
}

DistinctResult search_time_front(const SearchSpace& space, const SearchConstraints& constraints,
                                 const TimeObjective& objective, double step, const SearchRun& run) {
  if (!(step >= 1)) throw InvalidParameter("step", std::to_string(step), "1 or more");
  SearchConstraints asked = timed_constraints(space, constraints, objective);
  const AttendedBounds bounds = attended_bounds(space, asked);
  SearchRun part = with_memory(run);
  part.progress = {};
  const FastestRequest request{space, asked, objective, 1, Distinct::kWindow, part};
  DistinctResult front = fastest_rows(request);
  front.search.space_size = space_size(space);
  add_nearest_sparsity(request, front.search);
  for (std::vector<Candidate>& points = front.search.candidates; !points.empty();) {
    const std::int64_t attended = points.back().count.attended_pairs;
    const double least = std::ceil(step * static_cast<double>(attended));
    if (attended >= bounds.hi || least > static_cast<double>(bounds.hi)) break;
    asked.least_attended = std::max(attended + 1, static_cast<std::int64_t>(least));
    if (run.progress) run.progress(static_cast<double>(attended) / static_cast<double>(bounds.hi));
    DistinctResult next = fastest_rows(request);
    front.search.evaluated += next.search.evaluated;
    front.complete = front.complete && next.complete;
    front.sketched = front.sketched || next.sketched;
    if (next.search.candidates.empty()) break;
    points.push_back(std::move(next.search.candidates.front()));
  }
  return front;
}

}  // namespace natten_sim
