#pragma once

#include <bit>
#include <cstdint>

namespace natten_sim {

/// Division of non-negative numbers by one that is used many times: a shift for powers of two, which tile
/// sizes are nearly always, and 32-bit division where the dividend allows it, which is several times faster
/// than 64-bit on most CPUs.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t value) noexcept
      : value_(value),
        shift_((value & (value - 1)) == 0 ? std::countr_zero(static_cast<std::uint64_t>(value)) : -1) {}

  [[nodiscard]] std::int64_t value() const noexcept { return value_; }
  [[nodiscard]] std::int64_t floor(std::int64_t x) const noexcept {
    if (shift_ >= 0) return x >> shift_;
    if (static_cast<std::uint64_t>(x | value_) >> 32 == 0) {
      return static_cast<std::int64_t>(static_cast<std::uint32_t>(x) / static_cast<std::uint32_t>(value_));
    }
    return x / value_;
  }
  /// Requires x + value below 2^63.
  [[nodiscard]] std::int64_t ceil(std::int64_t x) const noexcept { return floor(x + value_ - 1); }
  /// Largest multiple of the divisor that is at most x.
  [[nodiscard]] std::int64_t floor_multiple(std::int64_t x) const noexcept { return floor(x) * value_; }

 private:
  std::int64_t value_ = 1;
  int shift_ = 0;
};

}  // namespace natten_sim
