#include <cstdint>
#include <random>
#include <set>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/windows/count.hpp>
#include <natten_sim/study/visited_tiles.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace visited_tiles_test {

using namespace natten_sim;
using study::VisitedTile;
using study::VisitedTiles;

VisitedTiles visited(const TilingProblem& problem, const Extents& at_q_tile = {}) {
  VisitedTiles plan = study::plan_visited_tiles(problem, at_q_tile);
  study::walk_visited_tiles(plan);
  return plan;
}

std::int64_t full_of(const VisitedTiles& visited) {
  std::int64_t full = 0;
  for (const VisitedTile& tile : visited.tiles) full += tile.full ? 1 : 0;
  return full;
}

TEST_CASE("a matrix has every tile that is counted, once and inside") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937 random(seed);
  const auto in = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t length = in(1, 60), window = in(1, length);
    const TilingProblem problem{.mask = make_mask({length}, {window}, {in(1, window)}, {}, {in(0, 1) == 1}),
                                .tiles = {{in(1, 9)}, {in(1, 9)}},
                                .kv_tiling = in(0, 1) == 1 ? KvTiling::kStatic : KvTiling::kDynamic};
    const TileCount counted = count(problem);
    const VisitedTiles shown = visited(problem);
    CHECK(static_cast<std::int64_t>(shown.tiles.size()) == counted.visited_tiles);
    CHECK(full_of(shown) == counted.full_tiles);
    std::set<std::tuple<std::int64_t, std::int64_t>> places;
    for (const VisitedTile& tile : shown.tiles) {
      CHECK(places.emplace(tile.x, tile.y).second);
      CHECK((tile.x >= 0 && tile.x + tile.width <= shown.width && tile.y < shown.height));
    }
  }
}

TEST_CASE("the Q tiles of a plane together visit as many tiles as are counted") {
  const TilingProblem problem{.mask = make_mask({10, 12}, {5, 7}, {2, 3}, {}, {false, true}),
                              .tiles = {{4, 3}, {2, 5}}};
  std::int64_t tiles = 0, full = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) {
      const VisitedTiles shown = visited(problem, {i, j});
      tiles += static_cast<std::int64_t>(shown.tiles.size());
      full += full_of(shown);
    }
  }
  CHECK(tiles == count(problem).visited_tiles);
  CHECK(full == count(problem).full_tiles);
}

TEST_CASE("a Q tile of a volume lies in the slices that hold its tokens") {
  // Q tile 1 of 3: tokens 4..7; slices of 2 tokens: the third and the fourth.
  const TilingProblem problem{.mask = make_mask({12, 4, 4}, {12, 4, 4}), .tiles = {{4, 2, 2}, {2, 2, 2}}};
  const VisitedTiles shown = visited(problem, {1, 0, 1});
  CHECK(shown.slice_origins == std::vector<std::int64_t>{0, 2, 4, 6, 8, 10});
  CHECK(shown.q_tile->first_slice == 2);
  CHECK(shown.q_tile->slices == 2);
  CHECK(shown.q_tile->x == 2);
  CHECK(shown.q_tile->y == 0);
  CHECK(shown.tiles.size() == 6 * 2 * 2);
}

TEST_CASE("without an index it is the middle Q tile, and one that does not exist is refused") {
  const TilingProblem problem{.mask = make_mask({8, 8}, {4, 4}), .tiles = {{2, 2}, {2, 2}}};
  CHECK(visited(problem).q_tile->tile == Extents{2, 2});
  CHECK_THROWS_AS(study::plan_visited_tiles(problem, {4, 0}), InvalidParameter);
  CHECK_THROWS_AS(study::plan_visited_tiles(problem, {1}), InvalidParameter);
  const TilingProblem line{.mask = make_mask({8}, {4}), .tiles = {{2}, {2}}};
  CHECK_THROWS_AS(study::plan_visited_tiles(line, {0}), InvalidParameter);
  const TilingProblem four{.mask = make_mask({2, 2, 2, 2}, {1, 1, 1, 1}),
                           .tiles = {{1, 1, 1, 1}, {1, 1, 1, 1}}};
  CHECK_THROWS_AS(study::plan_visited_tiles(four, {}), InvalidParameter);
}

}  // namespace visited_tiles_test
