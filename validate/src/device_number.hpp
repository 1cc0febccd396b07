#pragma once

#include <natten_sim/core/device.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim::validate {

/// A number of the profile, which data/devices/ calls `name`. @throws InvalidParameter when it lacks it.
template <typename T>
T number(const Device& device, const Known<T>& known, const char* name) {
  if (!known) throw InvalidParameter(name, "absent", "a device profile that has it (" + device.name + ")");
  return known->value;
}

}  // namespace natten_sim::validate
