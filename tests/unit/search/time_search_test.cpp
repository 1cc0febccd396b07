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
  std::int64_t stride_product = 1, left_out = 0;  // pairs, negative: attended ones
  bool masked = false;
  Key kind;  // what every CTA does along each axis, and how it is masked

  [[nodiscard]] auto rank() const {
    return std::tie(ms, left_out, masked, stride_product, unevenness, window, stride, choice);
  }
};

/// By the definition: the pairs of all axes multiply.
std::int64_t attended_pairs(const NeighborhoodMask& mask) {
  std::int64_t pairs = 1;
  for (const AxisMask& axis : mask) pairs *= natten_sim::attended_pairs(axis);
  return pairs;
}

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
      row.left_out = -attended_pairs(mask);
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

/// One axis with small tiles.
struct OneAxis {
  Timed timed;

  explicit OneAxis(std::int64_t length, bool both = false) : timed(scenario(both, 3, 4)) {
    timed.space = full_space({length});
    timed.space.phase = both ? SearchPhase::kBoth : SearchPhase::kForward;
    timed.space.tiles = {{"", {{4}, {4}}, {{4}, {8}}}, {"", {{8}, {4}}, {{4}, {4}}}};
  }
};

TEST_CASE("a space that is sketched first gives what enumeration does") {
  // More than 2^15 tiles: 8,256 and 45,150 options of 32 and 75 Q tiles.
  for (const auto& [length, both] : {std::pair{128, false}, {300, false}, {128, true}}) {
    OneAxis one(length, both);
    struct Best {
      double ms = 1e300;
      std::int64_t attended = 0;
    };
    const double wished[] = {0.5, 0.8, 0.9, 0.97};
    std::array<Best, 4> best;
    for (std::int64_t window = 1; window <= length; ++window) {
      for (std::int64_t stride = 1; stride <= window; ++stride) {
        const NeighborhoodMask mask = make_mask({length}, {window}, {stride});
        for (std::size_t choice = 0; choice < 2; ++choice) {
          const double ms = time_of(one.timed, mask, choice);
          for (std::size_t i = 0; i < 4; ++i) {
            if (1 - static_cast<double>(window) / static_cast<double>(length) > wished[i] + 1e-12) continue;
            const std::int64_t attended = window * length;
            if (ms < best[i].ms || (ms == best[i].ms && attended > best[i].attended)) best[i] = {ms, attended};
          }
        }
      }
    }
    one.timed.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
      return time_of(one.timed, mask, choice);
    };
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(length, both, wished[i]);
      one.timed.constraints.sparsity = SparsityRange{0, wished[i]};
      const DistinctResult found =
          search_fastest(one.timed.space, one.timed.constraints, one.timed.objective, 1, Distinct::kWindow);
      REQUIRE(found.search.candidates.size() == 1);
      CHECK(found.complete);
      CHECK_FALSE(found.sketched);
      const Candidate& first = found.search.candidates[0];
      CHECK(time_of(one.timed, first.mask, first.tile_choice) == best[i].ms);
      CHECK(attended_pairs(first.mask) == best[i].attended);
    }
  }
}

TEST_CASE("many windows are those of all strides, where strides that bounds say are slower than another are not timed") {
  Timed timed = scenario(false, 3, 4);
  timed.space = full_space({12, 10});
  timed.space.tiles = {{"", {{2, 2}, {2, 2}}, {}}, {"", {{4, 3}, {2, 3}}, {}}};
  std::set<std::tuple<Extents, Extents, std::size_t>> seen;
  timed.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
    CHECK(seen.emplace(window_of(mask), stride_of(mask), choice).second);  // more combinations than are looked at at first
    return time_of(timed, mask, choice);
  };
  const auto search = [&](std::size_t top, Distinct distinct) {
    seen.clear();
    return search_fastest(timed.space, timed.constraints, timed.objective, top, distinct).search.candidates;
  };
  const std::vector<Candidate> all = search(20'000, Distinct::kStride);
  const std::size_t timed_of_all = seen.size();
  const std::vector<Candidate> windows = search(100, Distinct::kWindow);
  CHECK((timed_of_all > 512 && seen.size() < timed_of_all / 2));
  std::set<Extents> taken;
  std::vector<Candidate> first;
  for (const Candidate& each : all)
    if (taken.insert(window_of(each.mask)).second && first.size() < 100) first.push_back(each);
  REQUIRE((windows.size() == 100 && first.size() == 100));
  for (std::size_t i = 0; i < windows.size(); ++i) {
    CHECK((windows[i].mask == first[i].mask && windows[i].tile_choice == first[i].tile_choice));
  }
}

TEST_CASE("a long axis is searched whole where bounds leave few options, and by its sketch where they do not") {
  OneAxis one(20'000);
  one.timed.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
    return time_of(one.timed, mask, choice);
  };
  one.timed.constraints.sparsity = SparsityRange{0, 0.9};
  const auto search = [&](std::size_t top) {
    return search_fastest(one.timed.space, one.timed.constraints, one.timed.objective, top, Distinct::kWindow);
  };
  const DistinctResult best = search(1);
  CHECK(best.complete);
  CHECK_FALSE(best.sketched);
  REQUIRE(best.search.candidates.size() == 1);
  CHECK(window_of(best.search.candidates[0].mask) == Extents{2'000});  // 500 KV tiles, none of them in part
  CHECK(best.search.candidates[0].count.visited_tiles == 500 * best.search.candidates[0].count.q_tiles);
  const DistinctResult many = search(2'000);
  CHECK(many.sketched);
  CHECK_FALSE(many.complete);
  CHECK(many.search.candidates.size() > 100);
  for (std::size_t i = 1; i < many.search.candidates.size(); ++i) {
    const auto ms = [&](std::size_t row) {
      return time_of(one.timed, many.search.candidates[row].mask, many.search.candidates[row].tile_choice);
    };
    CHECK(ms(i - 1) <= ms(i));
  }
}

}  // namespace time_search_test
