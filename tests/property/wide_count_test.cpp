// Layouts whose pairs of tokens have up to 120 bits, against integers of any size.
#include <cstdint>
#include <limits>
#include <random>

#include <boost/multiprecision/cpp_dec_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include <natten_sim/core/wide_integer.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "brute_force.hpp"
#include "catch.hpp"
#include "random.hpp"

namespace wide_count_test {

using namespace natten_sim;
using Integer = boost::multiprecision::cpp_int;
using Real = boost::multiprecision::cpp_dec_float_100;

/// `got` is numerator / denominator but for the roundings of both and of the quotient.
bool is_ratio(double got, const Integer& numerator, const Integer& denominator) {
  const Real exact = Real(numerator) / Real(denominator);
  return abs(Real(got) - exact) <= exact * Real(3.4e-16);
}

struct Dense {
  Integer tokens = 1, walked = 1, streamed = 1, attended = 1;
};

TilingProblem random_problem(std::mt19937_64& random, Dense& dense) {
  const auto draw = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  const auto rank = static_cast<std::size_t>(draw(1, 3));
  TilingProblem problem;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    AxisMask mask;
    mask.length = draw(1, std::int64_t{1} << draw(1, 60 / static_cast<std::int64_t>(rank)));
    mask.window = draw(1, std::min<std::int64_t>(mask.length, 3));
    problem.mask.push_back(mask);
    problem.tiles.q_tile.push_back(draw(1, 64));
    problem.tiles.kv_tile.push_back(draw(1, 64));
    dense.tokens *= mask.length, dense.attended *= Integer(mask.length) * mask.window;
    dense.walked *= (mask.length + problem.tiles.q_tile[axis] - 1) / problem.tiles.q_tile[axis];
    dense.streamed *= (mask.length + problem.tiles.kv_tile[axis] - 1) / problem.tiles.kv_tile[axis];
  }
  return problem;
}

TEST_CASE("20,000 layouts of up to 2^60 tokens: dense counts to the last digit, ratios to the last bits") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  int beyond_63_bits = 0;
  for (int i = 0; i < 20'000; ++i) {
    Dense dense;
    const TilingProblem problem = random_problem(random, dense);
    INFO(test::describe(problem));
    TileCount count;
    try {
      count = count_tiles(problem);
    } catch (const OverflowError& error) {  // of what the mask keeps, padding included
      REQUIRE(error.parameter() != "dense_pairs");
      REQUIRE(error.parameter() != "dense_tiles");
      continue;
    }
    const Integer pairs = dense.tokens * dense.tokens, tiles = dense.walked * dense.streamed;
    beyond_63_bits += pairs > std::numeric_limits<std::int64_t>::max() ? 1 : 0;
    REQUIRE(decimal(count.dense_pairs) == pairs.str());
    REQUIRE(decimal(count.dense_tiles) == tiles.str());
    REQUIRE(count.attended_pairs == dense.attended);
    REQUIRE(is_ratio(count.speedup_flop(), pairs, dense.attended));
    REQUIRE(is_ratio(count.speedup_work(), pairs, count.mma_pairs));
    REQUIRE(is_ratio(count.speedup_mean(), tiles, count.visited_tiles));
    REQUIRE(is_ratio(count.speedup_worst(), tiles, dense.walked * count.max_tiles_per_walked_tile));
    REQUIRE((count.sparsity() == 0) == (pairs == dense.attended));
    REQUIRE((pairs == dense.attended || is_ratio(count.sparsity(), pairs - dense.attended, pairs)));
  }
  CHECK(beyond_63_bits > 2'000);
}

TEST_CASE(
    "far from the borders visited tiles grow with the axis: 2^40 tokens against brute force over 2^10") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  for (int i = 0; i < test::cases(20); ++i) {
    // Tiles and strides of powers of two repeat every 64 tokens; the borders are within 512.
    TilingProblem problem;
    AxisMask axis{.length = 0, .window = draw(64, 200), .causal = draw(0, 1) == 1};
    axis.stride = std::int64_t{1} << draw(0, 6);
    problem.tiles = {{std::int64_t{1} << draw(3, 6)}, {std::int64_t{1} << draw(3, 6)}};
    problem.mask.push_back(axis);
    const auto with_length = [&](std::int64_t length) {
      problem.mask[0].length = length;
      return problem;
    };
    const TileCount small = test::count_by_tokens(with_length(1024)),
                    larger = test::count_by_tokens(with_length(1024 + 64));
    const std::int64_t tokens = std::int64_t{1} << 40, periods = (tokens - 1024) / 64;
    INFO(test::describe(with_length(tokens)));
    const TileCount huge = count_tiles(with_length(tokens));
    REQUIRE(huge.visited_tiles ==
            small.visited_tiles + periods * (larger.visited_tiles - small.visited_tiles));
    REQUIRE(huge.full_tiles == small.full_tiles + periods * (larger.full_tiles - small.full_tiles));
    REQUIRE(huge.attended_pairs ==
            small.attended_pairs + periods * (larger.attended_pairs - small.attended_pairs));
    REQUIRE(huge.max_tiles_per_walked_tile == small.max_tiles_per_walked_tile);
  }
}

}  // namespace wide_count_test
