#include <algorithm>
#include <random>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_split.hpp>

#include "catch.hpp"

namespace axis_split_test {

using namespace natten_sim;

/// Tokens of the axis that a query attends to, first and last; the rule of one query, token by token.
TokenRange attended_tokens(const AxisMask& axis, std::int64_t token) {
  const std::int64_t residue = token % axis.dilation;
  const TokenRange range = attended_range(residue_class(axis, residue), token / axis.dilation);
  return {residue + range.begin * axis.dilation, residue + (range.end - 1) * axis.dilation + 1};
}

AxisMask random_axis(std::mt19937& random) {
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  AxisMask axis;
  axis.length = 1 + below(90);
  axis.dilation = 1 + below(std::min<std::int64_t>(axis.length, 5));
  axis.window = 1 + below(axis.length / axis.dilation);
  axis.stride = 1 + below(axis.window);
  axis.causal = below(3) == 0;
  return axis;
}

TEST_CASE("slabs hold every key of their queries and no token more at either end") {
  std::mt19937 random(41);
  for (int round = 0; round < 3000; ++round) {
    const AxisMask axis = random_axis(random);
    const std::int64_t parts = 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(axis.length));
    std::int64_t begin = 0;
    for (const AxisSlab& slab : split_axis(axis, parts)) {
      REQUIRE(slab.own.begin == begin);
      begin = slab.own.end;
      CHECK((slab.own_tokens() == axis.length / parts || slab.own_tokens() == axis.length / parts + 1));
      TokenRange all = slab.own;
      for (std::int64_t token = slab.own.begin; token < slab.own.end; ++token) {
        const TokenRange keys = attended_tokens(axis, token);
        all = {std::min(all.begin, keys.begin), std::max(all.end, keys.end)};
      }
      CHECK(slab.attended == all);
      CHECK(slab.halo_tokens() == all.end - all.begin - slab.own_tokens());
    }
    CHECK(begin == axis.length);
  }
}

TEST_CASE("a kernel that knows only a slab gives its own queries the windows of the whole axis") {
  std::mt19937 random(42);
  for (int round = 0; round < 3000; ++round) {
    const AxisMask axis = random_axis(random);
    const std::int64_t parts = 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(axis.length));
    for (const AxisSlab& slab : split_axis(axis, parts)) {
      AxisMask part = axis;
      part.length = slab.computed_tokens();
      require_valid(part, 0);
      for (std::int64_t token = slab.own.begin; token < slab.own.end; ++token) {
        const TokenRange whole = attended_tokens(axis, token);
        const TokenRange seen = attended_tokens(part, token - slab.computed.begin);
        REQUIRE(seen.begin + slab.computed.begin == whole.begin);
        REQUIRE(seen.end + slab.computed.begin == whole.end);
      }
    }
  }
}

TEST_CASE("a window of 24 tokens on 80 over 8 GPUs: half a window from either side, whole at the borders") {
  const std::vector<AxisSlab> slabs = split_axis({.length = 80, .window = 24}, 8);
  // Query 0 has the window 0..24, query 9 the same; query 10 begins at 0, query 19 ends at 19 + 12.
  CHECK(slabs[0].attended == TokenRange{0, 24});
  CHECK(slabs[1].attended == TokenRange{0, 31});
  CHECK(slabs[3].attended == TokenRange{18, 51});
  CHECK(slabs[3].halo_tokens() == 12 + 11);
}

TEST_CASE("an axis is cut into no more parts than it has tokens") {
  CHECK_THROWS_AS(split_axis({.length = 3, .window = 2}, 4), InvalidParameter);
  CHECK_THROWS_AS(split_axis({.length = 3, .window = 2}, 0), InvalidParameter);
}

}  // namespace axis_split_test
