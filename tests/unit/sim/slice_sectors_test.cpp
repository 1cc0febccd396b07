#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>

#include "catch.hpp"

namespace slice_sectors_test {

using namespace natten_sim;

/// Row r receives multiplicities[r] updates.
CollisionCount counted(const std::vector<std::int64_t>& multiplicities) {
  RowTally tally(std::ssize(multiplicities));
  for (std::size_t row = 0; row < multiplicities.size(); ++row) {
    for (std::int64_t i = 0; i < multiplicities[row]; ++i) tally.add(static_cast<std::int64_t>(row));
  }
  return tally.result();
}

TEST_CASE("rows of 256 bytes: every second one of a KiB lies on the hottest row's slice") {
  // Rows 0 and 2 of the first KiB, 8 sectors each; row 4 begins the next.
  CHECK(slice_sectors(counted({9, 5, 3, 2, 7}), 256) == (9 + 3) * 8);
  CHECK(slice_sectors(counted({5, 9, 3, 2, 7}), 256) == (9 + 2) * 8);
  CHECK(slice_sectors(counted({1, 1, 1, 1, 7}), 256) == 7 * 8);
}

TEST_CASE("rows longer than 256 bytes have at most 512 of each KiB on one slice") {
  CHECK(slice_sectors(counted({4}), 512) == 4 * 8);
  CHECK(slice_sectors(counted({4, 3}), 512) == (4 + 3) * 8);
  CHECK(slice_sectors(counted({4}), 1024) == 4 * 16);
  CHECK(slice_sectors(counted({4}), 8192) == 4 * 16);
}

TEST_CASE("narrow rows that share a sector cost one each") {
  // Sixteen rows of 16 bytes fill the first unit, sixteen more the third.
  std::vector<std::int64_t> rows(64, 1);
  CHECK(slice_sectors(counted(rows), 16) == 32);
  // 48 bytes begin within a sector: row 0 covers sectors 0 and 1, row 1 sectors 1 and 2.
  CHECK(slice_sectors(counted({2, 1}), 48) == 2 * 2 + 2);
}

TEST_CASE("rows far from the hottest are not looked at, and a size below one is refused") {
  std::vector<std::int64_t> rows(400, 0);
  rows[399] = 5;
  CHECK(slice_sectors(counted(rows), 1) == 5);
  CHECK_THROWS_AS(slice_sectors(counted({1}), 0), InvalidParameter);
}

}  // namespace slice_sectors_test
