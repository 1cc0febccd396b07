#pragma once

#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/report/json.hpp>

namespace natten_sim::report {

/// A file of costs in the format of data/kernel-times.json, which add_kernel_times() reads. Numbers have four digits.
[[nodiscard]] Json kernel_times_file(const std::vector<KernelCosts>& entries);

}  // namespace natten_sim::report
