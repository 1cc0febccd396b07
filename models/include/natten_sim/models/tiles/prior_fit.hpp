#pragma once

#include <vector>

#include <natten_sim/models/tiles/kernel_fit.hpp>

namespace natten_sim {

/// What is known of a kernel's costs before any run is measured, as a fit without runs: `costs`, with the standard
/// deviations that their interval (90%) and the priors state, each apart from the others.
[[nodiscard]] CostFit prior_fit(const PassCosts& costs, const std::vector<CostPrior>& priors);

}  // namespace natten_sim
