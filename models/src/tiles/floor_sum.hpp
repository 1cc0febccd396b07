#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <natten_sim/core/checked.hpp>

namespace natten_sim {

/// start, start + slope, .., `count` terms of it.
struct Progression {
  std::int64_t start = 0;
  std::int64_t slope = 0;
  std::int64_t count = 1;

  [[nodiscard]] std::int64_t operator()(std::int64_t i) const noexcept { return start + i * slope; }
  [[nodiscard]] std::int64_t last() const noexcept { return (*this)(count - 1); }
  /// The terms from `from` on, `terms` of them.
  [[nodiscard]] Progression part(std::int64_t from, std::int64_t terms) const noexcept {
    return {(*this)(from), slope, terms};
  }
};

/// Sum of floor(term / divisor). Requires terms from 0 to 2^62. O(log(terms)) by Euclid's algorithm: the
/// points below the line are counted by rows in place of columns once its slope is below 1.
[[nodiscard]] inline Int128 floor_sum(const Progression& terms, std::int64_t divisor) noexcept {
  if (terms.slope < 0) return floor_sum({terms.last(), -terms.slope, terms.count}, divisor);
  if (terms.slope == 0 || terms.count == 1) return static_cast<Int128>(terms.start / divisor) * terms.count;
  std::int64_t count = terms.count, rise = terms.slope, run = divisor, start = terms.start;
  Int128 sum = 0;
  while (true) {
    if (rise >= run) sum += static_cast<Int128>(count) * (count - 1) / 2 * (rise / run), rise %= run;
    if (start >= run) sum += static_cast<Int128>(count) * (start / run), start %= run;
    const std::int64_t top = rise * count + start;  // no more than the first time: terms fit
    if (top < run) return sum;
    count = top / run;
    start = top % run;
    std::swap(rise, run);
  }
}

/// Sum of ceil(term / divisor), of the same terms.
[[nodiscard]] inline Int128 ceil_sum(const Progression& terms, std::int64_t divisor) noexcept {
  return floor_sum({terms.start + divisor - 1, terms.slope, terms.count}, divisor);
}

/// Smallest of start, start + slope, .. modulo `modulus`, `count` of them; 0 <= slope, start < modulus. The
/// smallest is the first, or the first behind a turn; those behind turns are a progression modulo the slope.
/// Turned round where the slope is more than half the modulus, so that the modulus halves: O(log(modulus)).
[[nodiscard]] inline std::int64_t smallest_residue(Int128 start, Int128 slope, Int128 count,
                                                   Int128 modulus) noexcept {
  Int128 smallest = start;
  while (slope > 0 && count > 0) {
    if (2 * slope > modulus) {
      start = (slope * (count - 1) + start) % modulus;
      slope = modulus - slope;
    }
    smallest = std::min(smallest, start);
    count = (slope * (count - 1) + start) / modulus;  // turns
    start = ((start - modulus) % slope + slope) % slope;
    modulus = std::exchange(slope, (slope - modulus % slope) % slope);
    if (count > 0) smallest = std::min(smallest, start);
  }
  return static_cast<std::int64_t>(smallest);
}

/// Largest term modulo `modulus`. Requires terms from 0 on and a slope from 0 on.
[[nodiscard]] inline std::int64_t largest_residue(const Progression& terms, std::int64_t modulus) noexcept {
  const std::int64_t slope = terms.slope % modulus;
  return modulus - 1 -
         smallest_residue(modulus - 1 - terms.start % modulus, slope == 0 ? 0 : modulus - slope, terms.count,
                          modulus);
}

}  // namespace natten_sim
