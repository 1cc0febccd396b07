#include <limits>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/wide_integer.hpp>
#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/search.hpp>

#include "catch.hpp"

namespace overflow_test {

using namespace natten_sim;

std::string overflowing_quantity(const TilingProblem& problem) {
  try {
    (void)count_tiles(problem);
  } catch (const OverflowError& error) {
    return error.parameter();
  }
  return "none";
}

TEST_CASE("2^40 tokens in one, two and three dimensions are counted exactly") {
  // Blocked attention, tiles that divide the window: each Q tile visits window / KV tile, all full.
  const auto count = [](const Extents& input, const Extents& window, const TilePair& tiles) {
    return count_tiles({.mask = make_mask(input, window, window), .tiles = tiles});
  };
  const std::int64_t tokens = std::int64_t{1} << 40;
  for (const TileCount& blocked : {count({tokens}, {4096}, {{256}, {128}}),
                                   count({1 << 20, 1 << 20}, {64, 64}, {{16, 16}, {16, 8}}),
                                   count({1 << 14, 1 << 13, 1 << 13}, {16, 16, 16}, {{8, 4, 8}, {4, 4, 8}})}) {
    CHECK(decimal(blocked.dense_pairs) == "1208925819614629174706176");  // 2^80
    CHECK(decimal(blocked.dense_tiles) == "36893488147419103232");      // 2^32 * 2^33
    CHECK(blocked.attended_pairs == tokens * 4096);
    CHECK(blocked.mma_pairs == blocked.attended_pairs);
    CHECK(blocked.visited_tiles == (std::int64_t{1} << 32) * (4096 / 128));
    CHECK(blocked.full_tiles == blocked.visited_tiles);
    // Powers of two: doubles hold all ratios exactly.
    const double kept = static_cast<double>(tokens) / 4096;
    CHECK(blocked.speedup_flop() == kept);
    CHECK(blocked.speedup_mean() == kept);
    CHECK(blocked.speedup_worst() == kept);
    CHECK(blocked.speedup_work() == kept);
    CHECK(blocked.sparsity() == 1 - 1 / kept);
    CHECK(blocked.wasted_share() == 0);
    const Flops work = flops(blocked, {.batch = 1, .heads = 32, .head_dim = 128, .head_dim_value = 128});
    CHECK(decimal(work.dense) == "19807040628566084398385987584");  // 2^80 * 2^14
    CHECK(work.attended == Int128{tokens} * 4096 * (1 << 14));
    CHECK(work.mma == work.attended);
  }
}

TEST_CASE("what a mask keeps has 63 bits, and says so beyond them") {
  // 3037000499^2 < 2^63 <= 3037000500^2.
  const std::int64_t tokens = 3037000499;
  const TileCount count = count_tiles({.mask = make_mask({tokens}, {tokens}), .tiles = {{1}, {1}}});
  CHECK(count.dense_pairs == tokens * tokens);
  CHECK(count.attended_pairs == tokens * tokens);
  CHECK(count.full_tiles == tokens * tokens);
  CHECK(overflowing_quantity({.mask = make_mask({tokens + 1}, {tokens + 1}), .tiles = {{256}, {128}}}) ==
        "attended_pairs");
}

TEST_CASE("huge windows, strides and odd tiles on a huge axis match their formulas") {
  const std::int64_t length = std::int64_t{1} << 31;
  // Blocked attention with blocks of 2^20 and tiles that divide them: each Q tile visits 2^20 / 2^7 tiles,
  // all full.
  const TileCount blocked =
      count_tiles({.mask = make_mask({length}, {1 << 20}, {1 << 20}), .tiles = {{256}, {128}}});
  CHECK(blocked.visited_tiles == length / 256 * ((1 << 20) / 128));
  CHECK(blocked.full_tiles == blocked.visited_tiles);
  // Causal, every earlier token: tiles of one token make the triangle.
  const TileCount triangle =
      count_tiles({.mask = make_mask({1 << 30}, {1 << 30}, {}, {}, {true}), .tiles = {{1}, {1}}});
  CHECK(triangle.visited_tiles == (std::int64_t{1} << 29) * ((std::int64_t{1} << 30) + 1));
  CHECK(triangle.max_tiles_per_walked_tile == 1 << 30);
}

TEST_CASE("padding that overflows is reported as such") {
  CHECK(overflowing_quantity({.mask = make_mask({8}, {4}),
                              .tiles = {{std::int64_t{1} << 40}, {std::int64_t{1} << 40}}}) == "mma_pairs");
}

TEST_CASE("FLOPs beyond 127 bits are reported") {
  const Workload workload{.batch = 64, .heads = 64, .head_dim = 128, .head_dim_value = 128};
  const auto of = [&](std::int64_t tokens) {
    return flops(count_tiles({.mask = make_mask({tokens}, {1}), .tiles = {{1}, {1}}}), workload);
  };
  // 2^104 pairs times 2^12 heads times 2^9.
  CHECK(of(std::int64_t{1} << 52).dense == Int128{1} << 125);
  CHECK_THROWS_AS(of(std::int64_t{1} << 53), OverflowError);
}

TEST_CASE("a search space too large to count or to tabulate is refused") {
  SearchSpace space = full_space({1 << 20});
  space.tiles = {{"", {{64}, {64}}}};
  CHECK_THROWS_AS(search_pareto(space, {}, Objective::kWork), InvalidParameter);
  // The best of them needs no table of all 5.5e11 options.
  CHECK(search_best(space, {}, Objective::kWork, 1).evaluated < 1'000'000);
  SearchSpace larger = full_space({std::int64_t{1} << 40});
  larger.tiles = {{"", {{64}, {64}}}};
  CHECK_THROWS_AS(search_best(larger, {}, Objective::kWork, 1), OverflowError);
}

TEST_CASE("checked arithmetic works up to the last value and throws behind it") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  CHECK(checked_multiply(kMax, 1, "x") == kMax);
  CHECK(checked_add(kMax - 1, 1, "x") == kMax);
  CHECK(checked_narrow(Int128{kMax}, "x") == kMax);
  CHECK_THROWS_AS(checked_multiply(kMax, 2, "x"), OverflowError);
  CHECK_THROWS_AS(checked_add(kMax, 1, "x"), OverflowError);
  CHECK_THROWS_AS(checked_narrow(Int128{kMax} + 1, "x"), OverflowError);
  CHECK(ceil_divide(kMax, 2) == kMax / 2 + 1);
}

}  // namespace overflow_test
