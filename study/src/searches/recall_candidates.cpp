#include "searches/recall_candidates.hpp"

#include <algorithm>
#include <map>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/parallel.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>

#include "searches/search_space.hpp"
#include "searches/search_times.hpp"

namespace natten_sim::study {
namespace {

constexpr std::int64_t kMostWindows = 24;  // of whole KV tiles, along an axis

void require_no(bool given, const char* name) {
  if (given) throw InvalidParameter(name, "true", "false, for a choice by recall");
}

double sparsity_of(const NeighborhoodMask& mask) {
  double kept = 1;
  for (const AxisMask& axis : mask)
    kept *= static_cast<double>(attended_pairs(axis)) / static_cast<double>(axis.length) /
            static_cast<double>(axis.length);
  return 1 - kept;
}

/// Combinations of a space that are worth a time.
class Enumeration {
 public:
  Enumeration(const SearchQuestion& question, const SearchSpace& space, std::optional<double> max_imbalance)
      : question_(question), space_(space), max_imbalance_(max_imbalance) {}

  struct Point {
    NeighborhoodMask mask;
    std::size_t choice = 0;
  };

  std::vector<Point> points() {
    for (choice_ = 0; choice_ < space_.tiles.size(); ++choice_) add_windows({});
    return std::move(points_);
  }

 private:
  [[nodiscard]] const TilePair& tiles() const {
    const TileChoice& choice = space_.tiles[choice_];
    return has_pass(space_.phase, Walk::kForward) ? choice.tiles : choice.backward_tiles;
  }

  /// Whole KV tiles, evenly spaced, and the whole axis, as far as the range has them.
  [[nodiscard]] std::vector<std::int64_t> windows_of(std::size_t axis) const {
    const auto [lo, hi] = space_.window[axis];
    const std::int64_t tile = tiles().kv_tile[axis], whole = space_.input[axis] / space_.dilation[axis];
    std::vector<std::int64_t> windows;
    if (lo == hi) return {lo};
    const std::int64_t step = ceil_divide(std::max<std::int64_t>(1, whole / tile), kMostWindows) * tile;
    for (std::int64_t window = step; window <= std::min(hi, whole); window += step) {
      if (window >= lo) windows.push_back(window);
    }
    if (hi >= whole && (windows.empty() || windows.back() != whole)) windows.push_back(whole);
    return windows;
  }

  void add_windows(Extents window) {
    const std::size_t axis = window.rank();
    if (axis == space_.input.rank()) return add_strides(window);
    for (const std::int64_t size : windows_of(axis)) {
      Extents longer = window;
      longer.push_back(size);
      add_windows(longer);
    }
  }

  [[nodiscard]] bool balanced(const Extents& window) const {
    double least = 1e300, most = 0;
    for (std::size_t axis = 0; axis < window.rank(); ++axis) {
      const double ratio = static_cast<double>(space_.input[axis]) / static_cast<double>(window[axis]);
      least = std::min(least, ratio);
      most = std::max(most, ratio);
    }
    return !max_imbalance_ || most <= *max_imbalance_ * least;
  }

  void add_strides(const Extents& window) {
    poll_now();
    if (window == space_.input || !balanced(window)) return;  // dense attention has a kernel of its own
    add(window, strides_of(window, 0));
    add(window, strides_of(window, 1));
    for (int doubled = 0; doubled < 1 << window.rank(); ++doubled) {
      Extents stride;
      for (std::size_t axis = 0; axis < window.rank(); ++axis)
        stride.push_back(strides_of(window, (doubled >> axis & 1) + 1)[axis]);
      if (!fast_path(mask_of(window, stride))) continue;
      add(window, stride);
      break;
    }
  }

  /// Of whole Q tiles; 0: of a token. As near as the range has them.
  [[nodiscard]] Extents strides_of(const Extents& window, std::int64_t q_tiles) const {
    Extents stride;
    for (std::size_t axis = 0; axis < window.rank(); ++axis) {
      const auto [lo, hi] = space_.stride[axis];
      const std::int64_t wish = q_tiles == 0 ? 1 : q_tiles * tiles().q_tile[axis];
      stride.push_back(std::min({std::max(wish, lo), hi, window[axis]}));
    }
    return stride;
  }

  [[nodiscard]] NeighborhoodMask mask_of(const Extents& window, const Extents& stride) const {
    return make_mask(space_.input, window, stride, space_.dilation, space_.causal, space_.cyclic);
  }

  [[nodiscard]] bool fast_path(const NeighborhoodMask& mask) const {
    for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
      if (has_pass(space_.phase, walk) &&
          !natten_fast_path(problem_of(space_, mask, space_.tiles[choice_], walk)))
        return false;
    }
    return true;
  }

  void add(const Extents& window, const Extents& stride) {
    const NeighborhoodMask mask = mask_of(window, stride);
    for (std::size_t at = points_.size();
         at-- > 0 && points_[at].choice == choice_ && window_of(points_[at].mask) == window;) {
      if (points_[at].mask == mask) return;
    }
    const SearchConstraints& wanted = question_.constraints;
    if (wanted.natten_fast_path && !fast_path(mask)) return;
    if (wanted.sparsity) {
      const double sparsity = sparsity_of(mask);
      if (sparsity < wanted.sparsity->lo - 1e-12 || sparsity > wanted.sparsity->hi + 1e-12) return;
    }
    points_.push_back({mask, choice_});
  }

  const SearchQuestion& question_;
  const SearchSpace& space_;
  std::optional<double> max_imbalance_;
  std::size_t choice_ = 0;
  std::vector<Point> points_;
};

/// What a head adds to the mean load of a launch's workers.
double least_head_ms(const SearchSpace& space, const TimedChoice& timed, const Enumeration::Point& point,
                     std::int64_t heads) {
  double ms = 0;
  for (const TimedPass& pass : timed.passes) {
    const TileChoice& tiles = space.tiles[point.choice];
    NattenProblem problem{.mask = point.mask, .backend = pass.family};
    problem.tiles = pass.walk == Walk::kForward ? tiles.tiles : tiles.backward_tiles;
    problem.pass = pass.walk;
    problem.kernel_alone = true;
    LaunchWork work = launch_work(natten_visits(problem).attention, point.mask.rank(), pass.repeats / heads, pass.workers);
    work.waves = work.ctas / static_cast<double>(work.workers);
    PassCosts costs = pass.costs;
    costs.launch_us = costs.slowdown = 0;
    ms += launch_time(work, costs).total_ms;
  }
  return ms;
}

/// Of the same mask the fastest.
std::vector<RecallCandidate> fastest_of_each(std::vector<RecallCandidate> all) {
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ms < b.ms; });
  const auto key = [](const RecallCandidate& each) {
    return std::pair{window_of(each.mask), stride_of(each.mask)};
  };
  std::map<std::pair<Extents, Extents>, bool> seen;
  std::erase_if(all, [&](const RecallCandidate& each) { return !seen.emplace(key(each), true).second; });
  return all;
}

}  // namespace

std::vector<RecallCandidate> recall_candidates(SearchQuestion& question, const Context& context) {
  require_no(question.constraints.fully_block_sparse, "fully_block_sparse");
  require_no(question.constraints.no_padding, "no_padding");
  require_no(question.constraints.min_speedup.has_value(), "min_speedup");
  require_no(asks_cycle(question.cyclic), "cyclic");
  SearchAnswer answer;
  answer.question = question;
  answer.question.objective = Objective::kTime;
  SearchSpace space = space_of(context.catalog, answer);
  (void)leave_out_refused(answer.question, context, space);
  const auto objective = time_objective(answer.question, space, context);
  if (const auto* missing = std::get_if<MissingTime>(&objective))
    throw InvalidParameter("recall", "no time", "a time for every tile choice: " + missing->sentence);
  const TimeObjective& timed = std::get<TimeObjective>(objective);
  Enumeration enumeration(question, space,
                          question.constraints.max_imbalance);  // as asked: the data judge shapes
  const std::vector<Enumeration::Point> points = enumeration.points();
  std::vector<RecallCandidate> all(points.size());
  run_tasks(points.size(), {.threads = context.threads}, [&](std::size_t i, std::size_t) {
    all[i] = {points[i].mask, space.tiles[points[i].choice], false,
              timed.exact_ms(points[i].mask, points[i].choice),
              least_head_ms(space, timed.choices[points[i].choice], points[i], *question.setting.heads)};
  });
  const bool sparse_wanted = question.constraints.sparsity && question.constraints.sparsity->lo > 0;
  const bool has_whole =
      std::equal(space.input.begin(), space.input.end(), space.window.begin(),
                 [](std::int64_t length, const IntRange& range) { return range.hi >= length; });
  if (has_whole && !sparse_wanted && !refused_dense_window(answer.question, context, space)) {
    RecallCandidate dense{make_mask(space.input, space.input, {}, {}, space.causal), space.tiles.front(),
                          true, 0, 0};
    dense.ms = launch_ms(answer.question, dense, *question.setting.heads, context);
    all.push_back(std::move(dense));
  }
  answer.question.constraints = question.constraints;
  question = answer.question;
  if (all.empty())
    throw InvalidParameter("window_range", "no window", "ranges and constraints that a window meets");
  return fastest_of_each(std::move(all));
}

SearchQuestion question_of(const SearchQuestion& question, const RecallCandidate& candidate) {
  SearchQuestion one = question;
  one.window = window_of(candidate.mask);
  one.stride = stride_of(candidate.mask);
  one.window_range = one.stride_range = {};
  one.stride_max = one.q_tile = one.kv_tile = one.backward_q_tile = one.backward_kv_tile = {};
  one.kernels = {};
  one.tiles = {candidate.tiles};
  one.dense_axes = {};
  one.constraints = {};
  one.recall = {};
  one.objective = Objective::kTime;
  one.kind = SearchKind::kBest;
  one.distinct = Distinct::kWindow;
  one.top = 1;
  return one;
}

double launch_ms(const SearchQuestion& question, const RecallCandidate& candidate, std::int64_t heads,
                 const Context& context) {
  SearchAnswer answer;
  answer.question = question_of(question, candidate);
  answer.question.setting.heads = heads;
  answer.question.setting.heads_kv = heads;
  if (candidate.dense) {
    const SearchAnswer found = search(answer.question, context);
    double ms = 0;
    for (const SearchCandidate& each : found.candidates) ms += each.speedup * each.total_ms();
    return ms;
  }
  const SearchSpace space = space_of(context.catalog, answer);
  return std::get<TimeObjective>(time_objective(answer.question, space, context)).exact_ms(candidate.mask, 0);
}

}  // namespace natten_sim::study
