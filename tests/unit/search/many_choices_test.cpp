// The search by time among many tile choices of cutlass-fna, whose passes are looked at alone, against
// enumeration.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <natten_sim/models/tiles/cutlass_ctas.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/search/windows/time_search.hpp>

#include "catch.hpp"
#include "windows/time_limit.hpp"

namespace many_choices_test {

using namespace natten_sim;

constexpr std::int64_t kHeads = 3, kHeadDim = 64;

struct Question {
  SearchSpace space = full_space({12, 10});
  TimeObjective objective;
};

const TilePair& pair_of(const TileChoice& choice, Walk pass) {
  return pass == Walk::kForward ? choice.tiles : choice.backward_tiles;
}

CutlassLaunch launch_of(const NeighborhoodMask& mask, const TilePair& tiles, Walk pass) {
  return {.mask = mask, .tiles = tiles, .pass = pass, .repeats = kHeads, .head_dim = kHeadDim};
}

NattenProblem problem_of(const NeighborhoodMask& mask, const TilePair& tiles, Walk pass) {
  NattenProblem problem{.mask = mask, .backend = NattenBackend::kCutlassFna, .tiles = tiles};
  problem.pass = pass;
  problem.kernel_alone = true;
  return problem;
}

double time_of(const NeighborhoodMask& mask, const TilePair& tiles, const TimedPass& pass) {
  LaunchWork work = launch_work(natten_visits(problem_of(mask, tiles, pass.walk)).attention, mask.rank(),
                                kHeads, pass.workers);
  const CutlassWork cutlass = cutlass_work(launch_of(mask, tiles, pass.walk));
  work.spread = cutlass.spread;
  work.spread->sms = pass.workers / pass.costs.ctas_per_sm;
  work.spread->prepared_bytes = 0;
  work.missing = cutlass.missing;
  return launch_time(work, pass.costs).total_ms;
}

TimedPass pass_of(const Question& question, const TilePair& tiles, Walk walk) {
  TimedPass pass{.walk = walk, .family = NattenBackend::kCutlassFna, .repeats = kHeads, .workers = 8};
  const double pairs =
      static_cast<double>(product(tiles.q_tile, "q_tile") * product(tiles.kv_tile, "kv_tile"));
  const double slower = walk == Walk::kForward ? 1 : 2.25;
  pass.costs.ctas_per_sm = 2;
  pass.costs.lone_share = 0.7;
  pass.costs.unmasked_tile_us = slower * (1 + 0.1 * pairs);
  pass.costs.bounds_masked_tile_us = 1.05 * pass.costs.unmasked_tile_us;
  pass.costs.masked_tile_us.fill(1.2 * pass.costs.unmasked_tile_us);
  pass.costs.cta_us = 2, pass.costs.launch_us = 4;
  pass.costs.slowdown = 0.2, pass.costs.slowdown_ms = 1;
  pass.costs.step_jitter = 0.1;
  pass.costs.clipped_share = walk == Walk::kForward ? 0.25 : 0;
  pass.least_pair = 1 - pass.costs.clipped_share;
  const NeighborhoodMask whole = make_mask(question.space.input, question.space.input);
  pass.cutlass = cutlass_layout(launch_of(whole, tiles, walk));
  pass.cutlass->prepared_bytes = 0;
  return pass;
}

/// Five pairs of tiles forward, each with six backward.
Question question_of_both_passes() {
  Question question;
  question.space.phase = SearchPhase::kBoth;
  question.space.kv_tiling = KvTiling::kDynamic;  // cutlass-fna's KV tiles begin with a window
  for (const TilePair& forward :
       {TilePair{{2, 2}, {4, 2}}, {{4, 1}, {2, 4}}, {{2, 4}, {2, 2}}, {{4, 2}, {4, 2}}, {{1, 4}, {4, 4}}}) {
    for (const TilePair& backward : {TilePair{{2, 2}, {2, 2}},
                                     {{4, 1}, {2, 2}},
                                     {{2, 2}, {4, 2}},
                                     {{1, 4}, {2, 4}},
                                     {{4, 2}, {2, 4}},
                                     {{2, 1}, {4, 1}}}) {
      question.space.tiles.push_back({"", forward, backward});
      question.objective.choices.push_back({.passes = {pass_of(question, forward, Walk::kForward),
                                                       pass_of(question, backward, Walk::kBackward)}});
    }
  }
  return question;
}

struct Row {
  double ms = 0;
  std::int64_t attended = 0;
};

/// Of each window the least time of all strides and choices.
std::vector<Row> enumerated(const Question& question) {
  const std::vector<TimedChoice>& choices = question.objective.choices;
  std::vector<Row> rows;
  for (std::int64_t w0 = 1; w0 <= 12; ++w0) {
    for (std::int64_t w1 = 1; w1 <= 10; ++w1) {
      Row row{1e300, w0 * w1 * 12 * 10};
      for (std::int64_t s0 = 1; s0 <= w0; ++s0) {
        for (std::int64_t s1 = 1; s1 <= w1; ++s1) {
          const NeighborhoodMask mask = make_mask({12, 10}, {w0, w1}, {s0, s1});
          double least[2] = {1e300, 1e300};  // choices pair all tiles of both passes
          for (std::size_t choice = 0; choice < choices.size(); ++choice) {
            if (choice < 6)
              least[1] = std::min(least[1], time_of(mask, question.space.tiles[choice].backward_tiles,
                                                    choices[choice].passes[1]));
            if (choice % 6 == 0)
              least[0] = std::min(
                  least[0], time_of(mask, question.space.tiles[choice].tiles, choices[choice].passes[0]));
          }
          row.ms = std::min(row.ms, least[0] + least[1]);
        }
      }
      rows.push_back(row);
    }
  }
  return rows;
}

TEST_CASE("of many tile choices of two passes the fastest windows are those of enumeration") {
  Question question = question_of_both_passes();
  const std::vector<Row> all = enumerated(question);
  std::int64_t timed = 0;
  question.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
    ++timed;
    double ms = 0;
    for (const TimedPass& pass : question.objective.choices[choice].passes)
      ms += time_of(mask, pair_of(question.space.tiles[choice], pass.walk), pass);
    return ms;
  };
  for (const double sparsity : {0.3, 0.55, 0.7, 0.85, 0.95}) {
    const SearchConstraints constraints{.sparsity = SparsityRange{0, sparsity}};
    std::vector<Row> expected;
    for (const Row& row : all) {
      if (1 - static_cast<double>(row.attended) / (120.0 * 120.0) <= sparsity + 1e-12)
        expected.push_back(row);
    }
    std::sort(expected.begin(), expected.end(), [](const Row& a, const Row& b) { return a.ms < b.ms; });
    for (const std::size_t top : {1, 3, 7}) {
      CAPTURE(sparsity, top);
      timed = 0;
      const DistinctResult found = search_fastest(question.space, constraints, question.objective, top,
                                                  Distinct::kWindow, {.threads = 1});
      CHECK((found.complete && !found.sketched));
      CHECK(timed < 500);  // of 4,290 windows and strides with 30 choices
      REQUIRE(found.search.candidates.size() == top);
      for (std::size_t i = 0; i < top; ++i) {
        const Candidate& row = found.search.candidates[i];
        CHECK(question.objective.exact_ms(row.mask, row.tile_choice) ==
              Approx(expected[i].ms).epsilon(1e-12));
      }
      const auto slower = [&](const Row& row) { return row.ms > expected[0].ms * (1 + 1e-12); };
      const auto end = std::find_if(expected.begin(), expected.end(), slower);
      const auto most = std::max_element(expected.begin(), end,
                                         [](const Row& a, const Row& b) { return a.attended < b.attended; });
      CHECK(found.search.candidates[0].count.attended_pairs == most->attended);
    }
  }
}

TEST_CASE(
    "a launch of cutlass-fna masks elements in all of its tiles or in none, whatever its options tell along "
    "an axis") {
  const Question question = question_of_both_passes();
  std::int64_t masked = 0, unmasked = 0;
  for (std::int64_t w0 = 1; w0 <= 12; ++w0) {
    for (std::int64_t s0 = 1; s0 <= w0; ++s0) {
      for (const std::int64_t w1 : {3, 4, 8, 10}) {
        const NeighborhoodMask mask = make_mask({12, 10}, {w0, w1}, {s0, w1 == 8 ? 4 : 1});
        for (const TileChoice& choice : question.space.tiles) {
          for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
            const TilePair& tiles = pair_of(choice, pass);
            const KernelVisits visits = natten_visits(problem_of(mask, tiles, pass)).attention;
            if (natten_fast_path({.mask = mask, .tiles = tiles})) {
              CHECK(visits.masked_tiles == 0);
              ++unmasked;
            } else {
              CHECK(visits.masked_tiles == visits.visited_tiles);
              ++masked;
            }
          }
        }
      }
    }
  }
  CHECK((masked > 1000 && unmasked > 100));
  const std::vector<PerPass<double>> costs = masked_costs(question.space, question.objective);
  REQUIRE(costs.size() == 30);
  for (const PerPass<double>& each : costs) {  // over what bounds take at least
    CHECK(each[0] >= 1.2 / 1.05 * (1 - 1e-12));
    CHECK(each[1] >= 1.2 / 1.05 * (1 - 1e-12));
  }
}

}  // namespace many_choices_test
