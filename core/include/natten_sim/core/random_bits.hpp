#pragma once

#include <cstddef>
#include <cstdint>

// Kernels draw the same numbers as the host.
#if defined(__CUDACC__)
#define NATTEN_SIM_HOST_DEVICE __host__ __device__
#else
#define NATTEN_SIM_HOST_DEVICE
#endif

namespace natten_sim {

/// SplitMix64 (Steele, Lea, Flood, 2014). The n-th output is a hash of seed + n, so any element of the
/// sequence can be computed alone. The same on every platform.
[[nodiscard]] NATTEN_SIM_HOST_DEVICE constexpr std::uint64_t random_bits(std::uint64_t seed,
                                                                         std::uint64_t index) noexcept {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// A hash of `bits`: every bit of the result depends on every bit of the argument.
[[nodiscard]] NATTEN_SIM_HOST_DEVICE constexpr std::uint64_t hashed_bits(std::uint64_t bits) noexcept {
  return random_bits(bits, 0);
}

/// Uniform in [0, 1), 53 bits.
[[nodiscard]] constexpr double random_unit(std::uint64_t bits) noexcept {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Uniform in 0 .. count - 1, by multiplication; the bias is below count / 2^64.
[[nodiscard]] constexpr std::int64_t random_below(std::uint64_t bits, std::int64_t count) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((static_cast<Wide>(bits) * static_cast<std::uint64_t>(count)) >> 64);
}

/// The sequence one after another.
class RandomSequence {
 public:
  /// From its `first`-th element on.
  explicit constexpr RandomSequence(std::uint64_t seed, std::uint64_t first = 0) noexcept
      : seed_(seed), index_(first) {}
  constexpr std::uint64_t operator()() noexcept { return random_bits(seed_, index_++); }
  /// Uniform in [0, 1).
  constexpr double unit() noexcept { return random_unit((*this)()); }
  /// Uniform in 0 .. count - 1.
  constexpr std::size_t below(std::size_t count) noexcept {
    return static_cast<std::size_t>(random_below((*this)(), static_cast<std::int64_t>(count)));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t index_;
};

}  // namespace natten_sim
