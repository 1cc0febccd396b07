#pragma once

#include <cstdint>

#include <natten_sim/core/random_bits.hpp>

namespace natten_sim::kernels {

/// 64 well-mixed bits of an element of a buffer.
NATTEN_SIM_HOST_DEVICE inline std::uint64_t position_bits(std::uint64_t seed, std::uint64_t position) {
  return hashed_bits(seed * 0x9e3779b97f4a7c15ULL + position);
}

/// Sum of four 16-bit uniforms, scaled to mean 0 and variance 1: close to normal, the same on host and device
/// (integer sum, one exact conversion, one multiplication).
NATTEN_SIM_HOST_DEVICE inline float random_value(std::uint64_t seed, std::uint64_t position) {
  const std::uint64_t bits = position_bits(seed, position);
  const int sum = static_cast<int>(bits & 0xffff) + static_cast<int>((bits >> 16) & 0xffff) +
                  static_cast<int>((bits >> 32) & 0xffff) + static_cast<int>(bits >> 48);
  return static_cast<float>(sum - 2 * 65535) * 2.6428968e-05f;  // sqrt(12 / 4) / 65536
}

}  // namespace natten_sim::kernels
