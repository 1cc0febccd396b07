#include "windows/decimal.hpp"

#include "catch.hpp"

namespace decimal_test {

using namespace natten_sim;

bool is(double value, std::int64_t digits, int places) {
  const Decimal decimal = to_decimal(value);
  // Equal as numbers: digits * 10^-places.
  return static_cast<Int128>(decimal.digits) * power_of_ten(places) ==
         static_cast<Int128>(digits) * power_of_ten(decimal.places);
}

TEST_CASE("a double becomes the decimal number that was written") {
  CHECK(is(0.0, 0, 0));
  CHECK(is(1.0, 1, 0));
  CHECK(is(0.3, 3, 1));
  CHECK(is(0.1, 1, 1));
  CHECK(is(0.1 + 0.2, 30000000000000004, 17));
  CHECK(is(0.012345678901234568, 12345678901234568, 18));
  CHECK(is(1e-18, 1, 18));
  CHECK(is(2.5, 25, 1));
  CHECK(is(123456789012345.0, 123456789012345, 0));
  CHECK(is(999999999999.125, 999999999999125, 3));
}

TEST_CASE("beyond 18 places a decimal is rounded, not cut off") {
  CHECK(is(6e-19, 1, 18));
  CHECK(is(4e-19, 0, 18));
}

TEST_CASE("complements are exact at the largest counts") {
  constexpr std::int64_t kMax = 9223372036854775807;
  CHECK(floor_of_complement(kMax, to_decimal(0.0)) == kMax);
  CHECK(ceil_of_complement(kMax, to_decimal(1.0)) == 0);
  CHECK(floor_of_complement(10, to_decimal(0.3)) == 7);
  CHECK(ceil_of_complement(10, to_decimal(0.3)) == 7);
  CHECK(floor_of_complement(10, to_decimal(0.35)) == 6);
  CHECK(ceil_of_complement(10, to_decimal(0.35)) == 7);
  CHECK(floor_of_complement(kMax, to_decimal(1e-18)) == kMax - 10);  // 2^63 * 10^-18 = 9.22..
  CHECK(ceil_of_complement(kMax, to_decimal(1e-18)) == kMax - 9);
}

}  // namespace decimal_test
