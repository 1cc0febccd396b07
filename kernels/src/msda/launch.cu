// What surrounds the two passes: sizes for the kernels, sums of copies, checks of a launch.
#include <algorithm>
#include <bit>
#include <string>

#include "gpu/cuda_check.cuh"
#include "gpu/launch_stream.cuh"
#include "msda/samples.cuh"

namespace natten_sim::kernels::msda {
namespace {

template <typename Element, typename Copy>
__global__ void sum_copies(Element* destination, const Copy* copies, std::int64_t elements,
                           std::int64_t count) {
  constexpr int kAtOnce = 4;  // elements of all tensors are a multiple of it
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kAtOnce;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kAtOnce;
       i < elements; i += stride) {
    float sum[kAtOnce] = {};
    for (std::int64_t c = 0; c < count; ++c) {
      struct alignas(sizeof(Copy) * kAtOnce) Four {
        Copy each[kAtOnce];
      };
      const Four four = *reinterpret_cast<const Four*>(copies + c * elements + i);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) sum[k] += static_cast<float>(four.each[k]);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) destination[i + k] = static_cast<Element>(sum[k]);
  }
}

template <typename Element>
__global__ void narrow_numbers(Element* to, const float* from, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    to[i] = static_cast<Element>(from[i]);
}

bool needs_sm90(const Problem& problem, MsdaPhase phase) {
  using scatter_add::Path;
  if (phase == MsdaPhase::kForward) return false;
  const bool native_bf16 = problem.path == Path::kRed4 || problem.path == Path::kAtom;
  return problem.path == Path::kRed16 || (native_bf16 && problem.dtype == Dtype::kBf16);
}

void require_tensor(const char* name, const void* tensor) {
  if (tensor == nullptr) throw InvalidParameter(name, "null", "memory of the GPU");
}

void require_tensors(const Problem& problem, MsdaPhase phase, const Tensors& tensors) {
  require_tensor("values", tensors.values);
  require_tensor("locations", tensors.locations);
  require_tensor("weights", tensors.weights);
  if (scratch_bytes(problem, phase) > 0) require_tensor("scratch", tensors.scratch);
  if (phase == MsdaPhase::kForward) return require_tensor("output", tensors.output);
  require_tensor("output_gradient", tensors.output_gradient);
  require_tensor("value_gradient", tensors.value_gradient);
  require_tensor("location_gradient", tensors.location_gradient);
  require_tensor("weight_gradient", tensors.weight_gradient);
}

template <typename Element>
void launch_typed(const Problem& problem, MsdaPhase phase, const Tensors& tensors) {
  phase == MsdaPhase::kForward ? launch_forward<Element>(problem, tensors)
                               : launch_backward<Element>(problem, tensors);
}

}  // namespace

Shape shape_of(const Problem& problem) {
  Shape shape{};
  shape.pairs = problem.batch * problem.queries * problem.heads;
  shape.pixels = problem.pixels();
  shape.queries = static_cast<int>(problem.queries);
  shape.heads = static_cast<int>(problem.heads);
  shape.head_channels = static_cast<int>(problem.head_channels);
  shape.levels = static_cast<int>(problem.levels.size());
  shape.points = static_cast<int>(problem.points);
  const auto lanes = static_cast<unsigned>(problem.head_channels * element_bytes(problem.dtype) / 16);
  shape.lane_shift = std::countr_zero(lanes);
  shape.narrow_parameters = problem.parameters != Dtype::kFp32;
  for (std::size_t level = 0; level < problem.levels.size(); ++level) {
    shape.height[level] = static_cast<int>(problem.levels[level].height);
    shape.width[level] = static_cast<int>(problem.levels[level].width);
    shape.first[level] = static_cast<int>(problem.levels[level].first);
  }
  return shape;
}

unsigned blocks_of(const Shape& shape, std::int64_t items) {
  return static_cast<unsigned>(((items << shape.lane_shift) + kThreads - 1) / kThreads);
}

template <typename Element, typename Copy>
void launch_sum_copies(Element* destination, const Copy* copies, std::int64_t elements, std::int64_t count) {
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(elements / 1024, 1, 8192));
  sum_copies<<<blocks, 256, 0, launch_stream()>>>(destination, copies, elements, count);
}

template void launch_sum_copies(float*, const float*, std::int64_t, std::int64_t);
template void launch_sum_copies(__half*, const float*, std::int64_t, std::int64_t);
template void launch_sum_copies(__half*, const __half*, std::int64_t, std::int64_t);
template void launch_sum_copies(__nv_bfloat16*, const float*, std::int64_t, std::int64_t);
template void launch_sum_copies(__nv_bfloat16*, const __nv_bfloat16*, std::int64_t, std::int64_t);

void narrow(Dtype dtype, const DeviceBuffer& from, DeviceBuffer& to, std::int64_t count) {
  const auto* const numbers = static_cast<const float*>(from.data());
  if (dtype == Dtype::kFp16) {
    narrow_numbers<<<4096, 256>>>(static_cast<__half*>(to.data()), numbers, count);
  } else if (dtype == Dtype::kBf16) {
    narrow_numbers<<<4096, 256>>>(static_cast<__nv_bfloat16*>(to.data()), numbers, count);
  } else {
    narrow_numbers<<<4096, 256>>>(static_cast<float*>(to.data()), numbers, count);
  }
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

void launch(const GpuInfo& gpu, const Problem& problem, MsdaPhase phase, const Tensors& tensors) {
  require_valid(problem);
  require_tensors(problem, phase, tensors);
  if (needs_sm90(problem, phase) && gpu.compute_major < 9)
    throw HardwareAbsent("a GPU of sm_90 or later", gpu.name + " lacks " + to_string(problem.path));
  if (problem.dtype == Dtype::kFp32) {
    launch_typed<float>(problem, phase, tensors);
  } else if (problem.dtype == Dtype::kFp16) {
    launch_typed<__half>(problem, phase, tensors);
  } else {
    launch_typed<__nv_bfloat16>(problem, phase, tensors);
  }
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace natten_sim::kernels::msda
