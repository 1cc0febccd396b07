// Memory, events and faults of one GPU, and the kernel that fills buffers: one variant a dtype, floor 2 bytes
// an element written, not timed since no figure depends on it.
#include <algorithm>
#include <array>
#include <string>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu/cuda_check.cuh"
#include "gpu/random_value.hpp"

namespace natten_sim::kernels {
namespace {

template <typename Element>
__global__ void fill_kernel(Element* elements, std::int64_t count, std::uint64_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    elements[i] = static_cast<Element>(random_value(seed, static_cast<std::uint64_t>(i)));
  }
}

struct Events {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  Events() {
    NATTEN_SIM_CUDA_CHECK(cudaEventCreate(&begin));
    NATTEN_SIM_CUDA_CHECK(cudaEventCreate(&end));
  }
  ~Events() {
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
};

void require_inside(const char* what, std::size_t offset, std::size_t bytes, std::size_t size) {
  if (offset <= size && bytes <= size - offset) return;
  throw InvalidParameter(what, std::to_string(offset) + " + " + std::to_string(bytes),
                         "up to " + std::to_string(size) + " bytes");
}

void require_available(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  throw HardwareAbsent(what, std::string("the driver answers ") + cudaGetErrorName(status) + ", " +
                                 cudaGetErrorString(status));
}

}  // namespace

bool built_with_cuda() noexcept { return true; }

GpuInfo open_gpu(int index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    throw HardwareAbsent("a CUDA GPU", "there is no NVIDIA driver, or it is older than this build's CUDA");
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    throw HardwareAbsent("a CUDA GPU", "the driver reports no GPU");
  }
  require_available(status, "a CUDA GPU");
  if (index < 0 || index >= count) {
    throw HardwareAbsent("GPU " + std::to_string(index),
                         "this machine has GPU 0.." + std::to_string(count - 1));
  }
  cudaDeviceProp properties{};
  NATTEN_SIM_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  if (properties.major < 8) {
    throw HardwareAbsent(
        "a GPU of sm_80 or later",
        std::string(properties.name) + " is sm_" + std::to_string(properties.major * 10 + properties.minor));
  }
  // A GPU may be there and yet not to be had: in exclusive use, full, or fallen off the bus.
  const std::string name = "GPU " + std::to_string(index);
  require_available(cudaSetDevice(index), name);
  require_available(cudaFree(nullptr), name);  // creates the context
  GpuInfo info;
  info.index = index;
  info.name = properties.name;
  std::array<char, 32> address{};
  NATTEN_SIM_CUDA_CHECK(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), index));
  info.pci_bus_id = address.data();
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.sms = properties.multiProcessorCount;
  info.l2_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.shared_memory_per_block_bytes = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  NATTEN_SIM_CUDA_CHECK(cudaDriverGetVersion(&info.driver_cuda_version));
  NATTEN_SIM_CUDA_CHECK(cudaRuntimeGetVersion(&info.runtime_cuda_version));
  return info;
}

void synchronize() { NATTEN_SIM_CUDA_CHECK(cudaDeviceSynchronize()); }

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  void* memory = nullptr;
  NATTEN_SIM_CUDA_CHECK(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)));
  memory_ = std::shared_ptr<void>(memory, [](void* pointer) { (void)cudaFree(pointer); });
}

void DeviceBuffer::fill(std::uint8_t byte) { NATTEN_SIM_CUDA_CHECK(cudaMemsetAsync(data(), byte, bytes_)); }

void DeviceBuffer::copy_from_host(const void* source, std::size_t bytes, std::size_t offset_bytes) {
  require_inside("copy_from_host", offset_bytes, bytes, bytes_);
  NATTEN_SIM_CUDA_CHECK(
      cudaMemcpy(static_cast<char*>(data()) + offset_bytes, source, bytes, cudaMemcpyHostToDevice));
}

void DeviceBuffer::copy_to_host(void* target, std::size_t bytes, std::size_t offset_bytes) const {
  require_inside("copy_to_host", offset_bytes, bytes, bytes_);
  NATTEN_SIM_CUDA_CHECK(
      cudaMemcpy(target, static_cast<const char*>(data()) + offset_bytes, bytes, cudaMemcpyDeviceToHost));
}

void DeviceBuffer::copy_from_device(const DeviceBuffer& source) {
  require_inside("copy_from_device", 0, source.bytes_, bytes_);
  NATTEN_SIM_CUDA_CHECK(
      cudaMemcpyAsync(data(), source.data(), source.bytes_, cudaMemcpyDeviceToDevice));
}

std::vector<float> time_with_events(const std::function<void()>& work, int repetitions,
                                    const std::function<void()>& before_each) {
  const Events events;
  std::vector<float> milliseconds;
  for (int i = 0; i < repetitions; ++i) {
    if (before_each) before_each();
    NATTEN_SIM_CUDA_CHECK(cudaEventRecord(events.begin));
    work();
    NATTEN_SIM_CUDA_CHECK(cudaEventRecord(events.end));
    NATTEN_SIM_CUDA_CHECK(cudaEventSynchronize(events.end));
    float elapsed = 0;
    NATTEN_SIM_CUDA_CHECK(cudaEventElapsedTime(&elapsed, events.begin, events.end));
    milliseconds.push_back(elapsed);
  }
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  return milliseconds;
}

L2Flusher::L2Flusher(const GpuInfo& gpu) : buffer_(static_cast<std::size_t>(2 * gpu.l2_bytes)) {}

void L2Flusher::start() { buffer_.fill(byte_++); }

void L2Flusher::flush() {
  start();
  synchronize();
}

void fill_random(DeviceBuffer& buffer, std::int64_t elements, Dtype dtype, std::uint64_t seed) {
  require_inside("fill_random", 0, static_cast<std::size_t>(elements) * 2, buffer.bytes());
  const int blocks = static_cast<int>(std::clamp<std::int64_t>((elements + 255) / 256, 1, 4096));
  if (dtype == Dtype::kFp16) {
    fill_kernel<<<blocks, 256>>>(static_cast<__half*>(buffer.data()), elements, seed);
  } else {
    fill_kernel<<<blocks, 256>>>(static_cast<__nv_bfloat16*>(buffer.data()), elements, seed);
  }
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace natten_sim::kernels
