#pragma once

#include <cuda_runtime.h>

#include <natten_sim/kernels/gpu/stream_scope.hpp>

namespace natten_sim::kernels {

/// Where launches of this thread go.
inline cudaStream_t launch_stream() noexcept { return static_cast<cudaStream_t>(current_stream()); }

}  // namespace natten_sim::kernels
