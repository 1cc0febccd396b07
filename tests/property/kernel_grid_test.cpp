// CTA by CTA against closed forms: the same visits, and makespans within their bounds.
#include <algorithm>
#include <cstdint>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace kernel_grid_test {

using namespace natten_sim;

struct Drawn {
  NeighborhoodMask mask;
  TilePair tiles;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  Drawn problem() {
    Drawn drawn;
    const std::int64_t rank = in(1, 3);
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      AxisMask mask;
      mask.length = in(2, rank == 1 ? 90 : 40);
      mask.dilation = in(1, std::min<std::int64_t>(3, mask.length / 2));
      mask.window = in(1, mask.length / mask.dilation);
      mask.stride = in(1, mask.window);
      mask.causal = in(0, 3) == 0;
      drawn.mask.push_back(mask);
      drawn.tiles.q_tile.push_back(std::int64_t{1} << in(0, 3));
      drawn.tiles.kv_tile.push_back(std::int64_t{1} << in(0, 3));
    }
    return drawn;
  }

 private:
  std::mt19937_64 engine_;
};

TEST_CASE("CTAs listed one by one visit what the closed form counts") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  Draw draw(seed);
  for (int trial = 0; trial < 4000; ++trial) {
    const Drawn drawn = draw.problem();
    for (const NattenBackend backend : {NattenBackend::kHopperFna, NattenBackend::kFlexFna}) {
      for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
        const KernelVisits visits = natten_visits({.mask = drawn.mask,
                                                   .backend = backend,
                                                   .tiles = drawn.tiles,
                                                   .fmha = {backend, 64, 64},
                                                   .pass = pass,
                                                   .kernel_alone = true})
                                        .attention;
        std::int64_t tiles = 0, full = 0;
        const std::vector<CtaVisits> ctas = list_ctas(drawn.mask, drawn.tiles, backend, pass);
        for (const CtaVisits& cta : ctas) tiles += cta.tiles, full += cta.full;
        INFO(to_string(input_of(drawn.mask))
             << " window " << to_string(window_of(drawn.mask)) << " stride "
             << to_string(stride_of(drawn.mask)) << " dilation " << to_string(dilation_of(drawn.mask))
             << " tiles " << to_string(drawn.tiles.q_tile) << " " << to_string(drawn.tiles.kv_tile)
             << " backend " << to_string(backend) << " backward " << (pass == Walk::kBackward) << " causal "
             << causal_of(drawn.mask)[0]);
        REQUIRE(static_cast<std::int64_t>(ctas.size()) == visits.launched_tiles);
        REQUIRE(tiles == visits.visited_tiles);
        if (backend == NattenBackend::kFlexFna) REQUIRE(full == visits.unmasked_tiles);
      }
    }
  }
}

TEST_CASE("a simulated grid lies within the closed form's bounds, and equals it for equal CTAs") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  Draw draw(seed);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::int64_t workers = draw.in(1, 140), repeats = draw.in(1, 30);
    std::vector<double> costs;
    const std::int64_t ctas = draw.in(1, 60), most = draw.in(1, 20);
    for (std::int64_t cta = 0; cta < ctas; ++cta) costs.push_back(static_cast<double>(draw.in(1, most)));
    const GridRun run = run_grid(costs, repeats, workers, CtaSchedule::kGrid);
    const double mean = run.busy * static_cast<double>(workers) / static_cast<double>(run.ctas);
    const double longest = *std::max_element(costs.begin(), costs.end()) / mean;
    const WaveBounds bounds = uneven_waves(static_cast<double>(run.ctas), workers, longest);
    INFO("workers " << workers << ", CTAs " << run.ctas << ", longest " << longest);
    REQUIRE(run.makespan / mean >= bounds.least * (1 - 1e-9));
    REQUIRE(run.makespan / mean <= bounds.most * (1 + 1e-9));
    REQUIRE(bounds.estimate >= bounds.least);
    if (most == 1) {
      REQUIRE(run.makespan / mean == Approx(even_waves(static_cast<double>(run.ctas), workers)));
      REQUIRE(run_grid(costs, repeats, workers, CtaSchedule::kPersistent).makespan == Approx(run.makespan));
    }
  }
}

/// Whoever is free first takes the next CTA: with a heap of the times at which workers become free.
double makespan_by_heap(const std::vector<double>& costs, std::int64_t repeats, std::int64_t workers) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (std::int64_t worker = 0; worker < workers; ++worker) free_at.push(0);
  double makespan = 0;
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (const double cost : costs) {
      const double end = free_at.top() + cost;
      free_at.pop();
      free_at.push(end);
      makespan = std::max(makespan, end);
    }
  }
  return makespan;
}

TEST_CASE("a grid's makespan is that of a heap of free times, to the bit, whatever the lengths of the CTAs") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  Draw draw(seed);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::int64_t workers = draw.in(1, 140), repeats = draw.in(1, 20), ctas = draw.in(1, 200);
    const double unit = std::pow(10.0, static_cast<double>(draw.in(-9, 9)));
    const std::int64_t most = draw.in(0, 2) == 0 ? 100'000'000 : draw.in(1, 100);  // beyond all slices
    std::vector<double> costs;
    for (std::int64_t cta = 0; cta < ctas; ++cta)
      costs.push_back(unit * (0.3 + static_cast<double>(draw.in(0, most))));
    INFO("workers " << workers << ", CTAs " << ctas << " x " << repeats << ", lengths to " << most);
    REQUIRE(run_grid(costs, repeats, workers, CtaSchedule::kGrid).makespan ==
            makespan_by_heap(costs, repeats, workers));
  }
}

TEST_CASE(
    "behind many waves of random CTAs the estimate is within half a wave on average, never beyond bounds") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  Draw draw(seed);
  constexpr int kTrials = 50;
  double deviations = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> costs;
    for (int cta = 0; cta < 5000; ++cta) costs.push_back(static_cast<double>(draw.in(30, 90)));
    const GridRun run = run_grid(costs, 4, 132, CtaSchedule::kGrid);
    const double mean = run.busy * 132 / static_cast<double>(run.ctas);
    const double longest = *std::max_element(costs.begin(), costs.end());
    const WaveBounds bounds = uneven_waves(static_cast<double>(run.ctas), 132, longest / mean);
    const double waves = run.makespan / mean;
    REQUIRE(waves >= bounds.least * (1 - 1e-12));
    REQUIRE(waves <= bounds.most * (1 + 1e-12));
    deviations += std::abs(waves - bounds.estimate);
  }
  CHECK(deviations / kTrials < 0.5);
}

}  // namespace kernel_grid_test
