// What the double-precision kernels share: their arguments, which pair attends, rows in shared memory.
#pragma once

#include <cstdint>
#include <string>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <natten_sim/kernels/attention_backward/oracle.hpp>
#include <natten_sim/kernels/attention_forward/oracle.hpp>

namespace natten_sim::kernels::attention_backward::oracle {

inline constexpr int kTile = 32;      // queries and keys of a block's step
inline constexpr int kThreads = 256;  // 16 x 16, two rows and two columns of scores each

struct OracleArguments {
  const void *q, *k, *v, *d_o;
  double *o, *lse;             // of the forward's reference
  const std::uint64_t* pairs;  // rows of `words`, or null
  int words;
  double *delta, *delta_absolute;
  double *dq, *dq_absolute, *dk, *dk_absolute, *dv, *dv_absolute;
  TensorStrides q_strides, k_strides, v_strides, o_strides;
  int heads, group, q_tokens, kv_tokens, left, right;
  double scale;
  double smallest;  // of the element type's normal numbers: P and dS below it have absolute errors
};

template <typename Element>
__device__ double element(const void* tensor, std::int64_t at) {
  return static_cast<double>(static_cast<float>(static_cast<const Element*>(tensor)[at]));
}

__device__ inline bool sees(const OracleArguments& a, int query, int key) {
  if (query >= a.q_tokens || key >= a.kv_tokens) return false;
  const int distance = key - (query + a.kv_tokens - a.q_tokens);
  if (distance < -a.left || distance > a.right) return false;
  return a.pairs == nullptr ||
         (a.pairs[static_cast<std::int64_t>(query) * a.words + key / 64] >> (key % 64) & 1) != 0;
}

/// Whether some pair of the 32 x 32 from these on attends. All threads of a block call it.
__device__ inline bool some_attend(const OracleArguments& a, int first_query, int first_key) {
  const int shift = a.kv_tokens - a.q_tokens;
  if (first_key > first_query + kTile - 1 + shift + a.right) return false;
  if (first_key + kTile - 1 < first_query + shift - a.left) return false;
  if (a.pairs == nullptr) return true;
  const int query = first_query + static_cast<int>(threadIdx.x) % kTile;
  const bool own =
      query < a.q_tokens &&
      static_cast<std::uint32_t>(a.pairs[static_cast<std::int64_t>(query) * a.words + first_key / 64] >>
                                 (first_key % 64)) != 0;
  return __syncthreads_or(own) != 0;
}

template <typename Element, int kHeadDim>
__device__ void load_rows(double* target, const void* tensor, std::int64_t base, std::int64_t stride,
                          int first, int rows) {
  for (int i = threadIdx.x; i < kTile * kHeadDim; i += kThreads) {
    const int row = first + i / kHeadDim, column = i % kHeadDim;
    target[i / kHeadDim * (kHeadDim + 1) + column] =
        row < rows ? element<Element>(tensor, base + row * stride + column) : 0.0;
  }
}

/// Calls with the element type and head dimension of the problem.
template <typename Visitor>
void dispatch(const Problem& problem, const Visitor& visit) {
  const auto with = [&]<typename Element>(Element) {
    switch (problem.head_dim) {
      case 64:
        return visit.template operator()<Element, 64>();
      case 96:
        return visit.template operator()<Element, 96>();
      case 128:
        return visit.template operator()<Element, 128>();
      default:
        throw InvalidParameter("head_dim", std::to_string(problem.head_dim), "64, 96 or 128");
    }
  };
  problem.dtype == Dtype::kFp16 ? with(__half{}) : with(__nv_bfloat16{});
}

inline DeviceBuffer doubles(std::int64_t count) { return DeviceBuffer(static_cast<std::size_t>(count) * 8); }
inline double* data_of(const DeviceBuffer& buffer) { return static_cast<double*>(buffer.data()); }

/// All but where results go. `pairs` outlives it.
OracleArguments arguments_of(const Problem& problem, const Tensors& tensors, const DeviceBuffer& pairs);
[[nodiscard]] DeviceBuffer upload_pairs(const Problem& problem);
/// O and LSE in double, by the forward's own oracle where there are no pairs.
[[nodiscard]] attention_forward::Reference forward_reference(const Problem& problem, const Tensors& tensors,
                                                             const DeviceBuffer& pairs);

}  // namespace natten_sim::kernels::attention_backward::oracle
