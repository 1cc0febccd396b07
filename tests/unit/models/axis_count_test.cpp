#include <natten_sim/models/tiles/axis_count.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;

TEST_CASE("the first query's tile is looked at, even if its window moves at once") {
  // Two tokens that see themselves. Query 0 sees one of two keys of its tile; that of query 1 begins with
  // key 1 and ends with the axis.
  const AxisMask axis{.length = 2, .window = 1};
  CHECK(has_partial_tile_near_breaks(axis, {.walked = 1, .streamed = 2}, KvTiling::kDynamic));
  CHECK_FALSE(has_partial_tile_near_breaks(axis, {.walked = 1, .streamed = 1}, KvTiling::kDynamic));
}

}  // namespace
