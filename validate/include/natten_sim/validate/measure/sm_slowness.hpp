#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/kernels/gpu/item_interval.hpp>

namespace natten_sim::validate {

/// How much longer a cycle of each SM's clock lasts than the mean of all SMs, as a fraction, by SM number:
/// the mean over its items of nanoseconds over cycles. Items of 0.2 ms or less do not count, nor do those
/// without cycles. An SM without items has 0; without any item that counts the result is empty. Rounded to
/// 1e-5. Requires SM numbers below `sms`.
[[nodiscard]] std::vector<double> slowness_of_sms(std::span<const kernels::ItemInterval> intervals,
                                                  std::int32_t sms);

/// Of a GPU under the load of this project's attention, in 0.3 s on an H200. Empty where two CTAs of that
/// kernel do not fit an SM. Waits. @throws OutOfDeviceMemory, CudaError.
[[nodiscard]] std::vector<double> sample_slowness(const kernels::GpuInfo& gpu);

/// To 1e-5, the step of files; never -0.
[[nodiscard]] double rounded_slowness(double slowness) noexcept;

}  // namespace natten_sim::validate
