// Scores of a row to probabilities.
#pragma once

#include "attention_forward/output.cuh"

namespace natten_sim::kernels::attention_forward {

/// Scores of row `h` of a thread become probabilities relative to the row's maximum so far; what was summed
/// before is to be multiplied by the result. Row after row, so that the second row's maximum hides behind the
/// first one's exponentials (8 cycles each).
template <class T>
__device__ __forceinline__ float row_to_probabilities(float (&scores)[T::kKvTile / 2], int h, float scale_log2,
                                                      RowStatistics& rows) {
  constexpr int kBlocks = T::kKvTile / 8;
  float even = fmaxf(rows.max[h], scores[2 * h]), odd = scores[2 * h + 1];  // two chains, for latency
#pragma unroll
  for (int j = 1; j < kBlocks; ++j) {
    even = fmaxf(even, scores[4 * j + 2 * h]);
    odd = fmaxf(odd, scores[4 * j + 2 * h + 1]);
  }
  float top = fmaxf(even, odd);
  top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
  top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
  if constexpr (T::kRescale == Rescale::kFar || T::kRedo) {
    constexpr float kFar = 8;
    if ((top - rows.max[h]) * scale_log2 <= kFar) top = rows.max[h];
  }
  const float correction = exp2_approx((rows.max[h] - top) * scale_log2);  // of 0 it is 1
  rows.max[h] = top;
  const float offset = top * scale_log2;
  float sum_even = 0, sum_odd = 0;
#pragma unroll
  for (int j = 0; j < kBlocks; ++j) {
    float& x = scores[4 * j + 2 * h];
    float& y = scores[4 * j + 2 * h + 1];
    x = exp2_approx(fmaf(x, scale_log2, -offset));
    y = exp2_approx(fmaf(y, scale_log2, -offset));
    sum_even += x;
    sum_odd += y;
  }
  rows.sum[h] = fmaf(rows.sum[h], correction, sum_even + sum_odd);
  return correction;
}

/// The same relative to a maximum that is not looked for: for tiles without a mask, once every row has seen a
/// key.
template <class T>
__device__ __forceinline__ void add_row(float (&scores)[T::kKvTile / 2], int h, float scale_log2,
                                        RowStatistics& rows) {
  const float offset = rows.max[h] * scale_log2;
  float sum_even = 0, sum_odd = 0;
#pragma unroll
  for (int j = 0; j < T::kKvTile / 8; ++j) {
    float& x = scores[4 * j + 2 * h];
    float& y = scores[4 * j + 2 * h + 1];
    x = exp2_approx(fmaf(x, scale_log2, -offset));
    y = exp2_approx(fmaf(y, scale_log2, -offset));
    sum_even += x;
    sum_odd += y;
  }
  rows.sum[h] += sum_even + sum_odd;
}

}  // namespace natten_sim::kernels::attention_forward
