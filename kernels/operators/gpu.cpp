// Which GPU, and what went wrong.
#include <map>
#include <mutex>

#include <cuda_runtime.h>

#include "failure.hpp"
#include "operators.h"

namespace natten_sim::operators {

Failure& last_failure() noexcept {
  thread_local Failure failure;
  return failure;
}

const kernels::GpuInfo& opened(int device) {
  static std::mutex mutex;
  static std::map<int, kernels::GpuInfo> gpus;
  const std::lock_guard lock(mutex);
  auto found = gpus.find(device);
  if (found == gpus.end()) {
    kernels::GpuInfo gpu = kernels::open_gpu(device);
    if (gpu.compute_major != 9 || gpu.compute_minor != 0) {
      throw HardwareAbsent("an sm_90 GPU",
                           gpu.name + " is sm_" + std::to_string(10 * gpu.compute_major + gpu.compute_minor));
    }
    found = gpus.emplace(device, std::move(gpu)).first;
  } else if (cudaSetDevice(device) != cudaSuccess) {
    throw HardwareAbsent("GPU " + std::to_string(device), "the driver does not hand it out");
  }
  return found->second;
}

}  // namespace natten_sim::operators

using namespace natten_sim;

const char* natten_sim_ops_error(void) { return operators::last_failure().sentence.c_str(); }
int natten_sim_ops_error_is_hardware(void) { return operators::last_failure().of_hardware ? 1 : 0; }

int natten_sim_ops_open(int device, int32_t* sms) {
  return operators::guarded(1, [&] {
    *sms = operators::opened(device).sms;
    return 0;
  });
}
