// Relations between counts of problems that differ in one known way. They hold whatever the counts are.

#include <rapidcheck.h>

#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "brute_force.hpp"
#include "catch.hpp"
#include "property/holds.hpp"
#include "random.hpp"

namespace metamorphic_tiles_test {

using namespace natten_sim;

using natten_sim::test::pick;

AxisMask random_axis(std::int64_t longest) {
  AxisMask axis;
  axis.length = pick(1, longest);
  axis.dilation = pick(0, 2) == 0 ? pick(1, axis.length) : 1;
  axis.window = pick(1, axis.length / axis.dilation);
  axis.stride = pick(1, axis.window);
  axis.causal = pick(0, 1) == 0;
  return axis;
}

/// Static multi-dimensional tiling of 1 to 3 axes.
TilingProblem random_problem(std::int64_t longest = 40) {
  TilingProblem problem;
  for (std::int64_t rank = pick(1, 3); rank > 0; --rank) {
    const AxisMask axis = random_axis(longest);
    problem.mask.push_back(axis);
    problem.tiles.q_tile.push_back(pick(1, axis.length + 2));
    problem.tiles.kv_tile.push_back(pick(1, axis.length + 2));
  }
  if (pick(0, 3) == 0) problem.walk = Walk::kBackward;
  return problem;
}

/// The problem of one of its axes.
TilingProblem axis_of(const TilingProblem& problem, std::size_t axis) {
  TilingProblem one = problem;
  one.mask = {problem.mask[axis]};
  one.tiles = {{problem.tiles.q_tile[axis]}, {problem.tiles.kv_tile[axis]}};
  return one;
}

TEST_CASE("a window as long as its axis, not causal, is dense attention") {
  REQUIRE(natten_sim::test::holds("window = length", 3000, [] {
    TilingProblem problem = random_problem();
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
      AxisMask& mask = problem.mask[axis];
      mask.window = mask.length;
      mask.dilation = 1;
      mask.causal = false;
    }
    const TileCount count = count_tiles(problem);
    RC_ASSERT(Int128(count.attended_pairs) == count.dense_pairs);
    RC_ASSERT(Int128(count.visited_tiles) == count.dense_tiles);
    RC_ASSERT(count.full_tiles == count.visited_tiles);
    RC_ASSERT(count.speedup_mean() == 1.0);
  }));
}

TEST_CASE("the order of the axes does not matter") {
  REQUIRE(natten_sim::test::holds("axes permuted", 3000, [] {
    const TilingProblem problem = random_problem();
    TilingProblem other = problem;
    for (std::size_t i = problem.mask.rank(); i > 1; --i) {
      const auto j = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(i) - 1));
      std::swap(other.mask[i - 1], other.mask[j]);
      std::swap(other.tiles.q_tile[i - 1], other.tiles.q_tile[j]);
      std::swap(other.tiles.kv_tile[i - 1], other.tiles.kv_tile[j]);
    }
    RC_ASSERT(count_tiles(problem) == count_tiles(other));
  }));
}

TEST_CASE("an axis of one token changes nothing") {
  REQUIRE(natten_sim::test::holds("one token more an axis", 3000, [] {
    const TilingProblem problem = random_problem(12);
    TilingProblem other = problem;
    other.mask.push_back({.length = 1, .window = 1});
    other.tiles.q_tile.push_back(1);
    other.tiles.kv_tile.push_back(1);
    RC_ASSERT(count_tiles(problem) == count_tiles(other));
    RC_ASSERT(walk_tiles(problem) == walk_tiles(other));
  }));
}

TEST_CASE("lengths, windows, strides and tiles scaled together keep the tiles, and scale the pairs") {
  REQUIRE(natten_sim::test::holds("all sizes times k", 3000, [] {
    const std::int64_t k = pick(2, 4);
    TilingProblem problem = random_problem(24);
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
      AxisMask& mask = problem.mask[axis];
      mask.dilation = 1;
      mask.causal = false;  // the diagonal has no size that could be scaled
      // The middle of a group and of a window are rounded alike.
      if (mask.stride % 2 != mask.window % 2) mask.stride = mask.window;
    }
    TilingProblem scaled = problem;
    std::int64_t pairs = 1;
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
      scaled.mask[axis].length *= k;
      scaled.mask[axis].window *= k;
      scaled.mask[axis].stride *= k;
      scaled.tiles.q_tile[axis] *= k;
      scaled.tiles.kv_tile[axis] *= k;
      pairs *= k * k;
    }
    const TileCount one = count_tiles(problem), other = count_tiles(scaled);
    RC_ASSERT(one.visited_tiles == other.visited_tiles);
    RC_ASSERT(one.full_tiles == other.full_tiles);
    RC_ASSERT(one.max_tiles_per_walked_tile == other.max_tiles_per_walked_tile);
    RC_ASSERT(one.attended_pairs * pairs == other.attended_pairs);
    RC_ASSERT(one.mma_pairs * pairs == other.mma_pairs);
  }));
}

TEST_CASE("a wider window attends to all that the narrower one does") {
  REQUIRE(natten_sim::test::holds("window + 1", 3000, [] {
    TilingProblem problem = random_problem();
    const auto axis = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(problem.mask.rank()) - 1));
    AxisMask& mask = problem.mask[axis];
    if ((mask.window + 1) * mask.dilation > mask.length) return;
    const TileCount narrow = count_tiles(problem);
    ++mask.window;
    const TileCount wide = count_tiles(problem);
    RC_ASSERT(narrow.visited_tiles <= wide.visited_tiles);
    RC_ASSERT(narrow.full_tiles <= wide.full_tiles);
    RC_ASSERT(narrow.attended_pairs < wide.attended_pairs || mask.causal);
    RC_ASSERT(narrow.attended_pairs <= wide.attended_pairs);
  }));
}

TEST_CASE("without a causal axis every query attends to as many tokens as its window has") {
  REQUIRE(natten_sim::test::holds("attended = tokens x window", 3000, [] {
    TilingProblem problem = random_problem();
    std::int64_t expected = 1;
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
      problem.mask[axis].causal = false;
      expected *= problem.mask[axis].length * problem.mask[axis].window;
    }
    RC_ASSERT(count_tiles(problem).attended_pairs == expected);
  }));
}

TEST_CASE("a causal axis never attends to more than the same axis without") {
  REQUIRE(natten_sim::test::holds("causal", 3000, [] {
    TilingProblem problem = random_problem();
    const auto axis = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(problem.mask.rank()) - 1));
    problem.mask[axis].causal = false;
    const TileCount both = count_tiles(problem);
    problem.mask[axis].causal = true;
    RC_ASSERT(count_tiles(problem).attended_pairs <= both.attended_pairs);
  }));
}

TEST_CASE("tiles of one token are visited exactly where tokens attend, and all are full") {
  REQUIRE(natten_sim::test::holds("tiles of one token", 3000, [] {
    TilingProblem problem = random_problem(12);
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis)
      problem.tiles.q_tile[axis] = problem.tiles.kv_tile[axis] = 1;
    const TileCount count = count_tiles(problem);
    RC_ASSERT(count.visited_tiles == count.attended_pairs);
    RC_ASSERT(count.full_tiles == count.attended_pairs);
    RC_ASSERT(count.mma_pairs == count.attended_pairs);
  }));
}

TEST_CASE("a tile that holds everything is visited once for each dilation group") {
  REQUIRE(natten_sim::test::holds("one tile", 3000, [] {
    TilingProblem problem = random_problem();
    std::int64_t groups = 1;
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
      problem.tiles.q_tile[axis] = problem.tiles.kv_tile[axis] = problem.mask[axis].length;
      groups *= problem.mask[axis].dilation;
    }
    RC_ASSERT(count_tiles(problem).visited_tiles == groups);
  }));
}

TEST_CASE("halving the Q tile at most doubles the tiles, and never multiplies more pairs") {
  REQUIRE(natten_sim::test::holds("Q tile halved", 3000, [] {
    TilingProblem problem = random_problem();
    problem.walk = Walk::kForward;
    const auto axis = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(problem.mask.rank()) - 1));
    problem.tiles.q_tile[axis] = 2 * pick(1, problem.mask[axis].length);
    const TileCount coarse = count_tiles(problem);
    problem.tiles.q_tile[axis] /= 2;
    const TileCount fine = count_tiles(problem);
    RC_ASSERT(fine.visited_tiles >= coarse.visited_tiles);
    RC_ASSERT(fine.visited_tiles <= 2 * coarse.visited_tiles);
    RC_ASSERT(fine.mma_pairs <= coarse.mma_pairs);
    RC_ASSERT(fine.attended_pairs == coarse.attended_pairs);
    RC_ASSERT(fine.max_tiles_per_walked_tile <= coarse.max_tiles_per_walked_tile);
  }));
}

TEST_CASE("counts of several axes are products of those of each") {
  REQUIRE(natten_sim::test::holds("product of axes", 3000, [] {
    const TilingProblem problem = random_problem(12);
    const TileCount count = walk_tiles(problem);
    std::int64_t visited = 1, full = 1, attended = 1, most = 1;
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
      const TileCount one = count_tiles(axis_of(problem, axis));
      visited *= one.visited_tiles;
      full *= one.full_tiles;
      attended *= one.attended_pairs;
      most *= one.max_tiles_per_walked_tile;
    }
    RC_ASSERT(count.visited_tiles == visited);
    RC_ASSERT(count.full_tiles == full);
    RC_ASSERT(count.attended_pairs == attended);
    RC_ASSERT(count.max_tiles_per_walked_tile == most);
  }));
}

TEST_CASE("an axis that its dilation divides is so many undilated axes of its groups") {
  REQUIRE(natten_sim::test::holds("groups alike", 3000, [] {
    TilingProblem problem = random_problem();
    problem.mask = {problem.mask[0]};
    problem.tiles = {{problem.tiles.q_tile[0]}, {problem.tiles.kv_tile[0]}};
    const TileCount group = [&] {
      TilingProblem undilated = problem;
      undilated.mask[0].dilation = 1;
      return count_tiles(undilated);
    }();
    const std::int64_t dilation = pick(1, 5);
    problem.mask[0].dilation = dilation;
    problem.mask[0].length *= dilation;
    if (problem.mask[0].window * dilation > problem.mask[0].length) return;
    const TileCount count = count_tiles(problem);
    // The mask of the group was valid with its own dilation; without, its length is that of a group.
    RC_ASSERT(count.visited_tiles == dilation * group.visited_tiles);
    RC_ASSERT(count.full_tiles == dilation * group.full_tiles);
    RC_ASSERT(count.attended_pairs == dilation * group.attended_pairs);
  }));
}

TEST_CASE("counts keep their order: full <= visited <= dense, attended <= multiplied") {
  REQUIRE(natten_sim::test::holds("order of counts", 3000, [] {
    TilingProblem problem = random_problem();
    for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) problem.mask[axis].dilation = 1;
    const TileCount count = count_tiles(problem);
    RC_ASSERT(count.full_tiles <= count.visited_tiles);
    RC_ASSERT(Int128(count.visited_tiles) <= count.dense_tiles);
    RC_ASSERT(count.attended_pairs <= count.mma_pairs);
    RC_ASSERT(count.visited_tiles <= count.walked_tiles() * count.max_tiles_per_walked_tile);
    RC_ASSERT(count.speedup_worst() <= count.speedup_mean());
  }));
}

TEST_CASE("FLOPs grow with heads, batch and head dim as their products") {
  REQUIRE(natten_sim::test::holds("FLOPs are linear", 3000, [] {
    const TileCount count = count_tiles(random_problem());
    const Workload one = {1, 1, 64, 64};
    const std::int64_t batch = pick(1, 9), heads = pick(1, 9), dims = pick(1, 4);
    const Flops base = flops(count, one);
    const Flops many = flops(count, {batch, heads, 64 * dims, 64 * dims});
    RC_ASSERT(many.attended == base.attended * Int128(batch * heads * dims));
    RC_ASSERT(many.mma == base.mma * Int128(batch * heads * dims));
  }));
}

TEST_CASE("a model never gains more than its attention does, and more the larger its share") {
  REQUIRE(natten_sim::test::holds("Amdahl", 3000, [] {
    const double gain = 1 + static_cast<double>(pick(0, 400)) / 10;
    const double share = static_cast<double>(pick(0, 999)) / 1000;
    const double less = end_to_end_speedup({share, 0, 1}, gain);
    const double more = end_to_end_speedup({share + 0.001, 0, 1}, gain);
    RC_ASSERT(less <= more);
    RC_ASSERT(more <= gain * (1 + 1e-12));
    RC_ASSERT(less >= 1 - 1e-12);
  }));
}

}  // namespace metamorphic_tiles_test
