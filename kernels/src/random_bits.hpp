#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define NATTEN_SIM_HOST_DEVICE __host__ __device__
#else
#define NATTEN_SIM_HOST_DEVICE
#endif

namespace natten_sim::kernels {

/// SplitMix64's finalizer (Steele, Lea, Flood, 2014): position and seed to 64 well-mixed bits.
NATTEN_SIM_HOST_DEVICE inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15ULL + position + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Sum of four 16-bit uniforms, scaled to mean 0 and variance 1: close to normal, the same on host and device
/// (integer sum, one exact conversion, one multiplication).
NATTEN_SIM_HOST_DEVICE inline float random_value(std::uint64_t seed, std::uint64_t position) {
  const std::uint64_t bits = random_bits(seed, position);
  const int sum = static_cast<int>(bits & 0xffff) + static_cast<int>((bits >> 16) & 0xffff) +
                  static_cast<int>((bits >> 32) & 0xffff) + static_cast<int>(bits >> 48);
  return static_cast<float>(sum - 2 * 65535) * 2.6428968e-05f;  // sqrt(12 / 4) / 65536
}

}  // namespace natten_sim::kernels
