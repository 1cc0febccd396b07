// Lists of KV tiles as the kernel reads them: worked by hand.
#include "attention_forward/box_lists.hpp"

#include <vector>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::kernels::attention_forward;

struct Tile {
  std::uint32_t x, y, z, w;
  friend bool operator==(const Tile&, const Tile&) = default;
};

std::vector<Tile> tiles_of(const BoxLists& lists, std::size_t row) {
  std::vector<Tile> tiles;
  for (int i = 0; i < lists.rows[row].count; ++i) {
    const KvTileEntry& entry = lists.entries[static_cast<std::size_t>(lists.rows[row].first_entry + i)];
    tiles.push_back({entry.xw & ((1u << kXBits) - 1), entry.y, entry.z, entry.xw >> kXBits});
  }
  return tiles;
}

/// Two Q tiles of 4 keys; the first sees tile 1 in part and tile 0 whole, the second tile 2 whole.
Neighborhood two_tiles() {
  return {make_mask({12}, {6}), {4}, {4}, {{0, {0}, {4}, false}, {0, {0}, {0}, true}, {0, {4}, {8}, true}}};
}

TEST_CASE("full tiles come before partial ones") {
  const BoxLists lists = box_lists(two_tiles());
  REQUIRE(lists.rows.size() == 2);
  CHECK(tiles_of(lists, 0) == std::vector<Tile>{{0, 0, 0, 0}, {1, 0, 0, 0}});
  CHECK(lists.rows[0].full == 1);
  CHECK(tiles_of(lists, 1) == std::vector<Tile>{{2, 0, 0, 0}});
  CHECK(lists.rows[1].full == 1);
}

TEST_CASE("every Q tile walks the additional keys: whole tiles of them first, the rest last") {
  const BoxLists lists = box_lists(two_tiles(), 9);  // of 4: two tiles and one key
  REQUIRE(lists.rows.size() == 2);
  CHECK(tiles_of(lists, 0) ==
        std::vector<Tile>{
            {0, 0, 0, kExtraKeys}, {1, 0, 0, kExtraKeys}, {0, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, kExtraKeys}});
  CHECK(lists.rows[0].full == 3);
  CHECK(lists.rows[1].full == 3);
  CHECK(lists.rows[1].count == 4);
  CHECK(box_lists(two_tiles(), 8).rows[1].count == 3);  // nothing is left over
}

TEST_CASE("the first of four axes is told in coordinates of the layout, whatever its dilation") {
  // Dilation 3 along the first axis and 2 along the last: group 5 is residues 2 and 1.
  const Neighborhood neighborhood{make_mask({12, 1, 1, 8}, {2, 1, 1, 2}, {}, {3, 1, 1, 2}),
                                  {1, 1, 1, 4},
                                  {1, 1, 1, 4},
                                  {{5, {1, 0, 0, 0}, {2, 0, 0, 0}, true}}};
  const BoxLists lists = box_lists(neighborhood);
  REQUIRE(lists.rows.size() == 1);
  CHECK(lists.rows[0].group == 1);      // of the other three
  CHECK(lists.rows[0].w == 2 + 3 * 1);  // query: residue 2, place 1
  CHECK(tiles_of(lists, 0) == std::vector<Tile>{{0, 0, 0, 2 + 3 * 2}});
}

}  // namespace
