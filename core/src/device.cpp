#include <algorithm>
#include <numeric>

#include <natten_sim/core/device.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {

std::vector<std::int32_t> partitions_in_launch_order(const std::vector<LaunchRun>& runs, std::int64_t ctas) {
  std::vector<std::int64_t> taken(runs.size(), 0);
  const std::int64_t sms =
      std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
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

std::vector<std::int32_t> sms_in_launch_order(const std::vector<LaunchRun>& runs, std::int64_t ctas) {
  constexpr std::int64_t kBeforeSecondTurn = 5, kBeforeLaterTurns = 6;
  std::vector<std::int32_t> first_sm = {0};  // of each run
  for (const LaunchRun& run : runs) first_sm.push_back(first_sm.back() + run.sms);
  const std::int64_t ctas_per_sm = (ctas - 1) / first_sm.back() + 1;
  std::vector<std::int32_t> sms;
  const auto turn = [&](std::size_t run) {
    for (std::int32_t i = 0; i < runs[run].sms; ++i) sms.push_back(first_sm[run] + i);
  };
  std::int64_t turns_of_first = 0, turns_of_others = 0;
  const auto turn_of_first = [&] {
    if (turns_of_first++ < ctas_per_sm) turn(0);
  };
  turn_of_first();
  for (std::int64_t round = 0; round < ctas_per_sm; ++round) {
    for (std::size_t run = 1; run < runs.size(); ++run) {
      turn(run);
      if (++turns_of_others >= kBeforeSecondTurn &&
          (turns_of_others - kBeforeSecondTurn) % kBeforeLaterTurns == 0) {
        turn_of_first();
      }
    }
  }
  while (turns_of_first < ctas_per_sm) turn_of_first();
  sms.resize(static_cast<std::size_t>(ctas));
  return sms;
}

std::vector<double> slowness_in_launch_order(const std::vector<LaunchRun>& runs) {
  std::vector<double> slowness;
  for (const LaunchRun& run : runs)
    slowness.insert(slowness.end(), static_cast<std::size_t>(run.sms), run.slowness);
  return slowness;
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
