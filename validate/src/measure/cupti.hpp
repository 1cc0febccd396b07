#pragma once

#include <string>
#include <vector>

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include "measure/shared_library.hpp"

namespace natten_sim::validate {

/// libcupti's functions, by their own names.
struct Cupti {
  SharedLibrary library;
  // By hand: clang-format would break these lines anew each time.
// clang-format off
#define NATTEN_SIM_CUPTI_FUNCTIONS(X) \
  X(cuptiGetVersion) X(cuptiGetResultString) \
  X(cuptiProfilerInitialize) X(cuptiDeviceGetChipName) \
  X(cuptiProfilerGetCounterAvailability) X(cuptiProfilerHostInitialize) \
  X(cuptiProfilerHostDeinitialize) X(cuptiProfilerHostGetSubMetrics) \
  X(cuptiProfilerHostGetMetricProperties) X(cuptiProfilerHostConfigAddMetrics) \
  X(cuptiProfilerHostGetConfigImageSize) X(cuptiProfilerHostGetConfigImage) \
  X(cuptiProfilerHostGetNumOfPasses) X(cuptiProfilerHostEvaluateToGpuValues) \
  X(cuptiRangeProfilerEnable) X(cuptiRangeProfilerDisable) \
  X(cuptiRangeProfilerStart) X(cuptiRangeProfilerStop) \
  X(cuptiRangeProfilerPushRange) X(cuptiRangeProfilerPopRange) \
  X(cuptiRangeProfilerSetConfig) X(cuptiRangeProfilerDecodeData) \
  X(cuptiRangeProfilerGetCounterDataSize) X(cuptiRangeProfilerCounterDataImageInitialize)
// clang-format on
#define NATTEN_SIM_CUPTI_DECLARE(name) decltype(::name)* name = nullptr;
  NATTEN_SIM_CUPTI_FUNCTIONS(NATTEN_SIM_CUPTI_DECLARE)
#undef NATTEN_SIM_CUPTI_DECLARE

  /// Loaded once. Null and `reason` when it is missing or too old.
  static const Cupti* load(std::string& reason);
  /// "" when it succeeded, else CUPTI's words.
  [[nodiscard]] std::string problem(CUptiResult result, const char* call) const;
};

/// Host object for a chip: names metrics, makes the configuration, evaluates.
class CuptiHost {
 public:
  CuptiHost(const Cupti& cupti, std::string chip, std::vector<std::uint8_t> availability);
  ~CuptiHost();
  CuptiHost(const CuptiHost&) = delete;
  CuptiHost& operator=(const CuptiHost&) = delete;

  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] bool has(const std::string& metric) const;
  /// Empty, with `problem` set, when a metric is refused. May be called once.
  [[nodiscard]] std::vector<std::uint8_t> configure(const std::vector<std::string>& metrics,
                                                    std::size_t& passes, std::string& problem) const;
  [[nodiscard]] std::string evaluate(const std::vector<std::uint8_t>& counter_data,
                                     const std::vector<std::string>& metrics,
                                     std::vector<double>& values) const;

 private:
  const Cupti& cupti_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
  std::string problem_;
};

[[nodiscard]] inline std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> result;
  for (const std::string& name : names) result.push_back(name.c_str());
  return result;
}

}  // namespace natten_sim::validate
