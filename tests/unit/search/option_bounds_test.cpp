// Bounds of options before any is counted: against every option of small axes, walked tile by tile.
#include "windows/option_bounds.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"
#include "windows/space.hpp"

namespace option_bounds_test {

using namespace natten_sim;

/// Options of one axis as the tile walk counts them.
struct Option {
  std::int64_t window = 0, stride = 0, attended = 0, cost = 0;
};

std::int64_t cost_of(const TileCount& count, Objective objective) {
  if (objective == Objective::kFlop) return count.attended_pairs;
  return objective == Objective::kWorst ? count.max_tiles_per_walked_tile : count.visited_tiles;
}

std::vector<Option> all_options(const SearchSpace& space, std::size_t axis, const TilePair& tiles, Walk walk,
                                KvTiling kv_tiling, Objective objective) {
  std::vector<Option> options;
  for (std::int64_t window = space.window[axis].lo; window <= space.window[axis].hi; ++window) {
    for (std::int64_t stride = space.stride[axis].lo; stride <= std::min(window, space.stride[axis].hi);
         ++stride) {
      TilingProblem problem{
          .mask = {}, .tiles = {{tiles.q_tile[axis]}, {tiles.kv_tile[axis]}}, .kv_tiling = kv_tiling};
      problem.walk = walk;
      problem.mask.push_back({space.input[axis], window, stride, space.dilation[axis], space.causal[axis]});
      const TileCount count = walk_tiles(problem);
      options.push_back({window, stride, count.attended_pairs, cost_of(count, objective)});
    }
  }
  return options;
}

SearchSpace axis_space(std::int64_t length, std::int64_t dilation, bool causal, const TilePair& tiles,
                       Walk walk) {
  SearchSpace space = full_space({length}, {dilation});
  space.causal[0] = causal;
  space.phase = walk == Walk::kForward ? SearchPhase::kForward : SearchPhase::kBackward;
  space.tiles = {{"", tiles, tiles}};
  return space;
}

constexpr Objective kCounted[] = {Objective::kWork, Objective::kMean, Objective::kWorst, Objective::kFlop};

/// Calls check(space, options, objective, pass's walk) for every small axis.
template <typename Check>
void for_small_axes(const Check& check) {
  for (const std::int64_t length : {1, 2, 5, 8, 11}) {
    for (const std::int64_t dilation : {1, 2, 3}) {
      for (const TilePair& tiles :
           {TilePair{{1}, {1}}, TilePair{{2}, {3}}, TilePair{{4}, {2}}, TilePair{{3}, {5}}}) {
        for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
          for (const bool causal : {false, true}) {
            if (dilation > length) continue;
            check(axis_space(length, dilation, causal, tiles, walk), walk);
          }
        }
      }
    }
  }
}

TEST_CASE("bounds of attended pairs hold for every option, and an option reaches each") {
  for_small_axes([](const SearchSpace& space, Walk walk) {
    const AxisBounds bounds(space, {}, Objective::kMean, 0, space.tiles[0]);
    const std::int64_t length = space.input[0];
    CAPTURE(length, space.dilation[0], space.causal[0]);
    CHECK(bounds.first_window() == 1);
    CHECK(bounds.last_window() == length / space.dilation[0]);
    CHECK(bounds.window_step() == 1);
    const auto options =
        all_options(space, 0, space.tiles[0].tiles, walk, KvTiling::kStatic, Objective::kMean);
    for (std::int64_t window = 1; window <= bounds.last_window(); ++window) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
      for (const Option& option : options) {
        if (option.window != window) continue;
        least = std::min(least, option.attended);
        most = std::max(most, option.attended);
      }
      CHECK(bounds.most_attended(window) == most);
      CHECK(bounds.least_attended(window) <= least);
      // Without causality every query has its whole window; with it, what is before it or the mean of a stride group
      // as long as the window, and under dilation itself at least.
      std::int64_t twice = 0;
      for (std::int64_t query = 0; query < length; ++query) twice += std::min(2 * (query + 1), window + 1);
      const std::int64_t causal = space.dilation[0] == 1 ? twice / 2 : length;
      CHECK(bounds.least_attended(window) == (space.causal[0] ? causal : length * window));
    }
    for (std::int64_t attended = 0; attended <= length * length + 1; ++attended) {
      std::optional<std::int64_t> smallest;
      for (std::int64_t window = bounds.last_window(); window >= 1; --window) {
        if (bounds.most_attended(window) >= attended) smallest = window;
      }
      CHECK(bounds.smallest_window_attending(attended) == smallest);
    }
  });
}

TEST_CASE("bounds of costs hold for every option, and tiles of one token reach them") {
  for_small_axes([](const SearchSpace& space, Walk walk) {
    for (const Objective objective : kCounted) {
      const AxisBounds bounds(space, {}, objective, 0, space.tiles[0]);
      const bool ones = space.tiles[0].tiles == TilePair{{1}, {1}};
      const bool exact = ones && walk == Walk::kForward && !space.causal[0];
      int above = 0, below = 0;
      for (const KvTiling tiling : {KvTiling::kStatic, KvTiling::kDynamic}) {
        for (const Option& option : all_options(space, 0, space.tiles[0].tiles, walk, tiling, objective)) {
          const std::int64_t least = bounds.least_cost(option.window, 0);
          const auto cost = static_cast<long double>(option.cost);
          const long double of_pairs =
              bounds.least_cost_per_pair(0) * static_cast<long double>(option.attended);
          above += least > option.cost || of_pairs > cost * kBoundSlack ? 1 : 0;
          below += least < 1 || (exact && (least < option.cost || of_pairs * kBoundSlack < cost)) ? 1 : 0;
        }
      }
      CAPTURE(space.input[0], space.dilation[0], space.causal[0], static_cast<int>(objective));
      CHECK(above == 0);
      CHECK(below == 0);
    }
  });
}

TEST_CASE("no option that visits as little attends to more, which half a square along a causal diagonal is left out of") {
  for_small_axes([](const SearchSpace& space, Walk walk) {
    const AxisBounds bounds(space, {}, Objective::kMean, 0, space.tiles[0]);
    int above = 0;
    for (const KvTiling tiling : {KvTiling::kStatic, KvTiling::kDynamic}) {
      for (const Option& option : all_options(space, 0, space.tiles[0].tiles, walk, tiling, Objective::kMean))
        above += option.attended > bounds.most_attended_within(static_cast<long double>(option.cost), 0) ? 1 : 0;
    }
    CAPTURE(space.input[0], space.dilation[0], space.causal[0]);
    CHECK(above == 0);
  });
  // 12 causal tokens with all before them in tiles of 4: 1 + 2 + 3 of 3 x 3 tiles, 12 x 13 / 2 pairs of 6 x 16.
  const TilePair tiles{{4}, {4}};
  const AxisBounds causal(axis_space(12, 1, true, tiles, Walk::kForward), {}, Objective::kMean, 0, {"", tiles, tiles});
  CHECK(causal.most_attended_within(6, 0) == 12 * 13 / 2);
  CHECK(causal.most_attended_within(1e300L, 0) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("larger tiles are bounded by what a window and a pair of tiles must take") {
  // 24 tokens, window 10, Q tiles of 4 (six of them), KV tiles of 3: a window touches ceil(10 / 3) = 4 KV
  // tiles; 240 attended pairs fill no fewer than 240 / 12 pairs of tiles, and Q tiles stream 10 keys each: 6
  // * 10 / 3.
  const TilePair tiles{{4}, {3}};
  const auto bounds = [&](Walk walk, bool causal, Objective objective) {
    return AxisBounds(axis_space(24, 1, causal, tiles, walk), {}, objective, 0, {"", tiles, tiles});
  };
  for (const Objective objective : {Objective::kWork, Objective::kMean}) {
    const AxisBounds forward = bounds(Walk::kForward, false, objective);
    CHECK(forward.least_cost(10, 0) == 6 * 4);
    CHECK(forward.least_cost_per_pair(0) * 24 * 10 == Approx(6 * 10 / 3.0));
    CHECK(forward.least_cost_per_pair(0) == Approx(6 / (24 * 3.0)));
    // Causal: 1 + 2 + .. + 5 and 19 times 5.5 pairs.
    CHECK(bounds(Walk::kForward, true, objective).least_cost(10, 0) == 10);
    CHECK(bounds(Walk::kForward, true, objective).least_cost_per_pair(0) == Approx(1 / 12.0));
    CHECK(bounds(Walk::kBackward, false, objective).least_cost(1, 0) == 8);  // KV tiles are walked
    CHECK(bounds(Walk::kBackward, false, objective).least_cost(10, 0) == 6 * 4);  // the same pairs of tiles
    CHECK(bounds(Walk::kBackward, false, objective).least_cost_per_pair(0) == Approx(1 / 12.0));
  }
  // The largest Q tile: no smaller than the mean.
  CHECK(bounds(Walk::kForward, false, Objective::kWorst).least_cost(10, 0) == 4);
  CHECK(bounds(Walk::kForward, false, Objective::kWorst).least_cost_per_pair(0) == Approx(1 / (12 * 6.0)));
  CHECK(bounds(Walk::kBackward, false, Objective::kWorst).least_cost(1, 0) == 1);
  CHECK(bounds(Walk::kBackward, false, Objective::kWorst).least_cost(10, 0) == 3);  // 24 over 8 KV tiles
  CHECK(bounds(Walk::kForward, false, Objective::kFlop).least_cost(10, 0) == 240);
  CHECK(bounds(Walk::kForward, true, Objective::kFlop).least_cost(10, 0) == 119);
  CHECK(bounds(Walk::kForward, false, Objective::kFlop).least_cost_per_pair(0) == 1);
}

TEST_CASE("windows are those of the space that strides and KV tiles allow") {
  const TilePair tiles{{4}, {3}};
  SearchSpace space = axis_space(30, 1, false, tiles, Walk::kForward);
  space.window[0] = {4, 29}, space.stride[0] = {5, 9};
  const AxisBounds plain(space, {}, Objective::kMean, 0, space.tiles[0]);
  CHECK(plain.first_window() == 5);  // a stride is no larger than its window
  CHECK(plain.last_window() == 29);
  const AxisBounds stepped(space, {.window_multiple_of_kv_tile = true}, Objective::kMean, 0, space.tiles[0]);
  CHECK(stepped.window_step() == 3);
  CHECK(stepped.first_window() == 6);
  CHECK(stepped.last_window() == 27);
  CHECK(stepped.smallest_window_attending(30 * 9 + 1) == 12);
  CHECK(stepped.smallest_window_attending(30 * 27) == 27);
  CHECK_FALSE(stepped.smallest_window_attending(30 * 27 + 1));
  space.window[0] = {28, 29};
  const AxisBounds none(space, {.window_multiple_of_kv_tile = true}, Objective::kMean, 0, space.tiles[0]);
  CHECK(none.empty());
  CHECK_FALSE(none.smallest_window_attending(0));
  space.phase = SearchPhase::kBoth;  // KV tiles of 3 and 4: multiples of 12
  space.window[0] = {1, 30}, space.stride[0] = {1, 30};
  space.tiles[0].backward_tiles = {{2}, {4}};
  const AxisBounds both(space, {.window_multiple_of_kv_tile = true}, Objective::kMean, 0, space.tiles[0]);
  CHECK(both.window_step() == 12);
  CHECK(both.first_window() == 12);
  CHECK(both.last_window() == 24);
}

TEST_CASE("restricting to attended pairs keeps exactly the windows that can lie inside") {
  for (const bool causal : {false, true}) {
    for (const std::int64_t kv_tile : {1, 2, 3}) {
      SearchSpace space = axis_space(9, 1, causal, {{2}, {kv_tile}}, Walk::kForward);
      const SearchConstraints constraints{.window_multiple_of_kv_tile = true};
      for (std::int64_t lo = 0; lo <= 82; ++lo) {
        for (std::int64_t hi = lo; hi <= 82; ++hi) {
          AxisBounds bounds(space, constraints, Objective::kMean, 0, space.tiles[0]);
          std::vector<std::int64_t> wanted, kept;
          for (std::int64_t window = kv_tile; window <= 9; window += kv_tile) {
            if (bounds.most_attended(window) >= lo && bounds.least_attended(window) <= hi)
              wanted.push_back(window);
          }
          bounds.restrict_to_attended(lo, hi);
          for (std::int64_t window = bounds.first_window(); window <= bounds.last_window(); window += kv_tile)
            kept.push_back(window);
          CAPTURE(causal, kv_tile, lo, hi);
          CHECK(kept == wanted);
        }
      }
    }
  }
}

/// Bounds of a choice on all axes, with a limit for the weighted sum of costs.
struct Choice {
  std::vector<AxisBounds> axes;
  CostScale scale;
  std::size_t passes = 1;
  CostLimit limit;
};

Choice choice_of(const SearchSpace& space, Objective objective, long double limit) {
  Choice choice;
  choice.scale = cost_scale(space, objective, space.tiles[0]);
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis)
    choice.axes.emplace_back(space, SearchConstraints{}, objective, axis, space.tiles[0]);
  choice.passes = Passes(space).size();
  choice.limit = {{static_cast<long double>(choice.scale.scale[0]), static_cast<long double>(choice.scale.scale[1])},
                  limit};
  return choice;
}

UsefulCosts::Most most_of(const Choice& choice, std::size_t axis, std::int64_t window, std::int64_t attended_lo) {
  return UsefulCosts(choice.axes, axis, choice.passes, choice.limit, attended_lo).of(choice.axes[axis].of_window(window));
}

PerPass<long double> useful(const Choice& choice, std::size_t axis, std::int64_t window, std::int64_t attended_lo) {
  return most_of(choice, axis, window, attended_lo).costs;
}

TEST_CASE("a cost that is part of an answer is never above the largest useful one") {
  for (const SearchPhase phase : {SearchPhase::kForward, SearchPhase::kBackward, SearchPhase::kBoth}) {
    for (const Objective objective : kCounted) {
      for (const bool causal : {false, true}) {
        SearchSpace space = full_space({5, 4});
        space.causal[0] = causal;
        space.phase = phase;
        space.weights = {2, 5};
        space.tiles = {{"", {{2, 1}, {1, 3}}, {{1, 2}, {2, 2}}}};
        const Passes passes(space);
        const CostScale scale = cost_scale(space, objective, space.tiles[0]);
        std::vector<std::vector<Option>> options[2];
        for (std::size_t axis = 0; axis < 2; ++axis) {
          for (const Pass& pass : passes)
            options[axis].push_back(all_options(space, axis, tiles_of(space.tiles[0], pass.walk), pass.walk,
                                                KvTiling::kStatic, objective));
        }
        for (const std::int64_t attended_lo : {0, 40, 120, 300}) {
          for (const std::int64_t percent : {20, 45, 80}) {
            const auto limit = static_cast<long double>(scale.base * percent / 100);
            Choice choice = choice_of(space, objective, limit);
            for (std::size_t a = 0; a < options[0][0].size(); ++a) {
              for (std::size_t b = 0; b < options[1][0].size(); ++b) {
                std::int64_t sum = 0;
                for (std::size_t pass = 0; pass < passes.size(); ++pass)
                  sum += scale.scale[pass] * options[0][pass][a].cost * options[1][pass][b].cost;
                const Option &first = options[0][0][a], &second = options[1][0][b];
                if (first.attended * second.attended < attended_lo || static_cast<long double>(sum) > limit)
                  continue;
                for (std::size_t axis = 0; axis < 2; ++axis) {
                  const UsefulCosts::Most most = most_of(choice, axis, axis == 0 ? first.window : second.window, attended_lo);
                  long double shares = 0;
                  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
                    const auto cost = static_cast<long double>(options[axis][pass][axis == 0 ? a : b].cost);
                    CHECK(cost <= most.costs[pass]);
                    shares += cost * most.shares[pass];
                  }
                  CHECK(shares <= kBoundSlack);
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("the costs of an option in both passes share the limit") {
  SearchSpace space = full_space({6, 5});
  space.phase = SearchPhase::kBoth;
  space.tiles = {{"", {{1, 1}, {1, 1}}, {{1, 1}, {1, 1}}}};
  Choice choice = choice_of(space, Objective::kMean, 0);
  choice.limit.most = 300 * (choice.limit.scale[0] + choice.limit.scale[1]);
  const UsefulCosts::Most most = most_of(choice, 0, 2, 200);  // the other axis costs 20, as below
  CHECK(most.shares[0] * 15 + most.shares[1] * 15 == Approx(1));
  CHECK(most.shares[0] * most.costs[0] + most.shares[1] * 12 == Approx(1));  // 12: the window's least
}

TEST_CASE("with tiles of one token the largest useful cost is the limit over what the other axes cost") {
  // A window costs its attended pairs. Two axes of 6 and 5 tokens; 1 / objective is the product over 900.
  SearchSpace space = full_space({6, 5});
  space.tiles = {{"", {{1, 1}, {1, 1}}, {{1, 1}, {1, 1}}}};
  Choice choice = choice_of(space, Objective::kMean, 300);
  REQUIRE(choice.scale.base == 900);
  REQUIRE(choice.scale.scale[0] == 1);
  // Axis 0 with window 2 attends to 12 pairs, so of 200 the other axis needs 17: window 4, which costs 20.
  CHECK(useful(choice, 0, 2, 200)[0] == Approx(300.0 / 20));
  CHECK(useful(choice, 0, 2, 0)[0] == Approx(300.0 / 5));
  CHECK(useful(choice, 1, 5, 200)[0] == Approx(300.0 / 12));  // 8 of 36: window 2
  CHECK(useful(choice, 1, 5, 751)[0] < 0);  // 31 of 36: window 6 costs 36, and 36 * 25 > 300
  CHECK(useful(choice, 0, 1, 151)[0] < 0);  // no window of five tokens attends to 26 pairs
  // Without a limit every cost is of use.
  CHECK(UsefulCosts(choice.axes, 1, 1, std::nullopt, 751).of(choice.axes[1].of_window(5)).costs[0] ==
        std::numeric_limits<long double>::max());
  // Three axes: the cheapest windows of the others, or the pairs that they need together.
  space = full_space({3, 4, 5});
  space.tiles = {{"", {{1, 1, 1}, {1, 1, 1}}}};
  choice = choice_of(space, Objective::kMean, 2000);
  CHECK(useful(choice, 0, 2, 0)[0] == Approx(2000.0 / (4 * 5)));
  CHECK(useful(choice, 0, 2, 600)[0] == Approx(2000.0 / 100));  // 600 / 6 pairs
  CHECK(useful(choice, 0, 3, 2001)[0] < 0);                     // 223 * 9 > 2000
}

TEST_CASE("no option visits less than its window and the boundaries of its stride groups make it") {
  std::int64_t met = 0, longest_met = 0, shortest_met = 0, above_windows = 0;
  for (std::int64_t length = 1; length <= 24; ++length) {
    for (std::int64_t window = 1; window <= length; ++window) {
      for (std::int64_t stride = 1; stride <= window; ++stride) {
        for (const AxisTiles tiles : {AxisTiles{1, 1}, {2, 3}, {4, 4}, {6, 4}, {5, 2}, {3, 8}}) {
          const AxisMask mask{length, window, stride, 1, false};
          const AxisCount count = count_axis(mask, tiles, KvTiling::kStatic, Walk::kForward);
          const std::int64_t visited = count.visited_tiles, longest = count.max_tiles_per_walked_tile;
          const LeastVisited least = least_visited(mask, tiles);
          NeighborhoodMask alone;
          alone.push_back(mask);
          std::int64_t shortest = longest;
          for (const CtaVisits& cta :
               list_ctas(alone, {{tiles.walked}, {tiles.streamed}}, NattenBackend::kHopperFna, Walk::kForward))
            shortest = std::min(shortest, cta.tiles);
          if (least.all > visited || least.longest > longest || least.shortest > shortest) {
            CAPTURE(length, window, stride, tiles.walked, tiles.streamed, least.all, visited, least.longest, longest);
            CAPTURE(least.shortest, shortest);
            FAIL("less is visited");
          }
          met += least.all == visited;
          longest_met += least.longest == longest;
          shortest_met += least.shortest == shortest;
          above_windows += least.all > ceil_divide(length, tiles.walked) * ceil_divide(window, tiles.streamed);
        }
      }
    }
  }
  CHECK(met > 1'000);
  CHECK(longest_met > 1'000);
  CHECK(shortest_met > 1'000);
  CHECK(above_windows > 100);
}

TEST_CASE("a pass may cost what the limit and the least of the other pass leave") {
  // Backward first: it is the heavier. Costs are attended pairs in both; (2 f + 5 b) / 7 of 36 * 25.
  SearchSpace space = full_space({6, 5});
  space.phase = SearchPhase::kBoth;
  space.tiles = {{"", {{1, 1}, {1, 1}}, {{1, 1}, {1, 1}}}};
  Choice choice = choice_of(space, Objective::kFlop, 0);
  REQUIRE(choice.scale.base == 900 * 7);
  REQUIRE(choice.scale.scale == PerPass<std::int64_t>{5, 2});
  // Window 2 of axis 0 and at least 100 pairs: 12 pairs, the other axis 9 at least, with window 2 10.
  choice.limit.most = 1000;
  const PerPass<long double> costs = useful(choice, 0, 2, 100);
  CHECK(costs[0] == Approx((1000 - 2 * 10 * 12) / (5 * 10.0)));
  CHECK(costs[1] == Approx((1000 - 5 * 10 * 12) / (2 * 10.0)));
  choice.limit.most = 7 * 10 * 12 - 1;
  CHECK(useful(choice, 0, 2, 100)[0] < 0);
  CHECK(useful(choice, 0, 2, 100)[1] < 0);
  choice.limit.most = 7 * 10 * 12;
  CHECK(useful(choice, 0, 2, 100)[0] == Approx(12));
  CHECK(useful(choice, 0, 2, 100)[1] == Approx(12));
}

}  // namespace option_bounds_test
