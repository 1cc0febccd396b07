// Naive attention backward in double precision: one kernel walks the keys of 32
// queries for dQ, one the queries of 32 keys for dK and dV. Floor 14 * pairs * head_dim operations over the
// double-precision rate; not tuned.
#include <algorithm>
#include <cmath>

#include "attention_backward/oracle.cuh"
#include "gpu/cuda_check.cuh"

namespace natten_sim::kernels::attention_backward {
namespace {

using namespace oracle;

/// rowsum(O * dO), and the same of absolute values. One thread a row.
template <typename Element, int kHeadDim>
__global__ void delta_kernel(OracleArguments a, std::int64_t rows) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const std::int64_t token = row % a.q_tokens, head = row / a.q_tokens % a.heads,
                     batch = row / a.q_tokens / a.heads;
  const std::int64_t at = batch * a.o_strides.batch + head * a.o_strides.head + token * a.o_strides.token;
  double sum = 0, absolute = 0;
  for (int d = 0; d < kHeadDim; ++d) {
    const double product = a.o[row * kHeadDim + d] * element<Element>(a.d_o, at + d);
    sum += product;
    absolute += fabs(product);
  }
  a.delta[row] = sum;
  a.delta_absolute[row] = absolute;
}

/// P, dS and what dS's errors are relative to, of 32 queries x 32 keys, into shared memory: [query][key].
template <int kHeadDim>
__device__ void tile_scores(const OracleArguments& a, const double* q, const double* d_o, const double* k,
                            const double* v, std::int64_t first_row, int first_query, int first_key,
                            double* p, double* p_absolute, double* ds, double* ds_absolute) {
  constexpr int kPitch = kHeadDim + 1;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  double s[2][2] = {}, dp[2][2] = {};
  for (int d = 0; d < kHeadDim; ++d) {
    for (int r = 0; r < 2; ++r) {
      const int query = 2 * ty + r;
      for (int c = 0; c < 2; ++c) {
        const int key = tx + 16 * c;
        s[r][c] += q[query * kPitch + d] * k[key * kPitch + d];
        dp[r][c] += d_o[query * kPitch + d] * v[key * kPitch + d];
      }
    }
  }
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      const int query = first_query + 2 * ty + r, key = first_key + tx + 16 * c;
      const bool attends = sees(a, query, key);
      const int at = (2 * ty + r) * (kTile + 1) + tx + 16 * c;
      const double probability = attends ? exp(s[r][c] * a.scale - a.lse[first_row + query]) : 0.0;
      const double centred = attends ? dp[r][c] - a.delta[first_row + query] : 0.0;
      p[at] = probability;
      p_absolute[at] = attends ? fmax(probability, a.smallest) : 0.0;
      ds[at] = probability * centred;
      ds_absolute[at] = attends ? fmax(probability * fabs(centred), a.smallest) +
                                      probability * a.delta_absolute[first_row + query]
                                : 0.0;
    }
  }
}

/// What a thread sums for its two rows and its columns, 16 apart: dQ, or dK as x and dV as y.
template <int kHeadDim>
struct Sums {
  double x[2][kHeadDim / 16] = {}, x_absolute[2][kHeadDim / 16] = {};
  double y[2][kHeadDim / 16] = {}, y_absolute[2][kHeadDim / 16] = {};
};

/// `left`: rows of K for queries, of Q for keys.
template <int kHeadDim, bool kOfQueries>
__device__ void accumulate(const double* left, const double* d_o, const double* p, const double* p_absolute,
                           const double* ds, const double* ds_absolute, Sums<kHeadDim>& sums) {
  constexpr int kPitch = kHeadDim + 1;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int step = 0; step < kTile; ++step) {
    for (int r = 0; r < 2; ++r) {
      const int row = 2 * ty + r;
      const int at = kOfQueries ? row * (kTile + 1) + step : step * (kTile + 1) + row;
#pragma unroll
      for (int i = 0; i < kHeadDim / 16; ++i) {
        const double value = left[step * kPitch + tx + 16 * i];
        sums.x[r][i] += ds[at] * value;
        sums.x_absolute[r][i] += ds_absolute[at] * fabs(value);
        if (kOfQueries) continue;
        const double gradient = d_o[step * kPitch + tx + 16 * i];
        sums.y[r][i] += p[at] * gradient;
        sums.y_absolute[r][i] += p_absolute[at] * fabs(gradient);
      }
    }
  }
}

template <int kHeadDim, bool kOfQueries>
__device__ void store_sums(const OracleArguments& a, int first_row, const Sums<kHeadDim>& sums) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int rows = kOfQueries ? a.q_tokens : a.kv_tokens;
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + 2 * ty + r;
    if (row >= rows) continue;
    for (int i = 0; i < kHeadDim / 16; ++i) {
      const std::int64_t at = (static_cast<std::int64_t>(blockIdx.y) * rows + row) * kHeadDim + tx + 16 * i;
      (kOfQueries ? a.dq : a.dk)[at] = sums.x[r][i] * a.scale;
      (kOfQueries ? a.dq_absolute : a.dk_absolute)[at] = sums.x_absolute[r][i] * a.scale;
      if (kOfQueries) continue;
      a.dv[at] = sums.y[r][i];
      a.dv_absolute[at] = sums.y_absolute[r][i];
    }
  }
}

/// One block: 32 queries (kOfQueries) or 32 keys of one query head or KV head.
template <typename Element, int kHeadDim, bool kOfQueries>
__global__ void __launch_bounds__(kThreads) gradient_kernel(OracleArguments a) {
  extern __shared__ double memory[];
  constexpr int kPitch = kHeadDim + 1, kMatrix = kTile * kPitch, kScores = kTile * (kTile + 1);
  double *q = memory, *d_o = q + kMatrix, *k = d_o + kMatrix, *v = k + kMatrix;
  double *p = v + kMatrix, *p_absolute = p + kScores, *ds = p_absolute + kScores, *ds_absolute = ds + kScores;
  const int kv_heads = a.heads / a.group;
  const int of_heads = kOfQueries ? a.heads : kv_heads;
  const int batch = blockIdx.y / of_heads, own_head = blockIdx.y % of_heads;
  const int kv_head = kOfQueries ? own_head / a.group : own_head;
  const int own = blockIdx.x * kTile;
  const auto load_queries = [&](int head, int first) {
    load_rows<Element, kHeadDim>(q, a.q, batch * a.q_strides.batch + head * a.q_strides.head,
                                 a.q_strides.token, first, a.q_tokens);
    load_rows<Element, kHeadDim>(d_o, a.d_o, batch * a.o_strides.batch + head * a.o_strides.head,
                                 a.o_strides.token, first, a.q_tokens);
  };
  const auto load_keys = [&](int first) {
    load_rows<Element, kHeadDim>(k, a.k, batch * a.k_strides.batch + kv_head * a.k_strides.head,
                                 a.k_strides.token, first, a.kv_tokens);
    load_rows<Element, kHeadDim>(v, a.v, batch * a.v_strides.batch + kv_head * a.v_strides.head,
                                 a.v_strides.token, first, a.kv_tokens);
  };
  if (!kOfQueries) load_keys(own);
  Sums<kHeadDim> sums;
  const int first_head = kOfQueries ? own_head : kv_head * a.group;
  for (int head = first_head; head < first_head + (kOfQueries ? 1 : a.group); ++head) {
    const std::int64_t first_row = (static_cast<std::int64_t>(batch) * a.heads + head) * a.q_tokens;
    if (kOfQueries) load_queries(head, own);
    for (int other = 0; other < (kOfQueries ? a.kv_tokens : a.q_tokens); other += kTile) {
      const int first_query = kOfQueries ? own : other, first_key = kOfQueries ? other : own;
      if (!some_attend(a, first_query, first_key)) continue;
      kOfQueries ? load_keys(other) : load_queries(head, other);
      __syncthreads();
      tile_scores<kHeadDim>(a, q, d_o, k, v, first_row, first_query, first_key, p, p_absolute, ds,
                            ds_absolute);
      __syncthreads();
      accumulate<kHeadDim, kOfQueries>(kOfQueries ? k : q, d_o, p, p_absolute, ds, ds_absolute, sums);
      __syncthreads();
    }
  }
  store_sums<kHeadDim, kOfQueries>(a, own, sums);
}

template <typename Element, int kHeadDim, bool kOfQueries>
void start(const OracleArguments& a, std::int64_t tokens, std::int64_t heads) {
  const int bytes = static_cast<int>(sizeof(double)) * (4 * kTile * (kHeadDim + 1) + 4 * kTile * (kTile + 1));
  const auto kernel = gradient_kernel<Element, kHeadDim, kOfQueries>;
  NATTEN_SIM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid(static_cast<unsigned>((tokens + kTile - 1) / kTile), static_cast<unsigned>(heads));
  kernel<<<grid, kThreads, bytes>>>(a);
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

template <typename Element, int kHeadDim>
void start_all(const Problem& problem, const OracleArguments& a) {
  const std::int64_t rows = problem.batch * problem.heads * problem.q_tokens;
  delta_kernel<Element, kHeadDim><<<static_cast<unsigned>((rows + 127) / 128), 128>>>(a, rows);
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  start<Element, kHeadDim, true>(a, problem.q_tokens, problem.batch * problem.heads);
  start<Element, kHeadDim, false>(a, problem.kv_tokens, problem.batch * problem.heads_kv);
}

}  // namespace

Reference reference_on_gpu(const Problem& problem, const Tensors& tensors) {
  require_valid(problem);
  const DeviceBuffer pairs = upload_pairs(problem);
  const attention_forward::Reference forward = forward_reference(problem, tensors, pairs);
  const auto gradient = [&](std::int64_t heads, std::int64_t tokens) {
    const std::int64_t count = problem.batch * heads * tokens * problem.head_dim;
    return ReferenceGradient{doubles(count), doubles(count)};
  };
  Reference made{gradient(problem.heads, problem.q_tokens), gradient(problem.heads_kv, problem.kv_tokens),
                 gradient(problem.heads_kv, problem.kv_tokens)};
  const std::int64_t rows = problem.batch * problem.heads * problem.q_tokens;
  const DeviceBuffer delta = doubles(rows), delta_absolute = doubles(rows);
  OracleArguments a = arguments_of(problem, tensors, pairs);
  a.o = data_of(forward.o);
  a.lse = data_of(forward.lse);
  a.delta = data_of(delta);
  a.delta_absolute = data_of(delta_absolute);
  a.dq = data_of(made.dq.value);
  a.dq_absolute = data_of(made.dq.absolute);
  a.dk = data_of(made.dk.value);
  a.dk_absolute = data_of(made.dk.absolute);
  a.dv = data_of(made.dv.value);
  a.dv_absolute = data_of(made.dv.absolute);
  dispatch(problem, [&]<typename Element, int kHeadDim>() { start_all<Element, kHeadDim>(problem, a); });
  synchronize();  // before the temporaries go
  return made;
}

}  // namespace natten_sim::kernels::attention_backward
