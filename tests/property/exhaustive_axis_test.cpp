// Every 1-D problem up to length 20 with every pair of tile sizes up to one more than the length: window,
// stride, dilation, causal, static and dynamic, forward and backward.
#include <vector>

#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "brute_force.hpp"
#include "catch.hpp"

namespace exhaustive_axis_test {

using namespace natten_sim;
using natten_sim::test::axis_mask_by_definition;

constexpr std::int64_t kLongest = 20;

template <typename Function>
void for_each_axis(std::int64_t shortest, std::int64_t longest, Function&& function) {
  for (std::int64_t length = shortest; length <= longest; ++length) {
    for (std::int64_t dilation = 1; dilation <= length; ++dilation) {
      for (std::int64_t window = 1; window * dilation <= length; ++window) {
        for (std::int64_t stride = 1; stride <= window; ++stride) {
          for (const bool causal : {false, true})
            function(AxisMask{length, window, stride, dilation, causal});
        }
      }
    }
  }
}

template <typename Function>
void for_each_tiling(const AxisMask& axis, Tiling tiling, Function&& function) {
  for (std::int64_t q = 1; q <= axis.length + 1; ++q) {
    for (std::int64_t kv = 1; kv <= axis.length + 1; ++kv) {
      for (const KvTiling kv_tiling : {KvTiling::kStatic, KvTiling::kDynamic}) {
        for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
          function(TilingProblem{
              .mask = {axis}, .tiles = {{q}, {kv}}, .kv_tiling = kv_tiling, .tiling = tiling, .walk = walk});
        }
      }
    }
  }
}

void require_same(const TilingProblem& problem, const TileCount& one, const TileCount& other) {
  if (one == other) return;
  INFO(natten_sim::test::describe(problem)
       << "\none:   " << natten_sim::test::describe(one) << "\nother: " << natten_sim::test::describe(other));
  REQUIRE(one == other);
}

/// Visited, full, maximum and attended pairs of one axis by looking at every pair of tokens, on flat arrays:
/// fast enough for all tilings, and as dumb as can be.
struct Dumb {
  std::int64_t visited = 0, full = 0, most = 0, attended = 0;
};

Dumb count_axis_by_tokens(const AxisMask& axis, const std::vector<std::vector<bool>>& mask,
                          const TilingProblem& problem) {
  const bool forward = problem.walk == Walk::kForward;
  const std::int64_t walked = forward ? problem.tiles.q_tile[0] : problem.tiles.kv_tile[0];
  const std::int64_t streamed = forward ? problem.tiles.kv_tile[0] : problem.tiles.q_tile[0];
  // Single-dimensional tiling leaves the tokens where they are: one group of all of them.
  const std::int64_t groups = problem.tiling == Tiling::kSingleDimensional ? 1 : axis.dilation;
  Dumb dumb;
  for (std::int64_t residue = 0; residue < groups; ++residue) {
    const std::int64_t length = (axis.length - residue + groups - 1) / groups;
    for (std::int64_t first = 0; first < length; first += walked) {
      std::int64_t pairs[kLongest] = {};  // by streamed token
      std::int64_t rows = 0, begin = length;
      for (std::int64_t w = first; w < first + walked && w < length; ++w, ++rows) {
        for (std::int64_t s = 0; s < length; ++s) {
          const auto a = static_cast<std::size_t>(residue + w * groups),
                     b = static_cast<std::size_t>(residue + s * groups);
          if (!(forward ? mask[a][b] : mask[b][a])) continue;
          ++pairs[s];
          if (s < begin) begin = s;
        }
      }
      std::int64_t of_tile = 0;
      for (std::int64_t tile = problem.kv_tiling == KvTiling::kStatic ? 0 : begin; tile < length;
           tile += streamed) {
        std::int64_t met = 0, columns = 0;
        for (std::int64_t s = tile; s < tile + streamed && s < length; ++s, ++columns) met += pairs[s];
        dumb.attended += met;
        if (met > 0) ++of_tile;
        if (met > 0 && met == rows * columns) ++dumb.full;
      }
      dumb.visited += of_tile;
      if (of_tile > dumb.most) dumb.most = of_tile;
    }
  }
  return dumb;
}

void check_closed_form(std::int64_t longest) {
  std::int64_t problems = 0;
  for_each_axis(1, longest, [&](const AxisMask& axis) {
    const std::vector<std::vector<bool>> mask = axis_mask_by_definition(axis);
    for_each_tiling(axis, Tiling::kMultiDimensional, [&](const TilingProblem& problem) {
      const TileCount count = count_tiles(problem);
      const Dumb dumb = count_axis_by_tokens(axis, mask, problem);
      ++problems;
      if (count.visited_tiles == dumb.visited && count.full_tiles == dumb.full &&
          count.max_tiles_per_walked_tile == dumb.most && count.attended_pairs == dumb.attended) {
        return;
      }
      INFO(natten_sim::test::describe(problem)
           << "\nclosed form: " << natten_sim::test::describe(count) << "\nby tokens: visited "
           << dumb.visited << " full " << dumb.full << " max " << dumb.most << " attended " << dumb.attended);
      REQUIRE(false);
    });
  });
  // Masks: sum over dilations of the (window, stride) pairs, causal or not; tilings: all pairs of sizes 1 ..
  // length + 1, two KV tilings, two walks.
  std::int64_t expected = 0;
  for (std::int64_t length = 1; length <= longest; ++length) {
    std::int64_t masks = 0;
    for (std::int64_t dilation = 1; dilation <= length; ++dilation) {
      masks += 2 * (length / dilation) * (length / dilation + 1) / 2;
    }
    expected += masks * (length + 1) * (length + 1) * 4;
  }
  CHECK(problems == expected);
}

void check_walk(std::int64_t longest) {
  for_each_axis(1, longest, [](const AxisMask& axis) {
    for_each_tiling(axis, Tiling::kMultiDimensional, [&](const TilingProblem& problem) {
      require_same(problem, count_tiles(problem), walk_tiles(problem));
    });
  });
}

TEST_CASE("the closed form equals the token-level brute force on every 1-D problem up to length 12") {
  check_closed_form(12);
}
TEST_CASE("the tile walk equals the closed form on every 1-D problem up to length 12") { check_walk(12); }

TEST_CASE("the closed form equals the token-level brute force on every 1-D problem up to length 20",
          "[.nightly][long]") {
  check_closed_form(kLongest);
}
TEST_CASE("the tile walk equals the closed form on every 1-D problem up to length 20", "[.nightly][long]") {
  check_walk(kLongest);
}

void check_three_counts(std::int64_t longest) {
  for_each_axis(1, longest, [](const AxisMask& axis) {
    for (const Tiling tiling : {Tiling::kMultiDimensional, Tiling::kSingleDimensional}) {
      for_each_tiling(axis, tiling, [&](const TilingProblem& problem) {
        const TileCount by_tokens = natten_sim::test::count_by_tokens(problem);
        require_same(problem, walk_tiles(problem), by_tokens);
        if (tiling == Tiling::kMultiDimensional || axis.dilation == 1)
          require_same(problem, count_tiles(problem), by_tokens);
      });
    }
  });
}

TEST_CASE(
    "the three counts agree in all fields on every 1-D problem up to length 8, single-dimensional tiling "
    "too") {
  check_three_counts(8);
}
TEST_CASE(
    "the three counts agree in all fields on every 1-D problem up to length 10, single-dimensional tiling "
    "too",
    "[.nightly][long]") {
  check_three_counts(10);
}

}  // namespace exhaustive_axis_test
