#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace natten_sim::validate {

/// Hardware counters in process, through CUPTI's range profiler (user range, user replay). libcupti is loaded
/// at run time. If it, a driver or permission is missing, `open` says which, and timing still works.

/// The part of CUPTI that needs no GPU: which metrics a chip has, and in how many passes they can be read.
class MetricCatalog {
 public:
  /// Null and `reason` when libcupti cannot be loaded or does not know the chip.
  [[nodiscard]] static std::unique_ptr<MetricCatalog> open(const std::string& chip, std::string& reason);
  ~MetricCatalog();

  [[nodiscard]] bool has(const std::string& metric) const;
  /// The number of kernel runs needed to read these metrics together; empty when CUPTI refuses one of them.
  [[nodiscard]] std::optional<std::size_t> passes(const std::vector<std::string>& metrics) const;

 private:
  MetricCatalog();
  struct State;
  std::unique_ptr<State> state_;
};

class RangeProfiler {
 public:
  /// A profiler for the current GPU and these metrics. Null and `reason` when something is missing, or when
  /// the set takes more than one pass. Values of several passes come from different runs and are not
  /// comparable.
  [[nodiscard]] static std::unique_ptr<RangeProfiler> open(int gpu, const std::vector<std::string>& metrics,
                                                           std::string& reason);
  ~RangeProfiler();

  /// CUPTI's name of a GPU's chip ("GH100"); empty and `reason` when it cannot be told.
  [[nodiscard]] static std::string chip_name(int gpu, std::string& reason);

  [[nodiscard]] const std::string& chip() const noexcept;
  /// CUPTI's own version number: 130001 is 13.0 update 1.
  [[nodiscard]] unsigned version() const noexcept;
  /// Runs `work` once as one range, waits, and returns the metrics in their order. @throws CudaError.
  [[nodiscard]] std::vector<double> measure(const std::function<void()>& work);

 private:
  RangeProfiler();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace natten_sim::validate
