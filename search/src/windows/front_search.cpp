#include <algorithm>
#include <string>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>

#include "windows/axis_table.hpp"
#include "windows/candidate_order.hpp"
#include "windows/nearest_sparsity.hpp"
#include "windows/space.hpp"

namespace natten_sim {
namespace {

constexpr std::size_t kMaxTuples = std::size_t{1} << 24;

struct StrideCost {
  std::int64_t stride = 1;
  PerPass<std::int64_t> cost = {0, 0};
};

/// Options of one axis with the same window and attended pairs, reduced to their own front over (smaller
/// stride, smaller cost in each pass). Exact: products are strictly increasing in each factor, so a point
/// with a dominated option is dominated, and two options of one group never agree in both.
struct WindowGroup {
  std::int64_t window = 0;
  std::int64_t attended = 0;
  std::vector<StrideCost> front;
};

std::vector<WindowGroup> window_groups(const AxisTable& table) {
  std::vector<WindowGroup> groups;
  for (const AxisClass& axis_class : table.classes) {
    poll();
    if (groups.empty() || groups.back().window != axis_class.window ||
        groups.back().attended != axis_class.attended) {
      groups.push_back({axis_class.window, axis_class.attended, {}});
    }
    // The smallest stride of a class stands for it: the others cost the same.
    groups.back().front.push_back({table.strides_of(axis_class).front(), axis_class.cost});
  }
  for (WindowGroup& group : groups) {
    std::sort(group.front.begin(), group.front.end(),
              [](const StrideCost& a, const StrideCost& b) { return a.stride < b.stride; });
    std::vector<StrideCost> kept;
    for (const StrideCost& option : group.front) {
      poll();
      const bool dominated = std::any_of(kept.begin(), kept.end(), [&](const StrideCost& other) {
        return other.cost[0] <= option.cost[0] && other.cost[1] <= option.cost[1];
      });
      if (!dominated) kept.push_back(option);
    }
    group.front = std::move(kept);
  }
  return groups;
}

/// One window group an axis: all strides of one window under one tile choice.
struct WindowTuple {
  std::int64_t attended = 1;
  std::uint32_t choice = 0;
  PerAxis<std::uint32_t> groups;
};

/// Non-dominated (stride product, cost) pairs: products ascend, costs descend.
class Staircase2 {
 public:
  [[nodiscard]] bool dominates(std::int64_t stride_product, const Ratio& cost) const {
    const auto behind = behind_product(stride_product);
    return behind != steps_.begin() && !(cost < std::prev(behind)->cost);
  }
  void add(std::int64_t stride_product, const Ratio& cost) {
    const auto first =
        std::lower_bound(steps_.begin(), steps_.end(), stride_product,
                         [](const Step& step, std::int64_t value) { return step.stride_product < value; });
    auto last = first;
    while (last != steps_.end() && !(last->cost < cost)) ++last;
    steps_.insert(steps_.erase(first, last), Step{stride_product, cost});
  }

 private:
  struct Step {
    std::int64_t stride_product;
    Ratio cost;
  };
  [[nodiscard]] std::vector<Step>::const_iterator behind_product(std::int64_t stride_product) const {
    return std::upper_bound(steps_.begin(), steps_.end(), stride_product,
                            [](std::int64_t value, const Step& step) { return value < step.stride_product; });
  }
  std::vector<Step> steps_;
};

class FrontBuilder {
 public:
  FrontBuilder(const SearchSpace& space, const SearchTables& tables, const SearchConstraints& constraints)
      : space_(space),
        tables_(tables),
        bounds_(attended_bounds(space, constraints)),
        limit_(cost_limit(constraints)),
        imbalance_(constraints),
        rank_(space.input.rank()) {
    for (const ChoiceTables& choice : tables.choices) {
      PerAxis<std::vector<WindowGroup>> axes;
      for (const AxisTable* table : choice.axes) axes.push_back(window_groups(*table));
      groups_.push_back(std::move(axes));
    }
    std::size_t count = 0;
    for_each_tuple([&](const WindowTuple&) {
      if (++count <= kMaxTuples) return;
      throw InvalidParameter("search space",
                             "more than " + std::to_string(kMaxTuples) + " window combinations",
                             "fewer for a Pareto front: narrow it with " + mention("window-range") +
                                 " or " + mention("sparsity"));
    });
    tuples_.reserve(count);
    for_each_tuple([&](const WindowTuple& tuple) { tuples_.push_back(tuple); });
    const auto more = [](const WindowTuple& a, const WindowTuple& b) { return a.attended > b.attended; };
    std::sort(tuples_.begin(), tuples_.end(), polled(more));
  }

  /// Tuples by falling attended pairs: a point stays iff nothing that attends to more (or as much) dominates
  /// it.
  std::vector<RankedPoint> build(const SearchRun& run) {
    std::vector<RankedPoint> front;
    for (std::size_t begin = 0, end = 0; begin < tuples_.size(); begin = end) {
      poll();
      batch_.clear();
      for (end = begin; end < tuples_.size() && tuples_[end].attended == tuples_[begin].attended; ++end) {
        add_points(tuples_[end]);
      }
      settle_batch(front);
      if (run.progress && (end >> 12) != (begin >> 12)) {
        run.progress(0.5 + 0.5 * static_cast<double>(end) / static_cast<double>(tuples_.size()));
      }
    }
    const CandidateOrder order(space_);
    std::sort(front.begin(), front.end(), polled(order));
    return front;
  }

 private:
  /// Calls function(tuple) for every tuple within the bounds and the imbalance limit.
  template <typename Function>
  void for_each_tuple(const Function& function) const {
    for (std::size_t choice = 0; choice < groups_.size(); ++choice) {
      WindowTuple tuple;
      tuple.choice = static_cast<std::uint32_t>(choice);
      tuple.groups = PerAxis<std::uint32_t>(rank_, 0);
      for_each_tuple_from(0, tuple, {}, function);
    }
  }
  template <typename Function>
  void for_each_tuple_from(std::size_t axis, WindowTuple& tuple, const Unevenness& unevenness,
                           const Function& function) const {
    const std::vector<WindowGroup>& groups = groups_[tuple.choice][axis];
    const std::int64_t before = tuple.attended;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      poll();
      tuple.groups[axis] = static_cast<std::uint32_t>(i);
      tuple.attended = before * groups[i].attended;
      Unevenness next = unevenness;
      next.add_axis(space_.input[axis], groups[i].window);
      if (!imbalance_.allows(next)) continue;  // further axes only add to it
      if (axis + 1 < rank_) {
        for_each_tuple_from(axis + 1, tuple, next, function);
      } else if (tuple.attended >= bounds_.lo && tuple.attended <= bounds_.hi) {
        function(tuple);
      }
    }
    tuple.attended = before;
  }

  void add_points(const WindowTuple& tuple) {
    RankedPoint point;
    point.tile_choice = tables_.choices[tuple.choice].tile_choice;
    point.attended = tuple.attended;
    point.window = point.stride = Extents(rank_, 1);
    Unevenness unevenness;
    for (std::size_t axis = 0; axis < rank_; ++axis) {
      point.window[axis] = group(tuple, axis).window;
      unevenness.add_axis(space_.input[axis], point.window[axis]);
    }
    point.unevenness = unevenness.ratio();
    add_strides(tuple, 0, {1, 1}, point);
  }

  void add_strides(const WindowTuple& tuple, std::size_t axis, const PerPass<std::int64_t>& cost,
                   RankedPoint& point) {
    if (axis == rank_) {
      point.cost = tables_.choices[tuple.choice].scale.cost(cost);
      if (limit_ && *limit_ < point.cost) return;
      if (!settled_.dominates(point.stride_product, point.cost)) batch_.push_back(point);
      return;
    }
    const std::int64_t before = point.stride_product;
    for (const StrideCost& option : group(tuple, axis).front) {
      point.stride[axis] = option.stride;
      point.stride_product = before * option.stride;
      add_strides(tuple, axis + 1, {cost[0] * option.cost[0], cost[1] * option.cost[1]}, point);
    }
  }

  void settle_batch(std::vector<RankedPoint>& front) {
    const CandidateOrder order(space_);
    const auto smaller = [&](const RankedPoint& a, const RankedPoint& b) {
      return a.stride_product != b.stride_product ? a.stride_product < b.stride_product : order(a, b);
    };
    std::sort(batch_.begin(), batch_.end(), polled(smaller));
    for (const RankedPoint& point : batch_) {
      poll();
      if (settled_.dominates(point.stride_product, point.cost)) continue;
      settled_.add(point.stride_product, point.cost);
      front.push_back(point);
    }
  }

  [[nodiscard]] const WindowGroup& group(const WindowTuple& tuple, std::size_t axis) const {
    return groups_[tuple.choice][axis][tuple.groups[axis]];
  }

  const SearchSpace& space_;
  const SearchTables& tables_;
  AttendedBounds bounds_;
  std::optional<Ratio> limit_;
  ImbalanceLimit imbalance_;
  std::size_t rank_;
  std::vector<PerAxis<std::vector<WindowGroup>>> groups_;  // [choice][axis]
  std::vector<WindowTuple> tuples_;
  std::vector<RankedPoint> batch_;
  Staircase2 settled_;
};

/// Front over (stride product, cost) of one window; attended pairs do not count, though causal ones vary with
/// stride.
std::vector<RankedPoint> ladder_points(const SearchSpace& space, const ChoiceTables& choice,
                                       const SearchConstraints& constraints) {
  const AttendedBounds bounds = attended_bounds(space, constraints);
  const ImbalanceLimit imbalance(constraints);
  const std::size_t rank = space.input.rank();
  struct Rung {
    RankedPoint point;
    PerPass<std::int64_t> cost = {1, 1};
  };
  std::vector<Rung> rungs(1);
  Unevenness unevenness;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::vector<Rung> longer;
    const AxisTable& table = *choice.axes[axis];
    unevenness.add_axis(space.input[axis], space.window[axis].lo);
    for (const Rung& rung : rungs) {
      for (const AxisClass& axis_class : table.classes) {
        poll();
        Rung next = rung;
        next.point.attended *= axis_class.attended;
        for (std::size_t pass = 0; pass < next.cost.size(); ++pass) next.cost[pass] *= axis_class.cost[pass];
        next.point.cost = choice.scale.cost(next.cost);
        next.point.window.push_back(axis_class.window);
        // The smallest stride of a class stands for it: the others cost the same.
        next.point.stride.push_back(table.strides_of(axis_class).front());
        next.point.stride_product *= next.point.stride[axis];
        longer.push_back(next);
      }
    }
    rungs = std::move(longer);
  }
  std::vector<RankedPoint> points;
  for (const Rung& rung : rungs) points.push_back(rung.point);
  const std::optional<Ratio> limit = cost_limit(constraints);
  std::erase_if(points, [&](const RankedPoint& point) {
    return point.attended < bounds.lo || point.attended > bounds.hi || (limit && *limit < point.cost);
  });
  if (!imbalance.allows(unevenness)) points.clear();
  std::sort(points.begin(), points.end(), [](const RankedPoint& a, const RankedPoint& b) {
    if (a.stride_product != b.stride_product) return a.stride_product < b.stride_product;
    if (a.cost < b.cost || b.cost < a.cost) return a.cost < b.cost;
    return a.stride < b.stride;
  });
  std::vector<RankedPoint> ladder;
  for (const RankedPoint& point : points) {
    if (ladder.empty() || point.cost < ladder.back().cost) ladder.push_back(point);
  }
  return ladder;
}

}  // namespace

SearchResult search_pareto(const SearchSpace& space, const SearchConstraints& constraints,
                           Objective objective, const SearchRun& run) {
  require_valid(space, constraints);
  SearchResult result;
  result.space_size = space_size(space);
  const TableRequest wanted{.attended = attended_bounds(space, constraints),
                            .limit = cost_limit(constraints)};
  const SearchTables tables = make_tables(space, constraints, objective, run, wanted);
  result.evaluated = tables.evaluated;
  result.candidates = to_candidates(space, FrontBuilder(space, tables, constraints).build(run));
  if (result.candidates.empty()) {
    result.nearest_sparsity = nearest_sparsity(space, constraints, objective, run);
  }
  return result;
}

SearchResult stride_ladder(const SearchSpace& space, const SearchConstraints& constraints,
                           const SearchRun& run) {
  require_valid(space, constraints);
  for (const IntRange& window : space.window) {
    if (window.lo != window.hi) {
      throw InvalidParameter("window", std::to_string(window.lo) + ":" + std::to_string(window.hi),
                             "one fixed window for a stride ladder");
    }
  }
  if (space.tiles.size() != 1) {
    throw InvalidParameter("tiles", std::to_string(space.tiles.size()) + " tile pairs",
                           "one tile pair for a stride ladder");
  }
  SearchResult result;
  result.space_size = space_size(space);
  const TableRequest wanted{.attended = attended_bounds(space, constraints),
                            .limit = cost_limit(constraints)};
  const SearchTables tables = make_tables(space, constraints, Objective::kWorst, run, wanted);
  result.evaluated = tables.evaluated;
  std::vector<RankedPoint> points;
  if (!tables.choices.empty()) points = ladder_points(space, tables.choices.front(), constraints);
  result.candidates = to_candidates(space, points);
  if (result.candidates.empty()) {
    result.nearest_sparsity = nearest_sparsity(space, constraints, Objective::kWorst, run);
  }
  return result;
}

}  // namespace natten_sim
