#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>

#include "windows/axis_table.hpp"
#include "windows/candidate_order.hpp"
#include "windows/minimum_tree.hpp"
#include "windows/nearest_sparsity.hpp"
#include "windows/option_bounds.hpp"
#include "windows/representatives.hpp"
#include "windows/run_part.hpp"
#include "windows/space.hpp"

namespace natten_sim {
namespace {

/// The best points so far, at most `capacity`; a heap with the worst on top.
class BestPoints {
 public:
  BestPoints(std::size_t capacity, CandidateOrder order) : capacity_(capacity), order_(order) {}

  [[nodiscard]] bool full() const { return points_.size() >= capacity_; }
  [[nodiscard]] const RankedPoint& worst() const { return points_.front(); }
  void offer(const RankedPoint& point) {
    if (full()) {
      if (!order_(point, worst())) return;
      std::pop_heap(points_.begin(), points_.end(), order_);
      points_.pop_back();
    }
    points_.push_back(point);
    std::push_heap(points_.begin(), points_.end(), order_);
  }
  [[nodiscard]] const std::vector<RankedPoint>& points() const { return points_; }

 private:
  std::size_t capacity_;
  CandidateOrder order_;
  std::vector<RankedPoint> points_;
};

/// What all workers read for one tile choice: the last axis ready for range-minimum queries, and what the
/// axes behind each one can still contribute.
struct ChoiceIndex {
  const ChoiceTables* choice = nullptr;
  std::vector<std::int64_t> last_attended;  // of the last axis' classes, ascending
  MinimumTree last_cost;                    // of the first pass
  PerPass<std::int64_t> least_last_cost = {0, 0};
  PerPass<long double> last_cost_per_pair = {0, 0};
  PerAxis<PerPass<Int128>> rest_cost;  // products over the axes behind axis a
  PerAxis<Int128> rest_attended_lo, rest_attended_hi;
  PerAxis<PerPass<long double>> rest_cost_per_pair;  // products of the least cost for each attended pair
};

ChoiceIndex make_index(const ChoiceTables& choice) {
  ChoiceIndex index;
  index.choice = &choice;
  const std::size_t rank = choice.axes.rank();
  std::vector<std::int64_t> costs;
  for (const AxisClass& axis_class : choice.axes[rank - 1]->classes) {
    poll();
    index.last_attended.push_back(axis_class.attended);
    costs.push_back(axis_class.cost[0]);
  }
  index.last_cost = MinimumTree(costs);
  index.rest_attended_lo = index.rest_attended_hi = PerAxis<Int128>(rank, 1);
  index.rest_cost = PerAxis<PerPass<Int128>>(rank, {1, 1});
  index.rest_cost_per_pair = PerAxis<PerPass<long double>>(rank, {1, 1});
  for (std::size_t axis = rank; axis-- > 0;) {
    const std::vector<AxisClass>& classes = choice.axes[axis]->classes;
    PerPass<std::int64_t> cheapest = classes.front().cost;
    PerPass<long double> per_pair;
    per_pair.fill(std::numeric_limits<long double>::max());
    for (const AxisClass& axis_class : classes) {
      poll();
      for (std::size_t pass = 0; pass < cheapest.size(); ++pass) {
        cheapest[pass] = std::min(cheapest[pass], axis_class.cost[pass]);
        per_pair[pass] = std::min(per_pair[pass], static_cast<long double>(axis_class.cost[pass]) /
                                                      static_cast<long double>(axis_class.attended));
      }
    }
    if (axis + 1 == rank) {
      index.least_last_cost = cheapest;
      index.last_cost_per_pair = per_pair;
    }
    if (axis == 0) break;
    for (std::size_t pass = 0; pass < cheapest.size(); ++pass) {
      index.rest_cost_per_pair[axis - 1][pass] = index.rest_cost_per_pair[axis][pass] * per_pair[pass];
      index.rest_cost[axis - 1][pass] = index.rest_cost[axis][pass] * cheapest[pass];
    }
    index.rest_attended_lo[axis - 1] = index.rest_attended_lo[axis] * classes.front().attended;
    index.rest_attended_hi[axis - 1] = index.rest_attended_hi[axis] * classes.back().attended;
  }
  return index;
}

/// Walks the classes of all axes of one choice depth-first and offers what can still be among the best.
class ChoiceWalk {
 public:
  ChoiceWalk(const SearchSpace& space, const AttendedBounds& bounds, const ImbalanceLimit& imbalance,
             const ChoiceIndex& index, const std::optional<Ratio>& limit, BestPoints& best)
      : space_(space),
        bounds_(bounds),
        imbalance_(imbalance),
        index_(index),
        scale_(index.choice->scale),
        best_(best),
        rank_(space.input.rank()),
        classes_(rank_, nullptr) {
    point_.tile_choice = index.choice->tile_choice;
    point_.window = point_.stride = Extents(rank_, 1);
    if (limit) lower_limit(*limit);
    update_limit();
  }

  /// All tuples whose class on the first axis is `first`; rank 1 has no such tuple to fix, see walk_last.
  void walk_from(std::size_t first) { enter(0, index_.choice->axes[0]->classes[first], {1, {1, 1}, {}}); }
  void walk_last_axis_only() { walk_last({1, {1, 1}, {}}); }

 private:
  struct Prefix {
    std::int64_t attended;
    PerPass<std::int64_t> cost;
    Unevenness unevenness;
  };

  void enter(std::size_t axis, const AxisClass& axis_class, Prefix prefix) {
    prefix.attended *=
        axis_class.attended;  // products of whole problems fit in 63 bits: checked in make_tables
    for (std::size_t pass = 0; pass < prefix.cost.size(); ++pass) prefix.cost[pass] *= axis_class.cost[pass];
    if (prefix.attended * index_.rest_attended_hi[axis] < bounds_.lo) return;
    if (prefix.attended * index_.rest_attended_lo[axis] > bounds_.hi) return;
    Int128 least_cost = 0;
    long double least = 0;
    for (std::size_t pass = 0; pass < prefix.cost.size(); ++pass) {
      const Int128 scaled = static_cast<Int128>(scale_.scale[pass]) * prefix.cost[pass];
      least_cost += scaled * index_.rest_cost[axis][pass];
      least += static_cast<long double>(scaled) * index_.rest_cost_per_pair[axis][pass];
    }
    if (least_cost > cost_limit_) return;
    // The axes behind have to attend to at least bounds_.lo / prefix.attended pairs.
    least *= static_cast<long double>(bounds_.lo) / static_cast<long double>(prefix.attended);
    if (least > static_cast<long double>(cost_limit_) * kBoundSlack) return;
    prefix.unevenness.add_axis(space_.input[axis], axis_class.window);
    if (!imbalance_.allows(prefix.unevenness)) return;  // further axes only add to it
    classes_[axis] = &axis_class;
    if (axis + 2 == rank_) {
      walk_last(prefix);
      return;
    }
    for (const AxisClass& next : index_.choice->axes[axis + 1]->classes) {
      poll();
      enter(axis + 1, next, prefix);
    }
  }

  void walk_last(const Prefix& prefix) {
    const std::vector<std::int64_t>& attended = index_.last_attended;
    const auto begin =
        std::lower_bound(attended.begin(), attended.end(), ceil_divide(bounds_.lo, prefix.attended));
    const auto end = std::upper_bound(begin, attended.end(), bounds_.hi / prefix.attended);
    const auto stop = static_cast<std::size_t>(end - attended.begin());
    const std::size_t last = rank_ - 1;
    const PerPass<std::int64_t> scaled = {scale_.scale[0] * prefix.cost[0], scale_.scale[1] * prefix.cost[1]};
    const std::int64_t of_second = least_of_second(scaled[1], begin == end ? 0 : *begin);
    for (std::size_t i = static_cast<std::size_t>(begin - attended.begin());; ++i) {
      poll();
      if (of_second > cost_limit_) return;
      i = index_.last_cost.next_at_most(i, stop, (cost_limit_ - of_second) / scaled[0]);
      if (i == stop) return;
      const AxisClass& axis_class = index_.choice->axes[last]->classes[i];
      Unevenness unevenness = prefix.unevenness;
      unevenness.add_axis(space_.input[last], axis_class.window);
      if (!imbalance_.allows(unevenness)) continue;
      classes_[last] = &axis_class;
      point_.cost = scale_.cost({prefix.cost[0] * axis_class.cost[0], prefix.cost[1] * axis_class.cost[1]});
      if (point_.cost.numerator > cost_limit_) continue;
      point_.attended = prefix.attended * axis_class.attended;
      point_.unevenness = unevenness.ratio();
      point_.stride_product = 1;
      point_.fast_path = std::all_of(classes_.begin(), classes_.end(),
                                     [](const AxisClass* chosen) { return chosen->fast_path; });
      offer_strides(0);
      update_limit();
    }
  }

  /// No class of the last axis that attends to `attended` pairs or more adds less than this for the second
  /// pass.
  [[nodiscard]] std::int64_t least_of_second(std::int64_t scaled, std::int64_t attended) const {
    const long double by_pairs = static_cast<long double>(scaled) * index_.last_cost_per_pair[1] *
                                 static_cast<long double>(attended) / kBoundSlack;
    return std::max(scaled * index_.least_last_cost[1], static_cast<std::int64_t>(by_pairs));
  }

  /// Strides ascend on every axis, so the first one that cannot be among the best ends its loop.
  void offer_strides(std::size_t axis) {
    if (axis == rank_) {
      best_.offer(point_);
      return;
    }
    const std::int64_t before = point_.stride_product;
    point_.window[axis] = classes_[axis]->window;
    for (const std::int64_t stride : index_.choice->axes[axis]->strides_of(*classes_[axis])) {
      point_.stride[axis] = stride;
      point_.stride_product = before * stride;
      if (hopeless(axis)) break;
      offer_strides(axis + 1);
    }
    point_.stride_product = before;
  }

  /// No completion of the strides up to `axis` can displace the worst of the best.
  [[nodiscard]] bool hopeless(std::size_t axis) const {
    if (!best_.full()) return false;
    const RankedPoint& worst = best_.worst();
    if (point_.cost < worst.cost) return false;
    if (worst.cost < point_.cost) return true;
    if (point_.fast_path != worst.fast_path) return worst.fast_path;
    std::int64_t least = point_.stride_product;
    for (std::size_t behind = axis + 1; behind < rank_; ++behind) {
      least *= index_.choice->axes[behind]->strides_of(*classes_[behind]).front();
    }
    if (least != worst.stride_product) return least > worst.stride_product;
    return worst.unevenness < point_.unevenness;
  }

  void update_limit() {
    if (best_.full()) lower_limit(best_.worst().cost);
  }

  void lower_limit(const Ratio& cost) {
    const UInt128 limit = static_cast<UInt128>(cost.numerator) * static_cast<UInt128>(scale_.base) /
                          static_cast<UInt128>(cost.denominator);
    if (limit < static_cast<UInt128>(cost_limit_)) cost_limit_ = static_cast<std::int64_t>(limit);
  }

  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  const SearchSpace& space_;
  const AttendedBounds& bounds_;
  const ImbalanceLimit& imbalance_;
  const ChoiceIndex& index_;
  const CostScale& scale_;
  BestPoints& best_;
  std::size_t rank_;
  PerAxis<const AxisClass*> classes_;
  RankedPoint point_;
  std::int64_t cost_limit_ = kNoLimit;  ///< largest sum of scaled costs that can still be among the best
};

struct BestRequest {
  const SearchSpace& space;
  const SearchConstraints& constraints;
  std::size_t top = 1;
  const SearchRun& run;
  AttendedBounds bounds;
  std::optional<Ratio> limit;
  double from, to;  // of the progress
};

/// The best points of the tables, in order.
std::vector<RankedPoint> best_points(const SearchTables& tables, const BestRequest& request) {
  struct Task {
    std::size_t index = 0;
    std::size_t first_class = 0;
    long double cost_per_pair = 0;
  };
  std::vector<ChoiceIndex> indices;
  std::vector<Task> tasks;
  const bool one_axis = request.space.input.rank() == 1;
  for (const ChoiceTables& choice : tables.choices) {
    const std::size_t first_classes = one_axis ? 1 : choice.axes[0]->classes.size();
    for (std::size_t i = 0; i < first_classes; ++i) {
      poll();
      const AxisClass& first = choice.axes[0]->classes[i];
      long double cost = 0;
      for (std::size_t pass = 0; pass < first.cost.size(); ++pass)
        cost +=
            static_cast<long double>(choice.scale.scale[pass]) * static_cast<long double>(first.cost[pass]);
      tasks.push_back({indices.size(), i, cost / static_cast<long double>(first.attended)});
    }
    indices.push_back(make_index(choice));
  }
  // Promising ones first: they lower the limit for the rest. The result does not depend on it.
  if (request.bounds.lo > 0) {
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const Task& a, const Task& b) { return a.cost_per_pair < b.cost_per_pair; });
  }
  const ImbalanceLimit imbalance(request.constraints);
  const CandidateOrder order(request.space);
  const Parallel parallel = run_part(request.run, request.from, request.to);
  std::vector<BestPoints> best(worker_count(parallel), BestPoints(request.top, order));
  run_tasks(tasks.size(), parallel, [&](std::size_t task, std::size_t worker) {
    ChoiceWalk walk(request.space, request.bounds, imbalance, indices[tasks[task].index], request.limit,
                    best[worker]);
    one_axis ? walk.walk_last_axis_only() : walk.walk_from(tasks[task].first_class);
  });
  std::vector<RankedPoint> points;
  for (const BestPoints& of_worker : best) {
    points.insert(points.end(), of_worker.points().begin(), of_worker.points().end());
  }
  std::sort(points.begin(), points.end(), order);
  if (points.size() > request.top) points.resize(request.top);
  return points;
}

}  // namespace

SearchResult search_best(const SearchSpace& space, const SearchConstraints& constraints, Objective objective,
                         std::size_t top, const SearchRun& run) {
  return search_representatives(space, constraints, objective, top, LeaveOut::kNothing, run);
}

SearchResult search_representatives(const SearchSpace& space, const SearchConstraints& constraints,
                                    Objective objective, std::size_t top, LeaveOut leave_out,
                                    const SearchRun& run) {
  require_valid(space, constraints);
  if (top == 0) throw InvalidParameter("top", "0", "1 or more");
  SearchResult result;
  result.space_size = space_size(space);
  BestRequest request{.space = space,
                      .constraints = constraints,
                      .top = top,
                      .run = run,
                      .bounds = attended_bounds(space, constraints),
                      .limit = cost_limit(constraints),
                      .from = 0.05,
                      .to = 0.1};
  TableRequest wanted{.attended = request.bounds,
                      .limit = request.limit,
                      .leave_out = leave_out,
                      .sketch = true,
                      .from = 0,
                      .to = 0.05};
  const std::vector<RankedPoint> sketched =
      best_points(make_tables(space, constraints, objective, run, wanted), request);
  if (sketched.size() == top) request.limit = sketched.back().cost;  // as good as this, or better
  wanted = {
      .attended = request.bounds, .limit = request.limit, .leave_out = leave_out, .from = 0.1, .to = 0.55};
  request.from = 0.55;
  request.to = 1;
  const SearchTables tables = make_tables(space, constraints, objective, run, wanted);
  result.evaluated = tables.evaluated;
  result.candidates = to_candidates(space, best_points(tables, request));
  if (result.candidates.empty()) {
    result.nearest_sparsity = nearest_sparsity(space, constraints, objective, run);
  }
  return result;
}

}  // namespace natten_sim
