#include <algorithm>
#include <map>
#include <span>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/measure/timing.hpp>
#include <natten_sim/validate/record/measured_runs.hpp>
#include <natten_sim/validate/record/ncu_report.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {
namespace {

/// A time that somebody measured; a profile says of which kernel.
struct TimedLaunch {
  double ms = 0;
  std::string kernel;
};

/// The launches of a profile, in order.
std::vector<TimedLaunch> profiled_launches(std::string_view text, const std::string& where,
                                           const std::string& kernel, std::optional<DecimalMark> decimal) {
  std::vector<TimedLaunch> launches;
  if (!is_ncu_report(text)) {
    for (const double ms : profiler_times_ms(text)) launches.push_back({ms, ""});
  }
  if (!launches.empty()) return launches;
  for (const ProfiledLaunch& launch : parse_ncu_profile(text, where, decimal)) {
    const auto duration = launch.counters.find("gpu_time_ns");
    if (launch.kernel.find(kernel) == std::string::npos || duration == launch.counters.end()) continue;
    launches.push_back({1e-6 * duration->second, launch.kernel});
  }
  return launches;
}

/// "; launches of: 2 x permute, 1 x fna", without more than the start of long names. Empty: of one kernel.
std::string kernels_text(const std::vector<TimedLaunch>& launches) {
  constexpr std::size_t kMostLetters = 60;
  std::map<std::string, int> counts;
  for (const TimedLaunch& launch : launches) ++counts[launch.kernel];
  if (counts.size() < 2) return "";
  std::string text;
  for (const auto& [name, count] : counts) {
    text += (text.empty() ? "; " + mention("ncu-kernel") + " chooses among launches of: " : ", ") +
            std::to_string(count) + " x " + name.substr(0, kMostLetters);
  }
  return text;
}

/// The times of one run: the launches that follow each other.
void take_times(std::span<const TimedLaunch> launches, KernelRun& run) {
  std::vector<double> times;
  for (const TimedLaunch& launch : launches) {
    times.push_back(launch.ms);
    if (launch.kernel != launches.front().kernel)
      throw InvalidParameter(
          "times", "launches of several kernels for one run",
          "launches of one kernel for a run" + kernels_text({launches.begin(), launches.end()}));
  }
  const Spread spread = spread_of(times);
  run.ms = spread.median;
  if (times.size() > 1) run.min_ms = spread.smallest, run.max_ms = spread.largest;
}

std::vector<KernelRun> runs_of(std::string_view text, const std::string& where, const KernelRun& defaults) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return parse_kernel_runs(text, where, defaults);
  std::vector<KernelRun> runs = kernel_runs_of(parse_recording(text, where));
  if (runs.empty())
    throw InvalidParameter("runs", where, "a recording of timed attention kernels, as of the suite flex");
  return runs;
}

}  // namespace

std::vector<KernelRun> read_kernel_runs(std::string_view text, const std::string& where,
                                        const KernelRun& defaults) {
  std::vector<KernelRun> runs = runs_of(text, where, defaults);
  for (const KernelRun& run : runs) {
    if (run.kernel.empty()) throw InvalidParameter("kernel", "none", "a kernel column, or a kernel by name");
    if (run.device.empty()) throw InvalidParameter("device", "none", "a device column, or a device by name");
  }
  return runs;
}

void add_measured_times(std::string_view text, const std::string& where, const std::string& kernel,
                        std::vector<KernelRun>& runs, std::optional<DecimalMark> decimal) {
  const std::vector<TimedLaunch> times = profiled_launches(text, where, kernel, decimal);
  const auto wanted = static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [](const KernelRun& run) { return !run.ms; }));
  if (wanted == 0 || times.empty() || times.size() % wanted != 0) {
    throw InvalidParameter("times", std::to_string(times.size()) + " times",
                           std::to_string(wanted) +
                               ", one for each run without a time, or as many launches for each" +
                               kernels_text(times));
  }
  std::span<const TimedLaunch> left = times;
  const std::size_t launches = times.size() / wanted;
  for (KernelRun& run : runs) {
    if (run.ms) continue;
    take_times(left.first(launches), run);
    left = left.subspan(launches);
  }
}

}  // namespace natten_sim::validate
