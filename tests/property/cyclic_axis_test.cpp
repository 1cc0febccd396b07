// Axes that go round: the closed form, the walk and the masks of all token pairs agree, and padding makes
// NATTEN's rule that of the cycle.
#include <cstdint>
#include <random>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "brute_force.hpp"
#include "catch.hpp"
#include "random.hpp"

namespace cyclic_axis_test {

using namespace natten_sim;

struct Draw {
  std::mt19937_64 random{test::stored_seed()};
  std::int64_t operator()(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  }
  bool coin() { return (*this)(0, 1) == 0; }
};

void require_same(const TilingProblem& problem, const TileCount& one, const TileCount& other) {
  if (one == other) return;
  FAIL(test::describe(problem) << "\none:   " << test::describe(one) << "\nother: " << test::describe(other));
}

AxisMask random_axis(Draw& draw, std::int64_t longest, bool cyclic) {
  AxisMask axis{.length = draw(1, longest), .cyclic = cyclic};
  if (draw(0, 2) == 0) {
    do axis.dilation = draw(1, axis.length);
    while (cyclic && axis.length % axis.dilation != 0);
  }
  axis.window = draw(1, axis.length / axis.dilation);
  axis.stride = draw(1, axis.window);
  axis.causal = !cyclic && draw.coin();
  return axis;
}

/// 1 to 3 axes, of which at least one is cyclic.
TilingProblem random_problem(Draw& draw, std::int64_t most_tokens) {
  TilingProblem problem;
  const auto rank = static_cast<std::size_t>(draw(1, 3));
  const auto surely = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(rank) - 1));
  std::int64_t left = most_tokens;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t longest = axis + 1 == rank ? left : std::min<std::int64_t>(left, 9);
    problem.mask.push_back(random_axis(draw, longest, axis == surely || draw.coin()));
    left /= problem.mask[axis].length;
  }
  if (draw(0, 2) == 0) {
    problem.tiling = Tiling::kSingleDimensional;
    problem.tiles = {{draw(1, most_tokens / 2 + 2)}, {draw(1, most_tokens / 2 + 2)}};
  } else {
    for (const AxisMask& axis : problem.mask) {
      problem.tiles.q_tile.push_back(draw(1, axis.length + 2));
      problem.tiles.kv_tile.push_back(draw(1, axis.length + 2));
    }
  }
  if (draw.coin()) problem.walk = Walk::kBackward;
  return problem;
}

void check_random(int problems) {
  Draw draw;
  INFO("NATTEN_SIM_SEED=" << test::stored_seed());
  for (int i = 0; i < problems; ++i) {
    const TilingProblem problem = random_problem(draw, 64);
    const TileCount by_tokens = test::count_by_tokens(problem);
    require_same(problem, walk_tiles(problem), by_tokens);
    if (problem.tiling == Tiling::kMultiDimensional) require_same(problem, count_tiles(problem), by_tokens);
  }
}

TEST_CASE("16 tokens in tiles of 4, window 5: a cycle visits 12 pairs of tiles, an axis with ends 10") {
  // Each Q tile needs 8 tokens from 2 before it on: 3 tiles. With ends the first and the last need 2.
  TilingProblem problem{.mask = make_mask({16}, {5}, {}, {}, {}, {true}), .tiles = {{4}, {4}}};
  CHECK(count_tiles(problem).visited_tiles == 12);
  problem.mask[0].cyclic = false;
  CHECK(count_tiles(problem).visited_tiles == 10);
}

TEST_CASE("cyclic axes count as by all token pairs: 2,000 random problems") {
  check_random(test::cases(2'000));
}

TEST_CASE("cyclic axes count as by all token pairs: 20,000 random problems", "[.nightly][long]") {
  check_random(test::cases(20'000));
}

void check_every_problem(std::int64_t longest) {
  for (std::int64_t length = 1; length <= longest; ++length) {
    for (std::int64_t dilation = 1; dilation <= length; ++dilation) {
      if (length % dilation != 0) continue;
      for (std::int64_t window = 1; window * dilation <= length; ++window) {
        for (std::int64_t stride = 1; stride <= window; ++stride) {
          for (std::int64_t q = 1; q <= length + 1; ++q) {
            for (std::int64_t kv = 1; kv <= length + 1; ++kv) {
              for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
                const TilingProblem problem{.mask = {{length, window, stride, dilation, false, true}},
                                            .tiles = {{q}, {kv}},
                                            .walk = walk};
                const TileCount by_tokens = test::count_by_tokens(problem);
                require_same(problem, walk_tiles(problem), by_tokens);
                require_same(problem, count_tiles(problem), by_tokens);
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("every cyclic axis of up to 10 tokens counts as by all token pairs") { check_every_problem(10); }

TEST_CASE("every cyclic axis of up to 18 tokens counts as by all token pairs", "[.nightly][long]") {
  check_every_problem(18);
}

TEST_CASE("long cyclic axes, on which strides repeat, count as by the walk") {
  Draw draw;
  INFO("NATTEN_SIM_SEED=" << test::stored_seed());
  for (int i = 0; i < test::cases(3'000); ++i) {
    AxisMask axis{.dilation = draw(0, 3) == 0 ? draw(2, 4) : 1, .cyclic = true};
    const std::int64_t group = draw(50, 900);
    axis.length = group * axis.dilation;
    axis.window = draw(1, draw.coin() ? group : 20);
    axis.stride = draw(1, axis.window);
    const auto tile = [&] { return draw(1, draw.coin() ? 20 : group + 2); };
    const TilingProblem problem{.mask = {axis},
                                .tiles = {{tile()}, {tile()}},
                                .walk = draw.coin() ? Walk::kForward : Walk::kBackward};
    require_same(problem, count_tiles(problem), walk_tiles(problem));
  }
}

TEST_CASE("FlexAttention's full blocks of cyclic axes have no padding, as CTA by CTA") {
  Draw draw;
  INFO("NATTEN_SIM_SEED=" << test::stored_seed());
  for (int i = 0; i < test::cases(2'000); ++i) {
    NattenProblem problem{.mask = {random_axis(draw, 40, true)}, .backend = NattenBackend::kFlexFna};
    problem.tiles = {{draw(1, 42)}, {draw(1, 42)}};
    problem.pass = draw.coin() ? Walk::kForward : Walk::kBackward;
    problem.kernel_alone = true;
    std::int64_t tiles = 0, full = 0;
    for (const CtaVisits& cta : list_ctas(problem.mask, problem.tiles, problem.backend, problem.pass)) {
      tiles += cta.tiles;
      full += cta.full;
    }
    const KernelVisits visits = natten_visits(problem).attention;
    INFO(test::describe({.mask = problem.mask, .tiles = problem.tiles, .walk = problem.pass}));
    REQUIRE(visits.visited_tiles == tiles);
    REQUIRE(visits.unmasked_tiles == full);
  }
}

/// Keys of a query of the padded axis, as tokens of the cycle.
std::vector<bool> keys_through_padding(const AxisMask& axis, const std::vector<bool>& attends,
                                       std::int64_t before) {
  std::vector<bool> keys(static_cast<std::size_t>(axis.length), false);
  for (std::size_t key = 0; key < attends.size(); ++key) {
    if (!attends[key]) continue;
    const std::int64_t token = (static_cast<std::int64_t>(key) - before + axis.length) % axis.length;
    CHECK_FALSE(keys[static_cast<std::size_t>(token)]);  // each once
    keys[static_cast<std::size_t>(token)] = true;
  }
  return keys;
}

TEST_CASE("on a padded axis windows that end at borders are those of the cycle") {
  Draw draw;
  INFO("NATTEN_SIM_SEED=" << test::stored_seed());
  for (int i = 0; i < test::cases(2'000); ++i) {
    const AxisMask axis = random_axis(draw, 40, true);
    const auto [before, after] = cycle_padding(axis);
    AxisMask padded = axis;
    padded.length += before + after;
    padded.cyclic = false;
    INFO("length " << axis.length << " window " << axis.window << " stride " << axis.stride << " dilation "
                   << axis.dilation << ", padded by " << before << " and " << after);
    REQUIRE(before <= axis.length);
    REQUIRE(after <= axis.length);
    const auto cycle = test::axis_mask_by_definition(axis), with_ends = test::axis_mask_by_definition(padded);
    for (std::int64_t query = 0; query < axis.length; ++query) {
      REQUIRE(keys_through_padding(axis, with_ends[static_cast<std::size_t>(query + before)], before) ==
              cycle[static_cast<std::size_t>(query)]);
    }
  }
}

TEST_CASE("a cyclic axis of any length takes fewer than 2^23 steps, or its pairs do not fit") {
  Draw draw;
  INFO("NATTEN_SIM_SEED=" << test::stored_seed());
  int counted = 0;
  for (int i = 0; i < 20'000; ++i) {
    AxisMask axis{.length = (std::int64_t{1} << draw(30, 60)) - draw(0, 1'000'000), .cyclic = true};
    const std::int64_t pairs_fit = (std::int64_t{1} << 62) / axis.length * 4;
    axis.window = std::min(axis.length, draw(1, std::max<std::int64_t>(2, pairs_fit)));
    axis.stride = draw.coin() ? draw(1, axis.window) : axis.window;
    try {
      (void)attended_pairs(axis);
    } catch (const OverflowError&) {
      continue;
    }
    ++counted;
    const AxisTiles tiles{draw(1, std::int64_t{1} << draw(0, 22)), draw(1, 1 << 20)};
    INFO(axis.length << " " << axis.window << " " << axis.stride << " " << tiles.walked);
    REQUIRE(count_axis_steps(axis, tiles, draw.coin() ? Walk::kForward : Walk::kBackward) < 1 << 23);
  }
  CHECK(counted > 6'000);
}

TEST_CASE("a cycle is not causal, its dilation divides it, and its tiles do not move") {
  CHECK_THROWS_AS(make_mask({16}, {5}, {}, {}, {true}, {true}), InvalidParameter);
  CHECK_THROWS_AS(make_mask({16}, {5}, {}, {3}, {}, {true}), InvalidParameter);
  CHECK_NOTHROW(make_mask({16}, {5}, {}, {2}, {}, {true}));
  CHECK_NOTHROW(make_mask({16, 16}, {5, 5}, {}, {}, {true, false}, {false, true}));
  const TilingProblem moving{
      .mask = make_mask({16}, {5}, {}, {}, {}, {true}), .tiles = {{4}, {4}}, .kv_tiling = KvTiling::kDynamic};
  CHECK_THROWS_AS(count_tiles(moving), InvalidParameter);
}

}  // namespace cyclic_axis_test
