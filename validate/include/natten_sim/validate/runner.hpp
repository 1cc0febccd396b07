#pragma once

#include <functional>
#include <string>

#include <natten_sim/validate/recording.hpp>

namespace natten_sim::validate {

/// Runs the points of suites on the GPU of this process.

struct RunOptions {
  int counter_repetitions = 3;
  TimingOptions timing;
  bool counters = true;
  bool times = true;
};

/// Head of a recording made here and now.
[[nodiscard]] RecordingHead recording_head(const kernels::GpuInfo& gpu, const Suite& suite);

/// Measures what `file` lacks: counters of all points, then times of all points, since an open profiler may
/// disturb times. Out of memory and unsupported points become rows with that status. `progress` gets 0..1 and
/// the point's key.
/// @throws CudaError when the GPU is lost: what was measured so far is in the file.
void run_suite(const kernels::GpuInfo& gpu, const Suite& suite, RecordingFile& file,
               const RunOptions& options,
               const std::function<void(double, const std::string&)>& progress = {});

/// A kernel against its CPU oracle, on fresh inputs.
struct CheckedPoint {
  std::string key;
  double error = 0;  ///< relative; of a stream 0 or 1
  double naive_error = 0;
  bool passed = false;
  std::string status = "checked";
};

/// Each distinct point of the suite with its length cut to `most_tokens` - 1.
[[nodiscard]] std::vector<CheckedPoint> check_kernels(const kernels::GpuInfo& gpu, const Suite& suite,
                                                      std::int64_t most_tokens, std::uint64_t seed,
                                                      const std::function<void(double)>& progress = {});

/// Git commit of the sources that this was built from, "unknown" outside a checkout.
[[nodiscard]] std::string source_commit();

}  // namespace natten_sim::validate
