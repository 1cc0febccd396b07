#include <algorithm>

#include <natten_sim/core/wide_integer.hpp>

namespace natten_sim {

std::string decimal(Int128 value) {
  const bool negative = value < 0;
  UInt128 rest = negative ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace natten_sim
