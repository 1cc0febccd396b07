#pragma once

#include <string>

#include <natten_sim/validate/record/ncu_csv.hpp>

namespace natten_sim::validate {

/// Keeps what a launch needs of one value of Nsight Compute; other names are ignored. `name` is the metric's,
/// or the one that the details page shows.
void store_attribute(const std::string& name, double value, ProfiledLaunch& launch);
void store_attribute_text(const std::string& name, const std::string& value, ProfiledLaunch& launch);
/// Whether store_attribute() keeps that name.
[[nodiscard]] bool is_attribute(const std::string& name);

}  // namespace natten_sim::validate
