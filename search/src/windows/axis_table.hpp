#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <natten_sim/search/windows/search.hpp>

#include "windows/option_bounds.hpp"
#include "windows/passes.hpp"

namespace natten_sim {

/// Options of one axis that no objective or constraint tells apart but by their strides: same window, same
/// attended pairs, same cost factor.
struct AxisClass {
  std::int64_t window = 0;
  std::int64_t attended = 0;            ///< token pairs along the axis
  PerPass<std::int64_t> cost = {0, 0};  ///< factors of the objective's cost: visited, maximum or attended
  bool fast_path = false;               ///< NATTEN's predicate holds; false where nobody asks
  std::size_t first_stride = 0;
  std::size_t stride_count = 0;  ///< at least 1
};

/// All options of one axis under one pair of tile sizes that pass the per-axis constraints, in classes sorted
/// by (attended, window, cost); strides within a class ascend.
struct AxisTable {
  std::vector<AxisClass> classes;
  std::vector<std::uint32_t> strides;  ///< layouts have fewer than 2^32 tokens

  [[nodiscard]] std::span<const std::uint32_t> strides_of(const AxisClass& axis_class) const {
    return {strides.data() + axis_class.first_stride, axis_class.stride_count};
  }
};

/// The tables of every axis for one tile choice, and how their costs make the objective.
struct ChoiceTables {
  std::size_t tile_choice = 0;
  PerAxis<const AxisTable*> axes;
  CostScale scale;
};

/// Owns the tables; choices that share tile sizes on an axis share its table. Choices without any feasible
/// option (padding, an axis without options) are left out.
struct SearchTables {
  std::vector<AxisTable> storage;  // one for each distinct axis and tile sizes
  std::vector<ChoiceTables> choices;
  std::int64_t evaluated = 0;
};

/// Options that may be left out, since for each combination with them one with the same windows and the same
/// tile choice comes before it in the order of `search_best`.
enum class LeaveOut {
  kNothing,
  kDenseStrides,  ///< on an axis that the window covers, all strides but the smallest
  kWorseStrides,  ///< strides that a smaller one equals, and on axes without causality those that cost more
};

/// Options that fit in memory.
inline constexpr std::int64_t kMaxOptions = 100'000'000;

/// What make_tables leaves out, and how much of the progress bar it takes.
struct TableRequest {
  AttendedBounds attended;     ///< of whole problems; options that cannot lie inside are left out
  std::optional<Ratio> limit;  ///< answers cost at most this; options that cannot be part of one are left out
  std::vector<CostLimit> choice_limits = {};  ///< instead: a limit of each tile choice of the space
  std::vector<CostLimit> longest_limits = {};   ///< and of what the longest CTAs of each may visit; empty: none
  std::vector<CostLimit> shortest_limits = {};  ///< and of what every CTA may; as many as longest_limits
  /// Of each choice, how many times as much an axis costs that NATTEN masks, all groups alike; empty: once.
  std::vector<PerPass<double>> masked_costs = {};
  LeaveOut leave_out = LeaveOut::kNothing;
  bool sketch = false;  ///< only windows and strides that tiles divide, a few hundred of them an axis
  double from = 0, to = 0.5;
};

/// @throws InvalidParameter when more than 10^8 options remain; OverflowError when a cost does not fit.
[[nodiscard]] SearchTables make_tables(const SearchSpace& space, const SearchConstraints& constraints,
                                       Objective objective, const SearchRun& run,
                                       const TableRequest& request);

/// The same, but none when more than `most` options remain.
[[nodiscard]] std::optional<SearchTables> make_tables_if_few(const SearchSpace& space,
                                                             const SearchConstraints& constraints,
                                                             Objective objective, const SearchRun& run,
                                                             const TableRequest& request,
                                                             std::int64_t most = kMaxOptions);

}  // namespace natten_sim
