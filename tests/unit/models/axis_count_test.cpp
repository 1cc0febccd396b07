#include <algorithm>

#include <natten_sim/models/tiles/axis_count.hpp>

#include "catch.hpp"

namespace axis_count_test {

using namespace natten_sim;

TEST_CASE("the first query's tile is looked at, even if its window moves at once") {
  // Two tokens that see themselves. Query 0 sees one of two keys of its tile; that of query 1 begins with
  // key 1 and ends with the axis.
  const AxisMask axis{.length = 2, .window = 1};
  CHECK(has_partial_tile_near_breaks(axis, {.walked = 1, .streamed = 2}, KvTiling::kDynamic));
  CHECK_FALSE(has_partial_tile_near_breaks(axis, {.walked = 1, .streamed = 1}, KvTiling::kDynamic));
}

TEST_CASE("the last query of a tile is looked at") {
  // Queries 0 to 2 see keys 0 to 2, and query 3 sees keys 1 to 3: the one Q tile visits four KV tiles of a
  // key, and multiplies all pairs of two.
  const AxisMask axis{.length = 4, .window = 3, .stride = 3};
  CHECK(has_partial_tile_near_breaks(axis, {.walked = 4, .streamed = 1}, KvTiling::kStatic));
  CHECK_FALSE(has_partial_tile_near_breaks(axis, {.walked = 3, .streamed = 1}, KvTiling::kStatic));
}

TEST_CASE("full tiles begin late in a causal axis of one stride: counted query by query") {
  // Queries 121 .. 241 see keys 121 .. q: the KV tile that begins at 120 is never full.
  const AxisMask axis{.length = 242, .window = 121, .stride = 121, .causal = true};
  const AxisGroup group = residue_class(axis, 0);
  for (const std::int64_t walked : {3, 8, 10}) {
    for (const std::int64_t streamed : {2, 7, 12, 25}) {
      CAPTURE(walked, streamed);
      std::int64_t visited = 0, full = 0;
      for (std::int64_t first = 0; first < axis.length; first += walked) {
        const std::int64_t end = std::min(first + walked, axis.length);
        for (std::int64_t key = 0; key < axis.length; key += streamed) {
          std::int64_t seen = 0;
          const std::int64_t keys = std::min(streamed, axis.length - key);
          for (std::int64_t q = first; q < end; ++q) {
            const TokenRange range = attended_range(group, q);
            seen += std::max<std::int64_t>(std::min(range.end, key + keys) - std::max(range.begin, key), 0);
          }
          visited += seen > 0;
          full += seen == (end - first) * keys;
        }
      }
      const AxisCount count =
          count_axis(axis, {.walked = walked, .streamed = streamed}, KvTiling::kStatic, Walk::kForward);
      CHECK(count.visited_tiles == visited);
      CHECK(count.full_tiles == full);
    }
  }
}

}  // namespace axis_count_test
