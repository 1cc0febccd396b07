// Scores of a row to probabilities.
#pragma once

#include "attention_forward/output.cuh"

namespace natten_sim::kernels::attention_forward {

/// 2^x on the FMA units, for the elements that would keep the special function unit (16 a clock and SM) busy
/// longest. x = n + f, |f| <= 1/2; a polynomial for 2^f, n added to its exponent. x is raised to -126 first, so
/// that 2^-inf is 1e-38 and not 0: only for rows that have seen a key. Relative error 7.5e-5 (degree 3) or 2.6e-6
/// (degree 4).
template <int kDegree>
__device__ __forceinline__ float exp2_polynomial(float x) {
  static_assert(kDegree == 3 || kDegree == 4);
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: an addition rounds to an integer, in the low bits
  x = fmaxf(x, -126.0f);
  const float rounded = x + kMagic;
  const float f = x - (rounded - kMagic);
  float power = 0;
  if constexpr (kDegree == 3) {
    power = fmaf(fmaf(fmaf(0.0551715704f, f, 0.2426111206f), f, 0.6932610042f), f, 0.9999280741f);
  } else {
    power = fmaf(
        fmaf(fmaf(fmaf(0.0095700905f, f, 0.0559178603f), f, 0.2402474512f), f, 0.6931218148f), f, 0.9999992614f);
  }
  return __int_as_float(__float_as_int(power) + (__float_as_int(rounded) << 23));
}

/// Of elements 0..7 of a run of 8, those that go the other way: `kOf8` of them, spread out.
template <int kOf8>
__device__ constexpr bool polynomial_element(int i) {
  return i * kOf8 % 8 < kOf8;
}

/// Scores of row `h` of a thread become probabilities relative to the row's maximum so far; what was summed
/// before is to be multiplied by the result. Row after row, so that the second row's maximum hides behind the
/// first one's exponentials (8 cycles each).
template <class T, int kPolynomial>
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
  if constexpr (T::kRescale == Rescale::kFar) {
    constexpr float kFar = 8;
    if ((top - rows.max[h]) * scale_log2 <= kFar) top = rows.max[h];
  }
  const float correction = exp2_approx((rows.max[h] - top) * scale_log2);  // of 0 it is 1
  rows.max[h] = top;
  const float offset = top * scale_log2;
  constexpr int kDegree = sizeof(typename T::Element) == 2 && __is_same(typename T::Element, __half) ? 4 : 3;
  const auto power = [&](float score, bool polynomial) {
    const float x = fmaf(score, scale_log2, -offset);
    return polynomial ? exp2_polynomial<kDegree>(x) : exp2_approx(x);
  };
  float sum_even = 0, sum_odd = 0;
#pragma unroll
  for (int j = 0; j < kBlocks; ++j) {
    float& x = scores[4 * j + 2 * h];
    float& y = scores[4 * j + 2 * h + 1];
    x = power(x, polynomial_element<kPolynomial>(2 * j));
    y = power(y, polynomial_element<kPolynomial>(2 * j + 1));
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
