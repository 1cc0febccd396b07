#include "windows/decimal.hpp"

#include <charconv>
#include <cstddef>
#include <string>

namespace natten_sim {

Int128 power_of_ten(int exponent) noexcept {
  Int128 power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

Decimal to_decimal(double value) {
  // The shortest text that reads back as `value`; beyond 18 places, which 10^18 and 128-bit products leave
  // room for, rounded to 18.
  char buffer[400];
  const auto shortest = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  std::string text(buffer, shortest.ptr);
  if (text.find('.') != std::string::npos && text.size() - text.find('.') - 1 > 18) {
    const auto rounded = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 18);
    text.assign(buffer, rounded.ptr);
  }
  Decimal decimal;
  const std::size_t point = text.find('.');
  if (point != std::string::npos) {
    decimal.places = static_cast<int>(text.size() - point - 1);
    text.erase(point, 1);
  }
  // At most 17 significant digits, or 18 places below 1: both fit in 63 bits.
  std::from_chars(text.data(), text.data() + text.size(), decimal.digits);
  return decimal;
}

std::int64_t floor_of_complement(std::int64_t value, const Decimal& fraction) {
  // Split so that no product exceeds 127 bits: value < 2^63, 10^places <= 10^18 < 2^60.
  const Int128 scale = power_of_ten(fraction.places);
  return static_cast<std::int64_t>(value * (scale - fraction.digits) / scale);
}

std::int64_t ceil_of_complement(std::int64_t value, const Decimal& fraction) {
  const Int128 scale = power_of_ten(fraction.places);
  return static_cast<std::int64_t>((value * (scale - fraction.digits) + scale - 1) / scale);
}

}  // namespace natten_sim
