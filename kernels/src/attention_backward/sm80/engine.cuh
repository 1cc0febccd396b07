// Attention backward by mma.sync (sm_80 and later): dQ, dK and dV by the same tables as the sm_90a engine.
//
// A chain is one KV tile of one head: its K and V stay in shared memory, its dK and dV in registers, while
// the Q tiles it attends to pass by in the table's order. Eight warps of 16 keys compute (compute.cuh,
// products.cuh), and add the dQ part of each task in fp32 to global memory. With turns, part number r of a dQ
// tile is added once part r - 1 has arrived there (dq_turns.cuh): a fixed sequence of roundings, hence the
// same bits every time. There is no room for warps that only write: a ninth warp would leave each thread 168
// registers, and dK and dV alone take 128.
//
// A task of 64 x 128 pairs and 128 columns is 2,560 products of 16 x 8 x 16, 5,120 cycles of sm_80's tensor
// cores. Shared memory is the floor: the fragments of S, dP, dV and dK (16 keys a warp, so a fragment of Q or
// dO serves two products) and of dQ (32 x 32) are 1,408 loads of 512 bytes, 5,632 cycles. On an H200 that is
// 430 TFLOP/s; measured 272 without turns, 258 with (docs/backward-kernel.md has the table).
#pragma once

#include "attention_backward/instances.hpp"
#include "attention_backward/sm80/compute.cuh"

namespace natten_sim::kernels::attention_backward::sm80 {

template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    attention_backward_mma_kernel(const __grid_constant__ Arguments a) {
  extern __shared__ __align__(1024) std::uint8_t memory[];
  Shared<T>& s = *reinterpret_cast<Shared<T>*>(memory);
  const int own = static_cast<int>(threadIdx.x) >> 5;
  Compute<T> compute{a, s, {__shfl_sync(0xffffffffu, own, 0), static_cast<int>(threadIdx.x) & 31}, {a}};
  compute.run();
}

template <typename Element, int kHeadDim, int kQTile, bool kPairs>
Instance instance() {
  using T = Traits<Element, kHeadDim, kQTile, kPairs>;
  static_assert(sizeof(Shared<T>) <= 166912, "shared memory of a CTA on sm_80");
  Instance made;
  made.shape.head_dim = kHeadDim;
  made.shape.dtype = __is_same(Element, __half) ? Dtype::kFp16 : Dtype::kBf16;
  made.shape.q_tile = kQTile;
  made.shape.kv_tile = T::kKvTile;
  made.shape.pairs = kPairs;
  made.shape.engine = AttentionEngine::kMmaSync;
  made.kernel = reinterpret_cast<const void*>(&attention_backward_mma_kernel<T>);
  made.threads = kThreads;
  made.shared_bytes = sizeof(Shared<T>);
  return made;
}

}  // namespace natten_sim::kernels::attention_backward::sm80
