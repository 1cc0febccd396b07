#pragma once

#include <cstdint>
#include <initializer_list>

#include <natten_sim/core/random_bits.hpp>

namespace natten_sim::test {

/// Members of random problems, the same on every platform.
class RandomValues {
 public:
  explicit RandomValues(std::uint64_t seed) : random_(seed) {}
  /// lo .. hi, all equally likely.
  [[nodiscard]] std::int64_t whole(std::int64_t lo, std::int64_t hi) {
    return lo + random_below(random_(), hi - lo + 1);
  }
  [[nodiscard]] double real(double lo, double hi) { return lo + (hi - lo) * random_.unit(); }
  [[nodiscard]] bool coin() { return random_.below(2) == 1; }
  template <class T>
  [[nodiscard]] T of(std::initializer_list<T> values) {
    return values.begin()[random_.below(values.size())];
  }

 private:
  RandomSequence random_;
};

}  // namespace natten_sim::test
