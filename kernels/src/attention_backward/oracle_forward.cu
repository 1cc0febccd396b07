// O and LSE in double precision, of any pairs of tokens. Floor 6 * pairs * head_dim operations over the
// double-precision rate; not tuned.
#include <algorithm>
#include <cmath>

#include "attention_backward/oracle.cuh"
#include "attention_backward/smallest_normal.hpp"
#include "gpu/cuda_check.cuh"

namespace natten_sim::kernels::attention_backward {
namespace oracle {
namespace {

/// Of 32 queries x 32 keys, -inf where they do not attend.
template <int kHeadDim>
__device__ void masked_scores(const OracleArguments& a, const double* q, const double* k, int first_query,
                              int first_key, double* scores) {
  constexpr int kPitch = kHeadDim + 1;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      const int row = 2 * ty + r, column = tx + 16 * c;
      double s = 0;
      for (int d = 0; d < kHeadDim; ++d) s += q[row * kPitch + d] * k[column * kPitch + d];
      scores[row * (kTile + 1) + column] =
          sees(a, first_query + row, first_key + column) ? s * a.scale : -INFINITY;
    }
  }
}

/// Exponentials of one row's scores, relative to its largest one so far.
__device__ void add_to_sum(const double* scores, double& top, double& sum) {
  for (int column = 0; column < kTile; ++column) {
    if (scores[column] == -INFINITY) continue;
    const double higher = fmax(top, scores[column]);
    sum = sum * exp(top - higher) + exp(scores[column] - higher);
    top = higher;
  }
}

/// O and LSE of 32 queries: a pass for the sums, a pass for O.
template <typename Element, int kHeadDim>
__global__ void __launch_bounds__(kThreads) forward_kernel(OracleArguments a) {
  extern __shared__ double memory[];
  constexpr int kPitch = kHeadDim + 1, kMatrix = kTile * kPitch;
  double *q = memory, *k = q + kMatrix, *v = k + kMatrix, *scores = v + kMatrix;
  double *top = scores + kTile * (kTile + 1), *sum = top + kTile;
  const int batch = blockIdx.y / a.heads, head = blockIdx.y % a.heads, kv_head = head / a.group;
  const int own = blockIdx.x * kTile, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  load_rows<Element, kHeadDim>(q, a.q, batch * a.q_strides.batch + head * a.q_strides.head, a.q_strides.token,
                               own, a.q_tokens);
  if (threadIdx.x < kTile) {
    top[threadIdx.x] = -INFINITY;
    sum[threadIdx.x] = 0;
  }
  double o[2][kHeadDim / 16] = {};
  for (int pass = 0; pass < 2; ++pass) {
    for (int key = 0; key < a.kv_tokens; key += kTile) {
      __syncthreads();
      if (!some_attend(a, own, key)) continue;
      load_rows<Element, kHeadDim>(k, a.k, batch * a.k_strides.batch + kv_head * a.k_strides.head,
                                   a.k_strides.token, key, a.kv_tokens);
      load_rows<Element, kHeadDim>(v, a.v, batch * a.v_strides.batch + kv_head * a.v_strides.head,
                                   a.v_strides.token, key, a.kv_tokens);
      __syncthreads();
      masked_scores<kHeadDim>(a, q, k, own, key, scores);
      __syncthreads();
      if (pass == 0) {
        if (threadIdx.x < kTile)
          add_to_sum(scores + threadIdx.x * (kTile + 1), top[threadIdx.x], sum[threadIdx.x]);
        continue;
      }
      for (int column = 0; column < kTile; ++column) {
        for (int r = 0; r < 2; ++r) {
          const int row = 2 * ty + r;
          const double s = scores[row * (kTile + 1) + column];
          const double p = s == -INFINITY ? 0.0 : exp(s - top[row]) / sum[row];
          for (int i = 0; i < kHeadDim / 16; ++i) o[r][i] += p * v[column * kPitch + tx + 16 * i];
        }
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 2; ++r) {
    const int row = 2 * ty + r;
    if (own + row >= a.q_tokens) continue;
    const std::int64_t at = static_cast<std::int64_t>(blockIdx.y) * a.q_tokens + own + row;
    for (int i = 0; i < kHeadDim / 16; ++i) a.o[at * kHeadDim + tx + 16 * i] = o[r][i];
    if (tx == 0) a.lse[at] = sum[row] == 0 ? -INFINITY : top[row] + log(sum[row]);
  }
}

/// The reference's O and LSE as a forward kernel writes them.
template <typename Element>
__global__ void convert_forward_kernel(const double* o, const double* lse, std::int64_t rows, int heads,
                                       int tokens, int head_dim, TensorStrides strides, Element* to,
                                       float* lse_to) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const std::int64_t token = row % tokens, head = row / tokens % heads, batch = row / tokens / heads;
  Element* own = to + batch * strides.batch + head * strides.head + token * strides.token;
  for (int d = threadIdx.x; d < head_dim; d += blockDim.x)
    own[d] = static_cast<Element>(static_cast<float>(o[row * head_dim + d]));
  if (threadIdx.x == 0) lse_to[row] = static_cast<float>(lse[row]);
}

template <typename Element, int kHeadDim>
void start_forward(const Problem& problem, const OracleArguments& a) {
  const int bytes =
      static_cast<int>(sizeof(double)) * (3 * kTile * (kHeadDim + 1) + kTile * (kTile + 1) + 2 * kTile);
  const auto kernel = forward_kernel<Element, kHeadDim>;
  NATTEN_SIM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid(static_cast<unsigned>((problem.q_tokens + kTile - 1) / kTile),
                  static_cast<unsigned>(problem.batch * problem.heads));
  kernel<<<grid, kThreads, bytes>>>(a);
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

OracleArguments arguments_of(const Problem& problem, const Tensors& tensors, const DeviceBuffer& pairs) {
  constexpr std::int64_t kNoLimit = 1 << 29;
  OracleArguments a{};
  a.q = tensors.q;
  a.k = tensors.k;
  a.v = tensors.v;
  a.d_o = tensors.d_o;
  if (problem.pairs != nullptr) {
    a.pairs = static_cast<const std::uint64_t*>(pairs.data());
    a.words = static_cast<int>(problem.pairs->words());
  }
  a.q_strides = problem.q;
  a.k_strides = problem.k;
  a.v_strides = problem.v;
  a.o_strides = problem.o;
  a.heads = static_cast<int>(problem.heads);
  a.group = static_cast<int>(problem.heads / problem.heads_kv);
  a.q_tokens = static_cast<int>(problem.q_tokens);
  a.kv_tokens = static_cast<int>(problem.kv_tokens);
  a.left = static_cast<int>(std::min(problem.mask.left.value_or(kNoLimit), kNoLimit));
  a.right = static_cast<int>(std::min(problem.mask.right.value_or(kNoLimit), kNoLimit));
  a.scale = problem.softmax_scale();
  a.smallest = smallest_normal(problem.dtype);
  return a;
}

DeviceBuffer upload_pairs(const Problem& problem) {
  if (problem.pairs == nullptr) return {};
  const auto bits = problem.pairs->row(0);
  DeviceBuffer buffer(bits.size() * 8 * static_cast<std::size_t>(problem.q_tokens));
  buffer.copy_from_host(bits.data(), buffer.bytes());
  return buffer;
}

attention_forward::Reference forward_reference(const Problem& problem, const Tensors& tensors,
                                               const DeviceBuffer& pairs) {
  if (problem.pairs == nullptr) {
    return attention_forward::reference_on_gpu(forward_of(problem),
                                               {tensors.q, tensors.k, tensors.v, nullptr, nullptr});
  }
  const std::int64_t rows = problem.batch * problem.heads * problem.q_tokens;
  attention_forward::Reference made;
  made.o = doubles(rows * problem.head_dim);
  made.lse = doubles(rows);
  OracleArguments a = arguments_of(problem, tensors, pairs);
  a.o = data_of(made.o);
  a.lse = data_of(made.lse);
  dispatch(problem, [&]<typename Element, int kHeadDim>() { start_forward<Element, kHeadDim>(problem, a); });
  return made;
}

}  // namespace oracle

void write_forward(const Problem& problem, const Tensors& inputs, void* o, float* lse) {
  require_valid(problem);
  using namespace oracle;
  const DeviceBuffer pairs = upload_pairs(problem);
  const attention_forward::Reference forward = forward_reference(problem, inputs, pairs);
  const std::int64_t rows = problem.batch * problem.heads * problem.q_tokens;
  const auto convert = [&](auto* to) {
    convert_forward_kernel<<<static_cast<unsigned>((rows + 7) / 8), dim3(32, 8)>>>(
        data_of(forward.o), data_of(forward.lse), rows, static_cast<int>(problem.heads),
        static_cast<int>(problem.q_tokens), static_cast<int>(problem.head_dim), problem.o, to, lse);
    NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  };
  problem.dtype == Dtype::kFp16 ? convert(static_cast<__half*>(o)) : convert(static_cast<__nv_bfloat16*>(o));
  synchronize();  // before the temporaries go
}

}  // namespace natten_sim::kernels::attention_backward
