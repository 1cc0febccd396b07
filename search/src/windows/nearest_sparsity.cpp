#include "windows/nearest_sparsity.hpp"

#include <natten_sim/core/cancellation.hpp>

#include <algorithm>
#include <limits>

namespace natten_sim {
namespace {

/// Largest attended count below the bounds and smallest above them.
struct Nearest {
  std::int64_t below = -1;
  std::int64_t above = std::numeric_limits<std::int64_t>::max();
};

class NearestWalk {
 public:
  NearestWalk(const SearchSpace& space, const ChoiceTables& choice, const AttendedBounds& bounds,
              const ImbalanceLimit& imbalance, Nearest& nearest)
      : space_(space), choice_(choice), bounds_(bounds), imbalance_(imbalance), nearest_(nearest) {}

  void walk(std::size_t axis, std::int64_t attended, const Unevenness& unevenness) {
    const std::vector<AxisClass>& classes = choice_.axes[axis]->classes;
    if (axis + 1 == choice_.axes.rank()) {
      walk_last(classes, attended, unevenness);
      return;
    }
    for (std::size_t i = 0; i < classes.size(); ++i) {
      poll();
      const bool same = i > 0 && classes[i].attended == classes[i - 1].attended &&
                        classes[i].window == classes[i - 1].window;
      if (same) continue;  // classes that differ by cost only
      Unevenness next = unevenness;
      next.add_axis(space_.input[axis], classes[i].window);
      if (!imbalance_.allows(next)) continue;  // further axes only add to it
      walk(axis + 1, attended * classes[i].attended, next);
    }
  }

 private:
  bool allowed(const AxisClass& axis_class, Unevenness unevenness) const {
    unevenness.add_axis(space_.input[choice_.axes.rank() - 1], axis_class.window);
    return imbalance_.allows(unevenness);
  }

  void walk_last(const std::vector<AxisClass>& classes, std::int64_t attended, const Unevenness& unevenness) {
    const auto first_above = std::upper_bound(
        classes.begin(), classes.end(), bounds_.hi / attended,
        [](std::int64_t value, const AxisClass& axis_class) { return value < axis_class.attended; });
    for (auto i = first_above; i != classes.end() && attended * i->attended < nearest_.above; ++i) {
      if (allowed(*i, unevenness)) nearest_.above = attended * i->attended;
    }
    auto last_below = std::lower_bound(
        classes.begin(), first_above, ceil_divide(bounds_.lo, attended),
        [](const AxisClass& axis_class, std::int64_t value) { return axis_class.attended < value; });
    while (last_below != classes.begin() && attended * std::prev(last_below)->attended > nearest_.below) {
      --last_below;
      if (allowed(*last_below, unevenness)) nearest_.below = attended * last_below->attended;
    }
  }

  const SearchSpace& space_;
  const ChoiceTables& choice_;
  const AttendedBounds& bounds_;
  const ImbalanceLimit& imbalance_;
  Nearest& nearest_;
};

/// The nearest sparsity among the points of the tables, and how far it is from the range.
struct NearestSparsity {
  double sparsity = 0;
  double distance = 0;
};

std::optional<NearestSparsity> nearest_in(const SearchTables& tables, const SearchSpace& space,
                                          const SearchConstraints& constraints) {
  const SparsityRange range = *constraints.sparsity;
  const AttendedBounds bounds = attended_bounds(space, constraints);
  const ImbalanceLimit imbalance(constraints);
  Nearest nearest;
  for (const ChoiceTables& choice : tables.choices) {
    NearestWalk(space, choice, bounds, imbalance, nearest).walk(0, 1, {});
  }
  const std::int64_t tokens = product(space.input, "tokens");
  const std::int64_t dense = checked_multiply(tokens, tokens, "dense_pairs");
  const auto sparsity = [&](std::int64_t attended) {
    return static_cast<double>(dense - attended) / static_cast<double>(dense);
  };
  std::optional<NearestSparsity> sparser, denser;
  if (nearest.below >= 0) sparser = {sparsity(nearest.below), sparsity(nearest.below) - range.hi};
  if (nearest.above <= dense) denser = {sparsity(nearest.above), range.lo - sparsity(nearest.above)};
  if (!sparser || !denser) return sparser ? sparser : denser;
  return sparser->distance < denser->distance ? sparser : denser;
}

}  // namespace

std::optional<double> nearest_sparsity(const SearchSpace& space, const SearchConstraints& constraints,
                                       Objective objective, const SearchRun& run) {
  if (!constraints.sparsity || constraints.min_speedup) return std::nullopt;
  // Wider and wider around the range, until the nearest point lies inside what was looked at.
  for (double margin = 0.01;; margin *= 4) {
    SearchConstraints wider = constraints;
    wider.sparsity = SparsityRange{std::max(0.0, constraints.sparsity->lo - margin),
                                   std::min(1.0, constraints.sparsity->hi + margin)};
    const TableRequest request{.attended = attended_bounds(space, wider), .limit = {}, .from = 1, .to = 1};
    const std::optional<SearchTables> tables =
        make_tables_if_few(space, constraints, objective, run, request);
    if (!tables) return std::nullopt;
    const std::optional<NearestSparsity> found = nearest_in(*tables, space, constraints);
    if (found && (found->distance <= margin || margin >= 1)) return found->sparsity;
    if (margin >= 1) return std::nullopt;
  }
}

}  // namespace natten_sim
