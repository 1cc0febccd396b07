#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <natten_sim/kernels/scatter_add/scatter_add.hpp>

/// How one lane adds its piece of a row to memory. Each struct has the element type, the elements of a piece,
/// and `add`. What an architecture lacks traps; the host refuses it before.
namespace natten_sim::kernels::scatter_add {

/// The old value went into `sum`, so an `atom` cannot become a `red`. No launch gives this pattern.
__device__ __forceinline__ bool is_impossible(std::uint32_t old) { return old == 0x7fc0beefu; }

template <typename Element>
struct ScalarUpdate {
  using Type = Element;
  static constexpr int kElements = 1;
  static __device__ __forceinline__ void add(Element* target, const Element* values) {
    atomicAdd(target, *values);
  }
};

/// `Words` 32-bit words by one PTX instruction without an answer.
template <typename Element, int Words>
struct RedUpdate {
  using Type = Element;
  static constexpr int kElements = Words * 4 / static_cast<int>(sizeof(Element));
  static __device__ __forceinline__ void add(Element* target, const Element* values) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(values);
    std::uint32_t w[Words];
#pragma unroll
    for (int i = 0; i < Words; ++i) w[i] = words[i];
    if constexpr (std::is_same_v<Element, float> && Words == 1) {
      asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(target), "f"(__uint_as_float(w[0]))
                   : "memory");
    } else if constexpr (std::is_same_v<Element, __half> && Words == 1) {
      asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(target), "r"(w[0]) : "memory");
    } else {
#if __CUDA_ARCH__ >= 900
      if constexpr (std::is_same_v<Element, float> && Words == 2) {
        asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(target),
                     "f"(__uint_as_float(w[0])), "f"(__uint_as_float(w[1]))
                     : "memory");
      } else if constexpr (std::is_same_v<Element, float>) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(target),
                     "f"(__uint_as_float(w[0])), "f"(__uint_as_float(w[1])), "f"(__uint_as_float(w[2])),
                     "f"(__uint_as_float(w[3]))
                     : "memory");
      } else if constexpr (std::is_same_v<Element, __half> && Words == 2) {
        asm volatile("red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};" ::"l"(target), "r"(w[0]),
                     "r"(w[1])
                     : "memory");
      } else if constexpr (std::is_same_v<Element, __half>) {
        asm volatile("red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" ::"l"(target),
                     "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                     : "memory");
      } else if constexpr (Words == 1) {
        asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;" ::"l"(target), "r"(w[0]) : "memory");
      } else if constexpr (Words == 2) {
        asm volatile("red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %2};" ::"l"(target), "r"(w[0]),
                     "r"(w[1])
                     : "memory");
      } else {
        asm volatile("red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};" ::"l"(target),
                     "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                     : "memory");
      }
#else
      __trap();
#endif
    }
  }
};

/// One word by an atomic whose old value is used.
template <typename Element>
struct AtomUpdate {
  using Type = Element;
  static constexpr int kElements = 4 / static_cast<int>(sizeof(Element));
  static __device__ __forceinline__ void add(Element* target, const Element* values) {
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(values);
    std::uint32_t old = 0;
    if constexpr (std::is_same_v<Element, float>) {
      asm volatile("atom.relaxed.gpu.global.add.f32 %0, [%1], %2;"
                   : "=r"(old)
                   : "l"(target), "r"(word)
                   : "memory");
    } else if constexpr (std::is_same_v<Element, __half>) {
      asm volatile("atom.relaxed.gpu.global.add.noftz.f16x2 %0, [%1], %2;"
                   : "=r"(old)
                   : "l"(target), "r"(word)
                   : "memory");
    } else {
#if __CUDA_ARCH__ >= 900
      asm volatile("atom.relaxed.gpu.global.add.noftz.bf16x2 %0, [%1], %2;"
                   : "=r"(old)
                   : "l"(target), "r"(word)
                   : "memory");
#else
      __trap();
#endif
    }
    if (is_impossible(old)) __trap();
  }
};

/// The word that `add` makes of a word in memory.
template <typename Element>
__device__ __forceinline__ std::uint32_t sum_of(std::uint32_t word, std::uint32_t values) {
  if constexpr (std::is_same_v<Element, float>) {
    return __float_as_uint(__uint_as_float(word) + __uint_as_float(values));
  } else {
    using Pair = std::conditional_t<std::is_same_v<Element, __half>, __half2, __nv_bfloat162>;
    Pair a, b;
    memcpy(&a, &word, sizeof a);
    memcpy(&b, &values, sizeof b);
    a = __hadd2(a, b);
    memcpy(&word, &a, sizeof a);
    return word;
  }
}

/// One word by a loop of compare-and-swap.
template <typename Element>
struct CasUpdate {
  using Type = Element;
  static constexpr int kElements = 4 / static_cast<int>(sizeof(Element));
  static __device__ __forceinline__ void add(Element* target, const Element* values) {
    const std::uint32_t word = *reinterpret_cast<const std::uint32_t*>(values);
    auto* const address = reinterpret_cast<unsigned int*>(target);
    unsigned int seen = *reinterpret_cast<volatile unsigned int*>(address);
    unsigned int expected = 0;
    do {
      expected = seen;
      seen = atomicCAS(address, expected, sum_of<Element>(expected, word));
    } while (seen != expected);
  }
};

}  // namespace natten_sim::kernels::scatter_add
