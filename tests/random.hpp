#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace natten_sim::test {

/// The seed of every random test: stored, so that a run repeats the last one. NATTEN_SIM_SEED is another.
/// Tests show it when they fail:
///     INFO("NATTEN_SIM_SEED=" << seed);
[[nodiscard]] inline std::uint64_t stored_seed() {
  const char* given = std::getenv("NATTEN_SIM_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261127;
}

/// How many cases a random test draws: `stored`, times NATTEN_SIM_CASES where that is set; at least one.
[[nodiscard]] inline int cases(int stored) {
  const char* factor = std::getenv("NATTEN_SIM_CASES");
  const double times = factor != nullptr ? std::strtod(factor, nullptr) : 1;
  return static_cast<int>(std::fmax(1, std::fmin(stored * times, 1e9)));
}

}  // namespace natten_sim::test
