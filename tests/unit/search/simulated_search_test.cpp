// The search by time where launches are simulated CTA by CTA, so that the longest CTA bounds them: against plain
// enumeration.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/search/windows/time_search.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/sim/tiles/shared_sm.hpp>

#include "catch.hpp"

namespace simulated_search_test {

using namespace natten_sim;

struct Question {
  SearchSpace space;
  TimeObjective objective;
};

/// Up to `most_simulated` CTAs as they run on the workers, one mean CTA at least of more.
double time_of(const TimedPass& pass, const TilePair& tiles, const NeighborhoodMask& mask) {
  NattenProblem problem{.mask = mask, .backend = pass.family, .tiles = tiles};
  problem.pass = pass.walk;
  problem.kernel_alone = true;
  LaunchWork work = launch_work(natten_visits(problem).attention, mask.rank(), pass.repeats, pass.workers);
  if (work.ctas > pass.most_simulated) {
    work.waves = uneven_waves(work.ctas, work.workers, 1).estimate;
  } else {
    const bool mixed = pass.family == NattenBackend::kFlexFna;
    const double masked_us = pass.costs.masked_tile_us[mask.rank() - 1];
    const double tile_us =
        (work.unmasked_tiles * pass.costs.unmasked_tile_us + work.bounds_masked_tiles * pass.costs.bounds_masked_tile_us +
         work.masked_tiles * masked_us) /
        work.tiles();
    std::vector<double> costs;
    for (const CtaVisits& cta : list_ctas(mask, tiles, pass.family, pass.walk)) {
      const auto all = static_cast<double>(cta.tiles), full = static_cast<double>(cta.full);
      costs.push_back(pass.costs.cta_us +
                      (mixed ? full * pass.costs.unmasked_tile_us + (all - full) * masked_us : all * tile_us));
    }
    const std::int64_t places = pass.costs.ctas_per_sm;
    const double makespan =
        pass.costs.lone_share > 0 ? run_shared(costs, pass.repeats, {pass.workers / places, places, pass.costs.lone_share})
                                  : run_grid(costs, pass.repeats, pass.workers, CtaSchedule::kGrid).makespan;
    const double busy = std::accumulate(costs.begin(), costs.end(), 0.0) * static_cast<double>(pass.repeats);
    work.waves = makespan / busy * work.ctas;
  }
  return launch_time(work, pass.costs).total_ms + pass.added_ms;
}

double time_of(const Question& question, const NeighborhoodMask& mask, std::size_t choice) {
  double ms = 0;
  for (const TimedPass& pass : question.objective.choices[choice].passes) {
    const TileChoice& tiles = question.space.tiles[choice];
    ms += time_of(pass, pass.walk == Walk::kForward ? tiles.tiles : tiles.backward_tiles, mask);
  }
  return ms;
}

TimedPass pass_of(Walk walk, NattenBackend family, std::int64_t heads, std::int64_t workers, double most_simulated) {
  TimedPass pass{.walk = walk, .family = family, .repeats = heads, .workers = workers};
  pass.most_simulated = most_simulated;
  const double times = walk == Walk::kForward ? 1 : 2.25;
  pass.costs.pass = walk;
  pass.costs.unmasked_tile_us = 0.7 * times, pass.costs.bounds_masked_tile_us = 0.9 * times;
  pass.costs.masked_tile_us = {1.05 * times, 1.1 * times, 1.15 * times};
  pass.costs.cta_us = 1.3 * times, pass.costs.launch_us = 3;
  pass.costs.slowdown = 0.1, pass.costs.slowdown_ms = 0.5;
  pass.added_ms = 0.004;
  return pass;
}

Question question_of(const Extents& input, bool both, NattenBackend family, std::int64_t heads, std::int64_t workers,
                     double most_simulated) {
  Question question{full_space(input), {}};
  question.space.phase = both ? SearchPhase::kBoth : SearchPhase::kForward;
  const TilePair narrow = input.rank() == 1 ? TilePair{{4}, {4}} : TilePair{{2, 2}, {1, 4}};
  const TilePair wide = input.rank() == 1 ? TilePair{{8}, {4}} : TilePair{{4, 2}, {2, 2}};
  question.space.tiles = {{"", narrow, wide}, {"", wide, narrow}};
  for (int choice = 0; choice < 2; ++choice) {
    question.objective.choices.push_back({{pass_of(Walk::kForward, family, heads, workers, most_simulated)}});
    if (both)
      question.objective.choices.back().passes.push_back(
          pass_of(Walk::kBackward, family, heads, workers, most_simulated));
  }
  return question;
}

struct Best {
  double ms = 1e300;
  std::int64_t attended = 0;
};

/// The least time of windows that leave out at most a share, and the most pairs in that time.
class Enumeration {
 public:
  explicit Enumeration(const Question& question) : question_(question) { enter({}, {}); }

  [[nodiscard]] Best best(double sparsity) const {
    Best best;
    const auto allowed = [&](const Best& each) {
      return 1 - static_cast<double>(each.attended) / static_cast<double>(dense_) <= sparsity + 1e-12;
    };
    for (const Best& each : all_) {
      if (allowed(each)) best.ms = std::min(best.ms, each.ms);
    }
    for (const Best& each : all_) {
      if (allowed(each) && each.ms <= best.ms * (1 + 1e-12)) best.attended = std::max(best.attended, each.attended);
    }
    return best;
  }

  /// The front of time against pairs: from each point on the least time of those that attend to `step` times as many.
  [[nodiscard]] std::vector<Best> front(double step) const {
    std::vector<Best> front;
    double least = 0;
    while (true) {
      Best next;
      const auto enough = [&](const Best& each) { return static_cast<double>(each.attended) >= least; };
      for (const Best& each : all_) {
        if (enough(each)) next.ms = std::min(next.ms, each.ms);
      }
      for (const Best& each : all_) {
        if (enough(each) && each.ms <= next.ms * (1 + 1e-12)) next.attended = std::max(next.attended, each.attended);
      }
      if (next.attended == 0) return front;
      front.push_back(next);
      least = std::max(step * static_cast<double>(next.attended), static_cast<double>(next.attended + 1));
    }
  }

 private:
  void enter(const Extents& window, const Extents& stride) {
    const Extents& input = question_.space.input;
    const std::size_t axis = window.rank();
    if (axis == input.rank()) {
      std::int64_t attended = 1;
      dense_ = 1;
      for (std::size_t i = 0; i < axis; ++i) attended *= window[i] * input[i], dense_ *= input[i] * input[i];
      const NeighborhoodMask mask = make_mask(input, window, stride);
      for (std::size_t choice = 0; choice < 2; ++choice) all_.push_back({time_of(question_, mask, choice), attended});
      return;
    }
    for (std::int64_t w = 1; w <= input[axis]; ++w) {
      for (std::int64_t s = 1; s <= w; ++s) {
        Extents longer = window, strided = stride;
        longer.push_back(w);
        strided.push_back(s);
        enter(longer, strided);
      }
    }
  }

  const Question& question_;
  std::vector<Best> all_;
  std::int64_t dense_ = 1;
};

TEST_CASE("where launches are simulated, the fastest has the least time of all and the most context in it") {
  for (const Extents& input : {Extents{150}, Extents{9, 11}}) {  // the first is sketched before it is searched
    for (const bool both : {false, true}) {
      for (const NattenBackend family : {NattenBackend::kHopperFna, NattenBackend::kFlexFna}) {
        if (input.rank() == 1 && both != (family == NattenBackend::kFlexFna)) continue;  // each of them once
        // Workers that are idle, that have a few CTAs each, and launches that are too large to simulate.
        for (const auto& [heads, workers, most] :
             {std::tuple<std::int64_t, std::int64_t, double>{1, 132, 1e6}, {5, 16, 1e6}, {5, 16, 40}}) {
          Question question = question_of(input, both, family, heads, workers, most);
          const Enumeration all(question);
          question.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
            return time_of(question, mask, choice);
          };
          for (const double sparsity : {0.35, 0.6, 0.82, 0.95}) {
            CAPTURE(to_string(input), both, family == NattenBackend::kFlexFna, heads, most, sparsity);
            SearchConstraints constraints;
            constraints.sparsity = SparsityRange{0, sparsity};
            const DistinctResult found =
                search_fastest(question.space, constraints, question.objective, 1, Distinct::kWindow);
            REQUIRE(found.search.candidates.size() == 1);
            CHECK(found.complete);
            const Candidate& first = found.search.candidates[0];
            const Best best = all.best(sparsity);
            CHECK(time_of(question, first.mask, first.tile_choice) <= best.ms * (1 + 1e-12));
            CHECK(first.count.attended_pairs == best.attended);
          }
        }
      }
    }
  }
}

/// CTAs of which several share an SM, faster alone, and power that masked pairs are spared.
void share_sms(Question& question, std::int64_t places) {
  for (TimedChoice& choice : question.objective.choices) {
    for (TimedPass& pass : choice.passes) {
      pass.costs.ctas_per_sm = places;
      pass.costs.lone_share = 0.6;
      pass.costs.slowdown = 0.5, pass.costs.slowdown_ms = 0.02;
      pass.costs.spared_slowdown = pass.walk == Walk::kForward ? 1 : 0.7;
    }
  }
}

TEST_CASE("where CTAs share SMs and masked pairs are spared power, the fastest has the least time of all") {
  for (const NattenBackend family : {NattenBackend::kHopperFna, NattenBackend::kFlexFna}) {
    for (const auto& [input, both] : {std::pair{Extents{47}, true}, std::pair{Extents{9, 11}, false}, std::pair{Extents{6, 7}, true}}) {
      // Launches of less than one CTA an SM, of one wave, and of several.
      for (const auto& [heads, workers, places] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1, 264, 2}, {3, 36, 3}, {7, 12, 2}}) {
        Question question = question_of(input, both, family, heads, workers, 1e6);
        share_sms(question, places);
        const Enumeration all(question);
        question.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
          return time_of(question, mask, choice);
        };
        for (const double sparsity : {0.35, 0.6, 0.82, 0.95}) {
          CAPTURE(to_string(input), both, family == NattenBackend::kFlexFna, heads, places, sparsity);
          SearchConstraints constraints;
          constraints.sparsity = SparsityRange{0, sparsity};
          const DistinctResult found = search_fastest(question.space, constraints, question.objective, 1, Distinct::kWindow);
          REQUIRE(found.search.candidates.size() == 1);
          CHECK(found.complete);
          const Candidate& first = found.search.candidates[0];
          const Best best = all.best(sparsity);
          CHECK(time_of(question, first.mask, first.tile_choice) <= best.ms * (1 + 1e-12));
          CHECK(first.count.attended_pairs == best.attended);
        }
      }
    }
  }
}

void check_front(const Extents& input, bool both) {
  Question question = question_of(input, both, NattenBackend::kHopperFna, 5, 16, 1e6);
  const Enumeration all(question);
  question.objective.exact_ms = [&](const NeighborhoodMask& mask, std::size_t choice) {
    return time_of(question, mask, choice);
  };
  for (const double step : {1.0, 1.3}) {
    CAPTURE(to_string(input), both, step);
    const std::vector<Best> expected = all.front(step);
    const DistinctResult found = search_time_front(question.space, {}, question.objective, step);
    CHECK(found.complete);
    const std::vector<Candidate>& points = found.search.candidates;
    REQUIRE(points.size() == expected.size());
    CHECK(points.size() > 3);
    for (std::size_t i = 0; i < points.size(); ++i) {
      CHECK(time_of(question, points[i].mask, points[i].tile_choice) <= expected[i].ms * (1 + 1e-12));
      CHECK(points[i].count.attended_pairs == expected[i].attended);
    }
  }
}

TEST_CASE("the front of time against context is that of enumeration, whole or with a point for each step") {
  for (const Extents& input : {Extents{61}, Extents{9, 8}}) {
    for (const bool both : {false, true}) check_front(input, both);
  }
  Question question = question_of({9, 8}, false, NattenBackend::kHopperFna, 5, 16, 1e6);
  question.objective.exact_ms = [](const NeighborhoodMask&, std::size_t) { return 1.0; };
  CHECK_THROWS_AS(search_time_front(question.space, {}, question.objective, 0.99), InvalidParameter);
  SearchConstraints none;
  none.sparsity = SparsityRange{0.999, 0.9995};  // no window of 72 tokens leaves out as much
  const DistinctResult empty = search_time_front(question.space, none, question.objective, 1);
  CHECK(empty.search.candidates.empty());
  CHECK(empty.search.nearest_sparsity);
}

TEST_CASE("the front of time of an axis that is sketched first is that of enumeration", "[.nightly][long]") {
  for (const bool both : {false, true}) check_front({150}, both);
}

}  // namespace simulated_search_test
