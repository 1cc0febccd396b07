// Profiles of Nsight Compute, both kinds, and the names of kernels in them.
#include <cmath>

#include <natten_sim/validate/record/ncu_report.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::ncu_csv {

void read(std::string_view input) {
  const auto launches = natten_sim::validate::parse_ncu_profile(input, "input");
  for (const auto& launch : launches) {
    for (const auto& [label, value] : launch.counters) require(std::isfinite(value), "counters are finite");
  }
  natten_sim::study::ExplainQuestion question;
  for (auto& kernel : natten_sim::validate::profiled_kernels(launches)) {
    kernel.gpu.reset();  // names and grids alone: no device, no simulation
    question.launches.push_back(std::move(kernel));
  }
  const auto answer = natten_sim::study::explain(question, {});
  std::int64_t counted = answer.other_launches;
  for (const auto& kernel : answer.kernels) counted += kernel.launches;
  require(counted == static_cast<std::int64_t>(launches.size()), "every launch is counted once");
}

const Target kTarget("ncu_csv", read);

}  // namespace natten_sim::fuzz::ncu_csv
