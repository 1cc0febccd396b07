#include "gpu/number_bits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace natten_sim::kernels {
namespace {

/// A number that the type holds, from its bits.
double decoded(Dtype dtype, const std::uint8_t* bytes) {
  if (dtype == Dtype::kFp32) {
    float value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  if (dtype == Dtype::kBf16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? HUGE_VAL
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return (bits >> 15) != 0 ? -size : size;
}

/// Rounds to nearest even, and writes the bits. Within the normal range.
void encode(Dtype dtype, double value, std::uint8_t* bytes) {
  if (dtype == Dtype::kFp32) {
    const float rounded = static_cast<float>(value);
    std::memcpy(bytes, &rounded, sizeof rounded);
    return;
  }
  std::uint16_t bits = 0;
  if (dtype == Dtype::kBf16) {
    std::uint32_t word = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    word += 0x7FFF + (word >> 16 & 1);
    bits = static_cast<std::uint16_t>(word >> 16);
  } else if (value != 0) {
    int exponent = 0;
    (void)std::frexp(std::abs(value), &exponent);
    const int scale = std::max(exponent - 11, -24);
    const auto units = static_cast<std::int64_t>(std::nearbyint(std::ldexp(std::abs(value), -scale)));
    // A rounding up to the next binade carries into the exponent, as it should.
    const std::int64_t coded = scale == -24 ? units : (static_cast<std::int64_t>(scale) + 24) * 1024 + units;
    bits = static_cast<std::uint16_t>(coded | (value < 0 ? 0x8000 : 0));
  }
  std::memcpy(bytes, &bits, sizeof bits);
}

}  // namespace

std::vector<std::uint8_t> encoded(Dtype dtype, const std::vector<double>& values) {
  const auto bytes = static_cast<std::size_t>(element_bytes(dtype));
  std::vector<std::uint8_t> result(values.size() * bytes);
  for (std::size_t i = 0; i < values.size(); ++i) encode(dtype, values[i], &result[i * bytes]);
  return result;
}

std::vector<double> decoded(Dtype dtype, const std::vector<std::uint8_t>& bytes) {
  const auto size = static_cast<std::size_t>(element_bytes(dtype));
  std::vector<double> values(bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = decoded(dtype, &bytes[i * size]);
  return values;
}

}  // namespace natten_sim::kernels
