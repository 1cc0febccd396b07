#pragma once

#include <string>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::bench {

/// Runs every check whose name contains `filter`; one line each. True if all passed.
[[nodiscard]] bool run_checks(const kernels::GpuInfo& gpu, const std::string& filter);

}  // namespace natten_sim::bench
