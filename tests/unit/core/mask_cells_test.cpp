#include <algorithm>
#include <random>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace mask_cells_test {

using namespace natten_sim;

TEST_CASE("copies of a mask share its cells until one is changed") {
  const BlockMask first{2, 2, {TileWork::kFull, TileWork::kNone, TileWork::kPartial, TileWork::kFull}};
  BlockMask second = first;
  CHECK(&second.attended() == &first.attended());
  second.work[1] = TileWork::kFull;
  CHECK(&second.attended() != &first.attended());
  CHECK(first.at(0, 1) == TileWork::kNone);
  CHECK(second.at(0, 1) == TileWork::kFull);
  CHECK_FALSE(first == second);
  second.work[1] = TileWork::kNone;
  CHECK(first == second);
}

TEST_CASE("the tiles that attend are those of the cells, also after a change") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  BlockMask mask{5, 7, std::vector<TileWork>(35, TileWork::kNone)};
  for (int change = 0; change < 100; ++change) {
    mask.work[random() % 35] = static_cast<TileWork>(random() % 3);
    const AttendedTiles& tiles = mask.attended();
    std::int64_t count = 0;
    bool full = false, partial = false;
    for (std::int32_t q = 0; q < 5; ++q) {
      std::vector<std::int32_t> row;
      for (std::int32_t kv = 0; kv < 7; ++kv) {
        if (mask.at(q, kv) != TileWork::kNone) row.push_back(kv);
        full = full || mask.at(q, kv) == TileWork::kFull;
        partial = partial || mask.at(q, kv) == TileWork::kPartial;
      }
      CHECK(tiles.kv_of_q[static_cast<std::size_t>(q)] == row);
      count += std::ssize(row);
    }
    for (std::int32_t kv = 0; kv < 7; ++kv) {
      std::vector<std::int32_t> column;
      for (std::int32_t q = 0; q < 5; ++q) {
        if (mask.at(q, kv) != TileWork::kNone) column.push_back(q);
      }
      CHECK(tiles.q_of_kv[static_cast<std::size_t>(kv)] == column);
    }
    CHECK(tiles.count == count);
    CHECK(tiles.some_full == full);
    CHECK(tiles.some_partial == partial);
  }
}

TEST_CASE("cells are those of a vector, of any number and after any change of it") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  MaskCells cells;
  std::vector<TileWork> plain;
  const auto any = [&] { return static_cast<TileWork>(random() % 3); };
  for (int change = 0; change < 3000; ++change) {
    switch (random() % 7) {
      case 0:
      case 1:
        plain.push_back(any());
        cells.push_back(plain.back());
        break;
      case 2: {
        if (plain.empty()) break;
        const std::size_t at = random() % plain.size();
        plain[at] = any();
        cells[at] = plain[at];
        break;
      }
      case 3: {
        const std::size_t size = random() % 200;
        plain.resize(size);
        cells.resize(size);
        break;
      }
      case 4: {
        if (plain.size() > 500) break;
        const MaskCells before = cells;
        const std::vector<TileWork> plain_before = plain;
        cells.append(random() % 2 == 0 ? cells : before);
        plain.insert(plain.end(), plain_before.begin(), plain_before.end());
        CHECK(before == MaskCells(plain_before));
        break;
      }
      case 5: {
        const TileWork each = any();
        plain.assign(random() % 100, each);
        cells = MaskCells(plain.size(), each);
        break;
      }
      default: {
        MaskCells other = plain;
        CHECK(other == cells);
        if (plain.empty()) break;
        const std::size_t cell = random() % plain.size();
        other[cell] = plain[cell] == TileWork::kFull ? TileWork::kNone : TileWork::kFull;
        CHECK_FALSE(other == cells);
        CHECK(cells[cell] == plain[cell]);
      }
    }
    REQUIRE(cells.size() == plain.size());
    REQUIRE(std::equal(plain.begin(), plain.end(), cells.begin()));
  }
}

}  // namespace mask_cells_test
