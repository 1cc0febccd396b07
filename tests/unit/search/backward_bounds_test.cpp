// Backward visits are bounded by what Q tiles visit: against every option of small axes, walked tile by tile.
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"
#include "windows/option_bounds.hpp"

namespace backward_bounds_test {

using namespace natten_sim;

TEST_CASE("backward no option visits less than Q tiles visit forward, which are the same pairs of tiles") {
  std::int64_t met = 0;
  for (std::int64_t length = 1; length <= 24; ++length) {
    for (std::int64_t window = 1; window <= length; ++window) {
      for (std::int64_t stride = 1; stride <= window; ++stride) {
        for (const AxisTiles tiles : {AxisTiles{1, 1}, {2, 3}, {4, 4}, {6, 4}, {5, 2}, {3, 8}}) {
          const AxisMask mask{length, window, stride, 1, false};
          TilingProblem problem{.mask = {mask}, .tiles = {{tiles.streamed}, {tiles.walked}}};
          problem.walk = Walk::kBackward;
          const TileCount count = walk_tiles(problem);
          const LeastVisited least = least_visited_backward(mask, tiles);
          if (least.all > count.visited_tiles || least.longest > count.max_tiles_per_walked_tile) {
            CAPTURE(length, window, stride, tiles.walked, tiles.streamed, least.all, count.visited_tiles, least.longest);
            FAIL("less is visited");
          }
          met += least.all == count.visited_tiles;
        }
      }
    }
  }
  CHECK(met > 1'000);
}

}  // namespace backward_bounds_test
