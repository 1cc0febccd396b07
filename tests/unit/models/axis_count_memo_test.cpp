#include <algorithm>
#include <cstdint>
#include <random>

#include <natten_sim/models/tiles/axis_count_memo.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace axis_count_memo_test {

using namespace natten_sim;

TEST_CASE("a memo of axes says what a count says, however often it is asked and whatever it forgets") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  AxisCountMemo memo;
  for (int i = 0; i < 40000; ++i) {  // more questions than it has places for
    AxisMask axis{.length = draw(1, 40)};
    axis.dilation = draw(1, std::min<std::int64_t>(2, axis.length));
    axis.window = draw(1, axis.length / axis.dilation);
    axis.stride = draw(1, axis.window);
    axis.causal = draw(0, 1) == 1;
    const AxisTiles tiles{draw(1, 8), draw(1, 8)};
    const KvTiling tiling = draw(0, 1) == 1 ? KvTiling::kStatic : KvTiling::kDynamic;
    const Walk walk = draw(0, 1) == 1 ? Walk::kForward : Walk::kBackward;
    const AxisCount expected = count_axis(axis, tiles, tiling, walk);
    REQUIRE(memo.count(axis, tiles, tiling, walk) == expected);
    REQUIRE(memo.count(axis, tiles, tiling, walk) == expected);
  }
}

}  // namespace axis_count_memo_test
