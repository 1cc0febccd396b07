// Long axes tile by tile, against the closed form: strides of which there are many phases, few groups, or
// neither.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace long_axis_test {

using namespace natten_sim;

/// Of one group: what each walked token meets.
std::vector<TokenRange> ranges_of(const AxisGroup& group, Walk walk) {
  std::vector<TokenRange> forward(static_cast<std::size_t>(group.length));
  for (std::int64_t query = 0; query < group.length; ++query)
    forward[static_cast<std::size_t>(query)] = attended_range(group, query);
  if (walk == Walk::kForward) return forward;
  std::vector<TokenRange> backward(forward.size());
  std::int64_t first = 0,
               end = 0;  // queries whose window ends at or before the key, or begins at or before it
  for (std::int64_t key = 0; key < group.length; ++key) {
    while (forward[static_cast<std::size_t>(first)].end <= key) ++first;
    while (end < group.length && forward[static_cast<std::size_t>(end)].begin <= key) ++end;
    backward[static_cast<std::size_t>(key)] = {first, end};
  }
  return backward;
}

void add_tiles(const AxisGroup& group, const AxisTiles& tiles, KvTiling tiling, Walk walk, AxisCount& total) {
  const std::vector<TokenRange> ranges = ranges_of(group, walk);
  for (std::int64_t first = 0; first < group.length; first += tiles.walked) {
    const TokenRange& earliest = ranges[static_cast<std::size_t>(first)];
    const TokenRange& latest =
        ranges[static_cast<std::size_t>(std::min(first + tiles.walked, group.length) - 1)];
    std::int64_t visited = 0, full = 0;
    const std::int64_t origin =
        tiling == KvTiling::kDynamic ? earliest.begin : earliest.begin / tiles.streamed * tiles.streamed;
    for (std::int64_t begin = origin; begin < latest.end; begin += tiles.streamed) {
      ++visited;
      const std::int64_t end = std::min(begin + tiles.streamed, group.length);
      full += begin >= latest.begin && end <= earliest.end ? 1 : 0;
    }
    ++total.walked_tiles;
    total.visited_tiles += visited;
    total.full_tiles += full;
    total.max_tiles_per_walked_tile = std::max(total.max_tiles_per_walked_tile, visited);
  }
  for (const TokenRange& range : ranges) total.attended_pairs += range.end - range.begin;
}

AxisCount count_by_tiles(const AxisMask& axis, const AxisTiles& tiles, KvTiling tiling, Walk walk) {
  AxisCount total;
  for (std::int64_t residue = 0; residue < axis.dilation; ++residue)
    add_tiles(residue_class(axis, residue), tiles, tiling, walk, total);
  return total;
}

struct Draw {
  std::mt19937_64 random{test::stored_seed()};
  std::int64_t operator()(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  }
  /// Small as often as large.
  std::int64_t size(std::int64_t most) {
    return (*this)(1, std::max<std::int64_t>(1, most >> (*this)(0, 12)));
  }
};

AxisMask random_axis(Draw& draw) {
  AxisMask axis;
  axis.length = draw(1'000, 30'000);
  axis.dilation = draw(0, 3) == 0 ? draw(2, 5) : 1;
  axis.window = draw.size(axis.length / axis.dilation);
  axis.stride = draw(0, 1) == 0 ? draw.size(axis.window) : draw(1, axis.window);
  axis.causal = draw(0, 1) == 0;
  return axis;
}

TEST_CASE("long axes count as tile by tile, whatever the stride") {
  Draw draw;
  INFO("NATTEN_SIM_SEED=" << test::stored_seed());
  for (int i = 0; i < test::cases(3'000); ++i) {
    const AxisMask axis = random_axis(draw);
    const AxisTiles tiles{draw.size(axis.length), draw.size(2 * axis.length)};
    const KvTiling tiling = draw(0, 1) == 0 ? KvTiling::kStatic : KvTiling::kDynamic;
    const Walk walk = draw(0, 1) == 0 ? Walk::kForward : Walk::kBackward;
    INFO("length " << axis.length << " window " << axis.window << " stride " << axis.stride << " dilation "
                   << axis.dilation << (axis.causal ? " causal" : "") << ", tiles " << tiles.walked << " and "
                   << tiles.streamed << (tiling == KvTiling::kStatic ? " static" : " dynamic")
                   << (walk == Walk::kForward ? " forward" : " backward"));
    REQUIRE(count_axis(axis, tiles, tiling, walk) == count_by_tiles(axis, tiles, tiling, walk));
  }
}

TEST_CASE(
    "on an axis of any length a count takes fewer than 2^22 steps, or its pairs do not fit in 63 bits") {
  Draw draw;
  INFO("NATTEN_SIM_SEED=" << test::stored_seed());
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 22;
  int counted = 0;
  for (int i = 0; i < 100'000; ++i) {
    AxisMask axis;
    axis.length = (std::int64_t{1} << draw(30, 60)) - draw(0, 1'000'000);
    // Strides near the cube root of 2^63 have as many phases as groups: the most of both.
    const std::int64_t pairs_fit = (std::int64_t{1} << 62) / axis.length * 4;
    axis.window = std::min(axis.length, draw(1, std::max<std::int64_t>(2, pairs_fit)));
    axis.stride = draw(0, 2) == 0 ? draw(1, axis.window) : axis.window;
    axis.causal = draw(0, 1) == 0;
    const AxisTiles tiles{draw(1, std::int64_t{1} << draw(0, 22)), draw(1, 1 << 20)};
    try {
      (void)attended_pairs(axis);
    } catch (const OverflowError&) {
      continue;
    }
    ++counted;
    const Walk walk = draw(0, 1) == 0 ? Walk::kForward : Walk::kBackward;
    INFO(axis.length << " " << axis.window << " " << axis.stride << " " << tiles.walked);
    REQUIRE(count_axis_steps(axis, tiles, walk) < kMostSteps);
  }
  CHECK(counted > 30'000);
}

TEST_CASE("pairs that do not fit are refused before anything is counted") {
  // 2^53 tokens and windows of 3 x 10^14: 2^101 pairs. Tile by tile this takes 10^13 steps.
  const AxisMask endless{9007199254740992, 323501765483888, 151361430366706, 1, false};
  CHECK_THROWS_AS(count_axis(endless, {128, 128}, KvTiling::kStatic), OverflowError);
  const AxisMask late{100000000039, 100000000, 99999989, 1, false};  // 10^19 pairs
  CHECK_THROWS_AS(count_axis(late, {64, 64}, KvTiling::kStatic), OverflowError);
}

TEST_CASE("a stride of a million on an axis of 4 x 10^12 tokens is counted, and the mean visits are right") {
  // A tile of 64 queries crosses the end of a stride group in 63 of 999,983 places, and then sees a stride
  // more: in the mean its keys are window + 63. A range of n tokens at a random place touches (n + 127) / 128
  // tiles in the mean.
  const AxisMask axis{4'000'000'000'037, 1'000'003, 999'983, 1, false};
  const AxisCount count = count_axis(axis, {64, 128}, KvTiling::kStatic);
  const double mean = (1'000'003.0 + 63 + 127) / 128;
  const double counted = static_cast<double>(count.visited_tiles) / static_cast<double>(count.walked_tiles);
  CHECK(std::abs(counted / mean - 1) < 1e-6);
}

}  // namespace long_axis_test
