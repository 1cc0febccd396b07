#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/dtype.hpp>

namespace natten_sim::kernels {

/// The one GPU that this process works on: memory, events and faults, without CUDA's headers. Everything here
/// compiles and links without CUDA; calls then throw HardwareAbsent.
///
/// All work goes to the default stream, launches of kernels to current_stream() (stream_scope.hpp), and is
/// asynchronous unless a function says otherwise.

/// A CUDA call failed. Names call, place and CUDA's own words. After one of these the context may be lost.
class CudaError : public Error {
 public:
  CudaError(const std::string& call, const std::string& message);
};

/// The card has too little free memory for what was asked. The context is intact.
class OutOfDeviceMemory : public CudaError {
 public:
  using CudaError::CudaError;
};

struct GpuInfo {
  int index = 0;
  std::string name;
  std::string pci_bus_id;  ///< "0000:1b:00.0"
  int compute_major = 0;
  int compute_minor = 0;
  std::int32_t sms = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t shared_memory_per_block_bytes = 0;
  int driver_cuda_version = 0;   ///< CUDA version that the driver supports: 13000 is 13.0
  int runtime_cuda_version = 0;  ///< CUDA version of the runtime that is linked in
};

/// Whether the kernels were compiled in.
[[nodiscard]] bool built_with_cuda() noexcept;

/// Makes GPU `index` the one of this process. @throws HardwareAbsent with the reason: no CUDA in this build,
/// no driver, no such GPU, one older than sm_80, or one that the driver does not hand out.
[[nodiscard]] GpuInfo open_gpu(int index = 0);

/// Waits for all work. @throws CudaError with the first fault of that work.
void synchronize();

/// Memory on the GPU, freed by the destructor. @throws OutOfDeviceMemory.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  /// A view of memory that somebody else owns and keeps as long as the view is used.
  [[nodiscard]] static DeviceBuffer view(void* memory, std::size_t bytes);

  [[nodiscard]] void* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  void fill(std::uint8_t byte);
  /// Both wait. Requires offset_bytes + bytes <= bytes().
  void copy_from_host(const void* source, std::size_t bytes, std::size_t offset_bytes = 0);
  void copy_to_host(void* target, std::size_t bytes, std::size_t offset_bytes = 0) const;
  /// All of `source`, on the GPU. Asynchronous. Requires source.bytes() <= bytes().
  void copy_from_device(const DeviceBuffer& source);

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

/// Milliseconds between two events around `work`, one value a repetition. `before_each` runs outside the
/// timed region. Waits.
[[nodiscard]] std::vector<float> time_with_events(const std::function<void()>& work, int repetitions,
                                                  const std::function<void()>& before_each = {});

/// Writes twice the L2's size, so that nothing of earlier kernels is left in it.
class L2Flusher {
 public:
  explicit L2Flusher(const GpuInfo& gpu);
  /// Asynchronous. While the GPU writes, the host can prepare the next launch, so events around that launch
  /// time the kernel alone.
  void start();
  /// Waits.
  void flush();

 private:
  DeviceBuffer buffer_;
  std::uint8_t byte_ = 0;
};

/// Fills `elements` elements with pseudo-random values of mean 0 and variance 1 that depend on seed and
/// position alone: `random_element` gives the same on the host. Asynchronous.
void fill_random(DeviceBuffer& buffer, std::int64_t elements, Dtype dtype, std::uint64_t seed);
/// The value at `position` before it is rounded to the dtype. O(1).
[[nodiscard]] float random_element(std::uint64_t seed, std::int64_t position) noexcept;

}  // namespace natten_sim::kernels
