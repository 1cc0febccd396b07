#pragma once

#include <optional>

#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/kernels/partitions/partitions.hpp>

namespace natten_sim::validate {

/// The GPU that cases run on, with what was measured about it. Constructing a bench does not use the GPU.
class Bench {
 public:
  explicit Bench(kernels::GpuInfo gpu) : gpu_(std::move(gpu)) {}

  [[nodiscard]] const kernels::GpuInfo& gpu() const noexcept { return gpu_; }
  /// Which SM is near which partition of the L2. The first call measures it. @throws CudaError.
  [[nodiscard]] const kernels::SmPartitions& partitions();
  /// The first call allocates it. @throws OutOfDeviceMemory.
  [[nodiscard]] kernels::L2Flusher& flusher();

 private:
  kernels::GpuInfo gpu_;
  std::optional<kernels::SmPartitions> partitions_;
  std::optional<kernels::L2Flusher> flusher_;
};

}  // namespace natten_sim::validate
