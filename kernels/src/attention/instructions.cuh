#pragma once

// The PTX instructions of the attention kernel, and where chunks of 16 bytes lie in its tiles (kernel.cuh
// says why there).
#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace natten_sim::kernels::device {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// 16 bytes, past L1; zeros when !valid.
__device__ __forceinline__ void copy_async(std::uint32_t target, const void* source, bool valid) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(target), "l"(source),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

using Fragment = std::uint32_t[4];

__device__ __forceinline__ void load_matrices(Fragment& f, std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(Fragment& f, std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
               : "r"(address)
               : "memory");
}

template <typename Element>
__device__ __forceinline__ void multiply(float (&c)[4], const Fragment& a, std::uint32_t b0,
                                         std::uint32_t b1) {
  if constexpr (std::is_same_v<Element, __half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

template <typename Element>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<Element, __half>) {
    const __half2 packed = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&packed);
  } else {
    const __nv_bfloat162 packed = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&packed);
  }
}

__device__ __forceinline__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }

/// Byte offset of a 16-byte chunk in a tile of kRowBytes a row.
template <int kRowBytes>
__device__ __forceinline__ std::uint32_t chunk_offset(int row, int chunk) {
  const int mask = kRowBytes % 128 == 0 ? row & 7 : (row >> 1) & 3;
  return static_cast<std::uint32_t>(row * kRowBytes + ((chunk ^ mask) << 4));
}

/// Address of chunk c + 2 * `pair` of a row, given that of its chunk c < 2. Rows of a power of two lie at
/// multiples of their size, so it is an exclusive or away; others at multiples of 64 bytes, so that only the
/// chunk's place in its group of four is.
template <int kRowBytes>
__device__ __forceinline__ std::uint32_t chunk_pair(std::uint32_t first, int pair) {
  if constexpr ((kRowBytes & (kRowBytes - 1)) == 0) {
    return first ^ (pair * 32);
  } else {
    static_assert(kRowBytes % 128 == 64);
    return (first ^ (pair % 2 * 32)) + pair / 2 * 64;
  }
}

}  // namespace natten_sim::kernels::device
