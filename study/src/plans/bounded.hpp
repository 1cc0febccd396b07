#pragma once

#include <natten_sim/core/model_shape.hpp>

namespace natten_sim::study {

// Sums and multiples of numbers with bounds that go up and down together.

[[nodiscard]] inline Bounded operator+(const Bounded& a, const Bounded& b) {
  return {a.value + b.value, a.low + b.low, a.high + b.high};
}
/// Requires factor >= 0.
[[nodiscard]] inline Bounded operator*(double factor, const Bounded& a) {
  return {factor * a.value, factor * a.low, factor * a.high};
}
/// Of two positive numbers.
[[nodiscard]] inline Bounded operator*(const Bounded& a, const Bounded& b) {
  return {a.value * b.value, a.low * b.low, a.high * b.high};
}

}  // namespace natten_sim::study
