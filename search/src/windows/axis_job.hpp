#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "windows/attended_pairs.hpp"
#include "windows/axis_counts.hpp"
#include "windows/axis_table.hpp"

namespace natten_sim {

/// A window worth counting, and the largest costs of an option of it that can be part of an answer.
struct WindowTask {
  std::int64_t window = 0;
  PerPass<long double> largest_cost = {0, 0};
  PerPass<long double> cost_shares = {0, 0};    ///< of an option's costs, which are 1 at most together
  PerPass<long double> most_longest = {0, 0};   ///< by the CTA with most
  PerPass<long double> most_shortest = {0, 0};  ///< by each CTA
  AttendedBounds attended = {};                 ///< along the axis
};

/// Axes that agree in all of this share a table; `axis` is the first of them.
struct AxisJob {
  std::size_t axis = 0;
  PerPass<AxisTiles> tiles;
  std::vector<WindowTask> windows;
  PerPass<double> masked_cost = {1, 1};  // the least of TableRequest::masked_costs among the users
  std::int64_t options = 0;
  struct User {
    std::size_t choice = 0, axis = 0;
  };
  std::vector<User> users;  // tile choices with this table, and the axis it is for
  PerPass<AxisCounts*> counts = {nullptr, nullptr};  // that jobs share; null: every option is counted
  AttendedPairs* pairs = nullptr;                    // of options; null: no option is left out by its own
};

/// What the tables of one call have in common.
struct TableContext {
  const SearchSpace& space;
  const SearchConstraints& constraints;
  Objective objective;
  const SearchRun& run;
  const TableRequest& request;
  Passes passes;
};

/// The options of `job` that can be part of an answer; the progress goes from `from` to `to`.
[[nodiscard]] AxisTable make_axis_table(const TableContext& context, const AxisJob& job, double from, double to);

/// Windows that a sketch of an axis looks at, and strides of each, at most.
inline constexpr std::int64_t kSketchWindows = 256;
inline constexpr std::int64_t kSketchStrides = 160;  // at most: the tiles' powers of two, the ends

}  // namespace natten_sim
