// Tables of measured runs, and what NATTEN's profiler prints.
#include <cmath>

#include <natten_sim/io/kernel_runs.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::kernel_runs {

void read(std::string_view input) {
  for (const double ms : profiler_times_ms(input)) require(std::isfinite(ms), "times are finite");
  for (const KernelRun& run : parse_kernel_runs(input, "input", {}))
    require(!key_of_run(run).empty(), "a run has a key");
}

const Target kTarget("kernel_runs", read);

}  // namespace natten_sim::fuzz::kernel_runs
