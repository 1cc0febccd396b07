#pragma once

#include <cstdint>
#include <cstring>

#include "scatter_add/lane_updates.cuh"

/// How the lanes of a row add what they hold, 16 bytes' worth of elements each, so that the lanes of one
/// instruction add neighbouring pieces.
namespace natten_sim::kernels::msda {

/// fp32 additions of 16 bytes, where the architecture has them.
struct WideUpdate {
  using Type = float;
  static constexpr int kElements = 4;
  static __device__ __forceinline__ void add(float* target, const float* values) {
#if __CUDA_ARCH__ >= 900
    scatter_add::RedUpdate<float, 4>::add(target, values);
#else
#pragma unroll
    for (int k = 0; k < 4; ++k) scatter_add::RedUpdate<float, 1>::add(target + k, values + k);
#endif
  }
};

/// Adds the `Count` sums of this lane, which follow those of the lane before, to a row. Pieces that one
/// instruction adds are handed around first, so all lanes of a warp must come here; those without `really`
/// add nothing.
template <typename Update, int Count>
__device__ __forceinline__ void add_to_row(typename Update::Type* row,
                                           const typename Update::Type (&sums)[Count], int lane, int lanes,
                                           bool really) {
  using Sum = typename Update::Type;
  constexpr int kBytes = Update::kElements * static_cast<int>(sizeof(Sum));
  constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;  // of a piece: whole words, two elements of 16 bits
  constexpr int kElements = kWords * 4 / static_cast<int>(sizeof(Sum));
  constexpr int kPieces = Count / kElements;
  std::uint32_t words[kPieces * kWords];
  memcpy(words, sums, sizeof words);
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    const int piece = lanes * i + lane;
    alignas(16) std::uint32_t mine[kWords];
    if constexpr (kPieces == 1) {
      memcpy(mine, words, sizeof mine);
    } else {
      const int source = static_cast<int>(threadIdx.x % 32) - lane + piece / kPieces;
#pragma unroll
      for (int from = 0; from < kPieces; ++from) {
#pragma unroll
        for (int word = 0; word < kWords; ++word) {
          const std::uint32_t got = __shfl_sync(0xffffffffu, words[from * kWords + word], source);
          mine[word] = from == 0 || from == piece % kPieces ? got : mine[word];
        }
      }
    }
    if (!really) continue;
    alignas(16) Sum elements[kElements];
    memcpy(elements, mine, sizeof elements);
#pragma unroll
    for (int k = 0; k < kElements; k += Update::kElements)
      Update::add(row + piece * kElements + k, elements + k);
  }
}

}  // namespace natten_sim::kernels::msda
