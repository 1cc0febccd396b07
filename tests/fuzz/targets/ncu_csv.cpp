// Profiles of Nsight Compute.
#include <cmath>

#include <natten_sim/validate/record/ncu_csv.hpp>

#include "fuzz/target.hpp"

void natten_sim::fuzz::read(std::string_view input) {
  for (const auto& launch : natten_sim::validate::parse_ncu_csv(input, "input")) {
    for (const auto& [label, value] : launch.counters) require(std::isfinite(value), "counters are finite");
  }
}
