// Edges of spaces and constraints, progress, and what a search of windows has to notice.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/count.hpp>
#include <natten_sim/search/windows/distinct.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"
#include "windows/axis_table.hpp"
#include "windows/passes.hpp"
#include "windows/space.hpp"

namespace search_edges_test {

using namespace natten_sim;

SearchSpace small_space() {
  SearchSpace space = full_space({10, 6});
  space.tiles = {{"", {{2, 2}, {2, 2}}}};
  return space;
}

template <typename Change>
std::string refusal(const Change& change) {
  SearchSpace space = small_space();
  SearchConstraints constraints;
  change(space, constraints);
  try {
    require_valid(space, constraints);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a space is refused by the range that is at fault, and its ends are accepted") {
  using S = SearchSpace;
  using C = SearchConstraints;
  const auto sentence = [](const std::string& parameter, const std::string& value,
                           const std::string& accepted) {
    return parameter + ": " + value + " is not valid; accepted: " + accepted;
  };
  CHECK(refusal([](S&, C&) {}).empty());
  const std::string ten = "LO:HI with 1 <= LO <= HI <= 10";
  for (const char* parameter : {"causal", "dilation", "window", "stride"}) {
    CHECK(refusal([&](S& s, C&) {
            if (parameter == std::string("causal")) s.causal = {};
            if (parameter == std::string("dilation")) s.dilation = {};
            if (parameter == std::string("window")) s.window = {};
            if (parameter == std::string("stride")) s.stride = {};
          }) == sentence(parameter, "0 values", "2 values, one for each axis of the input"));
  }
  CHECK(refusal([](S& s, C&) { s.window[0] = {0, 4}; }) == sentence("window", "0:4 on axis 0", ten));
  CHECK(refusal([](S& s, C&) { s.window[0] = {5, 4}; }) == sentence("window", "5:4 on axis 0", ten));
  CHECK(refusal([](S& s, C&) { s.window[0] = {1, 11}; }) == sentence("window", "1:11 on axis 0", ten));
  CHECK(refusal([](S& s, C&) { s.window[0] = {10, 10}, s.stride[0] = {10, 10}; }).empty());
  const std::string six = "LO:HI with 1 <= LO <= HI <= 6";
  CHECK(refusal([](S& s, C&) { s.window[1] = {1, 7}; }) == sentence("window", "1:7 on axis 1", six));
  CHECK(refusal([](S& s, C&) { s.stride[1] = {1, 7}; }) == sentence("stride", "1:7 on axis 1", six));
  CHECK(refusal([](S& s, C&) { s.stride[0] = {1, 11}; }) == sentence("stride", "1:11 on axis 0", ten));
  CHECK(refusal([](S& s, C&) {
          s.window[0] = {1, 3}, s.stride[0] = {4, 9};
        }) == sentence("stride", "4 on axis 0", "1..3 (the largest window)"));
  CHECK(refusal([](S& s, C&) { s.window[0] = {1, 3}, s.stride[0] = {3, 9}; }).empty());
  CHECK(refusal([](S& s, C&) { s.dilation = {1}; }) ==
        sentence("dilation", "1 values", "2 values, one for each axis of the input"));
  CHECK_FALSE(refusal([](S& s, C&) { s.causal = {true}; }).empty());
  CHECK_FALSE(refusal([](S& s, C&) { s.window = {{1, 2}}; }).empty());
  CHECK_FALSE(refusal([](S& s, C&) { s.stride = {{1, 2}}; }).empty());
  CHECK(refusal([](S& s, C&) { s.tiles.clear(); }) == sentence("tiles", "none", "at least one tile pair"));
  CHECK(refusal([](S& s, C&) { s.tiles[0].tiles.kv_tile = {0, 2}; }).starts_with("kv_tile: 0 on axis 0"));
  CHECK(refusal([](S& s, C&) { s.phase = SearchPhase::kBoth; }).starts_with("backward_q_tile: "));
  for (const PassWeights weights : {PassWeights{0, 1}, PassWeights{1, 0}}) {
    CHECK(refusal([&](S& s, C&) { s.weights = weights; }).starts_with("weights: "));
  }
  CHECK(refusal([](S& s, C&) { s.weights = {1, 1}; }).empty());
  for (const SparsityRange range :
       {SparsityRange{-0.1, 0.5}, {0.5, 0.4}, {0.5, 1.1}, {0.5, std::numeric_limits<double>::quiet_NaN()}}) {
    CHECK(refusal([&](S&, C& c) { c.sparsity = range; }).starts_with("sparsity: "));
  }
  for (const SparsityRange range : {SparsityRange{0, 1}, {0.5, 0.5}})
    CHECK(refusal([&](S&, C& c) { c.sparsity = range; }).empty());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double limit : {0.999, 1e15, nan})
    CHECK(refusal([&](S&, C& c) { c.max_imbalance = limit; }).starts_with("max_imbalance: "));
  for (const double limit : {1.0, 9e14}) CHECK(refusal([&](S&, C& c) { c.max_imbalance = limit; }).empty());
  for (const double limit : {0.0, 9e-7, 1e12, nan})
    CHECK(refusal([&](S&, C& c) { c.min_speedup = limit; }).starts_with("min_speedup: "));
  for (const double limit : {1e-6, 9e11}) CHECK(refusal([&](S&, C& c) { c.min_speedup = limit; }).empty());
}

TEST_CASE("the options of an axis are the pairs of a window and a stride up to it, for all ranges") {
  for (std::int64_t window_lo = 1; window_lo <= 7; ++window_lo) {
    for (std::int64_t window_hi = window_lo; window_hi <= 7; ++window_hi) {
      for (std::int64_t stride_lo = 1; stride_lo <= 7; ++stride_lo) {
        for (std::int64_t stride_hi = stride_lo; stride_hi <= 7; ++stride_hi) {
          SearchSpace space = full_space({7, 5});
          space.window[0] = {window_lo, window_hi};
          space.stride[0] = {stride_lo, stride_hi};
          space.tiles = {{"", {{1, 1}, {1, 1}}}, {"", {{1, 1}, {1, 1}}}};
          std::int64_t options = 0;
          for (std::int64_t window = window_lo; window <= window_hi; ++window) {
            for (std::int64_t stride = stride_lo; stride <= std::min(window, stride_hi); ++stride) ++options;
          }
          CHECK(axis_options(space, 0) == options);
          CHECK(space_size(space) == options * 15 * 2);
        }
      }
    }
  }
}

/// Progress has to rise from 0 to 1 and not beyond.
void check_rises(const std::vector<double>& shown, double last) {
  REQUIRE(shown.size() > 2);
  CHECK(std::is_sorted(shown.begin(), shown.end()));
  CHECK(shown.front() > 0);
  CHECK(shown.front() < 0.3);
  CHECK(shown.back() == Approx(last));
}

TEST_CASE("progress of a search never goes back, and ends at one") {
  SearchSpace space = full_space({24, 20, 16});
  space.tiles = {{"", {{4, 4, 4}, {4, 4, 2}}}, {"", {{2, 4, 8}, {4, 4, 2}}}};
  std::vector<double> shown;
  SearchRun run{.threads = 1, .progress = [&](double share) { shown.push_back(share); }};
  (void)search_best(space, {}, Objective::kMean, 5, run);
  check_rises(shown, 1);
  shown.clear();
  const SearchResult front =
      search_pareto(space, {.sparsity = SparsityRange{0.2, 0.9}}, Objective::kMean, run);
  CHECK(std::is_sorted(shown.begin(), shown.end()));
  CHECK(shown.back() <= 1);
  CHECK(shown.back() > 0.75);  // thousands of windows, and a call for each 4,096 of them
  CHECK_FALSE(front.candidates.empty());
  shown.clear();
  (void)search_distinct(space, {}, Objective::kMean, 3, Distinct::kWindow, run);
  CHECK(shown.back() == Approx(1));
}

TEST_CASE("costs that overflow are noticed in each pass") {
  // Pairs of tiles hold 2^20 * 2^20 * 1 * 2^22 = 2^62 token pairs, and a Q tile visits eight KV tiles.
  const TilePair large{{1 << 20, 1 << 20}, {1, 1 << 22}}, small{{1, 1}, {1, 1}};
  SearchSpace space = full_space({8, 8});
  space.tiles = {{"", large, large}};
  for (const SearchPhase phase : {SearchPhase::kForward, SearchPhase::kBackward}) {
    space.phase = phase;
    CHECK_THROWS_AS(search_best(space, {}, Objective::kWork, 1), OverflowError);
  }
  space.phase = SearchPhase::kBoth;
  space.tiles = {{"", large, small}};
  CHECK_THROWS_AS(search_best(space, {}, Objective::kWork, 1), OverflowError);
  space.tiles = {{"", small, large}};
  CHECK_THROWS_AS(search_best(space, {}, Objective::kWork, 1), OverflowError);
}

TEST_CASE("with dilation tiles are ranked as the kernel launches and visits them") {
  SearchSpace space = full_space({33, 20}, {2, 1});
  space.kernel = NattenBackend::kHopperFna;
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    for (const Extents& dilation : {Extents{2, 1}, Extents{1, 3}, Extents{2, 3}, Extents{1, 1}}) {
      TilingProblem problem{.mask = make_mask({33, 20}, {8, 6}, {2, 1}, dilation), .tiles = {{4, 3}, {8, 2}}};
      problem.walk = walk;
      const TileCount count = count_tiles(problem), ranked = ranked_count(space, problem, count);
      NattenProblem kernel{.mask = problem.mask, .backend = NattenBackend::kHopperFna};
      kernel.tiles = problem.tiles;
      kernel.pass = walk;
      kernel.kernel_alone = true;
      const KernelVisits visits = natten_visits(kernel).attention;
      CHECK(ranked.visited_tiles == visits.visited_tiles);
      CHECK(ranked.mma_pairs == visits.visited_tiles * 4 * 3 * 8 * 2);
      CHECK((walk == Walk::kForward ? ranked.q_tiles : ranked.kv_tiles) == visits.launched_tiles);
      CHECK(ranked.attended_pairs == count.attended_pairs);
      if (dilation == Extents{1, 1}) CHECK(ranked == count);
      space.kernel.reset();
      CHECK(ranked_count(space, problem, count) == count);
      space.kernel = NattenBackend::kHopperFna;
    }
  }
}

TEST_CASE("counts come by closed form where axes factorise, and by enumeration where they do not") {
  const auto problem = [](const Extents& input, const Extents& window, const Extents& dilation,
                          Tiling tiling) {
    TilingProblem made{.mask = make_mask(input, window, {}, dilation), .tiles = {{4}, {3}}};
    if (tiling == Tiling::kMultiDimensional && input.rank() == 2) made.tiles = {{4, 4}, {3, 3}};
    made.tiling = tiling;
    return made;
  };
  struct Case {
    TilingProblem problem;
    std::size_t axes;
  };
  const Case cases[] = {{problem({20}, {6}, {1}, Tiling::kMultiDimensional), 1},
                        {problem({20}, {6}, {2}, Tiling::kMultiDimensional), 1},
                        {problem({20}, {6}, {1}, Tiling::kSingleDimensional), 1},
                        {problem({20}, {6}, {2}, Tiling::kSingleDimensional), 0},
                        {problem({9, 8}, {4, 3}, {1, 1}, Tiling::kMultiDimensional), 2},
                        {problem({9, 8}, {4, 3}, {1, 1}, Tiling::kSingleDimensional), 0}};
  for (const Case& each : cases) {
    const CountByAxes counted = count_by_axes(each.problem);
    CHECK(counted.axes.rank() == each.axes);
    CHECK(counted.count == walk_tiles(each.problem));
    CHECK(count(each.problem) == counted.count);
  }
}

TEST_CASE("a sketch of late windows has steps of their own range") {
  SearchSpace space = full_space({200'000});
  space.window[0] = {150'001, 200'000};
  space.stride[0] = {1, 1};
  space.tiles = {{"", {{64}, {32}}}};
  TableRequest request{.attended = attended_bounds(space, {}), .limit = {}, .from = 0, .to = 1};
  request.sketch = true;
  const SearchTables tables = make_tables(space, {}, Objective::kMean, {}, request);
  // 49,999 / (256 * 32) is 6: every sixth multiple of 32 from 150,016 on; no power of two lies inside.
  std::vector<std::int64_t> wanted = {150'001}, found;
  for (std::int64_t window = 150'016; window < 200'000; window += 6 * 32) wanted.push_back(window);
  wanted.push_back(200'000);
  for (const AxisClass& each : tables.choices.at(0).axes[0]->classes) found.push_back(each.window);
  CHECK(found == wanted);
}

TEST_CASE("a search counts every option once that it cannot exclude") {
  // More answers are asked for than there are, so that no sketch excludes any. Both tile choices share the
  // second axis: 55 options of 10 tokens twice, and 21 of 6.
  SearchSpace space = small_space();
  space.tiles.push_back({"", {{5, 2}, {2, 2}}});
  const SearchResult all = search_best(space, {}, Objective::kMean, 5000);
  CHECK(all.space_size == 55 * 21 * 2);
  CHECK(all.candidates.size() == 55 * 21 * 2);
  CHECK(all.evaluated == 55 + 55 + 21);
  // Of the best alone most options are known to be no part.
  const SearchResult best = search_best(space, {}, Objective::kMean, 1);
  CHECK(best.evaluated > 0);
  CHECK(best.evaluated < (55 + 55 + 21) / 4);
  CHECK(search_pareto(space, {}, Objective::kMean).evaluated == 55 + 55 + 21);
}

TEST_CASE("tiles divide evenly where they divide every dilation group of every axis") {
  for (std::int64_t length = 1; length <= 12; ++length) {
    for (std::int64_t dilation = 1; dilation <= length; ++dilation) {
      for (std::int64_t q = 1; q <= 3; ++q) {
        for (std::int64_t kv = 1; kv <= 3; ++kv) {
          SearchSpace space = full_space({length}, {dilation});
          space.tiles = {{"", {{q}, {kv}}}};
          bool even = true;
          for (std::int64_t group = 0; group < dilation; ++group) {
            std::int64_t tokens = 0;
            for (std::int64_t token = group; token < length; token += dilation) ++tokens;
            even = even && tokens % q == 0 && tokens % kv == 0;
          }
          CHECK(divides_evenly(space, space.tiles[0]) == even);
        }
      }
    }
  }
}

TEST_CASE("costs fit up to 2^63 - 1 pairs, those of both passes together") {
  // 3e9 tokens that all attend, in tiles of one: 9e18 pairs. 2^63 is 9.22e18.
  const auto one_window = [](std::int64_t length, SearchPhase phase) {
    SearchSpace space = full_space({length});
    space.window[0] = {length, length};
    space.stride[0] = {1, 1};
    space.phase = phase;
    space.weights = {1, 1};
    space.tiles = {{"", {{1}, {1}}, {{1}, {1}}}};
    return search_best(space, {}, Objective::kWork, 1).candidates.size();
  };
  CHECK(one_window(3'000'000'000, SearchPhase::kForward) == 1);
  CHECK_THROWS_AS(one_window(3'100'000'000, SearchPhase::kForward), Error);
  CHECK(one_window(2'100'000'000, SearchPhase::kBoth) == 1);              // 8.82e18
  CHECK_THROWS_AS(one_window(2'200'000'000, SearchPhase::kBoth), Error);  // 9.68e18
  // Eight groups of one token, each a tile of its own where the axis is one tile, times 64 x 64 tiles at
  // most: eight times the dense tiles. The narrowest window has an eighth of them.
  SearchSpace dilated = full_space({8, 64}, {8, 1});
  dilated.phase = SearchPhase::kBoth;
  dilated.tiles = {{"", {{8, 1}, {8, 1}}, {{8, 1}, {8, 1}}}};
  constexpr std::int64_t kFits = std::int64_t{1} << 40, kTooMuch = std::int64_t{1} << 50;
  for (const PassWeights weights : {PassWeights{kFits, 1}, PassWeights{1, kFits}}) {
    dilated.weights = weights;
    CHECK(search_best(dilated, {}, Objective::kMean, 1).candidates.size() == 1);
  }
  for (const PassWeights weights : {PassWeights{kTooMuch, 1}, PassWeights{1, kTooMuch}}) {
    dilated.weights = weights;
    CHECK_THROWS_AS(search_best(dilated, {}, Objective::kMean, 1), OverflowError);
  }
}

/// By enumeration: time is the sum of both passes' worst case, per dense tile, in equal weights.
std::vector<Extents> rungs_of(const SearchSpace& space) {
  struct Rung {
    std::int64_t product;
    Extents stride;
    double time;
  };
  const Extents window = {space.window[0].lo, space.window[1].lo};
  std::vector<Rung> rungs;
  for (std::int64_t s0 = 1; s0 <= window[0]; ++s0) {
    for (std::int64_t s1 = 1; s1 <= window[1]; ++s1) {
      const NeighborhoodMask mask = make_mask(space.input, window, {s0, s1}, {1, 1}, space.causal);
      double time = 0;
      for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
        const TileCount count =
            walk_tiles({.mask = mask, .tiles = tiles_of(space.tiles[0], walk), .walk = walk});
        time += static_cast<double>(count.walked_tiles() * count.max_tiles_per_walked_tile) /
                static_cast<double>(count.dense_tiles);
      }
      rungs.push_back({s0 * s1, {s0, s1}, time});
    }
  }
  std::sort(rungs.begin(), rungs.end(), [](const Rung& a, const Rung& b) {
    if (a.product != b.product) return a.product < b.product;
    if (std::abs(a.time - b.time) > 1e-12 * a.time) return a.time < b.time;
    return a.stride < b.stride;
  });
  std::vector<Extents> wanted;
  double least = std::numeric_limits<double>::infinity();
  for (const Rung& rung : rungs) {
    if (rung.time > least * (1 - 1e-12)) continue;
    least = rung.time;
    wanted.push_back(rung.stride);
  }
  return wanted;
}

TEST_CASE("a ladder over both passes has a rung for each stride that shortens their time") {
  SearchSpace space = full_space({12, 6});
  space.phase = SearchPhase::kBoth;
  space.weights = {1, 1};
  std::size_t most = 0;
  for (const auto& [forward, backward] : {std::pair<TilePair, TilePair>{{{3, 2}, {2, 2}}, {{2, 3}, {4, 2}}},
                                          {{{2, 1}, {2, 1}}, {{2, 1}, {2, 1}}},
                                          {{{1, 2}, {1, 3}}, {{1, 2}, {3, 1}}}}) {
    space.tiles = {{"", forward, backward}};
    for (std::int64_t w0 = 1; w0 <= 12; ++w0) {
      for (std::int64_t w1 = 1; w1 <= 6; ++w1) {
        space.window = {{w0, w0}, {w1, w1}};
        space.stride = {{1, w0}, {1, w1}};
        std::vector<Extents> found;
        for (const Candidate& candidate : stride_ladder(space, {}).candidates)
          found.push_back(stride_of(candidate.mask));
        CAPTURE(w0, w1, forward.q_tile[0]);
        CHECK(found == rungs_of(space));
        most = std::max(most, found.size());
      }
    }
  }
  CHECK(most >= 4);
}

}  // namespace search_edges_test
