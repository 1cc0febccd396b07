#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/contention_profile.hpp>

namespace natten_sim {

/// The runs that the constants are fitted to, and those that they are compared with.
[[nodiscard]] std::vector<ContentionPoint> contention_points();

/// The counters that `warps_in_flight` is fitted to, with the SMs of the catalog's devices. @throws
/// UnknownName for a device that the catalog lacks.
[[nodiscard]] std::vector<ContentionCounter> contention_counters(const Catalog& catalog);

/// The costs on the device where they were measured; `scaled_costs` gives those of other devices.
[[nodiscard]] PreReductionCosts measured_pre_reduction();

/// Scores of predictions that were frozen before remedies were timed, by the remedy's name.
[[nodiscard]] const std::map<std::string, BlindScore>& remedy_scores();

/// Every table of the MSDA paper (data/msda-paper.json), as JSON.
[[nodiscard]] std::string_view published_msda_figures();

}  // namespace natten_sim
