#pragma once

#include <cstdint>

#include <natten_sim/core/checked.hpp>

namespace natten_sim {

/// digits / 10^places, exactly the decimal number that prints a double (shortest round trip).
struct Decimal {
  std::int64_t digits = 0;
  int places = 0;
};

/// Requires 0 <= value < 10^15. A value whose shortest text has more than 18 decimal places is rounded to 18.
[[nodiscard]] Decimal to_decimal(double value);

[[nodiscard]] Int128 power_of_ten(int exponent) noexcept;

/// floor(value * (1 - fraction)) and ceil of the same, exactly; requires fraction in 0..1 and value >= 0.
[[nodiscard]] std::int64_t floor_of_complement(std::int64_t value, const Decimal& fraction);
[[nodiscard]] std::int64_t ceil_of_complement(std::int64_t value, const Decimal& fraction);

}  // namespace natten_sim
