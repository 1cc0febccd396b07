#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace natten_sim::test {

/// NATTEN_SIM_SEED, which repeats a run, else a new one. Tests print what they get:
///     WARN("NATTEN_SIM_SEED=" << seed);
[[nodiscard]] inline std::uint64_t random_seed() {
  const char* given = std::getenv("NATTEN_SIM_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

}  // namespace natten_sim::test
