// Random problems of every kind: rank 1 to 4, any mix of window, stride, dilation, causal per axis, tilings,
// walks. RapidCheck prints the seed of every run and shrinks failures; RC_PARAMS="seed=..." repeats one.

#include <rapidcheck.h>

#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "brute_force.hpp"
#include "catch.hpp"
#include "property/holds.hpp"
#include "random.hpp"

namespace random_count_test {

using namespace natten_sim;

using natten_sim::test::pick;

AxisMask random_axis(std::int64_t longest) {
  AxisMask axis;
  axis.length = pick(1, longest);
  axis.dilation = pick(0, 2) == 0 ? pick(1, axis.length) : 1;
  axis.window = pick(1, axis.length / axis.dilation);
  axis.stride = pick(1, axis.window);
  axis.causal = *rc::gen::arbitrary<bool>();
  return axis;
}

/// At most `most_tokens` tokens in all.
TilingProblem random_problem(std::size_t highest_rank, std::int64_t most_tokens, bool any_tiling) {
  TilingProblem problem;
  const auto rank = static_cast<std::size_t>(pick(1, static_cast<std::int64_t>(highest_rank)));
  std::int64_t left = most_tokens;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    problem.mask.push_back(
        random_axis(axis + 1 == rank ? left : std::max<std::int64_t>(1, std::min<std::int64_t>(left, 9))));
    left /= problem.mask[axis].length;
  }
  if (any_tiling && pick(0, 2) == 0) problem.tiling = Tiling::kSingleDimensional;
  if (problem.tiling == Tiling::kSingleDimensional) {
    problem.tiles = {{pick(1, most_tokens / 2 + 2)}, {pick(1, most_tokens / 2 + 2)}};
  } else {
    for (const AxisMask& axis : problem.mask) {
      problem.tiles.q_tile.push_back(pick(1, axis.length + 2));
      problem.tiles.kv_tile.push_back(pick(1, axis.length + 2));
    }
  }
  if (*rc::gen::arbitrary<bool>()) problem.kv_tiling = KvTiling::kDynamic;
  if (pick(0, 3) == 0) problem.walk = Walk::kBackward;
  return problem;
}

void assert_same(const TilingProblem& problem, const TileCount& one, const TileCount& other) {
  if (one == other) return;
  RC_FAIL(natten_sim::test::describe(problem) + "\n one:   " + natten_sim::test::describe(one) +
          "\n other: " + natten_sim::test::describe(other));
}

/// RapidCheck reads its configuration once, before the first check.
TEST_CASE("walk, closed form and token-level brute force agree on 20,000 random small problems") {
  REQUIRE(natten_sim::test::holds("walk == closed form == brute force", 10000, [] {
    const TilingProblem problem = random_problem(4, 72, true);
    const TileCount by_tokens = natten_sim::test::count_by_tokens(problem);
    assert_same(problem, walk_tiles(problem), by_tokens);
    if (problem.tiling == Tiling::kMultiDimensional) assert_same(problem, count_tiles(problem), by_tokens);
  }));
}

TEST_CASE("walk and closed form agree on 20,000 random larger problems") {
  REQUIRE(natten_sim::test::holds("walk == closed form", 10000, [] {
    const TilingProblem problem = random_problem(3, 2000, false);
    assert_same(problem, count_tiles(problem), walk_tiles(problem));
  }));
}

TEST_CASE("long axes, where periods repeat, agree with the tile walk") {
  REQUIRE(natten_sim::test::holds("walk == closed form, long", 10000, [] {
    TilingProblem problem;
    AxisMask axis;
    axis.length = pick(200, 3000);
    axis.dilation = pick(0, 3) == 0 ? pick(1, 5) : 1;
    axis.window = pick(1, std::min<std::int64_t>(axis.length / axis.dilation, 64));
    axis.stride = pick(1, axis.window);
    axis.causal = *rc::gen::arbitrary<bool>();
    problem.mask = {axis};
    problem.tiles = {{pick(1, 20)}, {pick(1, 20)}};
    problem.kv_tiling = *rc::gen::arbitrary<bool>() ? KvTiling::kStatic : KvTiling::kDynamic;
    problem.walk = *rc::gen::arbitrary<bool>() ? Walk::kForward : Walk::kBackward;
    assert_same(problem, count_tiles(problem), walk_tiles(problem));
  }));
}

TEST_CASE("static counts do not depend on the direction of the walk") {
  REQUIRE(natten_sim::test::holds("forward == backward", 10000, [] {
    TilingProblem problem = random_problem(3, 400, false);
    problem.kv_tiling = KvTiling::kStatic;
    problem.walk = Walk::kForward;
    const TileCount forward = count_tiles(problem);
    problem.walk = Walk::kBackward;
    const TileCount backward = count_tiles(problem);
    RC_ASSERT(forward.visited_tiles == backward.visited_tiles);
    RC_ASSERT(forward.full_tiles == backward.full_tiles);
    RC_ASSERT(forward.attended_pairs == backward.attended_pairs);
  }));
}

TEST_CASE("with even tiles, a problem that NATTEN takes for fully block-sparse has no partial tile") {
  int accepted = 0, tried = 0;
  REQUIRE(natten_sim::test::holds("fast path implies no partial tile", 10000, [&] {
    ++tried;
    TilingProblem problem;
    const auto rank = static_cast<std::size_t>(pick(1, 2));
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::int64_t q_tile = 2 * pick(1, 4), kv_tile = 2 * pick(1, 4);
      AxisMask mask;
      mask.dilation = pick(1, 2);
      // Most windows and strides are multiples of the tiles: the others must not pass for
      // block-sparse.
      mask.window = pick(0, 3) > 0 ? kv_tile * pick(1, 6) : pick(1, 40);
      mask.stride = std::min(mask.window, pick(0, 3) > 0 ? q_tile * pick(1, 4) : pick(1, 40));
      mask.length = mask.window * mask.dilation + pick(0, 40);
      problem.mask.push_back(mask);
      problem.tiles.q_tile.push_back(q_tile);
      problem.tiles.kv_tile.push_back(kv_tile);
    }
    if (!natten_fast_path(problem)) return;
    ++accepted;
    if (!count_tiles(problem).fully_block_sparse()) RC_FAIL(natten_sim::test::describe(problem));
  }));
  INFO("accepted " << accepted);
  CHECK(accepted > (tried >= 10000 ? 250 : 0));  // a soak asks for fewer cases at a time
}

TEST_CASE("with an odd Q tile it may have partial tiles, as written in the header") {
  const TilingProblem problem{.mask = make_mask({16}, {8}), .tiles = {{1}, {4}}};
  CHECK(natten_fast_path(problem));
  CHECK_FALSE(count_tiles(problem).fully_block_sparse());
}

}  // namespace random_count_test
