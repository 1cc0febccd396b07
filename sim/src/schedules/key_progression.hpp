#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include <natten_sim/core/tiling.hpp>
#include <natten_sim/core/wide_integer.hpp>

namespace natten_sim {

/// Keys of a range, not before 0, that leave `residue` (0 <= residue < step) when divided by `step`.
struct KeyProgression {
  TokenRange range;
  std::int64_t step = 1, residue = 0;

  /// How many of them lie in [begin, end).
  [[nodiscard]] std::int64_t within(std::int64_t begin, std::int64_t end) const {
    begin = std::max(begin, range.begin);
    end = std::min(end, range.end);
    return begin < end ? below(end) - below(begin) : 0;
  }

 private:
  [[nodiscard]] std::int64_t below(std::int64_t end) const {
    return end <= residue ? 0 : (end - 1 - residue) / step + 1;
  }
};

/// The inverse of `value` modulo `modulus`, which have no divisor in common. O(log modulus).
[[nodiscard]] inline std::int64_t inverse_modulo(std::int64_t value, std::int64_t modulus) {
  std::int64_t r = modulus, next_r = value % modulus, t = 0, next_t = 1;
  while (next_r != 0) {
    const std::int64_t quotient = r / next_r;
    r = std::exchange(next_r, r - quotient * next_r);
    t = std::exchange(next_t, t - quotient * next_t);
  }
  return t < 0 ? t + modulus : t;
}

/// Keys of both (Chinese remainder theorem); none: there is no such key.
[[nodiscard]] inline std::optional<KeyProgression> common_keys(const KeyProgression& a, const KeyProgression& b) {
  KeyProgression both{{std::max(a.range.begin, b.range.begin), std::min(a.range.end, b.range.end)}};
  if (both.range.begin >= both.range.end) return std::nullopt;
  const std::int64_t shared = std::gcd(a.step, b.step);
  if ((b.residue - a.residue) % shared != 0) return std::nullopt;
  const std::int64_t other = b.step / shared;
  std::int64_t times = static_cast<std::int64_t>(static_cast<Int128>((b.residue - a.residue) / shared) *
                                                 inverse_modulo(a.step / shared % other, other) % other);
  if (times < 0) times += other;
  const Int128 residue = static_cast<Int128>(a.step) * times + a.residue, step = static_cast<Int128>(a.step) * other;
  if (residue >= both.range.end) return std::nullopt;
  both.residue = static_cast<std::int64_t>(residue);
  if (step < both.range.end) {
    both.step = static_cast<std::int64_t>(step);
  } else {  // one key, which may lie before the range
    both.range = {std::max(both.range.begin, both.residue), both.residue + 1};
    both.step = 1;
    both.residue = 0;
    if (both.range.begin >= both.range.end) return std::nullopt;
  }
  return both;
}

}  // namespace natten_sim
