#!/usr/bin/env python3
"""Writes kernels/src/attention_forward/wgmma.cuh: one struct a width of the accumulator.

    scripts/generate_wgmma.py > kernels/src/attention_forward/wgmma.cuh
    scripts/generate_wgmma.py transposed > kernels/src/attention_backward/wgmma_transposed.cuh

A wgmma instruction names every accumulator register, so C++ cannot write one for all widths.
"""

import sys

SCORE_WIDTHS = (64, 80, 96, 112, 128, 176)  # KV tiles
MASK_WIDTHS = (112, 128)  # KV tiles of neighborhoods
OUTPUT_WIDTHS = (64, 96, 128, 160, 192, 256)  # head dimensions
GRADIENT_WIDTHS = (64, 128)  # columns of dQ that a warpgroup computes
TRANSPOSED_GRADIENT_WIDTHS = (80,)  # queries of a transposed dQ
TYPES = (("__nv_bfloat16", "bf16"), ("__half", "f16"))

HEADER = """\
// Written by scripts/generate_wgmma.py: change that, not this.
//
// wgmma.mma_async m64 x width x k16 with fp32 accumulators. A warpgroup holds 64 rows: a thread has rows
// 16 * warp + lane / 4 (+ 8) and columns 8 * j + 2 * (lane % 4) (+ 1), as accumulator[4 * j + 2 * (row + 8) + column].
// `accumulate` 0 overwrites. The caller fences, commits and waits.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// clang-format off
namespace natten_sim::kernels::attention_forward {

/// S = Q K^T: both operands in shared memory, head dimension contiguous.
template <typename Element, int kWidth> struct ScoreProduct;
/// S += hidden pairs: the queries' half in registers (4 packed pairs), the keys' in shared memory, features contiguous.
template <int kWidth> struct MaskProduct;
/// O += P V: P in registers (4 packed pairs), V in shared memory with the head dimension contiguous.
template <typename Element, int kWidth> struct OutputProduct;
/// dQ = dS K: both operands in shared memory, dS with the keys contiguous, K with the head dimension contiguous.
template <typename Element, int kWidth> struct GradientProduct;
"""

TRANSPOSED_HEADER = """\
// Written by scripts/generate_wgmma.py: change that, not this.
//
// As attention_forward/wgmma.cuh, for dQ of tiles whose queries are no multiple of 64.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// clang-format off
namespace natten_sim::kernels::attention_backward {

/// Transposed dQ = transposed K times transposed dS: both operands in shared memory, K with the head dimension
/// contiguous, dS with the keys contiguous.
template <typename Element, int kWidth> struct TransposedGradientProduct;
"""

FOOTER = """
}  // namespace natten_sim::kernels::attention_forward
// clang-format on"""


def registers(count, first=0):
    return ",".join(f"%{i + first}" for i in range(count))


def accumulators(count):
    return ", ".join(f'"+f"(d[{i}])' for i in range(count))


def from_shared(what, element, name, width, a, b):
    n = width // 2
    return f"""
template <> struct {what}<{element}, {width}> {{
  static __device__ __forceinline__ void issue(float (&d)[{n}], std::uint64_t a, std::uint64_t b, int accumulate) {{
    asm volatile("{{.reg .pred p; setp.ne.b32 p, %{n + 2}, 0;\\n"
      "wgmma.mma_async.sync.aligned.m64n{width}k16.f32.{name}.{name} {{{registers(n)}}}, %{n}, %{n + 1}, p, 1, 1, {a}, {b};}}"
      : {accumulators(n)} : "l"(a), "l"(b), "r"(accumulate)); }}
}};"""


def from_registers(what, name, width, b):
    n = width // 2
    return f"""
template <> struct {what} {{
  static __device__ __forceinline__ void issue(float (&d)[{n}], const std::uint32_t* a, std::uint64_t b) {{
    asm volatile("{{.reg .pred p; setp.eq.u32 p, 0, 0;\\n"
      "wgmma.mma_async.sync.aligned.m64n{width}k16.f32.{name}.{name} {{{registers(n)}}}, "
      "{{{registers(4, n)}}}, %{n + 4}, p, 1, 1, {b};}}"
      : {accumulators(n)} : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)); }}
}};"""


if sys.argv[1:] == ["transposed"]:
    print(TRANSPOSED_HEADER)
    for element, name in TYPES:
        for width in TRANSPOSED_GRADIENT_WIDTHS:
            print(from_shared("TransposedGradientProduct", element, name, width, 1, 0))
    print(FOOTER.replace("forward", "backward"))
    sys.exit()

print(HEADER)
for element, name in TYPES:
    for width in SCORE_WIDTHS:
        print(from_shared("ScoreProduct", element, name, width, 0, 0))
    for width in OUTPUT_WIDTHS:
        print(from_registers(f"OutputProduct<{element}, {width}>", name, width, 1))
    for width in GRADIENT_WIDTHS:
        print(from_shared("GradientProduct", element, name, width, 0, 1))
for width in MASK_WIDTHS:
    print(from_registers(f"MaskProduct<{width}>", "bf16", width, 0))
print(FOOTER)
