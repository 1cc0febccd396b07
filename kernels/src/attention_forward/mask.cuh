// Masks of partial tiles. A thread looks at two rows and, of each row, at columns 8 * j + 2 * quarter + e:
// bit 2 * j + e of a word, 128 columns a word. A row sees keys [begin, end) on each axis, so its word is a
// product of ranges: prefix(end) without prefix(begin), prefix(v) = columns whose coordinate lies before v.
#pragma once

#include <cstdint>

#include "attention_forward/arguments.hpp"

namespace natten_sim::kernels::attention_forward {

/// One axis: columns before `v` among 128; any v.
__device__ __forceinline__ std::uint32_t columns_before(int v, int quarter) {
  const int left = min(max(v - 2 * quarter, 0), 128);
  const int bits = 2 * (left >> 3) + min(left & 7, 2);
  return bits >= 32 ? 0xffffffffu : (1u << bits) - 1;
}

/// Keys that the two rows of a thread see, an axis each; kBand uses the first.
struct RowRanges {
  int2 of[2][3];
};

template <int kWidth>
__device__ __forceinline__ void hide(float (&scores)[kWidth / 2], int row, int word, std::uint32_t seen) {
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    const int block = 16 * word + j;
    if (block >= kWidth / 8) continue;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if ((seen >> (2 * j + e) & 1) == 0) scores[4 * block + 2 * row + e] = -__int_as_float(0x7f800000);
    }
  }
}

template <int kWidth>
__device__ __forceinline__ void hide_band(float (&scores)[kWidth / 2], const RowRanges& ranges, int first_key,
                                          int quarter) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
#pragma unroll
    for (int word = 0; word < (kWidth + 127) / 128; ++word) {
      const int base = first_key + 128 * word;
      hide<kWidth>(scores, row, word,
                   columns_before(ranges.of[row][0].y - base, quarter) &
                       ~columns_before(ranges.of[row][0].x - base, quarter));
    }
  }
}

/// `prefix`: shared memory, 4 words (one a quarter) for each axis and each coordinate 0..side.
template <int kWidth>
__device__ __forceinline__ void hide_box(float (&scores)[kWidth / 2], const RowRanges& ranges, int3 origin,
                                         const Arguments& a, const std::uint32_t* prefix, int quarter) {
  static_assert(kWidth <= 128);
  const int at[3] = {origin.x, origin.y, origin.z};
  if (origin.x < 0) {  // extra keys
    const std::uint32_t seen = columns_before(-origin.x, quarter);
    hide<kWidth>(scores, 0, 0, seen);
    hide<kWidth>(scores, 1, 0, seen);
    return;
  }
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    std::uint32_t seen = 0xffffffffu;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const int begin = min(max(ranges.of[row][axis].x - at[axis], 0), a.kv_tile[axis]);
      const int end = min(max(ranges.of[row][axis].y - at[axis], 0), a.kv_tile[axis]);
      const std::uint32_t* table = prefix + 4 * a.first_prefix[axis] + quarter;
      seen &= table[4 * end] & ~table[4 * begin];
    }
    hide<kWidth>(scores, row, 0, seen);
  }
}

}  // namespace natten_sim::kernels::attention_forward
