#pragma once

#include <string>

#include <natten_sim/core/device.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim::validate {

/// A number of the profile, which data/devices/ calls `name`. @throws InvalidParameter when it lacks it.
template <typename T>
T number(const Device& device, const Known<T>& known, const char* name) {
  if (!known) throw InvalidParameter(name, "absent", "a device profile that has it (" + device.name + ")");
  return known->value;
}

/// All that a model takes from a device, as a key: a device file may change what a name stands for.
[[nodiscard]] inline std::string constants_key(const Device& device) {
  std::string key = device.name;
  for_each_number(device, [&](const char*, const auto& known) {
    key += known ? " " + std::to_string(known->value) : " -";
  });
  if (device.launch_runs) {
    for (const LaunchRun& run : device.launch_runs->value) {
      key += " " + std::to_string(run.sms) + ":" + std::to_string(run.partition) + ":" +
             std::to_string(run.slowness);
    }
  }
  return key;
}

}  // namespace natten_sim::validate
