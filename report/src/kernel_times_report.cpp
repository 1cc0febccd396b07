#include <natten_sim/report/kernel_times_report.hpp>

#include "kernel_costs_members.hpp"

namespace natten_sim::report {

Json kernel_times_file(const std::vector<KernelCosts>& entries) { return json_of(CostsFile{&entries}); }

}  // namespace natten_sim::report
