#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <natten_sim/validate/measure/runner.hpp>

namespace natten_sim::validate {

/// Suites that are measured one after the other on one GPU, each into its own recording in a folder.
///
///     Session session(kernels::open_gpu(), suites, "recordings", {}, IfExists::kRefuse);
///     if (session.wrong_kernels(seed, progress).empty()) recordings = session.run(progress);
class Session {
 public:
  /// Called with the suite's name and 0..1.
  using Progress = std::function<void(const std::string&, double)>;

  /// Makes the folder and opens, and locks, every recording before anything runs. @throws InvalidParameter
  /// when a file is there already (kRefuse), was made otherwise (kResume), or cannot be written.
  Session(const kernels::GpuInfo& gpu, const std::vector<Suite>& suites, const std::string& folder,
          const RunOptions& options, IfExists if_exists);
  ~Session();

  /// Remarks for the user: which suites are only timed, and why.
  [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }
  /// Whether all suites that read counters get them.
  [[nodiscard]] bool counts() const noexcept { return remarks_.empty(); }
  /// Kernels that disagree with their oracle, on short inputs from the seed. @throws CudaError.
  [[nodiscard]] std::vector<CheckedPoint> wrong_kernels(std::uint64_t seed, const Progress& progress = {});
  /// Measures what the recordings lack and closes them. @throws CudaError when the GPU is lost, and
  /// InvalidParameter when a file cannot be written; `path` is then what the run was writing, complete so
  /// far.
  [[nodiscard]] std::vector<Recording> run(const Progress& progress = {});
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  struct Part;
  std::vector<Part> parts_;
  RunOptions options_;
  std::vector<std::string> remarks_;
  std::string path_;
};

/// Every kernel of the suites on short and long inputs. @throws CudaError.
[[nodiscard]] std::vector<CheckedPoint> check_suites(const kernels::GpuInfo& gpu,
                                                     const std::vector<Suite>& suites, std::uint64_t seed,
                                                     const Session::Progress& progress = {});

/// Whether the kernel ran and disagreed with its oracle.
[[nodiscard]] bool is_wrong(const CheckedPoint& check) noexcept;

/// "recordings/nvidia-h200-stream.json".
[[nodiscard]] std::string recording_path(const std::string& folder, const RecordingHead& head);

}  // namespace natten_sim::validate
