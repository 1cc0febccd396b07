// The five products of a task, by one of the eight warps. S and dP are computed transposed, 16 keys by
// all queries of the tile, so that accumulators of P and dS are the left operands of dV and dK in registers;
// only dS passes through shared memory, for dQ. A thread holds the same scores as in the sm_90a engine, which
// is why masks and patterns serve both.
#pragma once

#include "attention_backward/sm80/tiles.cuh"

namespace natten_sim::kernels::attention_backward::sm80 {

/// Accumulator number j of m16n8k16 among those of a warp.
template <int kCount>
__device__ __forceinline__ float (&accumulator(float (&all)[kCount], int j))[4] {
  return *reinterpret_cast<float(*)[4]>(all + 4 * j);
}

template <class T>
struct Products {
  using Element = typename T::Element;
  static constexpr int kScores = T::kQTile / 2;       // registers of S and of dP
  static constexpr int kPacked = kScores / 2;         // of P and dS as operands
  static constexpr int kGradients = T::kHeadDim / 2;  // of dK and of dV
  static constexpr int kDqParts = 32;
  static constexpr int kDepth = T::kHeadDim / 16;  // steps of S and dP
  static constexpr int kColumns = T::kQTile / 8;   // accumulators of S
  static constexpr int kDqRows = T::kQTile / 32;   // warps along the rows of dQ

  int warp, lane;

  /// The same, whose addresses are computed again.
  [[nodiscard]] __device__ __forceinline__ Products again() const {
    return {recomputed(warp), recomputed(lane)};
  }

  // Addresses of fragments, relative to a tile. Left operands and transposed right ones: 16 rows, two chunks.
  // Right operands as they lie and transposed left ones: the halves the other way round.
  __device__ __forceinline__ int down() const { return lane & 15; }
  __device__ __forceinline__ int across() const { return lane >> 4; }
  __device__ __forceinline__ int down_turned() const { return (lane & 7) + (lane >> 4 << 3); }
  __device__ __forceinline__ int across_turned() const { return lane >> 3 & 1; }

  /// One step of the head dimension of this warp's rows of K or V times the transpose of rows of Q or dO, as
  /// many as `to` has room for.
  template <int kCount>
  __device__ __forceinline__ void score_step(float (&to)[kCount], const std::uint8_t* keys,
                                             const std::uint8_t* queries, int step) const {
    const std::uint32_t left =
        shared_address(keys) + chunk_offset<T::kRowBytes>(16 * warp + down(), across());
    const std::uint32_t right =
        shared_address(queries) + chunk_offset<T::kRowBytes>(down_turned(), across_turned());
    Fragment key;
    load_matrices(key, chunk_pair<T::kRowBytes>(left, step));
#pragma unroll
    for (int j = 0; j < kCount / 8; ++j) {
      Fragment query;
      load_matrices(query, chunk_pair<T::kRowBytes>(right, step) + j * 16 * T::kRowBytes);
      multiply<Element>(accumulator(to, 2 * j), key, query[0], query[1]);
      multiply<Element>(accumulator(to, 2 * j + 1), key, query[2], query[3]);
    }
  }

  /// to += packed (16 keys x Q tile) times dO or Q.
  __device__ __forceinline__ void add_gradient(float (&to)[kGradients],
                                               const std::uint32_t (&packed)[kPacked],
                                               const std::uint8_t* queries) const {
    const std::uint32_t right = shared_address(queries) + chunk_offset<T::kRowBytes>(down(), across());
#pragma unroll
    for (int i = 0; i < T::kQTile / 16; ++i) {
      const Fragment left = {packed[4 * i], packed[4 * i + 1], packed[4 * i + 2], packed[4 * i + 3]};
#pragma unroll
      for (int d = 0; d < T::kHeadDim / 16; ++d) {
        Fragment row;
        load_matrices_transposed(row, chunk_pair<T::kRowBytes>(right, d) + i * 16 * T::kRowBytes);
        multiply<Element>(accumulator(to, 2 * d), left, row[0], row[1]);
        multiply<Element>(accumulator(to, 2 * d + 1), left, row[2], row[3]);
      }
    }
  }

  /// dS of this warp's keys to shared memory, a row a key.
  __device__ __forceinline__ void store_ds(std::uint8_t* ds, const std::uint32_t (&packed)[kPacked]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 16 * warp + 8 * half + lane / 4;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        *reinterpret_cast<std::uint32_t*>(ds + chunk_offset<T::kDsRowBytes>(row, j) + (lane & 3) * 4) =
            packed[2 * j + half];
      }
    }
  }

  /// This warp's 32 queries and 32 columns of dS K.
  __device__ __forceinline__ void dq(float (&to)[kDqParts], const std::uint8_t* ds,
                                     const std::uint8_t* k) const {
#pragma unroll
    for (int i = 0; i < kDqParts; ++i) to[i] = 0;
    const std::uint32_t left =
        shared_address(ds) +
        chunk_offset<T::kDsRowBytes>(down_turned(), 4 * (warp % kDqRows) + across_turned());
    const std::uint32_t right =
        shared_address(k) + chunk_offset<T::kRowBytes>(down(), 4 * (warp / kDqRows) + across());
#pragma unroll
    for (int i = 0; i < T::kKvTile / 16; ++i) {
      Fragment score[2], key[2];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        load_matrices_transposed(score[m], (left ^ m * 32) + i * 16 * T::kDsRowBytes);
        load_matrices_transposed(key[m], (right ^ m * 32) + i * 16 * T::kRowBytes);
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          multiply<Element>(accumulator(to, 4 * m + j), score[m], key[j / 2][2 * (j % 2)],
                            key[j / 2][2 * (j % 2) + 1]);
        }
      }
    }
  }

  /// Where this thread's part lies in a dQ tile, in float4s: the order in which the sm_90a engine leaves its
  /// accumulators, so that one kernel converts both. Two parts of 64 x 64, each in columns of eight, each of
  /// 128 threads' four numbers.
  __device__ __forceinline__ int dq_place() const {
    const int row = 32 * (warp % kDqRows), column = 32 * (warp / kDqRows);
    const int part = T::kHeadDim == 64 ? row / 64 : column / 64;
    return part * 1024 + column % 64 / 8 * 128 + row % 64 * 2 + lane;
  }
  /// The same for accumulator 4 * m + j, relative to that.
  static __device__ __forceinline__ constexpr int dq_step(int m, int j) { return 128 * j + 32 * m; }
};

}  // namespace natten_sim::kernels::attention_backward::sm80
