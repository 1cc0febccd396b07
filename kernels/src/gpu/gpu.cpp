#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels {

CudaError::CudaError(const std::string& call, const std::string& message)
    : Error(Sentence{"CUDA refused " + call + ": " + message}, call, message, "success", "") {}

}  // namespace natten_sim::kernels
