#pragma once

#include <vector>

#include <natten_sim/core/device.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels {

/// How long single tiles of kTimedTileBytes take from the request to the last byte in shared memory, in ns of a GPU that does
/// nothing else: one CTA of 128 threads asks for a tile by cp.async and waits for it.
struct TileTimes {
  std::vector<double> l2;    ///< of tiles of a small buffer that was read twice before
  std::vector<double> dram;  ///< of tiles of a buffer of ten times the L2, each read for the first time
};

/// Takes milliseconds. Waits. @throws OutOfDeviceMemory, CudaError.
[[nodiscard]] TileTimes tile_times(const GpuInfo& gpu);

}  // namespace natten_sim::kernels
