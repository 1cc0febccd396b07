#pragma once

#include <optional>

#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/kernels/partitions/partitions.hpp>

namespace natten_sim::validate {

/// The GPU that cases run on, and what was found out about it. Making one touches no GPU.
class Bench {
 public:
  explicit Bench(kernels::GpuInfo gpu) : gpu_(std::move(gpu)) {}

  [[nodiscard]] const kernels::GpuInfo& gpu() const noexcept { return gpu_; }
  /// Which SM is near which partition of the L2; measured by the first call. @throws CudaError.
  [[nodiscard]] const kernels::SmPartitions& partitions();
  /// Made by the first call. @throws OutOfDeviceMemory.
  [[nodiscard]] kernels::L2Flusher& flusher();

 private:
  kernels::GpuInfo gpu_;
  std::optional<kernels::SmPartitions> partitions_;
  std::optional<kernels::L2Flusher> flusher_;
};

}  // namespace natten_sim::validate
