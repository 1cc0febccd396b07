#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <natten_sim/validate/compare/suite.hpp>
#include <natten_sim/validate/record/recording.hpp>

namespace natten_sim::validate {

/// Runs the points of suites. What was measured is kept, even if a run fails on the way.

struct RunOptions {
  int counter_repetitions = 3;
  TimingOptions timing;
  bool counters = true;
  bool times = true;
  /// Names of device profiles. A recording names the one that is a word of the GPU's name, if any.
  std::vector<std::string> profiles = {};
};

/// What a run needs of a GPU. `GpuMeasurer` uses a real one; tests have others.
///
/// Everything here may throw OutOfDeviceMemory or HardwareAbsent (this point cannot run here, others may), or
/// another CudaError (nothing can run any more).
class Measurer {
 public:
  virtual ~Measurer() = default;

  /// Whether counters can be read.
  [[nodiscard]] virtual bool counts() const = 0;
  /// Counters of one point. Not called again after `time`: an open profiler may disturb times.
  [[nodiscard]] virtual std::map<std::string, CounterValues> count(const Point& point) = 0;
  [[nodiscard]] virtual Timing time(const Point& point) = 0;
  /// The pace of a point that has one.
  [[nodiscard]] virtual CtaPace pace(const Point& point) = 0;
  [[nodiscard]] virtual CheckedPoint check(const Point& point, std::uint64_t seed) = 0;
};

/// Measures what `file` lacks: counters of all points, then times of all points, then paces if the suite asks
/// for them. Each point is saved as soon as it is measured. A point that cannot run becomes a row with that
/// status; the next run tries again those that were out of memory. `progress` gets 0..1 and the point's key.
/// @throws CudaError when the GPU is lost, InvalidParameter when the file cannot be written: what was
/// measured so far is in the file.
void run_suite(Measurer& measurer, const Suite& suite, RecordingFile& file, const RunOptions& options,
               const std::function<void(double, const std::string&)>& progress = {});

/// The points that `check_kernels` runs, by key: those that Case::to_check returns for the points of the
/// suite.
[[nodiscard]] std::map<std::string, Point> points_to_check(const Suite& suite, CheckLengths lengths);

/// @throws CudaError when the GPU is lost.
[[nodiscard]] std::vector<CheckedPoint> check_kernels(Measurer& measurer, const Suite& suite,
                                                      CheckLengths lengths, std::uint64_t seed,
                                                      const std::function<void(double)>& progress = {});

/// The GPU of this process.
class GpuMeasurer : public Measurer {
 public:
  GpuMeasurer(const kernels::GpuInfo& gpu, const Suite& suite, const RunOptions& options);
  ~GpuMeasurer() override;

  /// Head of a recording made here and now. If `gpu` is not a real GPU, unknown fields say so.
  [[nodiscard]] const RecordingHead& head() const noexcept;
  /// Why there are no counters; empty when there are, or when the suite reads none.
  [[nodiscard]] const std::string& counters_absent() const noexcept;

  [[nodiscard]] bool counts() const override;
  [[nodiscard]] std::map<std::string, CounterValues> count(const Point& point) override;
  [[nodiscard]] Timing time(const Point& point) override;
  [[nodiscard]] CtaPace pace(const Point& point) override;
  [[nodiscard]] CheckedPoint check(const Point& point, std::uint64_t seed) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Git commit of the sources that this was built from, "unknown" outside a checkout.
[[nodiscard]] std::string source_commit();

}  // namespace natten_sim::validate
