// Naive attention in double precision, and the comparison with it. One variant a head dimension and element
// type; floor 4 * pairs * head_dim operations over the double-precision rate; not tuned.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <natten_sim/kernels/attention_forward/oracle.hpp>

#include "gpu/cuda_check.cuh"

namespace natten_sim::kernels::attention_forward {
namespace {

constexpr double smallest_normal(Dtype dtype) { return dtype == Dtype::kFp16 ? 0x1p-14 : 0x1p-126; }

constexpr int kTile = 32;      // queries and keys of a block's step
constexpr int kThreads = 256;  // 16 x 16, two rows and two columns of scores each

/// K and V of the layout, or of the extra keys.
struct KeySource {
  const void *k, *v;
  TensorStrides k_strides, v_strides;
  int tokens;
};

struct OracleArguments {
  const void* q;
  KeySource layout, extra;
  double *o, *absolute, *lse;
  TensorStrides q_strides;
  int batch, heads, heads_per_kv_head;
  int q_tokens;
  double scale;
  double smallest_normal;               // of the element type: below it probabilities round absolutely
  int length[kMaxRank] = {1, 1, 1, 1};  // of the key layout, innermost first
  int query_length[kMaxRank] = {1, 1, 1, 1};
  int dilation[kMaxRank] = {1, 1, 1, 1};
  int first_range[kMaxRank] = {};
  const int2* ranges = nullptr;  // by axis and query coordinate: first and last key
};

__device__ bool sees(const OracleArguments& a, int query, int key) {
  for (int axis = 0; axis < static_cast<int>(kMaxRank); ++axis) {
    const int i = query % a.query_length[axis], j = key % a.length[axis];
    query /= a.query_length[axis];
    key /= a.length[axis];
    const int2 range = a.ranges[a.first_range[axis] + i];
    if (j < range.x || j > range.y || (j - range.x) % a.dilation[axis] != 0) return false;
  }
  return true;
}

template <typename Element, int kHeadDim>
__device__ void load_rows(double* target, const void* tensor, std::int64_t base, std::int64_t stride,
                          int first, int rows) {
  const Element* elements = static_cast<const Element*>(tensor);
  for (int i = threadIdx.x; i < kTile * kHeadDim; i += kThreads) {
    const int row = first + i / kHeadDim, column = i % kHeadDim;
    // Rows beyond the end are never seen; zero keeps 0 * x finite.
    target[i / kHeadDim * (kHeadDim + 1) + column] =
        row < rows ? static_cast<double>(static_cast<float>(elements[base + row * stride + column])) : 0.0;
  }
}

template <typename Element, int kHeadDim>
__device__ void load_keys(double* k, double* v, const KeySource& from, int batch, int head, int first) {
  const TensorStrides &ks = from.k_strides, &vs = from.v_strides;
  load_rows<Element, kHeadDim>(k, from.k, batch * ks.batch + head * ks.head, ks.token, first, from.tokens);
  load_rows<Element, kHeadDim>(v, from.v, batch * vs.batch + head * vs.head, vs.token, first, from.tokens);
}

/// Which of two queries see which of two keys, 16 apart; whether any does.
__device__ bool mark_seen(const OracleArguments& a, bool extra, int first_query, int first_key,
                          bool (&seen)[2][2]) {
  bool any = false;
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      const int query = first_query + r, key = first_key + 16 * c;
      seen[r][c] =
          query < a.q_tokens && (extra ? key < a.extra.tokens : key < a.layout.tokens && sees(a, query, key));
      any |= seen[r][c];
    }
  }
  return any;
}

/// One step of the online softmax of a row that 16 lanes share, two keys each, 16 apart: writes their
/// probabilities and returns what earlier ones are multiplied by.
__device__ double softmax_row(const double (&scores)[2], const bool (&seen)[2], double scale,
                              double* probabilities, double& top, double& sum) {
  double highest = top;
  for (int c = 0; c < 2; ++c) {
    if (seen[c]) highest = fmax(highest, scores[c] * scale);
  }
  for (int lane = 8; lane > 0; lane /= 2)
    highest = fmax(highest, __shfl_xor_sync(0xffffffffu, highest, lane));
  const double correction = highest == -INFINITY ? 1.0 : exp(top - highest);
  top = highest;
  double total = 0;
  for (int c = 0; c < 2; ++c) {
    const double probability = seen[c] ? exp(scores[c] * scale - highest) : 0.0;
    probabilities[16 * c] = probability;
    total += probability;
  }
  for (int lane = 8; lane > 0; lane /= 2) total += __shfl_xor_sync(0xffffffffu, total, lane);
  sum = sum * correction + total;
  return correction;
}

template <typename Element, int kHeadDim>
__global__ void __launch_bounds__(kThreads) oracle_kernel(OracleArguments a) {
  extern __shared__ double memory[];
  constexpr int kPitch = kHeadDim + 1, kMine = kHeadDim / 16;
  double *q = memory, *k = q + kTile * kPitch, *v = k + kTile * kPitch, *p = v + kTile * kPitch;
  const int head = blockIdx.y % a.heads, batch = blockIdx.y / a.heads, kv_head = head / a.heads_per_kv_head;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, first_query = blockIdx.x * kTile;
  load_rows<Element, kHeadDim>(q, a.q, batch * a.q_strides.batch + head * a.q_strides.head, a.q_strides.token,
                               first_query, a.q_tokens);
  double o[2][kMine] = {}, absolute[2][kMine] = {}, visible[2][kMine] = {}, top[2] = {-INFINITY, -INFINITY},
         sum[2] = {};
  const int layout_end = (a.layout.tokens + kTile - 1) / kTile * kTile;  // extra keys follow
  for (int position = 0; position < layout_end + a.extra.tokens; position += kTile) {
    const bool extra = position >= layout_end;
    const int first_key = extra ? position - layout_end : position;
    bool seen[2][2];
    // Also: everybody is done with the last K, V and P.
    if (__syncthreads_or(mark_seen(a, extra, first_query + 2 * ty, first_key + tx, seen)) == 0) continue;
    load_keys<Element, kHeadDim>(k, v, extra ? a.extra : a.layout, batch, kv_head, first_key);
    __syncthreads();
    double s[2][2] = {};
    for (int d = 0; d < kHeadDim; ++d) {
      for (int r = 0; r < 2; ++r) {
        for (int c = 0; c < 2; ++c) s[r][c] += q[(2 * ty + r) * kPitch + d] * k[(tx + 16 * c) * kPitch + d];
      }
    }
    for (int r = 0; r < 2; ++r) {
      const double correction =
          softmax_row(s[r], seen[r], a.scale, p + (2 * ty + r) * (kTile + 1) + tx, top[r], sum[r]);
      for (int i = 0; i < kMine; ++i) {
        o[r][i] *= correction;
        absolute[r][i] *= correction;
      }
    }
    __syncthreads();
    for (int key = 0; key < kTile; ++key) {
      const double p0 = p[2 * ty * (kTile + 1) + key], p1 = p[(2 * ty + 1) * (kTile + 1) + key];
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        const double value = v[key * kPitch + tx + 16 * i];
        o[0][i] += p0 * value;
        o[1][i] += p1 * value;
        absolute[0][i] += p0 * fabs(value);
        absolute[1][i] += p1 * fabs(value);
        visible[0][i] += p0 > 0 ? fabs(value) : 0;
        visible[1][i] += p1 > 0 ? fabs(value) : 0;
      }
    }
  }
  for (int r = 0; r < 2; ++r) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * a.q_tokens + first_query + 2 * ty + r;
    if (first_query + 2 * ty + r >= a.q_tokens) continue;
    const double scale = sum[r] > 0 ? 1 / sum[r] : 0;
    for (int i = 0; i < kMine; ++i) {
      a.o[row * kHeadDim + tx + 16 * i] = o[r][i] * scale;
      a.absolute[row * kHeadDim + tx + 16 * i] = (absolute[r][i] + a.smallest_normal * visible[r][i]) * scale;
    }
    if (tx == 0) a.lse[row] = sum[r] > 0 ? top[r] + log(sum[r]) : -INFINITY;
  }
}

struct Totals {
  double squared_error, squared_reference;
  unsigned long long worst_element, worst_lse;  // bits of doubles that are not negative
  unsigned long long wrong, wrong_lse;
};

__device__ void raise(unsigned long long* to, double value) {
  const unsigned long long bits = __double_as_longlong(value);
  if (bits > *reinterpret_cast<volatile unsigned long long*>(to)) atomicMax(to, bits);
}

template <typename Element>
__global__ void compare_kernel(const Element* o, TensorStrides strides, const float* lse,
                               const double* reference, const double* absolute, const double* reference_lse,
                               int heads, int q_tokens, int head_dim, std::int64_t rows, double unit,
                               double smallest, Totals* totals) {
  double error = 0, norm = 0;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t token = row % q_tokens, head = row / q_tokens % heads, batch = row / q_tokens / heads;
    const Element* mine = o + batch * strides.batch + head * strides.head + token * strides.token;
    for (int column = threadIdx.x; column < head_dim; column += blockDim.x) {
      const double got = static_cast<float>(mine[column]), expected = reference[row * head_dim + column];
      const double bound = unit * (fmax(fabs(expected), smallest) + absolute[row * head_dim + column]) +
                           4e-6 * absolute[row * head_dim + column] + 1e-30;
      const double off = fabs(got - expected);
      if (!(off <= bound)) atomicAdd(&totals->wrong, 1ull);
      if (off == off) raise(&totals->worst_element, off / bound);
      error += off * off;
      norm += expected * expected;
    }
    if (threadIdx.x == 0) {
      const double expected = reference_lse[row], got = lse[row];
      const double off = expected == got ? 0 : fabs(got - expected);
      const double cut = head_dim / 16 * 0x1p-23 * (isfinite(expected) ? fabs(expected) : 0.0);
      if (!(off <= kLseTolerance + cut)) atomicAdd(&totals->wrong_lse, 1ull);
      if (off == off) raise(&totals->worst_lse, off);
    }
  }
  atomicAdd(&totals->squared_error, error);
  atomicAdd(&totals->squared_reference, norm);
}

void add_axis(OracleArguments& a, std::vector<int2>& ranges, int axis, std::int64_t queries,
              std::int64_t keys, std::int64_t dilation) {
  a.length[axis] = static_cast<int>(keys);
  a.query_length[axis] = static_cast<int>(queries);
  a.dilation[axis] = static_cast<int>(dilation);
  a.first_range[axis] = static_cast<int>(ranges.size());
}

std::vector<int2> range_table(const Problem& problem, OracleArguments& a) {
  std::vector<int2> ranges;
  if (const Band* band = std::get_if<Band>(&problem.mask)) {
    add_axis(a, ranges, 0, problem.q_tokens, problem.kv_tokens, 1);
    for (std::int64_t i = 0; i < problem.q_tokens; ++i) {
      const std::int64_t diagonal = i + problem.kv_tokens - problem.q_tokens;
      const std::int64_t first = band->left ? std::max<std::int64_t>(diagonal - *band->left, 0) : 0;
      const std::int64_t last =
          band->right ? std::min(diagonal + *band->right, problem.kv_tokens - 1) : problem.kv_tokens - 1;
      ranges.push_back({static_cast<int>(first), static_cast<int>(std::max<std::int64_t>(last, -1))});
    }
  } else {
    const NeighborhoodMask& mask = std::get<Neighborhood>(problem.mask).mask;
    for (std::size_t i = 0; i < mask.rank(); ++i) {
      const AxisMask& axis = mask[mask.rank() - 1 - i];
      add_axis(a, ranges, static_cast<int>(i), axis.length, axis.length, axis.dilation);
      for (std::int64_t query = 0; query < axis.length; ++query) {
        const std::int64_t residue = query % axis.dilation;
        const TokenRange range = attended_range(residue_class(axis, residue), query / axis.dilation);
        ranges.push_back({static_cast<int>(range.begin * axis.dilation + residue),
                          static_cast<int>((range.end - 1) * axis.dilation + residue)});
      }
    }
  }
  for (std::size_t axis = 0; axis < kMaxRank; ++axis) {  // axes that there are not
    if (a.query_length[axis] != 1 || a.length[axis] != 1) continue;
    a.first_range[axis] = static_cast<int>(ranges.size());
    ranges.push_back({0, 0});
  }
  return ranges;
}

template <typename Element, int kHeadDim>
void start(const OracleArguments& a, dim3 grid) {
  const int bytes = static_cast<int>(sizeof(double)) * (3 * kTile * (kHeadDim + 1) + kTile * (kTile + 1));
  NATTEN_SIM_CUDA_CHECK(cudaFuncSetAttribute(oracle_kernel<Element, kHeadDim>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  oracle_kernel<Element, kHeadDim><<<grid, kThreads, bytes>>>(a);
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

template <typename Element>
void start(const OracleArguments& a, std::int64_t head_dim, dim3 grid) {
  switch (head_dim) {
    case 64:
      return start<Element, 64>(a, grid);
    case 96:
      return start<Element, 96>(a, grid);
    case 128:
      return start<Element, 128>(a, grid);
    case 160:
      return start<Element, 160>(a, grid);
    case 192:
      return start<Element, 192>(a, grid);
    case 256:
      return start<Element, 256>(a, grid);
    default:
      throw InvalidParameter("head_dim", std::to_string(head_dim), "64, 96, 128, 160, 192 or 256");
  }
}

}  // namespace

Reference reference_on_gpu(const Problem& problem, const Tensors& tensors) {
  require_valid(problem);
  const std::size_t rows = static_cast<std::size_t>(problem.batch * problem.heads * problem.q_tokens);
  Reference reference{DeviceBuffer(rows * static_cast<std::size_t>(problem.head_dim) * sizeof(double)),
                      DeviceBuffer(rows * static_cast<std::size_t>(problem.head_dim) * sizeof(double)),
                      DeviceBuffer(rows * sizeof(double))};
  OracleArguments a{};
  a.q = tensors.q;
  a.layout = {tensors.k, tensors.v, problem.k, problem.v, static_cast<int>(problem.kv_tokens)};
  a.extra = {tensors.extra_k, tensors.extra_v, problem.extra_k, problem.extra_v,
             static_cast<int>(problem.extra_tokens)};
  a.o = static_cast<double*>(reference.o.data());
  a.absolute = static_cast<double*>(reference.absolute.data());
  a.lse = static_cast<double*>(reference.lse.data());
  a.q_strides = problem.q;
  a.batch = static_cast<int>(problem.batch);
  a.heads = static_cast<int>(problem.heads);
  a.heads_per_kv_head = static_cast<int>(problem.heads / problem.heads_kv);
  a.q_tokens = static_cast<int>(problem.q_tokens);
  a.scale = problem.softmax_scale();
  a.smallest_normal = smallest_normal(problem.dtype);
  const std::vector<int2> ranges = range_table(problem, a);
  DeviceBuffer table(ranges.size() * sizeof(int2));
  table.copy_from_host(ranges.data(), ranges.size() * sizeof(int2));
  a.ranges = static_cast<const int2*>(table.data());
  const dim3 grid(static_cast<unsigned>((problem.q_tokens + kTile - 1) / kTile),
                  static_cast<unsigned>(problem.batch * problem.heads));
  if (problem.dtype == Dtype::kFp16) {
    start<__half>(a, problem.head_dim, grid);
  } else {
    start<__nv_bfloat16>(a, problem.head_dim, grid);
  }
  synchronize();  // before the table goes
  return reference;
}

Deviation deviation(const Problem& problem, const Tensors& tensors, const Reference& reference) {
  DeviceBuffer buffer(sizeof(Totals));
  buffer.fill(0);
  const std::int64_t rows = problem.batch * problem.heads * problem.q_tokens;
  const auto compare = [&](const auto* o, double unit) {
    compare_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(rows, 4096)), 64>>>(
        o, problem.o, tensors.lse, static_cast<const double*>(reference.o.data()),
        static_cast<const double*>(reference.absolute.data()),
        static_cast<const double*>(reference.lse.data()), static_cast<int>(problem.heads),
        static_cast<int>(problem.q_tokens), static_cast<int>(problem.head_dim), rows, unit,
        smallest_normal(problem.dtype), static_cast<Totals*>(buffer.data()));
    NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  };
  if (problem.dtype == Dtype::kFp16) {
    compare(static_cast<const __half*>(tensors.o), 0x1p-11);
  } else {
    compare(static_cast<const __nv_bfloat16*>(tensors.o), 0x1p-8);
  }
  Totals totals{};
  buffer.copy_to_host(&totals, sizeof totals);
  Deviation made;
  made.relative_norm = std::sqrt(totals.squared_error / totals.squared_reference);
  const auto value = [](unsigned long long bits) {
    double number = 0;
    static_assert(sizeof bits == sizeof number);
    std::memcpy(&number, &bits, sizeof number);
    return number;
  };
  made.worst_element = value(totals.worst_element);
  made.worst_lse = value(totals.worst_lse);
  made.wrong = static_cast<std::int64_t>(totals.wrong);
  made.wrong_lse = static_cast<std::int64_t>(totals.wrong_lse);
  return made;
}

}  // namespace natten_sim::kernels::attention_forward
