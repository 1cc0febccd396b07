// Lists of KV tiles as the kernel reads them: worked by hand.
#include "attention_forward/box_lists.hpp"

#include <array>
#include <vector>

#include "catch.hpp"

namespace box_lists_test {

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

/// The products that mask each entry of a list, as bits.
std::vector<int> products_of(const BoxLists& lists, std::size_t row) {
  std::vector<int> products;
  for (int i = 0; i < lists.rows[row].count; ++i)
    products.push_back(lists.entries[static_cast<std::size_t>(lists.rows[row].first_entry + i)].products);
  return products;
}

TEST_CASE("an axis belongs to one mask product, the longest axes first") {
  // Pairs of coordinates, eight a product: 4 x 4 x 8 has 2 + 2 + 4.
  CHECK(mask_products({8, 4, 4}).count == 1);
  // 8 x 16: eight pairs fill the first, four go to the second. An axis of one coordinate takes a pair.
  const MaskProducts flat = mask_products({8, 16, 1});
  CHECK(flat.count == 2);
  CHECK(flat.of_axis == std::array<int, 3>{1, 0, 1});
  CHECK(flat.pairs == std::array<int, 16>{256, 258, 260, 262, 264, 266, 268, 270, 0, 2, 4, 6, 512, kNoPair,
                                          kNoPair, kNoPair});
  // 2 x 8 x 8: four and four, one pair is left for the second.
  CHECK(mask_products({8, 8, 2}).of_axis == std::array<int, 3>{0, 0, 1});
  // Odd sides: 7 x 4 x 4 is 4 + 2 + 2.
  CHECK(mask_products({4, 4, 7}).count == 1);
  // 17 coordinates are nine pairs: no product has room for them.
  CHECK(mask_products({17, 1, 1}).count == 0);
  CHECK(mask_products({128, 1, 1}).count == 0);
}

/// `input` in tiles of 4 x 4 x 8, all partial but for `full`.
Problem video(const Extents& input, bool full) {
  Problem problem;
  problem.q_tokens = problem.kv_tokens = product(input, "tokens");
  Neighborhood neighborhood{make_mask(input, {3, 3, 3}), {4, 4, 8}, {4, 4, 8}, {}};
  neighborhood.visits = {{0, {0, 0, 0}, {0, 0, 0}, true}, {0, {0, 0, 0}, {0, 0, 8}, full}};
  problem.mask = neighborhood;
  return problem;
}

TEST_CASE("products mask where some tile is partial, ranges fit and the scale is not tiny") {
  CHECK(best_kernel(video({8, 8, 16}, false)).mask_products == 1);
  CHECK(best_kernel(video({8, 8, 16}, true)).mask_products == 0);
  // Without products there is room for a third V tile.
  CHECK(best_kernel(video({8, 8, 16}, false)).v_stages == 2);
  CHECK(best_kernel(video({8, 8, 16}, true)).v_stages == 3);
  CHECK(best_kernel(video({8, 8, 32767}, false)).mask_products == 1);
  CHECK(best_kernel(video({8, 8, 32768}, false)).mask_products == 0);
  Problem faint = video({8, 8, 16}, false);
  faint.scale = 1e-31;
  CHECK(best_kernel(faint).mask_products == 0);
  for (const std::int64_t head_dim : {64, 96}) {
    Problem other = video({8, 8, 16}, false);
    other.head_dim = head_dim;
    CHECK(best_kernel(other).mask_products == 1);
  }
  for (const std::int64_t head_dim : {160, 256}) {  // not timed, or not built
    Problem other = video({8, 8, 16}, false);
    other.head_dim = head_dim;
    CHECK(best_kernel(other).mask_products == 0);
  }
}

TEST_CASE("an entry names the products of the axes along which its tiles hide keys") {
  // 8 x 16 tiles in 16 x 32 tokens, window 5 x 5. Queries of the first tile see rows up to 9 and columns up
  // to 17.
  const Neighborhood neighborhood{make_mask({16, 32}, {5, 5}),
                                  {8, 16},
                                  {8, 16},
                                  {{0, {0, 0}, {0, 0}, false},
                                   {0, {0, 0}, {0, 16}, false},
                                   {0, {0, 0}, {8, 0}, false},
                                   {0, {0, 0}, {8, 16}, false}}};
  // Every one of these hides keys along both axes: query 0 sees rows and columns 0 to 4 alone.
  CHECK(products_of(box_lists(neighborhood), 0) == std::vector<int>{3, 3, 3, 3});
  CHECK(box_lists(neighborhood).rows[0].single_end == 0);

  // Window 16 along the rows: all are seen by all, so that columns alone hide keys. They are product 0 (16 of
  // them).
  Neighborhood rows = neighborhood;
  rows.mask = make_mask({16, 32}, {16, 5});
  CHECK(products_of(box_lists(rows), 0) == std::vector<int>{1, 1, 1, 1});
  CHECK(box_lists(rows).rows[0].single_end == 4);

  // The other way round.
  Neighborhood columns = neighborhood;
  columns.mask = make_mask({16, 32}, {5, 32});
  CHECK(products_of(box_lists(columns), 0) == std::vector<int>{2, 2, 2, 2});
}

TEST_CASE("tiles that one product masks come before those that need two, and full tiles before both") {
  // Window 9 x 17 in 32 x 64, tiles 8 x 16, Q tile at (8, 16): queries (8..15, 16..31). Along the rows the
  // windows of its first and last query are 4..12 and 11..19: rows 8..15 are not seen by all. So give the
  // rows stride 8: leader 12 of the group sees 8..16.
  const NeighborhoodMask mask = make_mask({32, 64}, {9, 17}, {8, 16});
  // Columns: leader 24 of 16..31 sees 16..32: tile 16 is whole, tile 32 in part. Rows: tile 8 whole, tile 16
  // in part.
  const Neighborhood neighborhood{mask,
                                  {8, 16},
                                  {8, 16},
                                  {{0, {8, 16}, {16, 32}, false},
                                   {0, {8, 16}, {16, 16}, false},
                                   {0, {8, 16}, {8, 32}, false},
                                   {0, {8, 16}, {8, 16}, true}}};
  const BoxLists lists = box_lists(neighborhood);
  const std::vector<int> products = products_of(lists, 0);
  REQUIRE(products.size() == 4);
  CHECK(products[0] == 0);
  CHECK(products[1] + products[2] == 1 + 2);  // in tile order, whichever that is
  CHECK(products[3] == 3);
  CHECK(lists.rows[0].full == 1);
  CHECK(lists.rows[0].single_end == 3);
}

TEST_CASE("a KV tile that sticks out of the layout hides what lies outside") {
  // 10 keys in tiles of 8; all are seen by all.
  const Neighborhood neighborhood{
      make_mask({10}, {10}), {8}, {8}, {{0, {0}, {0}, true}, {0, {0}, {8}, false}}};
  CHECK(products_of(box_lists(neighborhood), 0) == std::vector<int>{0, 1});
}

TEST_CASE("products follow the residue of a dilated axis") {
  // 20 keys, dilation 3: residues 0 and 1 have seven keys, residue 2 has six. Tiles of 7: whole, whole,
  // sticking out.
  const Neighborhood neighborhood{
      make_mask({20}, {6}, {}, {3}), {7}, {7}, {{0, {0}, {0}, false}, {2, {0}, {0}, false}}};
  const BoxLists lists = box_lists(neighborhood);
  // Residue 0: windows of 6 of 7 keys hide one. Residue 2: the window is all six keys, and the seventh does
  // not exist.
  CHECK(products_of(lists, 0) == std::vector<int>{1});
  CHECK(products_of(lists, 1) == std::vector<int>{1});
}

}  // namespace box_lists_test
