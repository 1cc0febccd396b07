#include <vector>

#include <natten_sim/sim/tiles/kernel_grid.hpp>

#include "catch.hpp"

namespace kernel_grid_test {

using namespace natten_sim;

TEST_CASE("equal CTAs run in waves") {
  // 10 CTAs of 3 on 4 workers: 4 + 4 + 2, three waves of 3.
  const std::vector<double> costs(10, 3.0);
  for (const CtaSchedule schedule : {CtaSchedule::kGrid, CtaSchedule::kPersistent}) {
    const GridRun run = run_grid(costs, 1, 4, schedule);
    CHECK(run.makespan == 9.0);
    CHECK(run.busy == 7.5);
    CHECK(run.ctas == 10);
  }
}

TEST_CASE("a free worker takes the next CTA, a persistent one keeps its stride") {
  // Two workers, CTAs 5 1 1 1 | 5 1 1 1. Grid: A: 5, 1 (5..6), 1 (6..7), 1 (7..8) ; B: 1 1 1 5 (3..8).
  // Persistent: A has CTAs 0 2 4 6: 5 + 1 + 5 + 1; B has 1 3 5 7: 4.
  const std::vector<double> costs = {5, 1, 1, 1};
  CHECK(run_grid(costs, 2, 2, CtaSchedule::kGrid).makespan == 8.0);
  CHECK(run_grid(costs, 2, 2, CtaSchedule::kPersistent).makespan == 12.0);
  CHECK(run_grid(costs, 2, 2, CtaSchedule::kGrid).busy == 8.0);
}

TEST_CASE("one run has the makespans of fewer repetitions, to the bit") {
  const std::vector<double> costs = {5, 1.5, 0.25, 3, 1};
  for (const CtaSchedule schedule : {CtaSchedule::kGrid, CtaSchedule::kPersistent}) {
    for (const std::int64_t workers : {1, 2, 3, 7, 100}) {
      const std::vector<double> makespans = grid_makespans(costs, 9, workers, schedule);
      REQUIRE(makespans.size() == 9);
      for (std::int64_t repeats = 1; repeats <= 9; ++repeats) {
        // A persistent worker's CTAs are added up as they stand; a grid's by hand on one worker.
        CHECK(makespans[static_cast<std::size_t>(repeats - 1)] == run_grid(costs, repeats, workers, schedule).makespan);
        if (workers == 1) CHECK(makespans[static_cast<std::size_t>(repeats - 1)] == 10.75 * static_cast<double>(repeats));
        if (workers == 100) CHECK(makespans[static_cast<std::size_t>(repeats - 1)] == 5);
      }
    }
  }
}

TEST_CASE("workers that no CTA is left for cost nothing, however many") {
  const std::vector<double> costs = {3, 5};
  for (const CtaSchedule schedule : {CtaSchedule::kGrid, CtaSchedule::kPersistent})
    CHECK(run_grid(costs, 1, std::int64_t{1} << 60, schedule).makespan == 5);
}

TEST_CASE("Q tiles in the middle of an axis see one KV tile more than those at its ends") {
  // 64 tokens, window 16, Q tiles of 8, KV tiles of 8: inner Q tile [8i, 8i+8) sees tokens 8i-8 .. 8i+14,
  // three tiles; the first and the last windows are shifted inwards: tokens 0..14 and 49-.. .
  const std::vector<CtaVisits> ctas =
      list_ctas(make_mask({64}, {16}), {{8}, {8}}, NattenBackend::kHopperFna, Walk::kForward);
  std::vector<std::int64_t> tiles;
  for (const CtaVisits& cta : ctas) tiles.push_back(cta.tiles);
  // Query 0 and 7 see 0..15 and 0..15 (7-8 < 0): two tiles. Query 8: 0..15; 15: 7..22: three. Query 56 sees
  // 48..63, as 63 does: two.
  CHECK(tiles == std::vector<std::int64_t>{2, 3, 3, 3, 3, 3, 3, 2});
}

TEST_CASE("a dilation group that is a tile short runs an empty tile") {
  // 33 tokens, dilation 2, tiles of 4: groups of 17 and 16 tokens, both padded to ceil(33 / 8) = 5 tiles.
  const std::vector<CtaVisits> ctas =
      list_ctas(make_mask({33}, {8}, {}, {2}), {{4}, {4}}, NattenBackend::kHopperFna, Walk::kForward);
  REQUIRE(ctas.size() == 10);
  CHECK(ctas.back().tiles == 2);  // the window of the last of 16 tokens: 8..15
}

TEST_CASE("2^22 CTAs of a head are listed, and no more") {
  const auto list = [](std::int64_t length) {
    return list_ctas(make_mask({length}, {1}), {{1}, {1}}, NattenBackend::kHopperFna, Walk::kForward).size();
  };
  CHECK(list(4194304) == 4194304);
  CHECK_THROWS_AS(list(4194305), InvalidParameter);
  CHECK_THROWS_AS(
      list_ctas(make_mask({8192, 1024}, {1, 1}), {{1, 1}, {1, 1}}, NattenBackend::kHopperFna, Walk::kForward),
      InvalidParameter);
}

TEST_CASE("cutlass-fna and nothing to run are refused") {
  const NeighborhoodMask mask = make_mask({16}, {4});
  CHECK_THROWS_AS(list_ctas(mask, {{4}, {4}}, NattenBackend::kCutlassFna, Walk::kForward), InvalidParameter);
  CHECK_THROWS_AS(run_grid({}, 1, 1, CtaSchedule::kGrid), InvalidParameter);
  const std::vector<double> costs = {1};
  CHECK_THROWS_AS(run_grid(costs, 1, 0, CtaSchedule::kGrid), InvalidParameter);
}

}  // namespace kernel_grid_test
