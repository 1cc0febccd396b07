// Gradients against their references, element by element. Floor 18 bytes an element over the memory's rate.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <natten_sim/kernels/attention_backward/oracle.hpp>

#include "attention_backward/smallest_normal.hpp"
#include "gpu/cuda_check.cuh"

namespace natten_sim::kernels::attention_backward {
namespace {

struct Totals {
  double squared_error, squared_reference;
  unsigned long long worst_element;  // bits of a double that is not negative
  unsigned long long wrong;
};

template <typename Element>
__global__ void compare_kernel(const Element* mine, TensorStrides strides, const double* value,
                               const double* absolute, int heads, int tokens, int head_dim, std::int64_t rows,
                               double unit, double smallest, Totals* totals) {
  double error = 0, norm = 0;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t token = row % tokens, head = row / tokens % heads, batch = row / tokens / heads;
    const Element* own = mine + batch * strides.batch + head * strides.head + token * strides.token;
    for (int column = threadIdx.x; column < head_dim; column += blockDim.x) {
      const double got = static_cast<float>(own[column]), expected = value[row * head_dim + column];
      const double sums = absolute[row * head_dim + column];
      const double bound = unit * (fmax(fabs(expected), smallest) + sums) + 2e-5 * sums;
      const double off = fabs(got - expected);
      if (!(off <= bound)) atomicAdd(&totals->wrong, 1ull);
      if (off == off)
        atomicMax(&totals->worst_element, static_cast<unsigned long long>(__double_as_longlong(off / bound)));
      error += off * off;
      norm += expected * expected;
    }
  }
  atomicAdd(&totals->squared_error, error);
  atomicAdd(&totals->squared_reference, norm);
}

GradientDeviation compare(const Problem& problem, const void* mine, const TensorStrides& strides,
                          const ReferenceGradient& reference, std::int64_t heads, std::int64_t tokens) {
  DeviceBuffer buffer(sizeof(Totals));
  buffer.fill(0);
  const std::int64_t rows = problem.batch * heads * tokens;
  const auto run = [&](const auto* elements, double unit) {
    compare_kernel<<<static_cast<unsigned>(std::min<std::int64_t>(rows, 4096)), 64>>>(
        elements, strides, static_cast<const double*>(reference.value.data()),
        static_cast<const double*>(reference.absolute.data()), static_cast<int>(heads),
        static_cast<int>(tokens), static_cast<int>(problem.head_dim), rows, unit,
        smallest_normal(problem.dtype), static_cast<Totals*>(buffer.data()));
    NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  };
  if (problem.dtype == Dtype::kFp16) {
    run(static_cast<const __half*>(mine), 0x1p-11);
  } else {
    run(static_cast<const __nv_bfloat16*>(mine), 0x1p-8);
  }
  Totals totals{};
  buffer.copy_to_host(&totals, sizeof totals);
  GradientDeviation made;
  made.relative_norm = std::sqrt(totals.squared_error / std::max(totals.squared_reference, 1e-300));
  std::memcpy(&made.worst_element, &totals.worst_element, sizeof made.worst_element);
  made.wrong = static_cast<std::int64_t>(totals.wrong);
  return made;
}

}  // namespace

Deviation deviation(const Problem& problem, const Tensors& tensors, const Reference& reference) {
  return {compare(problem, tensors.dq, problem.q, reference.dq, problem.heads, problem.q_tokens),
          compare(problem, tensors.dk, problem.k, reference.dk, problem.heads_kv, problem.kv_tokens),
          compare(problem, tensors.dv, problem.v, reference.dv, problem.heads_kv, problem.kv_tokens)};
}

}  // namespace natten_sim::kernels::attention_backward
