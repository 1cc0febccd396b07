#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/csv_text.hpp>
#include <natten_sim/io/kernel_runs.hpp>

namespace natten_sim::validate {

/// Runs of attention kernels: a table (natten_sim/io/kernel_runs.hpp), or a recording of timed ones. Each has
/// a kernel and a device, its own or that of `defaults`. `where` names the text in errors.
/// @throws MalformedData; InvalidParameter for a recording without such runs, and for a run without a kernel
/// or a device.
[[nodiscard]] std::vector<KernelRun> read_kernel_runs(std::string_view text, const std::string& where,
                                                      const KernelRun& defaults);

/// Fills in the times of the runs without one, in their order: what NATTEN's profiler printed, or a profile
/// of Nsight Compute (a report, or CSV with `decimal` before decimals), of which the launches count whose
/// kernel name contains `kernel`. Where there are several times for each run, in a row, a run takes their
/// median, smallest and largest.
/// @throws InvalidParameter unless there are as many times as runs without one, or a multiple of that, or
/// when the launches for a run are of several kernels.
void add_measured_times(std::string_view times, const std::string& where, const std::string& kernel,
                        std::vector<KernelRun>& runs, std::optional<DecimalMark> decimal = {});

}  // namespace natten_sim::validate
