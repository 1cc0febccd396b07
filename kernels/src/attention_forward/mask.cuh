// Masks of partial tiles. A thread looks at two rows and, of each row, at columns 8 * j + 2 * quarter + e:
// bit 2 * j + e of a word, 128 columns a word. A row sees keys [begin, end) on each axis, so its word is a
// product of ranges: prefix(end) without prefix(begin), prefix(v) = columns whose coordinate lies before v.
//
// Masks by products leave that to the tensor cores. A feature is a coordinate on an axis of the KV tile. A
// key has 1 where the coordinate is its own; a query has the lowest bfloat16 where it does not see the
// coordinate. The sum over features is 0 where the query sees the key, and else so low that no probability is
// left; it is added to S as 16 more columns of Q and K. A thread writes the features of its rows, a few
// instructions each, and no element of S is looked at.
#pragma once

#include <cstdint>

#include "attention_forward/work.cuh"

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

/// Extra keys: `left` from the first one of the tile on.
template <int kWidth>
__device__ __forceinline__ void hide_extra(float (&scores)[kWidth / 2], int left, int quarter) {
  const std::uint32_t seen = columns_before(left, quarter);
  hide<kWidth>(scores, 0, 0, seen);
  hide<kWidth>(scores, 1, 0, seen);
}

/// `prefix`: shared memory, 4 words (one a quarter) for each axis and each coordinate 0..side.
template <int kWidth>
__device__ __forceinline__ void hide_box(float (&scores)[kWidth / 2], const RowRanges& ranges,
                                         const MaskedTile& tile, const Arguments& a,
                                         const std::uint32_t* prefix, int quarter) {
  static_assert(kWidth <= 128);
  const int at[3] = {tile.x, tile.y, tile.z};
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

/// Of a thread's two rows and its pairs of features, two a product: when the first of a pair is at coordinate
/// c of the KV tile, a row sees the key at origin + c iff origin - begin < count, unsigned. Packed, since
/// loops without a mask have better uses for registers: axes of groups are shorter than 2^15.
template <int kProducts>
struct FeatureRanges {
  std::uint32_t count_begin[2][2 * kProducts];  // count in the upper half
  std::uint32_t axes = 0;                       // two bits a pair
};

__device__ __forceinline__ int coordinate_pair(const Arguments& a, int pair, int quarter) {
  return a.coordinate_pairs[4 * pair + quarter];
}

/// The queries' half of a product for a KV tile, as wgmma's A operand; nothing is hidden unless the tile
/// needs the product.
template <int kProducts>
__device__ __forceinline__ void hidden_features(std::uint32_t (&features)[4],
                                                const FeatureRanges<kProducts>& ranges, int product,
                                                const MaskedTile& tile) {
  const std::uint32_t lowest = (tile.products >> product & 1) != 0 ? 0xff7f : 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t axis = ranges.axes >> (4 * product + 2 * half) & 3;
    const int at = axis == 0 ? tile.x : axis == 1 ? tile.y : tile.z;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      // Not an index that is known at run time: the array would not stay in registers.
      const std::uint32_t packed = kProducts == 2 && product == 1
                                       ? ranges.count_begin[row][2 * kProducts - 2 + half]
                                       : ranges.count_begin[row][half];
      const unsigned before = static_cast<unsigned>(at - static_cast<std::int16_t>(packed));
      const unsigned count = packed >> 16;
      features[2 * half + row] = (before >= count ? lowest : 0) | (before + 1 >= count ? lowest << 16 : 0);
    }
  }
}

/// The keys' half, the same for all tiles: `to` holds kProducts operands of kKvTile rows.
template <int kProducts, int kKvTile>
__device__ __forceinline__ void write_key_features(const Arguments& a, std::uint8_t* to) {
  constexpr std::uint32_t kOne = 0x3f80;
  for (int i = threadIdx.x; i < kProducts * kPairsAProduct * kKvTile; i += blockDim.x) {
    const int key = i % kKvTile, number = i / kKvTile;
    const int pair = a.coordinate_pairs[number];
    const int y = key / a.kv_tile[0];
    const int z = y / a.kv_tile[1];
    const int at[3] = {key - y * a.kv_tile[0], y - z * a.kv_tile[1], z};
    const int axis = pair >> 8;
    const int beyond_first = (axis == 0 ? at[0] : axis == 1 ? at[1] : at[2]) - (pair & 255);
    const int product = number / kPairsAProduct, of_product = number % kPairsAProduct;
    const int offset =
        product * 32 * kKvTile + key / 8 * 256 + of_product / 4 * 128 + key % 8 * 16 + of_product % 4 * 4;
    *reinterpret_cast<std::uint32_t*>(to + offset) = beyond_first == 0   ? kOne
                                                     : beyond_first == 1 ? kOne << 16
                                                                         : 0;
  }
}

}  // namespace natten_sim::kernels::attention_forward
