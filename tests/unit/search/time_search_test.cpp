// The search by time with times that its bound meets, so that what it has to look at is known too.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <tuple>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/search/windows/time_search.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>

#include "catch.hpp"

namespace time_search_test {

using namespace natten_sim;
using Key = std::vector<std::int64_t>;

struct Timed {
  SearchSpace space;
  SearchConstraints constraints;
  TimeObjective objective;
  mutable int calls = 0;
};

NattenProblem problem_of(const Timed& timed, const NeighborhoodMask& mask, std::size_t choice,
                         const TimedPass& pass) {
  const TileChoice& tiles = timed.space.tiles[choice];
  NattenProblem problem;
  problem.mask = mask;
  problem.backend = pass.family;
  problem.tiles = pass.walk == Walk::kForward ? tiles.tiles : tiles.backward_tiles;
  problem.pass = pass.walk;
  problem.kernel_alone = true;
  return problem;
}

/// Equal CTAs in waves, half a CTA behind the mean at most; others as if they shared the work evenly.
double time_of(const Timed& timed, const NeighborhoodMask& mask, std::size_t choice) {
  double ms = 0;
  for (const TimedPass& pass : timed.objective.choices[choice].passes) {
    const NattenProblem problem = problem_of(timed, mask, choice, pass);
    LaunchWork work = launch_work(natten_visits(problem).attention, mask.rank(), pass.repeats, pass.workers);
    const std::vector<CtaVisits> ctas = list_ctas(mask, problem.tiles, pass.family, pass.walk);
    const bool even = std::all_of(ctas.begin(), ctas.end(),
                                  [&](const CtaVisits& cta) { return cta.tiles == ctas[0].tiles; });
    const double mean = work.ctas / static_cast<double>(work.workers);
    work.waves = even ? std::min(even_waves(work.ctas, work.workers), mean + 0.5) : mean;
    ms += launch_time(work, pass.costs).total_ms + pass.added_ms;
  }
  return ms;
}

struct Row {
  Extents window, stride;
  std::size_t choice = 0;
  double ms = 0, unevenness = 1;
  std::int64_t stride_product = 1;
  bool masked = false;
  Key kind;  // what every CTA does along each axis, and how it is masked

  [[nodiscard]] auto rank() const {
    return std::tie(ms, masked, stride_product, unevenness, window, stride, choice);
  }
};

std::vector<Row> enumerated(const Timed& timed) {
  std::vector<Row> rows;
  const Extents& input = timed.space.input;
  const auto add = [&](const Extents& window, const Extents& stride) {
    const NeighborhoodMask mask = make_mask(input, window, stride, timed.space.dilation, timed.space.causal);
    for (std::size_t choice = 0; choice < timed.objective.choices.size(); ++choice) {
      Row row{.window = window, .stride = stride, .choice = choice};
      row.ms = time_of(timed, mask, choice);
      row.kind.push_back(static_cast<std::int64_t>(choice));
      double least = 1e9, most = 0;
      for (std::size_t axis = 0; axis < input.rank(); ++axis) {
        row.stride_product *= stride[axis];
        const double ratio = static_cast<double>(input[axis]) / static_cast<double>(window[axis]);
        least = std::min(least, ratio), most = std::max(most, ratio);
        for (const TimedPass& pass : timed.objective.choices[choice].passes) {
          NattenProblem along = problem_of(timed, mask, choice, pass);
          along.mask = {};
          along.mask.push_back(mask[axis]);
          along.tiles = {{along.tiles.q_tile[axis]}, {along.tiles.kv_tile[axis]}};
          const KernelVisits visits = natten_visits(along).attention;
          row.masked = row.masked || visits.masked_tiles > 0;
          row.kind.insert(row.kind.end(),
                          {visits.unmasked_tiles, visits.bounds_masked_tiles, visits.masked_tiles});
          for (const CtaVisits& cta : list_ctas(along.mask, along.tiles, pass.family, pass.walk))
            row.kind.push_back(cta.tiles);
        }
      }
      row.unevenness = most / least;
      rows.push_back(std::move(row));
    }
  };
  for (std::int64_t w0 = 1; w0 <= input[0] / timed.space.dilation[0]; ++w0) {
    for (std::int64_t s0 = 1; s0 <= w0; ++s0) {
      for (std::int64_t w1 = 1; w1 <= input[1]; ++w1) {
        for (std::int64_t s1 = 1; s1 <= w1; ++s1) add({w0, w1}, {s0, s1});
      }
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.rank() < b.rank(); });
  return rows;
}

/// `unit`: of the costs, in us. A product with a small one is less than the quotient by it.
Timed scenario(bool both, std::int64_t heads, std::int64_t workers, double unit = 1) {
  Timed timed;
  timed.space = full_space({7, 6}, {2, 1});
  timed.space.phase = both ? SearchPhase::kBoth : SearchPhase::kForward;
  const TilePair small{{2, 2}, {2, 2}}, large{{4, 3}, {2, 3}};
  timed.space.tiles = {{"", small, large}, {"", large, small}};
  PassCosts costs;
  costs.q_tile_tokens = costs.kv_tile_tokens = 4;
  costs.unmasked_tile_us = 8 * unit, costs.bounds_masked_tile_us = 10 * unit;
  costs.masked_tile_us = {11 * unit, 12 * unit, 13 * unit};
  costs.cta_us = 5 * unit, costs.launch_us = 4;
  costs.slowdown = 0.1, costs.slowdown_ms = 1;
  TimedPass forward{
      .family = NattenBackend::kHopperFna, .costs = costs, .repeats = heads, .workers = workers};
  TimedPass backward = forward;
  backward.walk = backward.costs.pass = Walk::kBackward;
  backward.costs.unmasked_tile_us = 19 * unit;
  backward.costs.masked_tile_us = {23 * unit, 24 * unit, 25 * unit};
  backward.added_ms = 0.01;
  for (int choice = 0; choice < 2; ++choice) {
    timed.objective.choices.push_back({{forward}});
    if (both) timed.objective.choices.back().passes.push_back(backward);
    forward.added_ms = 0.02;
  }
  return timed;
}

TEST_CASE("the search by time returns what enumeration does, and times no more kinds than its bound leaves") {
  for (const bool both : {false, true}) {
    for (const auto& [heads, workers] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 4}, {20, 132}}) {
      for (const std::size_t top : {std::size_t{1}, std::size_t{7}, std::size_t{40}}) {
        Timed timed = scenario(both, heads, workers, top == 7 ? 1.0 / 64 : 1);
        const std::vector<Row> rows = enumerated(timed);
        // The most that either choice may take; 0: any time.
        for (const std::array<double, 2>& most_ms :
             {std::array{0.0, 0.0}, {rows[20].ms, rows[20].ms}, {rows.back().ms, rows.back().ms}, {rows[20].ms, 0.0},
              {rows[10].ms, rows[90].ms}}) {
          int calls = 0;
          TimeObjective objective = timed.objective;
          for (std::size_t choice = 0; choice < 2; ++choice) objective.choices[choice].most_ms = most_ms[choice];
          objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
            ++calls;
            return time_of(timed, mask, choice);
          };
          const DistinctResult found =
              search_fastest(timed.space, timed.constraints, objective, top, Distinct::kNone);
          CAPTURE(both, heads, top, most_ms[0], most_ms[1]);
          CHECK(found.complete);
          std::vector<Row> allowed;
          std::copy_if(rows.begin(), rows.end(), std::back_inserter(allowed), [&](const Row& row) {
            return most_ms[row.choice] == 0 || row.ms <= most_ms[row.choice];
          });
          REQUIRE(found.search.candidates.size() == std::min(top, allowed.size()));
          for (std::size_t i = 0; i < found.search.candidates.size(); ++i) {
            const Candidate& candidate = found.search.candidates[i];
            CHECK(window_of(candidate.mask) == allowed[i].window);
            CHECK(stride_of(candidate.mask) == allowed[i].stride);
            CHECK(candidate.tile_choice == allowed[i].choice);
          }
          // Bounds are met, so only kinds as fast as the last answer need a time, and those of their batch.
          const double last = allowed[found.search.candidates.size() - 1].ms;
          std::set<Key> kinds;
          for (const Row& row : rows) {
            if (row.ms * (1 - 2e-9) <= last) kinds.insert(row.kind);
          }
          const std::size_t batch = std::max<std::size_t>(16, top);
          CHECK(static_cast<std::size_t>(calls) <= (kinds.size() + batch - 1) / batch * batch);
        }
      }
    }
  }
}

TEST_CASE("a search by time within a range of sparsity returns what enumeration does") {
  const Timed timed = scenario(false, 3, 4);
  const std::vector<Row> rows = enumerated(timed);
  const auto sparsity_of = [&](const Row& row) {  // pairs left out, of (7 * 6)^2
    const NeighborhoodMask mask =
        make_mask(timed.space.input, row.window, row.stride, timed.space.dilation, timed.space.causal);
    return 1 - static_cast<double>(attended_pairs(mask[0]) * attended_pairs(mask[1])) / (42 * 42);
  };
  TimeObjective objective = timed.objective;
  objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
    return time_of(timed, mask, choice);
  };
  for (int twentieth = 0; twentieth < 19; ++twentieth) {
    const double lo = twentieth / 20.0, hi = std::min((twentieth + 3) / 20.0, 1.0);
    SearchConstraints constraints;
    constraints.sparsity = SparsityRange{lo, hi};
    std::vector<Row> allowed;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(allowed), [&](const Row& row) {
      return sparsity_of(row) >= lo - 1e-12 && sparsity_of(row) <= hi + 1e-12;
    });
    const DistinctResult found = search_fastest(timed.space, constraints, objective, 500, Distinct::kNone);
    CAPTURE(lo);
    REQUIRE(found.search.candidates.size() == std::min<std::size_t>(500, allowed.size()));
    for (std::size_t i = 0; i < found.search.candidates.size(); ++i) {
      CHECK(window_of(found.search.candidates[i].mask) == allowed[i].window);
      CHECK(stride_of(found.search.candidates[i].mask) == allowed[i].stride);
    }
  }
}

TEST_CASE("a search by time says what it cannot take") {
  Timed timed = scenario(false, 1, 1);
  timed.objective.exact_ms = [](const NeighborhoodMask&, std::size_t) { return 1.0; };
  Timed invalid = timed;
  invalid.space.window[1] = {0, 3};
  try {
    (void)search_fastest(invalid.space, invalid.constraints, invalid.objective, 1, Distinct::kTiles);
    FAIL("a window of no token is taken");
  } catch (const InvalidParameter& error) {
    CHECK(error.parameter() == "window");
  }
  const auto search = [&](std::size_t top) {
    return search_fastest(timed.space, timed.constraints, timed.objective, top, Distinct::kTiles);
  };
  CHECK_NOTHROW(search(1));
  CHECK_THROWS_AS(search(0), InvalidParameter);
  timed.objective.choices[1].passes[0].family = NattenBackend::kCutlassFna;
  CHECK_THROWS_AS(search(1), InvalidParameter);
  timed.objective.choices.pop_back();
  CHECK_THROWS_AS(search(1), InvalidParameter);
  timed.objective.choices.emplace_back();  // without a pass it has no time, and is left out
  for (const Candidate& candidate : search(10).search.candidates) CHECK(candidate.tile_choice == 0);
}

TEST_CASE("a search by time ends where its bound says that nothing left is faster: nothing is timed twice") {
  Timed timed = scenario(true, 3, 4);  // more combinations of kinds than are looked at at first
  timed.space = full_space({20, 18});
  timed.space.phase = SearchPhase::kBoth;
  const TilePair small{{2, 2}, {2, 2}}, large{{4, 3}, {2, 3}};
  timed.space.tiles = {{"", small, large}, {"", large, small}};
  timed.constraints.sparsity = SparsityRange{0.5, 0.6};
  std::set<std::tuple<std::vector<std::int64_t>, std::size_t>> seen;
  timed.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
    std::vector<std::int64_t> key;
    for (const AxisMask& axis : mask) key.insert(key.end(), {axis.window, axis.stride});
    CHECK(seen.emplace(key, choice).second);
    return time_of(timed, mask, choice);
  };
  const DistinctResult found =
      search_fastest(timed.space, timed.constraints, timed.objective, 3, Distinct::kTiles);
  CHECK(found.complete);
  CHECK(found.search.candidates.size() == 3);
}

TEST_CASE("a search by time does not look at min_speedup, which is of another objective") {
  Timed timed = scenario(false, 1, 1);
  timed.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
    return time_of(timed, mask, choice);
  };
  const auto search = [&] {
    return search_fastest(timed.space, timed.constraints, timed.objective, 3, Distinct::kNone).search;
  };
  const auto windows = [&] {
    std::vector<Extents> found;
    for (const Candidate& candidate : search().candidates) found.push_back(window_of(candidate.mask));
    return found;
  };
  const std::vector<Extents> all = windows();
  CHECK(all.size() == 3);
  for (const double speedup :
       {-1.0, 1000.0}) {  // search_best refuses the first, and finds none for the second
    timed.constraints.min_speedup = speedup;
    CHECK(windows() == all);
  }
  // No window of 7 x 6 tokens leaves a sparsity between these; the nearest one is told.
  timed.constraints.sparsity = SparsityRange{0.99, 0.995};
  CHECK(windows().empty());
  CHECK(search().nearest_sparsity);
}

TEST_CASE("spaces are timed up to 2^28 tiles, and on one axis up to 2^33 tokens") {
  const auto few = [](const Extents& input, std::int64_t tile, SearchPhase phase) {
    SearchSpace space = full_space(input);
    space.phase = phase;
    TilePair tiles;
    for (std::size_t axis = 0; axis < input.rank(); ++axis)
      tiles.q_tile.push_back(tile), tiles.kv_tile.push_back(tile);
    space.tiles = {{"", tiles, tiles}};
    return few_enough_to_time(space, {});
  };
  // L (L + 1) / 2 options of L tokens: 2579 * 2579 * 2580 / 2 < 2^33 < 2580 * 2580 * 2581 / 2.
  CHECK(few({2579}, 2580, SearchPhase::kForward));
  CHECK_FALSE(few({2580}, 2580, SearchPhase::kForward));
  // 2,098,176 options of 2,048 tokens; 128 Q tiles of 16 are 2^28 + 131,072 tiles, 127.. of 17 (121) fewer.
  CHECK_FALSE(few({2048, 1}, 16, SearchPhase::kForward));
  CHECK(few({2048, 1}, 17, SearchPhase::kForward));
  // Backward every token is a step, whatever the tile: 812 * 812 * 813 / 2 < 2^28 < 813 * 813 * 814 / 2.
  CHECK(few({812, 1}, 16, SearchPhase::kBackward));
  CHECK_FALSE(few({813, 1}, 16, SearchPhase::kBackward));
  // Axes and passes add up: 640 * 640 * 641 / 2 is 131,276,800, twice that fits, three times does not.
  CHECK(few({640, 640}, 16, SearchPhase::kBackward));
  CHECK_FALSE(few({640, 640, 640}, 16, SearchPhase::kBackward));
  CHECK(few({640, 640, 640}, 16, SearchPhase::kForward));
  // Both passes on two axes: 2 * (131,276,800 + 40 * 205,120) = 278,963,200.
  CHECK_FALSE(few({640, 640}, 16, SearchPhase::kBoth));
  // One option whose tiles are the tokens.
  for (const std::int64_t tokens : {std::int64_t{1} << 28, (std::int64_t{1} << 28) + 1}) {
    SearchSpace one = full_space({tokens});
    one.window[0] = one.stride[0] = {1, 1};
    one.tiles = {{"", {{1}, {1}}}};
    CHECK(few_enough_to_time(one, {}) == (tokens == std::int64_t{1} << 28));
  }
  // A sparsity range on one axis leaves few windows to look at.
  SearchSpace space = full_space({4000});
  space.tiles = {{"", {{4000}, {4000}}}};
  CHECK_FALSE(few_enough_to_time(space, {}));
  CHECK(few_enough_to_time(space, {.sparsity = SparsityRange{0.9, 0.95}}));
  CHECK(few_enough_to_time(space, {.sparsity = SparsityRange{0.05, 0.1}}));
  space.causal[0] = true;
  CHECK_FALSE(few_enough_to_time(space, {.sparsity = SparsityRange{0.9, 0.95}}));
}

}  // namespace time_search_test
