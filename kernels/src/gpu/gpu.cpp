#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels {

CudaError::CudaError(const std::string& call, const std::string& message)
    : Error(Sentence{"CUDA refused " + call + ": " + message}, call, message, "success", "") {}

DeviceBuffer DeviceBuffer::view(void* memory, std::size_t bytes) {
  DeviceBuffer made;
  made.memory_ = std::shared_ptr<void>(memory, [](void*) {});
  made.bytes_ = bytes;
  return made;
}

}  // namespace natten_sim::kernels
