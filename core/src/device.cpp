#include <algorithm>
#include <numeric>

#include <natten_sim/core/device.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {

std::vector<std::int32_t> partitions_in_launch_order(const std::vector<LaunchRun>& runs, std::int64_t ctas) {
  std::vector<std::int64_t> taken(runs.size(), 0);
  const std::int64_t sms = std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                                           [](std::int64_t sum, const LaunchRun& run) { return sum + run.sms; });
  std::int64_t left = std::min(ctas, sms);
  const auto take = [&](std::size_t run) {
    if (left == 0 || taken[run] == runs[run].sms) return;
    ++taken[run];
    --left;
  };
  while (left > 0 && taken[0] < runs[0].sms) take(0);
  while (left > 0) {
    for (std::size_t run = 1; run < runs.size(); ++run) take(run);
  }
  std::vector<std::int32_t> partitions;
  for (std::size_t run = 0; run < runs.size(); ++run)
    partitions.insert(partitions.end(), static_cast<std::size_t>(taken[run]), runs[run].partition);
  for (std::size_t i = 0; static_cast<std::int64_t>(partitions.size()) < ctas; ++i)
    partitions.push_back(partitions[i]);
  return partitions;
}

std::optional<std::int32_t> only_partition(const Device& device, std::int64_t ctas) {
  if (!device.launch_runs || !device.l2.partitions || device.l2.partitions->value < 2) return std::nullopt;
  const std::vector<std::int32_t> near = partitions_in_launch_order(device.launch_runs->value, ctas);
  const bool one = std::all_of(near.begin(), near.end(), [&](std::int32_t each) { return each == near[0]; });
  return one ? std::optional(near[0]) : std::nullopt;
}

std::vector<DeviceNumber> known_numbers(const Device& device) {
  std::vector<DeviceNumber> numbers;
  for_each_number(device, [&](const char* name, const auto& number) {
    if (number)
      numbers.push_back({name, static_cast<double>(number->value), number->measured, number->source});
  });
  return numbers;
}

const MsdaKernel& msda_kernel(const Device& device, MsdaTiling tiling) {
  for (const MsdaKernel& kernel : device.msda_kernels) {
    if (kernel.tiling == tiling) return kernel;
  }
  throw InvalidParameter("device", "'" + device.name + "'",
                         std::string("a device with msda_kernels of ") + to_string(tiling) + " tiling");
}

}  // namespace natten_sim
