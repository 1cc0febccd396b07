#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"

namespace tile_count_test {

using namespace natten_sim;

TEST_CASE("figure 4.5: stride 8 is the first stride that visits fewer tiles") {
  const std::int64_t published[] = {44, 44, 46, 44, 47, 48, 48, 32};
  for (std::int64_t stride = 1; stride <= 8; ++stride) {
    const TileCount count = count_tiles({.mask = make_mask({64}, {16}, {stride}), .tiles = {{8}, {4}}});
    INFO("stride " << stride);
    CHECK(count.visited_tiles == published[stride - 1]);
    CHECK(count.dense_tiles == 128);
    CHECK(count.fully_block_sparse() == (stride == 8));
  }
}

TEST_CASE("figure 4.7: Hunyuan Video by hand") {
  // 8 x 6 x 10 Q tiles, 15 x 6 x 10 KV tiles. Busiest Q tile at stride 1: 11 x 5 x 5 KV tiles, by the
  // window's reach.
  const TileCount count =
      count_tiles({.mask = make_mask({30, 48, 80}, {18, 24, 24}), .tiles = {{4, 8, 8}, {2, 8, 8}}});
  CHECK(count.q_tiles == 8 * 6 * 10);
  CHECK(count.kv_tiles == 15 * 6 * 10);
  CHECK(count.max_tiles_per_walked_tile == 11 * 5 * 5);
  CHECK(count.attended_pairs == std::int64_t{30 * 48 * 80} * (18 * 24 * 24));
  CHECK(count.speedup_worst() == 900.0 / 275.0);
}

TEST_CASE("dense attention visits every tile and nothing else") {
  for (const std::int64_t length : {1, 7, 64, 100}) {
    const TileCount count = count_tiles({.mask = make_mask({length}, {length}), .tiles = {{8}, {12}}});
    CHECK(count.visited_tiles == count.dense_tiles);
    CHECK(count.full_tiles == count.dense_tiles);
    CHECK(count.attended_pairs == length * length);
    CHECK(count.sparsity() == 0.0);
    CHECK(count.speedup_worst() == 1.0);
  }
}

TEST_CASE("a causal axis attends to the lower triangle") {
  const TileCount count =
      count_tiles({.mask = make_mask({100}, {100}, {}, {}, {true}), .tiles = {{10}, {10}}});
  CHECK(count.attended_pairs == 100 * 101 / 2);
  CHECK(count.visited_tiles == 10 * 11 / 2);
  CHECK(count.full_tiles == 10 * 9 / 2);
  CHECK(count.max_tiles_per_walked_tile == 10);
  CHECK(count.dense_pairs == 100 * 100);
}

TEST_CASE("window 1 attends to nothing but itself") {
  const TileCount count = count_tiles({.mask = make_mask({64, 64}, {1, 1}), .tiles = {{8, 8}, {8, 8}}});
  CHECK(count.attended_pairs == 64 * 64);
  CHECK(count.visited_tiles == 64);
  CHECK(count.full_tiles == 0);
}

TEST_CASE("tiles larger than an axis cover it whole") {
  const TileCount count = count_tiles({.mask = make_mask({5, 6}, {5, 6}), .tiles = {{100, 7}, {8, 1000}}});
  CHECK(count.q_tiles == 1);
  CHECK(count.dense_tiles == 1);
  CHECK(count.full_tiles == 1);
  CHECK(count.mma_pairs == 100 * 7 * 8 * 1000);
}

TEST_CASE(
    "with dilation Q tiles and visits are summed over groups, the rest belongs to the undilated layout") {
  // Groups of 4, 3 and 3 tokens, each dense within itself.
  const TileCount count = count_tiles({.mask = make_mask({10}, {3}, {1}, {3}), .tiles = {{2}, {2}}});
  CHECK(count.q_tiles == 2 + 2 + 2);
  CHECK(count.kv_tiles == 5);
  CHECK(count.dense_tiles == 25);
  CHECK(count.attended_pairs == 10 * 3);
  CHECK(count.visited_tiles == 3 * 4);
}

TEST_CASE("dynamic KV tiling starts where the Q tile's first query looks") {
  // Q tile of tokens 8..11, window 5: keys 6..13, 8 of them: two tiles of 4 from 6 on, three of the fixed
  // grid.
  const TilingProblem problem{.mask = make_mask({12 + 8}, {5}), .tiles = {{4}, {4}}};
  TilingProblem dynamic = problem;
  dynamic.kv_tiling = KvTiling::kDynamic;
  CHECK(count_tiles(problem).max_tiles_per_walked_tile == 3);
  CHECK(count_tiles(dynamic).max_tiles_per_walked_tile == 2);
}

TEST_CASE("the backward walk counts Q tiles per KV tile") {
  // Causal, window 100: the first KV tile is met by all ten Q tiles, the last by one.
  const TilingProblem problem{
      .mask = make_mask({100}, {100}, {}, {}, {true}), .tiles = {{10}, {20}}, .walk = Walk::kBackward};
  const TileCount count = count_tiles(problem);
  CHECK(count.kv_tiles == 5);
  CHECK(count.q_tiles == 10);
  CHECK(count.max_tiles_per_walked_tile == 10);
  CHECK(count.visited_tiles == 10 + 8 + 6 + 4 + 2);
}

TEST_CASE("single-dimensional tiling of a 2-D window wastes more") {
  // One row a tile: a 4x4 window of an 8x8 layout meets 4 rows (tiles) for each of 8 Q rows.
  const TilingProblem single{
      .mask = make_mask({8, 8}, {4, 4}), .tiles = {{8}, {8}}, .tiling = Tiling::kSingleDimensional};
  const TileCount count = natten_sim::count(single);
  CHECK(count.visited_tiles == 8 * 4);
  CHECK(count.full_tiles == 0);
  CHECK(count.dense_tiles == 64);
}

TEST_CASE("a closed form of single-dimensional tilings is refused") {
  const TilingProblem single{
      .mask = make_mask({8, 8}, {4, 4}), .tiles = {{8}, {8}}, .tiling = Tiling::kSingleDimensional};
  CHECK_THROWS_AS(count_tiles(single), InvalidParameter);
}

TEST_CASE("mismatched tile ranks and sizes are refused") {
  CHECK_THROWS_AS(count_tiles({.mask = make_mask({8, 8}, {4, 4}), .tiles = {{8}, {8}}}), InvalidParameter);
  CHECK_THROWS_AS(count_tiles({.mask = make_mask({8}, {4}), .tiles = {{0}, {8}}}), InvalidParameter);
  CHECK_THROWS_AS(count_tiles({.mask = make_mask({8}, {4}), .tiles = {{8}, {-8}}}), InvalidParameter);
  CHECK_THROWS_AS(count_tiles({}), InvalidParameter);
}

TEST_CASE("four axes count as well as three") {
  const TilingProblem problem{.mask = make_mask({4, 5, 6, 7}, {3, 3, 4, 5}, {1, 2, 3, 4}),
                              .tiles = {{2, 2, 2, 2}, {2, 3, 2, 3}}};
  CHECK(count_tiles(problem) == walk_tiles(problem));
}

}  // namespace tile_count_test
