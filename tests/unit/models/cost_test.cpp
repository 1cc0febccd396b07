#include <cmath>
#include <limits>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "catch.hpp"
#include "refused.hpp"

namespace cost_test {

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

TEST_CASE("FLOPs as a double are those that are counted, in both passes and with head dims that differ") {
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    TilingProblem problem = kProblem;
    problem.walk = walk;
    const TileCount count = count_tiles(problem);
    const Workload workload{.batch = 3, .heads = 5, .head_dim = 48, .head_dim_value = 80};
    const double per_pair = walk == Walk::kForward ? 2 * 48 + 2 * 80 : 6 * 48 + 4 * 80;
    CHECK(approximate_mma_flops(count, workload) == 32 * 8 * 4 * 3 * 5 * per_pair);
    CHECK(static_cast<double>(flops(count, workload).mma) == approximate_mma_flops(count, workload));
  }
}

TEST_CASE("a workload of nothing is refused by its name, and FLOPs of 2^127 are an overflow") {
  TileCount count = count_tiles(kProblem);
  const auto refused = [&](const Workload& workload) {
    return test::refused([&] { (void)flops(count, workload); });
  };
  CHECK(refused({.batch = 1, .heads = 1, .head_dim = 1, .head_dim_value = 1}).empty());
  CHECK(refused({.batch = 0}) == "batch");
  CHECK(refused({.heads = 0}) == "heads");
  CHECK(refused({.head_dim = 0}) == "head_dim");
  CHECK(refused({.head_dim_value = 0}) == "head_dim_value");
  const Workload two{.head_dim = 1, .head_dim_value = 1};  // four FLOPs a pair
  count.dense_pairs = (static_cast<Int128>(1) << 125) - 1;
  CHECK(flops(count, two).dense == 4 * count.dense_pairs);
  ++count.dense_pairs;
  CHECK_THROWS_AS(flops(count, two), OverflowError);
}

TEST_CASE("extra tokens of nothing are allowed, tiles that are cut count whole") {
  const TileCount count = count_tiles(kProblem);
  CHECK(test::refused([&] { (void)count_extra_kv(kProblem, count, -1); }) == "add_kv");
  CHECK(count_extra_kv(kProblem, count, 0).mma_pairs == 0);
  CHECK(count_extra_kv(kProblem, count, 8).kv_tiles == 2);
}

TEST_CASE("shares, steps and speedups are refused by name, their ends are taken") {
  const auto refused = [](const AttentionShare& share, double speedup = 2) {
    return test::refused([&] { (void)end_to_end_speedup(share, speedup); });
  };
  CHECK(refused({.share = 1.001}) == "attention_share");
  CHECK(refused({.share = -0.001}) == "attention_share");
  CHECK(refused({.share = 1, .steps = 0}) == "steps");
  CHECK(refused({.share = 1, .dense_steps = -1, .steps = 3}) == "dense_steps");
  CHECK(refused({.share = 1, .dense_steps = 4, .steps = 3}) == "dense_steps");
  CHECK(refused({.share = 1, .dense_steps = 3, .steps = 3}).empty());
  CHECK(refused({.share = 1}, 0) == "operation_speedup");
  CHECK(refused({.share = 1}, std::numeric_limits<double>::quiet_NaN()) == "operation_speedup");
  CHECK(refused({.share = 1}, 1e-300).empty());
  CHECK(std::abs(end_to_end_speedup({.share = 0.8, .dense_steps = 1, .steps = 4}, 3.0) -
                 1 / (0.2 + 0.8 * (0.25 + 0.75 / 3))) < 1e-15);
}

}  // namespace cost_test
