// What comes before and after the kernel. Before: delta = rowsum(O * dO), LSE in powers of two, counters cleared. After: dQ
// from fp32 fragments to rows of elements, and the sum of dK and dV over the heads of a group. Both are bound
// by memory: floor 4 bytes read an element of O (bf16), and 4 read and 2 written an element of dQ. Every sum
// has a fixed order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "attention_backward/instances.hpp"
#include "gpu/cuda_check.cuh"
#include "gpu/launch_stream.cuh"

namespace natten_sim::kernels::attention_backward {
namespace {

constexpr int kThreads = 256;

template <typename Element>
struct alignas(16) Eight {
  Element element[8];
};

struct Rows {
  int heads = 1, q_tokens = 0, padded = 0, head_dim = 0;
  TensorStrides strides;
};

template <typename Element, int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    preprocess_kernel(const Element* o, const Element* d_o, const float* lse, Rows rows, float* lse2,
                      float* delta, unsigned* counters, std::size_t counter_count) {
  const std::size_t thread = (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * kThreads + threadIdx.x;
  if (thread < counter_count) counters[thread] = 0;  // a tile has more threads here than counters
  constexpr int kLanes = kHeadDim / 8;  // a row
  const int row = (blockIdx.x * kThreads + threadIdx.x) / kLanes, lane = threadIdx.x % kLanes;
  const int head = blockIdx.y;  // of all batches
  const bool exists = row < rows.q_tokens;
  float sum = 0;
  if (exists && 8 * lane < rows.head_dim) {
    const std::int64_t at = head / rows.heads * rows.strides.batch + head % rows.heads * rows.strides.head +
                            row * rows.strides.token + 8 * lane;
    const auto x = *reinterpret_cast<const Eight<Element>*>(o + at);
    const auto y = *reinterpret_cast<const Eight<Element>*>(d_o + at);
    for (int i = 0; i < 8; ++i)
      sum = fmaf(static_cast<float>(x.element[i]), static_cast<float>(y.element[i]), sum);
  }
  for (int step = kLanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane != 0 || row >= rows.padded) return;
  // Rows that see nothing, or do not exist, get probabilities exp2(x - inf) = 0.
  const float nothing = __int_as_float(0x7f800000);
  const float own = exists ? lse[static_cast<std::int64_t>(head) * rows.q_tokens + row] : -nothing;
  const std::int64_t to = static_cast<std::int64_t>(head) * rows.padded + row;
  lse2[to] = own == -nothing ? nothing : own * 1.44269504088896341f;
  delta[to] = sum;
}

/// A tile: two parts, one a warpgroup, each as float4s of its threads. See Consumer::copy_dq. A part has 64
/// queries or 64 columns of all queries; transposed where the tile has no multiple of 64 queries.
template <typename Element, int kHeadDim, int kQTile>
__global__ void __launch_bounds__(kThreads)
    convert_dq_kernel(const float4* dq, const unsigned* turns, Rows rows, float scale, Element* to) {
  constexpr int kPitch = kHeadDim + 8, kQuads = kQTile * kHeadDim / 4;
  constexpr bool kTransposed = kQTile % 64 != 0;
  __shared__ __align__(16) Element tile[kQTile * kPitch];
  const std::int64_t number = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  const bool written = turns == nullptr || turns[number] != 0;
  for (int i = threadIdx.x; i < kQuads; i += kThreads) {
    const int part = i / (kQuads / 2), block = i % (kQuads / 2) / 128, thread = i % 128;
    // Of the accumulator: along its 64 rows and across them.
    const int along = 16 * (thread / 32) + thread % 32 / 4, across = 8 * block + 2 * (thread % 4);
    const float4 value = written ? dq[number * kQuads + i] : make_float4(0, 0, 0, 0);
    const auto put = [&](int down, int right, float x) {
      const int row = kTransposed ? across + right : along + down + (kHeadDim == 64 ? 64 * part : 0);
      const int column = kTransposed      ? along + down + 64 * part
                         : kHeadDim == 64 ? across + right
                                          : across + right + 64 * part;
      tile[row * kPitch + column] = static_cast<Element>(x * scale);
    };
    put(0, 0, value.x);
    put(0, 1, value.y);
    put(8, 0, value.z);
    put(8, 1, value.w);
  }
  __syncthreads();
  Element* head =
      to + blockIdx.y / rows.heads * rows.strides.batch + blockIdx.y % rows.heads * rows.strides.head;
  for (int i = threadIdx.x; i < kQTile * kHeadDim / 8; i += kThreads) {
    const int row = i / (kHeadDim / 8), column = i % (kHeadDim / 8) * 8;
    const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * kQTile + row;
    if (token >= rows.q_tokens || column >= rows.head_dim) continue;
    *reinterpret_cast<Eight<Element>*>(head + token * rows.strides.token + column) =
        *reinterpret_cast<const Eight<Element>*>(&tile[row * kPitch + column]);
  }
}

/// Ascending over the heads of the group.
template <typename Element>
__global__ void __launch_bounds__(kThreads)
    sum_heads_kernel(const float* parts, int heads, int group, int tokens, int head_dim,
                     TensorStrides strides, Element* to) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t size = static_cast<std::int64_t>(tokens) * head_dim;
  if (i >= size) return;
  const int kv_head = blockIdx.y % (heads / group), batch = blockIdx.y / (heads / group);
  const float* part = parts + (static_cast<std::int64_t>(batch) * heads + kv_head * group) * size + i;
  float sum = 0;
  for (int head = 0; head < group; ++head) sum += part[head * size];
  to[batch * strides.batch + kv_head * strides.head + i / head_dim * strides.token + i % head_dim] =
      static_cast<Element>(sum);
}

Rows rows_of(const Around& around, const TensorStrides& strides) {
  return {static_cast<int>(around.problem.heads), static_cast<int>(around.problem.q_tokens),
          around.q_tiles * around.shape.q_tile, static_cast<int>(around.problem.head_dim), strides};
}

template <typename Element, int kHeadDim>
void preprocess(const Around& around) {
  const Problem& problem = around.problem;
  const Rows rows = rows_of(around, problem.o);
  constexpr int kRows = kThreads / (kHeadDim / 8);
  const dim3 grid((rows.padded + kRows - 1) / kRows, static_cast<unsigned>(problem.batch * problem.heads));
  preprocess_kernel<Element, kHeadDim><<<grid, kThreads, 0, launch_stream()>>>(
      static_cast<const Element*>(around.tensors.o), static_cast<const Element*>(around.tensors.d_o),
      around.tensors.lse, rows, around.lse2, around.delta, around.counters, around.counter_count);
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

template <typename Element, int kHeadDim, int kQTile>
void postprocess(const Around& around) {
  const Problem& problem = around.problem;
  const dim3 grid(around.q_tiles, static_cast<unsigned>(problem.batch * problem.heads));
  convert_dq_kernel<Element, kHeadDim, kQTile><<<grid, kThreads, 0, launch_stream()>>>(
      reinterpret_cast<const float4*>(around.dq), around.turns, rows_of(around, problem.q),
      static_cast<float>(problem.softmax_scale()), static_cast<Element*>(around.tensors.dq));
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  if (around.dk == nullptr) return;
  const std::int64_t size = problem.kv_tokens * problem.head_dim;
  const dim3 sums(static_cast<unsigned>((size + kThreads - 1) / kThreads),
                  static_cast<unsigned>(problem.batch * problem.heads_kv));
  const auto sum = [&](const float* parts, const TensorStrides& strides, void* to) {
    sum_heads_kernel<<<sums, kThreads, 0, launch_stream()>>>(
        parts, static_cast<int>(problem.heads), static_cast<int>(problem.heads / problem.heads_kv),
        static_cast<int>(problem.kv_tokens), static_cast<int>(problem.head_dim), strides,
        static_cast<Element*>(to));
    NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  };
  sum(around.dk, problem.k, around.tensors.dk);
  sum(around.dv, problem.v, around.tensors.dv);
}

template <typename Element>
void postprocess_any(const Around& around) {
  if (around.shape.head_dim == 64) {
    postprocess<Element, 64, 128>(around);
  } else if (around.shape.q_tile == 80) {
    postprocess<Element, 128, 80>(around);
  } else {
    postprocess<Element, 128, 64>(around);
  }
}

}  // namespace

void launch_preprocess(const Around& around) {
  const bool wide = around.shape.head_dim == 128;
  if (around.problem.dtype == Dtype::kFp16) {
    wide ? preprocess<__half, 128>(around) : preprocess<__half, 64>(around);
  } else {
    wide ? preprocess<__nv_bfloat16, 128>(around) : preprocess<__nv_bfloat16, 64>(around);
  }
}

void launch_postprocess(const Around& around) {
  around.problem.dtype == Dtype::kFp16 ? postprocess_any<__half>(around)
                                       : postprocess_any<__nv_bfloat16>(around);
}

}  // namespace natten_sim::kernels::attention_backward
