// What the warps of a CTA of the mma.sync engine share, and how tiles come into shared memory.
#pragma once

#include <cstring>

#include "attention/instructions.cuh"
#include "attention_backward/turns.cuh"

namespace natten_sim::kernels::attention_backward::sm80 {

using namespace natten_sim::kernels::device;  // instructions and where chunks of 16 bytes lie

/// What is fixed when a kernel is compiled; see KernelShape. Tiles are those of the sm_90a engine.
template <typename ElementT, int kHeadDimV, int kQTileV, bool kPairsV>
struct Traits {
  using Element = ElementT;
  static constexpr int kHeadDim = kHeadDimV;
  static constexpr int kQTile = kQTileV;
  static constexpr int kKvTile = 128;      // 16 keys a warp
  static constexpr bool kPairs = kPairsV;  // masks by patterns instead of a band

  static constexpr int kRowBytes = kHeadDim * 2;  // of K, V, Q and dO
  static constexpr int kDsRowBytes = kQTile * 2;  // dS lies transposed: a row a key
  static constexpr int kQBytes = kQTile * kRowBytes;
  static constexpr int kKvBytes = kKvTile * kRowBytes;
  static constexpr int kDsBytes = kKvTile * kDsRowBytes;
  static constexpr int kDqBytes = kQTile * kHeadDim * 4;
  static_assert(kDqBytes == 8 * 32 * 32 * 4, "a warp computes a 32 x 32 part of dQ");
};

inline constexpr int kThreads = 256;
inline constexpr int kSlots = 4;  // tasks that are known in a CTA

/// 129 or 113 KiB: a CTA of sm_80 may have 163.
template <class T>
struct Shared {
  alignas(256) std::uint8_t k[T::kKvBytes];
  alignas(256) std::uint8_t v[T::kKvBytes];
  alignas(256) std::uint8_t q[2][T::kQBytes];
  alignas(256) std::uint8_t d_o[T::kQBytes];
  alignas(256) std::uint8_t ds[T::kDsBytes];
  alignas(16) float lse2[2][T::kQTile];
  alignas(16) float delta[T::kQTile];
  Task slot[kSlots];      // of task number n of the CTA: n % 4
  std::uint32_t sink[8];  // written, never read: see Compute::hold
  int chain, chains_end;
  int first;  // place of task number 0 among all tasks, if they stood in a row to this chain's
};

template <class T>
__device__ __forceinline__ Task task_of(const Shared<T>& s, unsigned n) {
  const uint4 raw = *reinterpret_cast<const uint4*>(&s.slot[n % kSlots]);
  Task task;
  memcpy(&task, &raw, sizeof task);
  return task;
}

/// Hides that a value is the same for every task: what follows from it is then computed again, instead of
/// being kept in registers that the scores need.
__device__ __forceinline__ int recomputed(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// Copies, by all threads; asynchronous.

/// Rows first .. first + kRows - 1 of one head's matrix; rows and columns that do not exist become zeros.
template <class T, int kRows>
__device__ __forceinline__ void copy_rows(const Arguments& a, std::uint8_t* target, const void* data,
                                          std::int64_t head, std::int64_t token_stride, int first,
                                          int tokens) {
  constexpr int kChunks = T::kRowBytes / 16, kStep = kThreads / kChunks;
  const int thread = recomputed(static_cast<int>(threadIdx.x));
  const int chunk = thread % kChunks, row = thread / kChunks;
  const auto* matrix = static_cast<const typename T::Element*>(data) + head;
  const auto* source = matrix + (first + row) * token_stride + chunk * 8;
  const std::uint32_t address = shared_address(target) + chunk_offset<T::kRowBytes>(row, chunk);
  const bool column_exists = chunk * 8 < a.head_dim;
#pragma unroll
  for (int i = 0; i < kRows / kStep; ++i) {
    const bool exists = column_exists && first + row + i * kStep < tokens;
    copy_async(address + i * kStep * T::kRowBytes, exists ? source + i * kStep * token_stride : matrix,
               exists);
  }
}

/// LSE or delta of a Q tile; their rows are padded.
template <class T>
__device__ __forceinline__ void copy_statistics(float* target, const float* rows, int tile) {
  if (threadIdx.x < T::kQTile / 4) {
    copy_async(shared_address(target + 4 * threadIdx.x),
               rows + static_cast<std::int64_t>(tile) * T::kQTile + 4 * threadIdx.x, true);
  }
}

template <class T>
__device__ __forceinline__ void copy_q(const Arguments& a, Shared<T>& s, unsigned n) {
  const Task task = task_of(s, n);
  copy_rows<T, T::kQTile>(a, s.q[n & 1], a.rows.q,
                          task.batch * a.rows.q_strides.batch + task.head * a.rows.q_strides.head,
                          a.rows.q_strides.token, task.q_tile * T::kQTile, a.q_tokens);
  copy_statistics<T>(s.lse2[n & 1], a.lse2, dq_tile(a, task));
}
template <class T>
__device__ __forceinline__ void copy_d_o(const Arguments& a, Shared<T>& s, unsigned n) {
  const Task task = task_of(s, n);
  copy_rows<T, T::kQTile>(a, s.d_o, a.rows.d_o,
                          task.batch * a.rows.o_strides.batch + task.head * a.rows.o_strides.head,
                          a.rows.o_strides.token, task.q_tile * T::kQTile, a.q_tokens);
  copy_statistics<T>(s.delta, a.delta, dq_tile(a, task));
}
template <class T>
__device__ __forceinline__ void copy_kv(const Arguments& a, Shared<T>& s, unsigned n) {
  const Task task = task_of(s, n);
  const auto copy = [&](std::uint8_t* target, const void* data, const RowStrides& strides) {
    copy_rows<T, T::kKvTile>(a, target, data, task.batch * strides.batch + task.kv_head * strides.head,
                             strides.token, task.kv_tile * T::kKvTile, a.kv_tokens);
  };
  copy(s.k, a.rows.k, a.rows.k_strides);
  copy(s.v, a.rows.v, a.rows.v_strides);
}

}  // namespace natten_sim::kernels::attention_backward::sm80
