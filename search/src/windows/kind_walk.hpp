#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <natten_sim/search/windows/time_search.hpp>

#include "windows/axis_kinds.hpp"
#include "windows/candidate_order.hpp"
#include "windows/kind_groups.hpp"

namespace natten_sim {

/// A combination of kinds, one an axis, and a bound of its time.
struct KindTuple {
  double least_ms = 0;
  std::size_t choice = 0;
  std::array<std::uint32_t, kMaxRank> kinds = {};

  /// A total order, so that what is kept depends on nothing else.
  friend bool operator<(const KindTuple& a, const KindTuple& b) {
    return std::tie(a.least_ms, a.choice, a.kinds) < std::tie(b.least_ms, b.choice, b.kinds);
  }
};

/// Products of what the kinds of the first axes do in one pass.
struct WorkSoFar {
  double ctas = 1, visited = 1, without_elements = 1, unmasked = 1, filled = 1, longest = 1, shortest = 1;
  bool even = true;

  /// `padding_counts`: tiles along the axis are checked for bounds where they are padded.
  [[nodiscard]] WorkSoFar with(const AxisWork& axis, bool padding_counts) const;
};

/// The combinations of kinds of one tile choice, each with windows that are allowed together. Walks groups of kinds
/// first, and the kinds of groups that may be fast enough.
class KindWalk {
 public:
  KindWalk(const SearchSpace& space, const SearchConstraints& constraints, const TimeObjective& objective,
           std::size_t choice, const PerAxis<const GroupedKinds*>& axes);

  /// Keeps the `most` with the smallest bounds, none above `within_ms`, in `kept`: a heap with the largest on top,
  /// which other choices share.
  void collect(std::size_t most, std::vector<KindTuple>& kept, std::optional<double> within_ms = {});

  /// The first allowed point in the order of ContextOrder, without its time; none: no windows are allowed.
  [[nodiscard]] std::optional<RankedPoint> first_point(const KindTuple& tuple);

  /// The first `most` of them, in that order. O(points log most).
  [[nodiscard]] std::vector<RankedPoint> first_points(const KindTuple& tuple, std::size_t most);

 private:
  enum class Wanted { kAny, kFirst, kSome };

  [[nodiscard]] const Kinds& kinds_of(std::size_t axis) const { return *axes_[axis]->kinds; }
  [[nodiscard]] double limit() const;
  [[nodiscard]] double clipped_share(std::size_t pass) const { return timed_.passes[pass].costs.clipped_share; }
  /// No launch of this work takes less. Of cutlass-fna it is that of `tuple_`.
  [[nodiscard]] double least_ms(const WorkSoFar& done, std::size_t pass);
  void set_spread(std::size_t pass, LaunchWork& work);
  [[nodiscard]] RankedPoint empty_point() const;
  void keep(const RankedPoint& point);
  void share_spread();
  void look_behind();
  /// No combination of `before` with this group or one behind it takes less.
  [[nodiscard]] double least_behind(std::size_t axis, std::size_t group, const PerPass<WorkSoFar>& before) const;
  /// No combination that begins with `work`, on the axes up to `axis`, takes less and attends to enough.
  [[nodiscard]] double least_with(std::size_t axis, const PerPass<WorkSoFar>& work, double attended_hi) const;
  [[nodiscard]] PerPass<WorkSoFar> with(const PerPass<WorkSoFar>& before, std::size_t axis,
                                        const PerPass<AxisWork>& along) const;
  /// Cheaper bound than least_ms: ignores power, and waves that windows change.
  [[nodiscard]] double mean_ms(const PerPass<WorkSoFar>& work) const;
  /// Whether windows that reach this far may be allowed. Rounded, and checked exactly in `choose`.
  [[nodiscard]] bool may_allow(const Reach& reach, double rest_lo, double rest_hi) const;
  /// The first group that may attend to enough, or one behind it.
  [[nodiscard]] std::size_t first_group(std::size_t axis, double attended_hi) const;
  void enter(std::size_t axis, const PerPass<WorkSoFar>& before, const Reach& reach);
  /// The kinds of the groups that were entered.
  void enter_kinds(std::size_t axis, const PerPass<WorkSoFar>& before, const Reach& reach);
  void offer();
  void choose(std::size_t axis, std::int64_t attended, const Unevenness& unevenness, RankedPoint& point,
              Wanted wanted);

  const SearchSpace& space_;
  ImbalanceLimit imbalance_;
  AttendedBounds bounds_;
  const TimedChoice& timed_;
  PerAxis<const GroupedKinds*> axes_;
  PerAxis<double> rest_lo_, rest_hi_;  ///< attended pairs of the axes behind
  PerAxis<PerPass<Visits>> rest_visits_, rest_per_pair_;  ///< the least that they visit; a pair that they attend to
  /// [axis][group]: the least that this group or one behind it visits.
  std::vector<std::vector<PerPass<Visits>>> behind_visits_;
  std::array<const KindGroup*, kMaxRank> entered_ = {};
  PerPass<double> masked_us_ = {0, 0}, least_us_ = {0, 0};
  PerPass<double> rounds_ = {0, 0};    ///< least_rounds() of the launch
  PerPass<double> ms_of_us_ = {0, 0};  ///< what a microsecond of a head's CTAs makes a launch last, at least
  double fixed_ms_ = 0;  ///< launches, what comes before and after their CTAs' tiles
  double within_ms_ = 0;
  KindTuple tuple_;
  std::array<PerPass<std::unordered_map<std::uint32_t, CutlassPart>>, kMaxRank> cutlass_;  ///< of the kinds that combinations were timed of
  std::size_t most_ = 0;
  std::vector<KindTuple>* kept_ = nullptr;
  std::optional<RankedPoint> best_;
  std::vector<RankedPoint> some_;  ///< of kSome: a heap with the last on top
  std::size_t most_points_ = 0;
};

}  // namespace natten_sim
