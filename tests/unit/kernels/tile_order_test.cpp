// The order in which neighborhood attention takes Q tiles: worked by hand.
#include <natten_sim/kernels/attention_forward/tile_order.hpp>

#include "catch.hpp"

namespace tile_order_test {

using namespace natten_sim;
using kernels::attention_forward::in_order;
using kernels::attention_forward::tile_order;
using Order = PerAxis<std::size_t>;

TEST_CASE("axes of which windows take a larger share go faster") {
  // Cosmos: 16 of 16, 24 of 44 and 16 of 80 tokens: z is shared by all, x by the fewest.
  CHECK(tile_order(make_mask({16, 44, 80}, {16, 24, 16})) == Order{2, 1, 0});
  // Hunyuan: 0.6, 0.5, 0.3.
  CHECK(tile_order(make_mask({30, 48, 80}, {18, 24, 24})) == Order{2, 1, 0});
  CHECK(tile_order(make_mask({30, 48, 80}, {3, 24, 24})) == Order{0, 2, 1});
}

TEST_CASE("equal shares stay in the layout's order, rounded or not") {
  CHECK(tile_order(make_mask({256, 256}, {80, 80})) == Order{0, 1});
  CHECK(tile_order(make_mask({30, 90, 60}, {10, 30, 20})) == Order{0, 1, 2});
  CHECK(tile_order(make_mask({32768}, {2048})) == Order{0});
}

TEST_CASE("a dilated axis is as long as its residue classes") {
  // 8 of 24 / 2 = 12 tokens against 15 of 24.
  CHECK(tile_order(make_mask({24, 24}, {15, 8}, {}, {1, 2})) == Order{0, 1});
  CHECK(tile_order(make_mask({24, 24}, {15, 7}, {}, {1, 2})) == Order{1, 0});
}

TEST_CASE("sizes follow their axes") {
  CHECK(in_order(Extents{16, 44, 80}, Order{2, 0, 1}) == Extents{80, 16, 44});
}

}  // namespace tile_order_test
