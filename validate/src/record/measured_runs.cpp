#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/record/measured_runs.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {
namespace {

/// Milliseconds of the launches of a profile, in order.
std::vector<double> profiled_times(std::string_view text, const std::string& where,
                                   const std::string& kernel) {
  std::vector<double> times = profiler_times_ms(text);
  if (!times.empty()) return times;
  for (const ProfiledLaunch& launch : parse_ncu_csv(text, where)) {
    const auto duration = launch.counters.find("gpu_time_ns");
    if (launch.kernel.find(kernel) == std::string::npos || duration == launch.counters.end()) continue;
    times.push_back(1e-6 * duration->second);
  }
  return times;
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
                        std::vector<KernelRun>& runs) {
  const std::vector<double> times = profiled_times(text, where, kernel);
  const auto wanted = static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [](const KernelRun& run) { return !run.ms; }));
  if (wanted != times.size()) {
    throw InvalidParameter("times", std::to_string(times.size()) + " times",
                           std::to_string(wanted) + ", one for each run without a time");
  }
  std::size_t next = 0;
  for (KernelRun& run : runs) {
    if (!run.ms) run.ms = times[next++];
  }
}

}  // namespace natten_sim::validate
