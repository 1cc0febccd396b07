#include <algorithm>
#include <charconv>
#include <numeric>

#include <natten_sim/core/device.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {

namespace {

/// SMs in launch order: those of run r are first_sm[r] .. first_sm[r + 1] - 1.
std::vector<std::int32_t> first_sm_of_runs(const std::vector<LaunchRun>& runs) {
  std::vector<std::int32_t> first_sm = {0};
  for (const LaunchRun& run : runs) first_sm.push_back(first_sm.back() + run.sms);
  return first_sm;
}

/// The SMs of fewer CTAs than there are SMs, ascending.
std::vector<std::int32_t> spread_over_runs(const std::vector<LaunchRun>& runs, std::int64_t ctas) {
  const std::vector<std::int32_t> first_sm = first_sm_of_runs(runs);
  std::vector<std::size_t> ring(runs.size() - 1);
  std::iota(ring.begin(), ring.end(), std::size_t{1});
  const auto shortest = std::ranges::min_element(ring, {}, [&](std::size_t run) { return runs[run].sms; });
  std::rotate(ring.begin(), shortest, ring.end());  // clang 14 does not compile ranges::rotate
  std::vector<std::int32_t> sms;
  const auto is_done = [&] { return static_cast<std::int64_t>(sms.size()) == ctas; };
  for (std::int32_t sm = 0; sm < runs[0].sms && !is_done(); ++sm) sms.push_back(sm);
  for (const std::int32_t of_pair : {0, 1}) {
    for (std::int32_t at = of_pair; at < first_sm.back() && !is_done(); at += 2) {
      for (const std::size_t run : ring) {
        if (at < runs[run].sms && !is_done()) sms.push_back(first_sm[run] + at);
      }
    }
  }
  std::ranges::sort(sms);
  return sms;
}

/// The SMs of a launch that gives each SM `rounds` CTAs.
std::vector<std::int32_t> turns_of_runs(const std::vector<LaunchRun>& runs, std::int64_t rounds) {
  constexpr std::int64_t kBeforeSecondTurn = 5, kBeforeLaterTurns = 6;
  const std::vector<std::int32_t> first_sm = first_sm_of_runs(runs);
  std::vector<std::int32_t> sms;
  const auto turn = [&](std::size_t run) {
    for (std::int32_t i = 0; i < runs[run].sms; ++i) sms.push_back(first_sm[run] + i);
  };
  std::int64_t turns_of_first = 0, turns_of_others = 0;
  const auto turn_of_first = [&] {
    if (turns_of_first++ < rounds) turn(0);
  };
  turn_of_first();
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::size_t run = 1; run < runs.size(); ++run) {
      turn(run);
      if (++turns_of_others >= kBeforeSecondTurn &&
          (turns_of_others - kBeforeSecondTurn) % kBeforeLaterTurns == 0) {
        turn_of_first();
      }
    }
  }
  while (turns_of_first < rounds) turn_of_first();
  return sms;
}

}  // namespace

std::vector<std::int32_t> sms_in_launch_order(const std::vector<LaunchRun>& runs, std::int64_t ctas) {
  const std::int32_t all = first_sm_of_runs(runs).back();
  std::vector<std::int32_t> sms = turns_of_runs(runs, ctas / all);
  const std::vector<std::int32_t> rest = spread_over_runs(runs, ctas % all);
  sms.insert(sms.end(), rest.begin(), rest.end());
  return sms;
}

std::vector<std::int32_t> partitions_in_launch_order(const std::vector<LaunchRun>& runs, std::int64_t ctas) {
  std::vector<std::int32_t> of_sm, partitions;
  for (const LaunchRun& run : runs)
    of_sm.insert(of_sm.end(), static_cast<std::size_t>(run.sms), run.partition);
  for (const std::int32_t sm : sms_in_launch_order(runs, ctas))
    partitions.push_back(of_sm[static_cast<std::size_t>(sm)]);
  return partitions;
}

std::vector<double> slowness_in_launch_order(const std::vector<LaunchRun>& runs) {
  std::vector<double> slowness;
  for (const LaunchRun& run : runs)
    slowness.insert(slowness.end(), static_cast<std::size_t>(run.sms), run.slowness);
  return slowness;
}

std::optional<std::int64_t> compute_capability(const Device& device) {
  const std::string& name = device.architecture;
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits == std::string::npos) return std::nullopt;
  std::int64_t capability = 0;
  std::from_chars(name.data() + digits, name.data() + name.size(), capability);
  return capability;
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
