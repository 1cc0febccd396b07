#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/device.hpp>
#include <natten_sim/validate/measure/device_samples.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// A device profile made of what was measured on a GPU.
struct ProfiledDevice {
  Device device;
  std::vector<std::string> missing;  ///< numbers that the timed model wants and nothing here measures
};

/// - Sizes are the driver's.
/// - Effective capacity: of B bytes that are read up and down in p passes, an LRU cache of C misses
///   B + (p - 1) (B - C). The median over the sawtooth rows of the suite `stream` that have not more than
///   half of their bytes cached and not less than a tenth.
/// - Partitions and launch order: those of the samples, the start that was seen most often.
/// - L2 bandwidths: those of `like`, times the ratio of the rates at which both stream the smallest buffer
///   and the one of 128 MiB at full speed, for the profile of `like` was made with another program.
/// - DRAM: the rate of a large copy.
/// - Associativity: that of `like`, not measured.
/// @throws InvalidParameter when the samples are another GPU's than the recording, MalformedData when rows
/// that this takes are missing.
[[nodiscard]] ProfiledDevice profiled_device(const std::string& name, const Recording& stream,
                                             const DeviceSamples& samples, const Device& like,
                                             const Recording& like_stream);

/// The profile of a GPU by the H200's, whose recording is compiled in. @throws InvalidParameter as above, and
/// when `devices` has no H200.
[[nodiscard]] ProfiledDevice profiled_device(const std::string& name, const Recording& stream,
                                             const DeviceSamples& samples, const std::vector<Device>& devices);

/// The one file of a folder that `device_samples_json` wrote. @throws InvalidParameter when there is none, or
/// several.
[[nodiscard]] DeviceSamples read_device_samples(const std::string& folder);

/// natten-sim.devices/1 with this one device: a file for --device-file.
[[nodiscard]] std::string device_file_json(const Device& device);

}  // namespace natten_sim::validate
