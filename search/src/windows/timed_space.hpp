#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include <natten_sim/search/windows/time_search.hpp>

#include "windows/axis_kinds.hpp"
#include "windows/axis_table.hpp"
#include "windows/kind_walk.hpp"

namespace natten_sim {

/// Options, and tiles of theirs, that a search by time looks at; of more it looks at those that tiles divide.
inline constexpr std::int64_t kMostTimedOptions = std::int64_t{1} << 23, kMostTimedTiles = std::int64_t{1} << 28;

/// Tiles that options of one axis have along it: how long it takes to tell their kinds apart.
[[nodiscard]] std::int64_t tiles_along(const SearchSpace& space, Walk walk, const TileChoice& choice, std::size_t axis,
                                       std::int64_t options);

/// Whether those of all tables are kMostTimedTiles or fewer.
[[nodiscard]] bool few_tiles(const SearchSpace& space, const SearchTables& tables);

/// The kinds of all choices; choices that share tiles and a kernel on an axis share its kinds.
class TimedSpace {
 public:
  TimedSpace(const SearchSpace& space, const SearchConstraints& constraints, const TimeObjective& objective,
             const SearchTables& tables, KindStrides strides, AxisMemory& memory)
      : space_(space), objective_(objective), strides_(strides), memory_(memory), walks_(space.tiles.size()) {
    for (const ChoiceTables& choice : tables.choices) {
      const TimedChoice& timed = objective.choices[choice.tile_choice];
      if (timed.passes.empty()) continue;
      PerAxis<const GroupedKinds*> axes;
      for (std::size_t axis = 0; axis < space.input.rank(); ++axis)
        axes.push_back(&groups_of(kinds_of(choice, axis), axis, timed));
      walks_[choice.tile_choice].emplace(space, constraints, objective, choice.tile_choice, axes);
    }
  }

  /// The combinations with the smallest bounds, in order.
  [[nodiscard]] std::vector<KindTuple> first_combinations(std::size_t most, std::optional<double> within_ms) {
    std::vector<KindTuple> kept;
    for (std::optional<KindWalk>& walk : walks_) {
      if (walk) walk->collect(most, kept, within_ms);
    }
    std::sort(kept.begin(), kept.end());
    return kept;
  }

  /// The combination of each choice of the space with the smallest bound, if that is within this; else an infinite one.
  [[nodiscard]] std::vector<KindTuple> least_of_each(double within_ms) {
    std::vector<KindTuple> least;
    for (std::optional<KindWalk>& walk : walks_) {
      std::vector<KindTuple> kept;
      if (walk) walk->collect(1, kept, within_ms);
      least.push_back(kept.empty() ? KindTuple{.least_ms = std::numeric_limits<double>::infinity()} : kept.front());
    }
    return least;
  }

  [[nodiscard]] RankedPoint first_point(const KindTuple& tuple) {
    return *walks_[tuple.choice]->first_point(tuple);
  }
  [[nodiscard]] std::vector<RankedPoint> first_points(const KindTuple& tuple, std::size_t most) {
    return walks_[tuple.choice]->first_points(tuple, most);
  }

 private:
  [[nodiscard]] static bool same_families(const TimedChoice& a, const TimedChoice& b) {
    return std::equal(a.passes.begin(), a.passes.end(), b.passes.begin(), b.passes.end(),
                      [](const TimedPass& x, const TimedPass& y) { return x.family == y.family; });
  }

  struct Known {
    const AxisTable* table = nullptr;
    std::size_t choice = 0, axis = 0, kinds = 0;
  };

  const Kinds& kinds_of(const ChoiceTables& choice, std::size_t axis) {
    const AxisTable* const table = choice.axes[axis];
    for (const Known& known : known_) {
      if (known.table == table && known.axis == axis &&
          same_families(objective_.choices[known.choice], objective_.choices[choice.tile_choice]))
        return kinds_[known.kinds];
    }
    kinds_.push_back(axis_kinds(space_, *table, axis, choice.tile_choice,
                                objective_.choices[choice.tile_choice], strides_, memory_));
    known_.push_back({table, choice.tile_choice, axis, kinds_.size() - 1});
    return kinds_.back();
  }

  const GroupedKinds& groups_of(const Kinds& kinds, std::size_t axis, const TimedChoice& timed) {
    const double clipped_share = timed.passes[0].costs.clipped_share;
    for (const GroupedKinds& known : grouped_) {
      if (known.kinds == &kinds && known.clipped_share == clipped_share) return known;
    }
    return grouped_.emplace_back(
        grouped(kinds, static_cast<double>(space_.input[axis]), clipped_share, timed.passes.size()));
  }

  const SearchSpace& space_;
  const TimeObjective& objective_;
  KindStrides strides_;
  AxisMemory& memory_;
  std::deque<Kinds> kinds_;            // walks point to these
  std::deque<GroupedKinds> grouped_;
  std::vector<Known> known_;
  std::vector<std::optional<KindWalk>> walks_;
};

}  // namespace natten_sim
