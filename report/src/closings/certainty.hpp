#pragma once

#include <string>

#include <natten_sim/core/kernel_costs.hpp>

namespace natten_sim::report {

/// "times are off by 3.4% on average on runs that were left out of the fit, 11.3% at worst"
[[nodiscard]] std::string certainty_of(const CostEvidence& evidence);

}  // namespace natten_sim::report
