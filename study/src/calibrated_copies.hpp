#pragma once

#include <string>
#include <vector>

#include <natten_sim/io/kernel_runs.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::study {

/// Geometric means of the rates of all forward runs of one kernel that timed copies, for each number of axes
/// and each release's copies; a launch is no part of a transfer. Where no run timed the log-sum-exp, its rate
/// is to that of O as the catalog has it for these copies on another device. The interval is the largest
/// error of a call's copies together.
[[nodiscard]] std::vector<PermutationRate> calibrated_copy_rates(const std::vector<KernelRun>& runs,
                                                                 double launch_us, const std::string& source,
                                                                 const Context& context);

/// Copies that no run timed keep the rates that are known of the kernel on the device, with their source.
void keep_copy_rates(const Catalog& catalog, KernelCosts& entry);

}  // namespace natten_sim::study
