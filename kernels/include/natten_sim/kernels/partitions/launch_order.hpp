#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels {

/// Launches `ctas` CTAs of `threads` threads and `shared_bytes` of dynamic shared memory, each of which holds
/// its place for 0.1 ms, and returns the number (%smid) of the SM that each ran on, by block index. The
/// amount of shared memory decides how many share an SM. Waits. Requires ctas >= 1, 1..1024 threads.
/// @throws CudaError, also when a CTA cannot have so much shared memory.
[[nodiscard]] std::vector<std::int32_t> sms_of_launch(const GpuInfo& gpu, std::int32_t ctas,
                                                      std::int32_t threads, std::int32_t shared_bytes);

}  // namespace natten_sim::kernels
