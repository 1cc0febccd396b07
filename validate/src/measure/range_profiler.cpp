#include <utility>

#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/validate/measure/range_profiler.hpp>

#include "measure/cupti.hpp"

namespace natten_sim::validate {
namespace {

void throw_if(const std::string& problem) {
  if (!problem.empty()) throw kernels::CudaError("CUPTI", problem);
}

}  // namespace

struct MetricCatalog::State {
  const Cupti* cupti = nullptr;
  std::string chip;
  std::unique_ptr<CuptiHost> host;
};

MetricCatalog::MetricCatalog() : state_(std::make_unique<State>()) {}
MetricCatalog::~MetricCatalog() = default;

std::unique_ptr<MetricCatalog> MetricCatalog::open(const std::string& chip, std::string& reason) {
  const Cupti* const cupti = Cupti::load(reason);
  if (cupti == nullptr) return nullptr;
  std::unique_ptr<MetricCatalog> catalog(new MetricCatalog);
  catalog->state_->cupti = cupti;
  catalog->state_->chip = chip;
  catalog->state_->host = std::make_unique<CuptiHost>(*cupti, chip, std::vector<std::uint8_t>{});
  reason = catalog->state_->host->problem();
  return reason.empty() ? std::move(catalog) : nullptr;
}

bool MetricCatalog::has(const std::string& metric) const { return state_->host->has(metric); }

std::optional<std::size_t> MetricCatalog::passes(const std::vector<std::string>& metrics) const {
  const CuptiHost host(*state_->cupti, state_->chip, {});  // a host object is configured once
  std::size_t passes = 0;
  std::string problem;
  (void)host.configure(metrics, passes, problem);
  return problem.empty() ? std::optional(passes) : std::nullopt;
}

struct RangeProfiler::State {
  const Cupti* cupti = nullptr;
  std::string chip;
  unsigned version = 0;
  std::vector<std::string> metrics;
  std::unique_ptr<CuptiHost> host;
  std::vector<std::uint8_t> config;
  std::vector<std::uint8_t> counter_data;
  CUpti_RangeProfiler_Object* object = nullptr;

  std::string enable(CUcontext context);
  std::string prepare_counter_data();
};

RangeProfiler::RangeProfiler() : state_(std::make_unique<State>()) {}

RangeProfiler::~RangeProfiler() {
  if (state_->object == nullptr) return;
  CUpti_RangeProfiler_Disable_Params parameters{};
  parameters.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE;
  parameters.pRangeProfilerObject = state_->object;
  (void)state_->cupti->cuptiRangeProfilerDisable(&parameters);
}

const std::string& RangeProfiler::chip() const noexcept { return state_->chip; }
unsigned RangeProfiler::version() const noexcept { return state_->version; }

std::string RangeProfiler::State::enable(CUcontext context) {
  CUpti_RangeProfiler_Enable_Params parameters{};
  parameters.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE;
  parameters.ctx = context;
  std::string problem =
      cupti->problem(cupti->cuptiRangeProfilerEnable(&parameters), "cuptiRangeProfilerEnable");
  if (problem.empty()) object = parameters.pRangeProfilerObject;
  return problem;
}

std::string RangeProfiler::State::prepare_counter_data() {
  if (counter_data.empty()) {
    std::vector<const char*> names = pointers(metrics);
    CUpti_RangeProfiler_GetCounterDataSize_Params size{};
    size.structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE;
    size.pRangeProfilerObject = object;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    std::string problem = cupti->problem(cupti->cuptiRangeProfilerGetCounterDataSize(&size),
                                         "cuptiRangeProfilerGetCounterDataSize");
    if (!problem.empty()) return problem;
    counter_data.resize(size.counterDataSize);
  }
  CUpti_RangeProfiler_CounterDataImage_Initialize_Params initialize{};
  initialize.structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE;
  initialize.pRangeProfilerObject = object;
  initialize.counterDataSize = counter_data.size();
  initialize.pCounterData = counter_data.data();
  std::string problem = cupti->problem(cupti->cuptiRangeProfilerCounterDataImageInitialize(&initialize),
                                       "cuptiRangeProfilerCounterDataImageInitialize");
  if (!problem.empty()) return problem;
  CUpti_RangeProfiler_SetConfig_Params set{};
  set.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE;
  set.pRangeProfilerObject = object;
  set.configSize = config.size();
  set.pConfig = config.data();
  set.counterDataImageSize = counter_data.size();
  set.pCounterDataImage = counter_data.data();
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = 1;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  return cupti->problem(cupti->cuptiRangeProfilerSetConfig(&set), "cuptiRangeProfilerSetConfig");
}

std::string RangeProfiler::chip_name(int gpu, std::string& reason) {
  const Cupti* const cupti = Cupti::load(reason);
  if (cupti == nullptr || !reason.empty()) return "";
  CUpti_Device_GetChipName_Params name{};
  name.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE;
  name.deviceIndex = static_cast<std::size_t>(gpu);
  reason = cupti->problem(cupti->cuptiDeviceGetChipName(&name), "cuptiDeviceGetChipName");
  return reason.empty() ? name.pChipName : "";
}

std::unique_ptr<RangeProfiler> RangeProfiler::open(int gpu, const std::vector<std::string>& metrics,
                                                   std::string& reason) {
  const Cupti* const cupti = Cupti::load(reason);
  if (cupti == nullptr || !reason.empty()) return nullptr;
  std::unique_ptr<RangeProfiler> profiler(new RangeProfiler);
  State& state = *profiler->state_;
  state.cupti = cupti;
  state.metrics = metrics;
  (void)cupti->cuptiGetVersion(&state.version);

  const SharedLibrary driver{"libcuda.so.1"};
  decltype(::cuCtxGetCurrent)* get_context = nullptr;
  CUcontext context = nullptr;
  if (!driver.find("cuCtxGetCurrent", get_context) || get_context(&context) != CUDA_SUCCESS ||
      context == nullptr) {
    reason = "there is no CUDA context";
    return nullptr;
  }
  state.chip = chip_name(gpu, reason);
  if (!reason.empty()) return nullptr;

  CUpti_Profiler_GetCounterAvailability_Params availability{};
  availability.structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE;
  availability.ctx = context;
  reason = cupti->problem(cupti->cuptiProfilerGetCounterAvailability(&availability),
                          "cuptiProfilerGetCounterAvailability");
  if (!reason.empty()) return nullptr;
  std::vector<std::uint8_t> image(availability.counterAvailabilityImageSize);
  availability.pCounterAvailabilityImage = image.data();
  reason = cupti->problem(cupti->cuptiProfilerGetCounterAvailability(&availability),
                          "cuptiProfilerGetCounterAvailability");
  if (!reason.empty()) return nullptr;

  state.host = std::make_unique<CuptiHost>(*cupti, state.chip, std::move(image));
  reason = state.host->problem();
  if (!reason.empty()) return nullptr;
  std::size_t passes = 0;
  state.config = state.host->configure(metrics, passes, reason);
  if (!reason.empty()) return nullptr;
  if (passes != 1) {
    reason =
        "these counters take " + std::to_string(passes) + " passes; only values of one run are comparable";
    return nullptr;
  }
  reason = state.enable(context);
  if (!reason.empty()) return nullptr;
  return profiler;
}

std::vector<double> RangeProfiler::measure(const std::function<void()>& work) {
  State& s = *state_;
  throw_if(s.prepare_counter_data());
  CUpti_RangeProfiler_Start_Params start{};
  start.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE;
  start.pRangeProfilerObject = s.object;
  throw_if(s.cupti->problem(s.cupti->cuptiRangeProfilerStart(&start), "cuptiRangeProfilerStart"));
  CUpti_RangeProfiler_PushRange_Params push{};
  push.structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE;
  push.pRangeProfilerObject = s.object;
  push.pRangeName = "work";
  throw_if(s.cupti->problem(s.cupti->cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange"));
  work();
  kernels::synchronize();
  CUpti_RangeProfiler_PopRange_Params pop{};
  pop.structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE;
  pop.pRangeProfilerObject = s.object;
  throw_if(s.cupti->problem(s.cupti->cuptiRangeProfilerPopRange(&pop), "cuptiRangeProfilerPopRange"));
  CUpti_RangeProfiler_Stop_Params stop{};
  stop.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE;
  stop.pRangeProfilerObject = s.object;
  throw_if(s.cupti->problem(s.cupti->cuptiRangeProfilerStop(&stop), "cuptiRangeProfilerStop"));
  if (stop.isAllPassSubmitted != 1) throw kernels::CudaError("CUPTI", "one pass was not enough");
  CUpti_RangeProfiler_DecodeData_Params decode{};
  decode.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE;
  decode.pRangeProfilerObject = s.object;
  throw_if(s.cupti->problem(s.cupti->cuptiRangeProfilerDecodeData(&decode), "cuptiRangeProfilerDecodeData"));
  if (decode.numOfRangeDropped != 0) throw kernels::CudaError("CUPTI", "the range was dropped");
  std::vector<double> values;
  throw_if(s.host->evaluate(s.counter_data, s.metrics, values));
  return values;
}

}  // namespace natten_sim::validate
