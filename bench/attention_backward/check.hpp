#pragma once

#include <string>

#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::bench {

/// Whole gradients against the oracles, poisons, guards, repeats under delays, exchanged turns; cases whose
/// name contains `filter`. With a folder `dump`, small tensors of failed cases go there.
[[nodiscard]] bool run_checks(const kernels::GpuInfo& gpu, const std::string& filter,
                              const std::string& dump);

/// Makes the table of every case and looks whether the kernel could run it; needs no GPU.
[[nodiscard]] bool run_host_halves();

/// Random tables that finish: none may hang, be wrong or repeat differently.
[[nodiscard]] bool run_random_tables(const kernels::GpuInfo& gpu, int count, kernels::AttentionEngine engine);

/// A launch in which one dQ tile never passes its turns on. @throws CudaError, since the kernel traps; the
/// GPU is then lost to the process.
void run_dropped_release(const kernels::GpuInfo& gpu, kernels::AttentionEngine engine);

}  // namespace natten_sim::bench
