// Tensor maps: how TMA sees Q, K, V and O as five dimensions (column, x, y, z, rest).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <cuda_runtime.h>

#include "attention_forward/instances.hpp"
#include "gpu/cuda_check.cuh"

namespace natten_sim::kernels::attention_forward {

using Encode = decltype(&cuTensorMapEncodeTiled);

/// From the driver at run time, so that nothing links against it.
inline Encode encode_function() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  NATTEN_SIM_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                         cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw HardwareAbsent("cuTensorMapEncodeTiled", "the driver is older than CUDA 12");
  }
  return reinterpret_cast<Encode>(function);
}

/// Axes of a layout, innermost first, 1 where the rank is smaller.
struct Layout {
  std::array<std::int64_t, 3> length{1, 1, 1};
  std::array<std::int64_t, 3> step{0, 0, 0};  ///< tokens from one to the next
  std::int64_t fourth = 1, fourth_step = 0;   ///< the same of a fourth axis
  std::int64_t first = 0;                     ///< token
  int rank = 1;
};

struct Tensor {
  const void* data;
  TensorStrides strides;
  std::int64_t heads;
};

/// Heads and batches in a tensor map of five dimensions (column, x, y, z, rest): as z and rest where there is
/// no third axis; otherwise heads side by side in the columns, or heads and batches in one. A fourth axis
/// lies within a head or a batch of `rest`.
struct HeadDimensions {
  HeadPlacement placement;
  std::int64_t columns = 0, z = 1, rest = 1;
  std::int64_t z_stride = 8, rest_stride = 8;  // elements
};

inline HeadDimensions head_dimensions_of_four(const Problem& problem, const Tensor& tensor,
                                              const Layout& layout) {
  HeadDimensions made;
  const TensorStrides& strides = tensor.strides;
  const auto fourth = static_cast<int>(layout.fourth), heads = static_cast<int>(tensor.heads);
  const std::int64_t whole = layout.fourth * layout.fourth_step * strides.token;  // a head's elements
  made.columns = problem.head_dim;
  made.rest_stride = layout.fourth_step * strides.token;
  if (strides.head == problem.head_dim && (problem.batch == 1 || strides.batch == whole)) {
    made.placement = {static_cast<int>(problem.head_dim), 0, 0, fourth};
    made.columns *= tensor.heads;
    made.rest = layout.fourth * problem.batch;
  } else if (strides.head == whole && (problem.batch == 1 || strides.batch == whole * tensor.heads)) {
    made.placement = {0, 0, fourth, fourth * heads};
    made.rest = layout.fourth * tensor.heads * problem.batch;
  } else {
    throw InvalidParameter("strides", std::to_string(strides.head),
                           "with four axes: heads next to each other, or heads one whole after the other");
  }
  return made;
}

inline HeadDimensions head_dimensions(const Problem& problem, const Tensor& tensor, const Layout& layout) {
  HeadDimensions made;
  made.columns = problem.head_dim;
  const TensorStrides& strides = tensor.strides;
  if (layout.rank == 4) {
    made = head_dimensions_of_four(problem, tensor, layout);
  } else if (layout.rank <= 2) {
    made.placement = {0, 1, 0, 1};
    made.z = tensor.heads;
    made.z_stride = strides.head;
    made.rest = problem.batch;
    made.rest_stride = strides.batch;
  } else if (strides.head == problem.head_dim) {
    made.placement = {static_cast<int>(problem.head_dim), 0, 0, 1};
    made.columns = problem.head_dim * tensor.heads;
    made.rest = problem.batch;
    made.rest_stride = strides.batch;
  } else if (problem.batch == 1 || strides.batch == strides.head * tensor.heads) {
    made.placement = {0, 0, 1, static_cast<int>(tensor.heads)};
    made.rest = tensor.heads * problem.batch;
    made.rest_stride = strides.head;
  } else {
    throw InvalidParameter("strides", std::to_string(strides.batch),
                           "with three axes: heads next to each other, or batches of whole heads");
  }
  if (layout.rank >= 3) {
    made.z = layout.length[2];
    made.z_stride = layout.step[2] * strides.token;
  }
  return made;
}

inline CUtensorMap encode(const Problem& problem, const Tensor& tensor, const Layout& layout,
                   const std::array<int, 3>& box, int columns) {
  const HeadDimensions heads = head_dimensions(problem, tensor, layout);
  const auto bytes = [](std::int64_t elements) {
    return static_cast<cuuint64_t>(2 * std::max<std::int64_t>(elements, 8));
  };
  const std::array<cuuint64_t, 5> sizes = {
      static_cast<cuuint64_t>(heads.columns), static_cast<cuuint64_t>(layout.length[0]),
      static_cast<cuuint64_t>(layout.length[1]), static_cast<cuuint64_t>(heads.z),
      static_cast<cuuint64_t>(heads.rest)};
  const std::array<cuuint64_t, 4> strides = {bytes(layout.step[0] * tensor.strides.token),
                                             bytes(layout.step[1] * tensor.strides.token),
                                             bytes(heads.z_stride), bytes(heads.rest_stride)};
  const std::array<cuuint32_t, 5> box_sizes = {
      static_cast<cuuint32_t>(columns), static_cast<cuuint32_t>(box[0]), static_cast<cuuint32_t>(box[1]),
      static_cast<cuuint32_t>(box[2]), 1};
  const std::array<cuuint32_t, 5> every = {1, 1, 1, 1, 1};
  const char* base = static_cast<const char*>(tensor.data) + 2 * layout.first * tensor.strides.token;
  static const Encode kEncode = encode_function();
  alignas(128) CUtensorMap map;
  const CUresult status = kEncode(
      &map,
      problem.dtype == Dtype::kFp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 5,
      const_cast<char*>(base), sizes.data(), strides.data(), box_sizes.data(), every.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, columns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw CudaError("cuTensorMapEncodeTiled", "error " + std::to_string(static_cast<int>(status)));
  }
  return map;
}

}  // namespace natten_sim::kernels::attention_forward
