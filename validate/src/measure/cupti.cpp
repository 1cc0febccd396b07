#include "measure/cupti.hpp"

#include <cstdlib>
#include <utility>

namespace natten_sim::validate {
namespace {

constexpr unsigned kOldestVersion = 26;  // CUDA 12.8: the range profiler's interface as used here

}  // namespace

const Cupti* Cupti::load(std::string& reason) {
  static std::string problem;
  static const Cupti* const loaded = []() -> const Cupti* {
    static Cupti cupti;
    // If the user names a library, no other is tried.
    if (const char* const named = std::getenv("NATTEN_SIM_CUPTI")) {
      cupti.library = SharedLibrary{named};
      if (!cupti.library)
        problem = std::string("NATTEN_SIM_CUPTI names no library that loads: '") + named + "'";
    } else {
      cupti.library = SharedLibrary{"libcupti.so.13",
                                    "libcupti.so.12",
                                    "/usr/local/cuda/lib64/libcupti.so",
                                    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                    "/usr/local/cuda/lib/libcupti.so",
                                    "libcupti.so"};
      if (!cupti.library)
        problem = "libcupti was not found (it comes with the CUDA toolkit; NATTEN_SIM_CUPTI may name it)";
    }
    if (!cupti.library) return nullptr;
    const char* missing = nullptr;
#define NATTEN_SIM_CUPTI_FIND(name) \
  if (!cupti.library.find(#name, cupti.name)) missing = #name;
    NATTEN_SIM_CUPTI_FUNCTIONS(NATTEN_SIM_CUPTI_FIND)
#undef NATTEN_SIM_CUPTI_FIND
    std::uint32_t version = 0;
    if (missing == nullptr &&
        (cupti.cuptiGetVersion(&version) != CUPTI_SUCCESS || version < kOldestVersion)) {
      missing = "a version of CUDA 12.8 or later";
    }
    if (missing != nullptr) {
      problem = std::string("libcupti lacks ") + missing;
      return nullptr;
    }
    CUpti_Profiler_Initialize_Params parameters{};
    parameters.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
    problem = cupti.problem(cupti.cuptiProfilerInitialize(&parameters), "cuptiProfilerInitialize");
    return &cupti;
  }();
  reason = problem;
  return loaded;
}

std::string Cupti::problem(CUptiResult result, const char* call) const {
  if (result == CUPTI_SUCCESS) return "";
  const char* text = nullptr;
  (void)cuptiGetResultString(result, &text);
  std::string sentence = std::string(call) + " answered " + (text == nullptr ? "an unknown error" : text);
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    sentence +=
        " (the driver lets only administrators read counters; see its NVreg_RestrictProfilingToAdminUsers)";
  }
  return sentence;
}

CuptiHost::CuptiHost(const Cupti& cupti, std::string chip, std::vector<std::uint8_t> availability)
    : cupti_(cupti), chip_(std::move(chip)), availability_(std::move(availability)) {
  CUpti_Profiler_Host_Initialize_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
  parameters.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  parameters.pChipName = chip_.c_str();
  parameters.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
  problem_ = cupti_.problem(cupti_.cuptiProfilerHostInitialize(&parameters), "cuptiProfilerHostInitialize");
  if (problem_.empty()) object_ = parameters.pHostObject;
}

CuptiHost::~CuptiHost() {
  if (object_ == nullptr) return;
  CUpti_Profiler_Host_Deinitialize_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
  parameters.pHostObject = object_;
  (void)cupti_.cuptiProfilerHostDeinitialize(&parameters);
}

bool CuptiHost::has(const std::string& metric) const {
  CUpti_Profiler_Host_GetMetricProperties_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE;
  parameters.pHostObject = object_;
  parameters.pMetricName = metric.c_str();
  return object_ != nullptr && cupti_.cuptiProfilerHostGetMetricProperties(&parameters) == CUPTI_SUCCESS;
}

std::vector<std::uint8_t> CuptiHost::configure(const std::vector<std::string>& metrics, std::size_t& passes,
                                               std::string& problem) const {
  std::vector<const char*> names = pointers(metrics);
  CUpti_Profiler_Host_ConfigAddMetrics_Params add{};
  add.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
  add.pHostObject = object_;
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  problem =
      cupti_.problem(cupti_.cuptiProfilerHostConfigAddMetrics(&add), "cuptiProfilerHostConfigAddMetrics");
  if (!problem.empty()) return {};
  CUpti_Profiler_Host_GetConfigImageSize_Params size{};
  size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
  size.pHostObject = object_;
  problem = cupti_.problem(cupti_.cuptiProfilerHostGetConfigImageSize(&size),
                           "cuptiProfilerHostGetConfigImageSize");
  if (!problem.empty()) return {};
  std::vector<std::uint8_t> image(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params get{};
  get.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
  get.pHostObject = object_;
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  problem = cupti_.problem(cupti_.cuptiProfilerHostGetConfigImage(&get), "cuptiProfilerHostGetConfigImage");
  if (!problem.empty()) return {};
  CUpti_Profiler_Host_GetNumOfPasses_Params count{};
  count.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
  count.configImageSize = image.size();
  count.pConfigImage = image.data();
  problem = cupti_.problem(cupti_.cuptiProfilerHostGetNumOfPasses(&count), "cuptiProfilerHostGetNumOfPasses");
  if (!problem.empty()) return {};
  passes = count.numOfPasses;
  return image;
}

std::string CuptiHost::evaluate(const std::vector<std::uint8_t>& counter_data,
                                const std::vector<std::string>& metrics, std::vector<double>& values) const {
  std::vector<const char*> names = pointers(metrics);
  values.assign(metrics.size(), 0.0);
  CUpti_Profiler_Host_EvaluateToGpuValues_Params parameters{};
  parameters.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
  parameters.pHostObject = object_;
  parameters.pCounterDataImage = counter_data.data();
  parameters.counterDataImageSize = counter_data.size();
  parameters.rangeIndex = 0;
  parameters.ppMetricNames = names.data();
  parameters.numMetrics = names.size();
  parameters.pMetricValues = values.data();
  return cupti_.problem(cupti_.cuptiProfilerHostEvaluateToGpuValues(&parameters),
                        "cuptiProfilerHostEvaluateToGpuValues");
}

}  // namespace natten_sim::validate
