// Hardware counters around work of another program, for scripts: a shared library for ctypes.
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/validate/measure/range_profiler.hpp>

using natten_sim::validate::RangeProfiler;

/// A profiler for comma-separated metrics that fit in one pass; null with a message on stderr. The process
/// must have a CUDA context.
extern "C" void* natten_sim_counters_open(const char* metrics) {
  std::vector<std::string> names;
  std::istringstream words(metrics);
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  try {
    (void)natten_sim::kernels::open_gpu();
    std::string reason;
    auto profiler = RangeProfiler::open(0, names, reason);
    if (profiler == nullptr) std::fprintf(stderr, "no counters: %s\n", reason.c_str());
    return profiler.release();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "no counters: %s\n", error.what());
    return nullptr;
  }
}

/// Counts one call of `work`; `values` receives one number a metric. 0 on success.
extern "C" int natten_sim_counters_measure(void* profiler, void (*work)(), double* values) {
  try {
    for (const double value : static_cast<RangeProfiler*>(profiler)->measure(work)) *values++ = value;
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

extern "C" void natten_sim_counters_close(void* profiler) { delete static_cast<RangeProfiler*>(profiler); }
