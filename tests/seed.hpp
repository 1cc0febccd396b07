#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace natten_sim::test {

/// NATTEN_SIM_SEED, which repeats a run, else a new one. Tests print what they get:
///     WARN("NATTEN_SIM_SEED=" << seed);
[[nodiscard]] inline std::uint64_t random_seed() {
  const char* given = std::getenv("NATTEN_SIM_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

/// Tells RapidCheck how many cases to draw, and from which seed if there is one: NATTEN_SIM_SEED. It reads
/// this once, before the first check; RC_PARAMS of the caller goes before.
///     const bool configured = configure_cases(20000);
[[nodiscard]] inline bool configure_cases(int cases) {
  std::string parameters = "max_success=" + std::to_string(cases) + " max_size=100";
  if (std::getenv("NATTEN_SIM_SEED") != nullptr) parameters += " seed=" + std::to_string(random_seed());
  return setenv("RC_PARAMS", parameters.c_str(), 0) == 0;
}

}  // namespace natten_sim::test
