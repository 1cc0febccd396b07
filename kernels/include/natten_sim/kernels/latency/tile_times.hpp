#pragma once

#include <vector>

#include <natten_sim/core/device.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels {

/// How long single tiles of kTimedTileBytes take from the request to the last byte in shared memory, ns: a
/// CTA asks for a tile by cp.async and waits for it.
struct TileTimes {
  /// Of a small buffer that was read twice before, by one CTA of 128 threads on a GPU that does nothing else.
  std::vector<double> l2;
  /// Of a buffer of ten times the L2 or more, by 4 CTAs of 256 threads that sleep 0.5 to 1.5 us between
  /// tiles, while a CTA on each other SM streams from DRAM: on an H200 1.4 TB/s in all, a third of its
  /// bandwidth. 20,000 tiles.
  std::vector<double> dram;
};

/// Takes tens of milliseconds and up to 4 GiB of memory. Waits. @throws OutOfDeviceMemory, CudaError.
[[nodiscard]] TileTimes tile_times(const GpuInfo& gpu);

}  // namespace natten_sim::kernels
