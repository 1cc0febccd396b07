#include <set>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>

#include "catch.hpp"

namespace sent_sectors_test {

using namespace natten_sim;

CollisionCount counted(const std::vector<std::int64_t>& rows, std::int64_t table) {
  RowTally tally(table);
  for (const std::int64_t row : rows) tally.add(row);
  return tally.result();
}

/// Byte for byte: a warp sends each sector of a consecutive piece once.
std::int64_t walked(const std::vector<std::int64_t>& rows, std::int64_t row_bytes, std::int64_t warp_bytes) {
  std::int64_t sectors = 0, last_byte = -2, last_source = -1;
  for (std::int64_t source = 0; source < std::ssize(rows) * row_bytes; ++source) {
    const std::int64_t row = rows[static_cast<std::size_t>(source / row_bytes)];
    const std::int64_t byte = row * row_bytes + source % row_bytes;
    const bool goes_on = byte == last_byte + 1 && source / warp_bytes == last_source / warp_bytes;
    if (!goes_on || byte % 32 == 0) ++sectors;
    last_byte = byte;
    last_source = source;
  }
  return sectors;
}

TEST_CASE("rows of whole sectors send just those") {
  const CollisionCount one = counted({7, 3, 3, 0, 9}, 16);
  CHECK(sent_sectors(one, 64, 128) == 5 * 2);
  CHECK(sent_sectors(one, 8192, 64) == 5 * 256);
}

TEST_CASE("rows that follow each other share the sectors between them, others do not") {
  // 16 bytes a row, 8 rows a warp: rows 0 to 7 in turn are 4 sectors, eight rows apart 8.
  CHECK(sent_sectors(counted({0, 1, 2, 3, 4, 5, 6, 7}, 64), 16, 128) == 4);
  CHECK(sent_sectors(counted({0, 8, 16, 24, 32, 40, 48, 56}, 64), 16, 128) == 8);
  // Rows 1 to 8 begin in the middle of a sector: 16 to 144 bytes touch five.
  CHECK(sent_sectors(counted({1, 2, 3, 4, 5, 6, 7, 8}, 64), 16, 128) == 5);
}

TEST_CASE("sectors are those of a walk over all bytes, for any rows, widths and warps") {
  std::uint64_t state = 20261123;
  INFO("seed " << state);
  const auto below = [&](std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % limit);
  };
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<std::int64_t> rows;
    const std::int64_t table = 1 + below(40);
    while (rows.size() < 300)
      rows.push_back(below(2) == 0 || rows.empty() ? below(40) % table : (rows.back() + 1) % table);
    const std::int64_t row_bytes = 2 * (1 + below(300)), warp_bytes = std::int64_t{32} << below(5);
    INFO(row_bytes << " bytes a row, " << warp_bytes << " a warp, " << table << " rows");
    CHECK(sent_sectors(counted(rows, table), row_bytes, warp_bytes) == walked(rows, row_bytes, warp_bytes));
  }
}

TEST_CASE("sizes that rows and warps cannot have are refused") {
  CHECK_THROWS_AS(sent_sectors(counted({1}, 2), 3, 128), InvalidParameter);
  CHECK_THROWS_AS(sent_sectors(counted({1}, 2), 4, 48), InvalidParameter);
}

}  // namespace sent_sectors_test
