#include <optional>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/device.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {
namespace {

/// L2 capacity for data that SMs of all partitions share: the measured one, or that of one partition.
std::optional<double> shared_l2_bytes(const DeviceL2& l2) {
  if (l2.effective_bytes) return value_of<double>(l2.effective_bytes);
  if (!l2.bytes || !l2.partitions) return std::nullopt;
  return static_cast<double>(l2.bytes->value) / l2.partitions->value;
}

/// SMs times clock, to which the time of instructions is inversely proportional.
double instruction_rate(const Device& device) {
  if (!device.sms || !device.boost_clock_hz)
    throw InvalidParameter("device", "'" + device.name + "'", "a device with sms and boost_clock_hz");
  return device.sms->value * device.boost_clock_hz->value;
}

}  // namespace

std::vector<std::string> missing_for_contention(const Device& device) {
  std::vector<std::string> missing;
  if (!device.sms) missing.emplace_back("sms");
  if (!device.boost_clock_hz) missing.emplace_back("boost_clock_hz");
  if (!device.dram_bytes_per_s) missing.emplace_back("dram_bandwidth_bytes_per_s");
  if (!shared_l2_bytes(device.l2)) missing.emplace_back("l2_effective_bytes");
  if (!device.atomics) missing.emplace_back("atomics");
  return missing;
}

ContentionProfile contention_profile(const Device& device) {
  const std::vector<std::string> missing = missing_for_contention(device);
  if (!missing.empty())
    throw InvalidParameter("device", "'" + device.name + "'", "a device with " + joined(missing));
  const DeviceAtomics& atomics = *device.atomics;
  constexpr double kSchedulers = 4;  // of an SM, one warp instruction a cycle each
  const double clock_hz = device.boost_clock_hz->value;
  ContentionProfile profile{atomics.fitted};
  profile.device = device.name;
  profile.sms = device.sms->value;
  profile.dram_bytes_per_ns = device.dram_bytes_per_s->value * 1e-9;
  profile.fp32_flops_per_ns = atomics.fp32_flops_per_s * 1e-9;
  profile.l2_bytes = *shared_l2_bytes(device.l2);
  profile.warps_per_sm = atomics.warps_per_sm;
  profile.round_trip_ns = atomics.round_trip_cycles / clock_hz * 1e9;
  profile.cycle_ns = 1 / (static_cast<double>(profile.sms) * clock_hz * 1e-9);
  profile.issue_bare_ns =
      atomics.bare_instructions / kSchedulers / static_cast<double>(profile.sms) / (clock_hz * 1e-9);
  profile.l2_sector_ratio = atomics.l2_sector_ratio;
  profile.sweep = atomics.sweep;
  return profile;
}

PreReductionCosts scaled_costs(const PreReductionCosts& costs, const Device& from, const Device& to) {
  const double scale = instruction_rate(from) / instruction_rate(to);
  return {to.name, costs.warp_ns * scale, costs.block_ns * scale, costs.sort_ns * scale};
}

}  // namespace natten_sim
