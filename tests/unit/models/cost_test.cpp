#include <cmath>

#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;

const TilingProblem kProblem{.mask = make_mask({64}, {16}, {8}), .tiles = {{8}, {4}}};

TEST_CASE("forward FLOPs are two products of two FLOPs a pair and channel") {
  const TileCount count = count_tiles(kProblem);
  const Flops result = flops(count, {.batch = 2, .heads = 3, .head_dim = 32, .head_dim_value = 16});
  CHECK(result.attended == 2 * 3 * 2 * (32 + 16) * 64 * 16);
  CHECK(result.mma == 2 * 3 * 2 * (32 + 16) * 32 * (8 * 4));
  CHECK(result.dense == 2 * 3 * 2 * (32 + 16) * 64 * 64);
}

TEST_CASE("backward FLOPs are five products, 2.5 times the forward ones at equal head dims") {
  TilingProblem backward = kProblem;
  backward.walk = Walk::kBackward;
  const Workload workload{.batch = 1, .heads = 1, .head_dim = 64, .head_dim_value = 64};
  CHECK(2 * flops(count_tiles(backward), workload).attended ==
        5 * flops(count_tiles(kProblem), workload).attended);
}

TEST_CASE("extra KV tokens are dense for every query") {
  const ExtraKvCount extra = count_extra_kv(kProblem, count_tiles(kProblem), 9);
  CHECK(extra.tokens == 9);
  CHECK(extra.kv_tiles == 3);
  CHECK(extra.visited_tiles == 8 * 3);
  CHECK(extra.attended_pairs == 64 * 9);
  CHECK(extra.mma_pairs == 8 * 3 * 8 * 4);
  CHECK(count_extra_kv(kProblem, count_tiles(kProblem), 0).visited_tiles == 0);
  CHECK_THROWS_AS(count_extra_kv(kProblem, count_tiles(kProblem), -1), InvalidParameter);
}

TEST_CASE("Amdahl's law at its ends") {
  CHECK(end_to_end_speedup({.share = 1.0}, 4.0) == 4.0);
  CHECK(end_to_end_speedup({.share = 0.0}, 4.0) == 1.0);
  CHECK(end_to_end_speedup({.share = 0.5, .dense_steps = 10, .steps = 10}, 4.0) == 1.0);
  // Half of the time attention, half of the steps sparse at 2x: 1 / (0.5 + 0.5 (0.5 + 0.25)).
  CHECK(std::abs(end_to_end_speedup({.share = 0.5, .dense_steps = 1, .steps = 2}, 2.0) - 1.0 / 0.875) <
        1e-15);
}

TEST_CASE("impossible shares, steps and multipliers are refused") {
  CHECK_THROWS_AS(end_to_end_speedup({.share = 1.5}, 2.0), InvalidParameter);
  CHECK_THROWS_AS(end_to_end_speedup({.share = -0.1}, 2.0), InvalidParameter);
  CHECK_THROWS_AS(end_to_end_speedup({.share = std::nan("")}, 2.0), InvalidParameter);
  CHECK_THROWS_AS(end_to_end_speedup({.share = 0.5, .dense_steps = 3, .steps = 2}, 2.0), InvalidParameter);
  CHECK_THROWS_AS(end_to_end_speedup({.share = 0.5}, 0.0), InvalidParameter);
  CHECK_THROWS_AS(flops(count_tiles(kProblem), {.batch = 0}), InvalidParameter);
}

}  // namespace
