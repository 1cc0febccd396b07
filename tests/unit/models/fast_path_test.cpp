#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "catch.hpp"

namespace fast_path_test {

using namespace natten_sim;

TilingProblem problem(std::int64_t length, std::int64_t window, std::int64_t stride, std::int64_t q_tile,
                      std::int64_t kv_tile, std::int64_t dilation = 1, bool causal = false) {
  return {.mask = make_mask({length}, {window}, {stride}, {dilation}, {causal}),
          .tiles = {{q_tile}, {kv_tile}}};
}

TEST_CASE("NATTEN's predicate accepts the published fully block-sparse configurations") {
  CHECK(natten_fast_path(
      {.mask = make_mask({16, 44, 80}, {16, 32, 48}, {1, 8, 16}), .tiles = {{8, 4, 8}, {4, 4, 8}}}));
  CHECK(natten_fast_path(
      {.mask = make_mask({30, 48, 80}, {18, 24, 24}, {16, 8, 8}), .tiles = {{4, 8, 8}, {2, 8, 8}}}));
  CHECK(natten_fast_path({.mask = make_mask({256, 256}, {80, 80}, {16, 16}), .tiles = {{16, 16}, {16, 8}}}));
  CHECK_FALSE(
      natten_fast_path({.mask = make_mask({256, 256}, {80, 80}, {16, 1}), .tiles = {{16, 16}, {16, 8}}}));
}

TEST_CASE("each clause of the predicate decides some problem") {
  CHECK(natten_fast_path(problem(20, 20, 3, 7, 6)));        // window == length
  CHECK_FALSE(natten_fast_path(problem(64, 16, 4, 8, 4)));  // stride not a multiple of the Q tile
  CHECK_FALSE(natten_fast_path(problem(64, 18, 8, 8, 4)));  // window not a multiple of the KV tile
  CHECK(natten_fast_path(problem(64, 16, 8, 8, 4)));        // (w/2 - s/2) % tk == 0
  CHECK_FALSE(natten_fast_path(problem(64, 16, 4, 4, 4)));  // windows begin between KV tiles
  CHECK_FALSE(natten_fast_path(problem(66, 16, 8, 8, 4)));  // last window begins at 50, off the grid
  CHECK(natten_fast_path(problem(16, 12, 8, 8, 4)));        // two groups whose windows both touch a border
  CHECK_FALSE(natten_fast_path(problem(64, 64, 1, 8, 4, 1, true)));  // causal
  CHECK(natten_fast_path(problem(12, 6, 1, 4, 4, 2)));               // each group dense
  CHECK_FALSE(natten_fast_path(problem(13, 6, 1, 4, 4, 2)));         // one group of 7 is not
}

TEST_CASE("single-dimensional tiling of several axes has no fast path") {
  CHECK_FALSE(natten_fast_path(
      {.mask = make_mask({8, 8}, {8, 8}), .tiles = {{8}, {8}}, .tiling = Tiling::kSingleDimensional}));
}

}  // namespace fast_path_test
