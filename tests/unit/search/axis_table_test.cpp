// Tables of the options of axes against every option, walked tile by tile.
#include "windows/axis_table.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"
#include "windows/space.hpp"

namespace axis_table_test {

using namespace natten_sim;

struct Option {
  std::int64_t window = 0, attended = 0;
  PerPass<std::int64_t> cost = {0, 0};
  bool fast = false;
  std::int64_t stride = 0;

  [[nodiscard]] auto all() const { return std::tie(attended, window, cost, fast, stride); }
  friend bool operator<(const Option& a, const Option& b) { return a.all() < b.all(); }
  friend bool operator==(const Option& a, const Option& b) { return a.all() == b.all(); }
};

TilingProblem on_axis(const SearchSpace& space, std::size_t axis, const Pass& pass, std::size_t choice,
                      std::int64_t window, std::int64_t stride) {
  const TilePair& tiles = tiles_of(space.tiles[choice], pass.walk);
  TilingProblem problem{.mask = {}, .tiles = {{tiles.q_tile[axis]}, {tiles.kv_tile[axis]}}};
  problem.kv_tiling = pass.kv_tiling;
  problem.walk = pass.walk;
  problem.mask.push_back({space.input[axis], window, stride, space.dilation[axis], space.causal[axis]});
  return problem;
}

/// Every option of an axis that meets the constraints of its own; cost: visited tiles.
std::vector<Option> enumerated(const SearchSpace& space, const SearchConstraints& constraints,
                               std::size_t axis, std::size_t choice, TieBreak tie_break) {
  std::vector<Option> options;
  const Passes passes(space);
  for (std::int64_t window = space.window[axis].lo; window <= space.window[axis].hi; ++window) {
    for (std::int64_t stride = space.stride[axis].lo; stride <= std::min(window, space.stride[axis].hi);
         ++stride) {
      Option option{.window = window, .fast = true, .stride = stride};
      bool allowed = true;
      for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        const TilingProblem problem = on_axis(space, axis, passes[pass], choice, window, stride);
        const TileCount count = walk_tiles(problem);
        option.attended = count.attended_pairs;
        option.cost[pass] = count.visited_tiles;
        option.fast = option.fast && natten_fast_path(problem);
        const bool whole = window % problem.tiles.kv_tile[0] == 0;
        allowed = allowed && (whole || !constraints.window_multiple_of_kv_tile) &&
                  (count.partial_tiles() == 0 || !constraints.fully_block_sparse);
      }
      if (constraints.natten_fast_path && !option.fast) allowed = false;
      if (tie_break == TieBreak::kStrideProduct) option.fast = false;  // nobody asks
      if (allowed) options.push_back(option);
    }
  }
  std::sort(options.begin(), options.end());
  return options;
}

/// What a table holds, which has to be in order and in classes.
std::vector<Option> held(const AxisTable& table) {
  std::vector<Option> options;
  const auto key = [](const AxisClass& each) {
    return std::tuple(each.attended, each.window, each.cost, !each.fast_path);
  };
  std::size_t strides = 0;
  for (std::size_t i = 0; i < table.classes.size(); ++i) {
    const AxisClass& each = table.classes[i];
    if (i > 0) CHECK(key(table.classes[i - 1]) < key(each));
    CHECK(each.stride_count >= 1);
    const auto of_class = table.strides_of(each);
    CHECK(std::adjacent_find(of_class.begin(), of_class.end(), std::greater_equal<>()) == of_class.end());
    for (const std::int64_t stride : of_class)
      options.push_back({each.window, each.attended, each.cost, each.fast_path, stride});
    strides += each.stride_count;
  }
  CHECK(table.strides.size() == strides);
  std::sort(options.begin(), options.end());
  return options;
}

/// Two axes that differ, and one more tile choice that shares the tiles of the second axis.
SearchSpace small_space(SearchPhase phase, bool causal, std::int64_t dilation) {
  SearchSpace space = full_space({10, 7}, {dilation, 1});
  space.causal[0] = causal;
  space.phase = phase;
  space.window[1] = {2, 6};
  space.stride[1] = {2, 4};
  const TilePair first{{2, 3}, {4, 2}}, second{{5, 3}, {2, 2}}, backward{{2, 1}, {2, 2}};
  space.tiles = {{"", first, backward}, {"", second, backward}};
  return space;
}

TableRequest everything(const SearchSpace& space) {
  return {.attended = attended_bounds(space, {}), .limit = {}, .from = 0, .to = 1};
}

template <typename Check>
void for_small_spaces(const Check& check) {
  for (const SearchPhase phase : {SearchPhase::kForward, SearchPhase::kBackward, SearchPhase::kBoth}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t dilation : {1, 2}) {
        for (int constraint = 0; constraint < 4; ++constraint) {
          SearchConstraints constraints;
          constraints.window_multiple_of_kv_tile = constraint == 1;
          constraints.fully_block_sparse = constraint == 2;
          constraints.natten_fast_path = constraint == 3;
          check(small_space(phase, causal, dilation), constraints);
        }
      }
    }
  }
}

TEST_CASE("tables hold every option that its axis allows, once, in classes") {
  for_small_spaces([](const SearchSpace& space, const SearchConstraints& constraints) {
    for (const TieBreak tie_break : {TieBreak::kStrideProduct, TieBreak::kFastPath}) {
      const SearchRun run{.threads = 1, .progress = {}, .tie_break = tie_break};
      const SearchTables tables = make_tables(space, constraints, Objective::kMean, run, everything(space));
      std::set<const AxisTable*> seen;
      std::int64_t counted = 0;
      for (std::size_t choice = 0; choice < 2; ++choice) {
        const auto made = std::find_if(tables.choices.begin(), tables.choices.end(),
                                       [&](const ChoiceTables& each) { return each.tile_choice == choice; });
        bool feasible = true;
        for (std::size_t axis = 0; axis < 2; ++axis)
          feasible = feasible && !enumerated(space, constraints, axis, choice, tie_break).empty();
        REQUIRE((made != tables.choices.end()) == feasible);
        for (std::size_t axis = 0; feasible && axis < 2; ++axis) {
          CHECK(held(*made->axes[axis]) == enumerated(space, constraints, axis, choice, tie_break));
          if (!seen.insert(made->axes[axis]).second) continue;
          for (std::int64_t window = 1; window <= space.input[axis]; ++window) {
            const IntRange& stride = space.stride[axis];
            const std::int64_t step =
                constraints.window_multiple_of_kv_tile ? (axis == 0 && choice == 0 ? 4 : 2) : 1;
            const bool backward = space.phase == SearchPhase::kBackward;
            if (window < std::max(space.window[axis].lo, stride.lo) || window > space.window[axis].hi)
              continue;
            if (window % (backward && step > 1 ? 2 : step) != 0) continue;
            counted += std::min(stride.hi, window) - stride.lo + 1;
          }
        }
      }
      // The second axis has one table for both choices. Choices that share all tiles share both tables.
      if (tables.choices.size() == 2) {
        CHECK(tables.choices[0].axes[1] == tables.choices[1].axes[1]);
        CHECK((tables.choices[0].axes[0] == tables.choices[1].axes[0]) ==
              (space.phase == SearchPhase::kBackward));
        CHECK(tables.evaluated == counted);
      }
    }
  });
}

TEST_CASE("options that are no part of an answer are left out, and all that are part of one stay") {
  for_small_spaces([](const SearchSpace& space, const SearchConstraints& constraints) {
    for (const double sparsity : {0.3, 0.6, 0.8}) {
      for (const double speedup : {0.0, 1.2, 2.0}) {
        SearchConstraints narrow = constraints;
        narrow.sparsity = SparsityRange{sparsity, sparsity + 0.1};
        if (speedup > 0) narrow.min_speedup = speedup;
        const TableRequest request{
            .attended = attended_bounds(space, narrow), .limit = cost_limit(narrow), .from = 0, .to = 1};
        const SearchTables tables = make_tables(space, narrow, Objective::kMean, {}, request);
        for (std::size_t choice = 0; choice < 2; ++choice) {
          const CostScale scale = cost_scale(space, Objective::kMean, space.tiles[choice]);
          const auto made =
              std::find_if(tables.choices.begin(), tables.choices.end(),
                           [&](const ChoiceTables& each) { return each.tile_choice == choice; });
          std::vector<Option> kept[2];
          for (std::size_t axis = 0; axis < 2 && made != tables.choices.end(); ++axis)
            kept[axis] = held(*made->axes[axis]);
          const auto has = [&](std::size_t axis, const Option& option) {
            return std::binary_search(kept[axis].begin(), kept[axis].end(), option);
          };
          int lost = 0;
          const auto rows = enumerated(space, constraints, 0, choice, TieBreak::kStrideProduct);
          const auto columns = enumerated(space, constraints, 1, choice, TieBreak::kStrideProduct);
          for (const Option& a : rows) {
            for (const Option& b : columns) {
              const std::int64_t attended = a.attended * b.attended;
              if (attended < request.attended.lo || attended > request.attended.hi) continue;
              const Ratio cost = scale.cost({a.cost[0] * b.cost[0], a.cost[1] * b.cost[1]});
              if (request.limit && *request.limit < cost) continue;
              lost += has(0, a) && has(1, b) ? 0 : 1;
            }
          }
          CHECK(lost == 0);
          // Without causality the attended pairs of a window say whether any window of the other axis fits.
          for (std::size_t axis = 0; axis < 2 && !space.causal[0]; ++axis) {
            const std::int64_t least = axis == 0 ? 7 * 2 : 10,
                               most = axis == 0 ? 7 * 6 : 10 * space.window[0].hi;
            for (const Option& option : kept[axis]) {
              CHECK(option.attended * most >= request.attended.lo);
              CHECK(option.attended * least <= request.attended.hi);
            }
          }
        }
      }
    }
  });
}

TEST_CASE("of strides that are left out one before them has the same windows and costs no more") {
  for_small_spaces([](const SearchSpace& space, const SearchConstraints& constraints) {
    for (const LeaveOut leave_out : {LeaveOut::kDenseStrides, LeaveOut::kWorseStrides}) {
      TableRequest request = everything(space);
      request.leave_out = leave_out;
      const SearchTables tables = make_tables(space, constraints, Objective::kMean, {}, request);
      for (const ChoiceTables& choice : tables.choices) {
        for (std::size_t axis = 0; axis < 2; ++axis) {
          const auto all = enumerated(space, constraints, axis, choice.tile_choice, TieBreak::kStrideProduct);
          std::vector<Option> wanted;
          for (const Option& option : all) {
            const bool covered = option.window * space.dilation[axis] == space.input[axis];
            const bool worse = std::any_of(all.begin(), all.end(), [&](const Option& other) {
              if (other.window != option.window || other.stride == option.stride) return false;
              if (leave_out == LeaveOut::kDenseStrides) return covered && other.stride < option.stride;
              const bool same = other.cost == option.cost && other.attended == option.attended;
              if (same) return other.stride < option.stride;
              if (covered) return other.stride < option.stride;
              return !space.causal[axis] && other.cost[0] <= option.cost[0] &&
                     other.cost[1] <= option.cost[1];
            });
            if (!worse) wanted.push_back(option);
          }
          CHECK(held(*choice.axes[axis]) == wanted);
        }
      }
    }
  });
}

TEST_CASE(
    "a sketch holds the ends of a long axis and what tiles divide, a few hundred options a window at most") {
  SearchSpace space = full_space({5000});
  space.tiles = {{"", {{64}, {32}}}};
  TableRequest request = everything(space);
  request.sketch = true;
  const SearchTables tables = make_tables(space, {}, Objective::kMean, {}, request);
  const AxisTable& table = *tables.choices.at(0).axes[0];
  std::map<std::int64_t, std::set<std::int64_t>> strides;
  for (const AxisClass& each : table.classes) {
    for (const std::int64_t stride : table.strides_of(each)) strides[each.window].insert(stride);
  }
  CHECK(strides.begin()->first == 1);
  CHECK(strides.rbegin()->first == 5000);
  // Windows: the ends, and every multiple of the KV tile, of which there are fewer than 256.
  CHECK(strides.size() == 2 + 5000 / 32);
  for (const auto& [window, of_window] : strides) {
    CAPTURE(window);
    CHECK((window == 1 || window == 5000 || window % 32 == 0));
    if (window < 33) {  // few strides: all
      CHECK(of_window.size() == static_cast<std::size_t>(window));
      continue;
    }
    // The ends, both tiles by powers of two, and the last multiple of each.
    std::set<std::int64_t> wanted = {1, window, window / 32 * 32};
    if (window >= 64) wanted.insert(window / 64 * 64);
    for (std::int64_t stride = 32; stride <= window; stride *= 2) wanted.insert(stride);
    CHECK(of_window == wanted);
  }
  CHECK(tables.evaluated < 2 * 160 * static_cast<std::int64_t>(strides.size()));
  // 200,000 tokens have 6,250 multiples: every 24th of them, and the powers of two.
  space = full_space({200'000});
  space.stride[0] = {1, 1};
  space.tiles = {{"", {{64}, {32}}}};
  request = everything(space);
  request.sketch = true;
  const SearchTables longer = make_tables(space, {}, Objective::kMean, {}, request);
  std::set<std::int64_t> wanted = {1, 200'000};
  for (std::int64_t window = 32; window <= 200'000; window += 24 * 32) wanted.insert(window);
  for (std::int64_t window = 32; window <= 200'000; window *= 2) wanted.insert(window);
  std::set<std::int64_t> windows;
  for (const AxisClass& each : longer.choices.at(0).axes[0]->classes) windows.insert(each.window);
  CHECK(windows == wanted);
}

}  // namespace axis_table_test
