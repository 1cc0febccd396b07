#include <map>
#include <tuple>

#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"

namespace tile_walk_test {

using namespace natten_sim;

TEST_CASE("the walk lists the tiles of figure 4.5 at stride 8") {
  std::vector<TileVisit> visits;
  for_each_tile_visit({.mask = make_mask({64}, {16}, {8}), .tiles = {{8}, {4}}},
                      [&](const TileVisit& visit) { visits.push_back(visit); });
  REQUIRE(visits.size() == 32);
  // Four KV tiles a Q tile, all full; the first two Q tiles and the last two share theirs at the borders.
  const std::int64_t first_kv_tile[] = {0, 1, 3, 5, 7, 9, 11, 12};
  for (std::size_t i = 0; i < visits.size(); ++i) {
    CHECK(visits[i].q_tile == static_cast<std::int64_t>(i / 4));
    CHECK(visits[i].kv_tile == first_kv_tile[i / 4] + static_cast<std::int64_t>(i % 4));
    CHECK(visits[i].work == TileWork::kFull);
    CHECK(visits[i].q_origin == Extents{visits[i].q_tile * 8});
    CHECK(visits[i].kv_origin == Extents{visits[i].kv_tile * 4});
  }
}

TEST_CASE("no pair of tiles is visited twice, and groups, walked and streamed tiles come in order") {
  const TilingProblem problem{.mask = make_mask({9, 12}, {3, 4}, {2, 1}, {2, 3}, {false, true}),
                              .tiles = {{2, 2}, {2, 3}}};
  std::tuple<std::int64_t, std::int64_t, std::int64_t> last{-1, -1, -1};
  for_each_tile_visit(problem, [&](const TileVisit& visit) {
    const std::tuple here{visit.group, visit.q_tile, visit.kv_tile};
    CHECK(last < here);
    last = here;
  });
  CHECK(std::get<0>(last) == 5);
}

TEST_CASE("backward visits are the forward ones, sorted by KV tile") {
  TilingProblem problem{.mask = make_mask({10, 12}, {4, 5}, {3, 2}, {}, {true, false}),
                        .tiles = {{3, 4}, {2, 5}}};
  std::map<std::pair<std::int64_t, std::int64_t>, TileWork> forward, backward;
  for_each_tile_visit(problem, [&](const TileVisit& visit) {
    forward[{visit.q_tile, visit.kv_tile}] = visit.work;
  });
  problem.walk = Walk::kBackward;
  for_each_tile_visit(problem, [&](const TileVisit& visit) {
    backward[{visit.q_tile, visit.kv_tile}] = visit.work;
  });
  CHECK(forward == backward);
}

TEST_CASE("dynamic tiles start at the first key of their Q tile, whatever the grid") {
  const TilingProblem problem{
      .mask = make_mask({20}, {5}), .tiles = {{4}, {4}}, .kv_tiling = KvTiling::kDynamic};
  for_each_tile_visit(problem, [&](const TileVisit& visit) {
    const std::int64_t first_key = attended_range(residue_class(problem.mask[0], 0), visit.q_origin[0]).begin;
    CHECK(visit.kv_origin[0] == first_key + visit.kv_tile * 4);
  });
}

TEST_CASE("single-dimensional visits skip tiles in which no pair attends") {
  // Row-major 4x8 layout, tiles of 4 tokens (half rows), window 1x2 at the left border: only the left half
  // rows.
  const TilingProblem problem{
      .mask = make_mask({4, 8}, {3, 2}), .tiles = {{4}, {4}}, .tiling = Tiling::kSingleDimensional};
  for_each_tile_visit(problem, [](const TileVisit& visit) {
    if (visit.q_tile % 2 == 0) CHECK(visit.kv_tile % 2 == 0);  // queries of a left half see only left halves
  });
  CHECK(walk_tiles(problem).visited_tiles == 4 * 3 + 4 * 3 * 2);
}

TEST_CASE("progress is the share of walked tiles that are done") {
  // 64 tokens in 8 Q tiles.
  std::vector<double> shown;
  (void)walk_tiles({.mask = make_mask({64}, {16}), .tiles = {{8}, {4}}},
                   [&](double share) { shown.push_back(share); });
  REQUIRE(shown.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(shown[i] == static_cast<double>(i) / 8);
}

TEST_CASE("an axis of 2^26 tokens is walked, and only longer ones are not") {
  // Refused for its tiles, which come to 2^28, and not for its first axis.
  const auto refused = [](std::int64_t length) {
    try {
      (void)walk_tiles({.mask = make_mask({length, 4}, {1, 1}),
                        .tiles = {{1}, {1}},
                        .tiling = Tiling::kSingleDimensional});
    } catch (const InvalidParameter& error) {
      return error.parameter();
    }
    return std::string();
  };
  CHECK(refused(std::int64_t{1} << 26) == "q_tile");
  CHECK(refused((std::int64_t{1} << 26) + 1) == "input");
}

TEST_CASE("counts of a walk say whose tiles they are") {
  for (const Walk walk : {Walk::kForward, Walk::kBackward})
    CHECK(walk_tiles({.mask = make_mask({64}, {16}, {8}), .tiles = {{8}, {4}}, .walk = walk}).walk == walk);
}

}  // namespace tile_walk_test
