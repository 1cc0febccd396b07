// Single-dimensional tiling, backward: its ranges of queries come from one pass over the axis, which is
// compared with the matrix of token pairs.
#include <cstdint>
#include <random>
#include <vector>

#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "brute_force.hpp"
#include "catch.hpp"
#include "random.hpp"

namespace single_dimensional_test {

using namespace natten_sim;

void require_same(const TilingProblem& problem) {
  const TileCount walked = walk_tiles(problem), by_tokens = test::count_by_tokens(problem);
  if (walked == by_tokens) return;
  INFO(test::describe(problem) << "\nwalk:      " << test::describe(walked)
                               << "\nby tokens: " << test::describe(by_tokens));
  REQUIRE(walked == by_tokens);
}

TEST_CASE("tiles of one token visit backward just the pairs of every axis of up to 24 tokens") {
  std::int64_t axes = 0;
  for (std::int64_t length = 1; length <= 24; ++length) {
    for (std::int64_t dilation = 1; dilation <= length; ++dilation) {
      for (std::int64_t window = 1; window * dilation <= length; ++window) {
        for (std::int64_t stride = 1; stride <= window; ++stride) {
          for (const bool causal : {false, true}) {
            const AxisMask axis{length, window, stride, dilation, causal};
            std::vector<std::vector<bool>> seen(static_cast<std::size_t>(length),
                                                std::vector<bool>(static_cast<std::size_t>(length)));
            const TilingProblem problem{.mask = {axis},
                                        .tiles = {{1}, {1}},
                                        .tiling = Tiling::kSingleDimensional,
                                        .walk = Walk::kBackward};
            for_each_tile_visit(problem, [&](const TileVisit& visit) {
              seen[static_cast<std::size_t>(visit.q_tile)][static_cast<std::size_t>(visit.kv_tile)] = true;
            });
            ++axes;
            if (seen == test::axis_mask_by_definition(axis)) continue;
            INFO(test::describe(problem));
            REQUIRE(seen == test::axis_mask_by_definition(axis));
          }
        }
      }
    }
  }
  std::int64_t expected = 0;  // pairs of window and stride, causal or not
  for (std::int64_t length = 1; length <= 24; ++length) {
    for (std::int64_t dilation = 1; dilation <= length; ++dilation)
      expected += 2 * (length / dilation) * (length / dilation + 1) / 2;
  }
  CHECK(axes == expected);
}

TEST_CASE("single-dimensional backward counts equal brute force on every layout of 2x2 to 3x4 tokens") {
  for (const Extents& input : {Extents{2, 2}, Extents{2, 3}, Extents{3, 2}, Extents{3, 3}, Extents{3, 4}}) {
    const auto each_axis = [](std::int64_t length, const auto& function) {
      for (std::int64_t dilation = 1; dilation <= length; ++dilation) {
        for (std::int64_t window = 1; window * dilation <= length; ++window) {
          for (std::int64_t stride = 1; stride <= window; ++stride) {
            for (const bool causal : {false, true})
              function(AxisMask{length, window, stride, dilation, causal});
          }
        }
      }
    };
    each_axis(input[0], [&](const AxisMask& rows) {
      each_axis(input[1], [&](const AxisMask& columns) {
        for (const std::int64_t q : {1, 2, 3, 5}) {
          for (const std::int64_t kv : {1, 2, 4, 7}) {
            for (const KvTiling tiling : {KvTiling::kStatic, KvTiling::kDynamic}) {
              require_same({.mask = {rows, columns},
                            .tiles = {{q}, {kv}},
                            .kv_tiling = tiling,
                            .tiling = Tiling::kSingleDimensional,
                            .walk = Walk::kBackward});
            }
          }
        }
      });
    });
  }
}

TEST_CASE("single-dimensional backward counts equal brute force on 2,000 random layouts") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  for (int i = 0; i < 2'000; ++i) {
    TilingProblem problem{.tiling = Tiling::kSingleDimensional, .walk = Walk::kBackward};
    const std::int64_t rank = draw(1, 3);
    for (std::int64_t left = 220, axis = 0; axis < rank; ++axis) {
      AxisMask mask;
      mask.length = draw(1, axis + 1 == rank ? left : std::min<std::int64_t>(left, 12));
      mask.dilation = draw(0, 1) == 0 ? 1 : draw(1, std::min<std::int64_t>(mask.length, 4));
      mask.window = draw(1, mask.length / mask.dilation);
      mask.stride = draw(1, mask.window);
      mask.causal = draw(0, 2) == 0;
      left /= mask.length;
      problem.mask.push_back(mask);
    }
    problem.tiles = {{draw(1, 70)}, {draw(1, 70)}};
    problem.kv_tiling = draw(0, 1) == 0 ? KvTiling::kStatic : KvTiling::kDynamic;
    require_same(problem);
  }
}

}  // namespace single_dimensional_test
