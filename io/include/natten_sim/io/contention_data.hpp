#pragma once

#include <string_view>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/contention_profile.hpp>

namespace natten_sim {

/// The runs that the constants are fitted on, and those they are held against.
[[nodiscard]] std::vector<ContentionPoint> contention_points();

/// With the SMs of the catalog's devices. @throws UnknownName for a device that it lacks.
[[nodiscard]] std::vector<ContentionCounter> contention_counters(const Catalog& catalog);

/// On the device that they were measured on; `scaled_costs` gives those of others.
[[nodiscard]] PreReductionCosts measured_pre_reduction();

/// Every table of the MSDA paper (data/msda-paper.json), as JSON.
[[nodiscard]] std::string_view published_msda_figures();

}  // namespace natten_sim
