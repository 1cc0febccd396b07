// Attention backward for sm_90a: dQ, dK and dV of softmax attention, by a table.
//
// A chain is one KV tile of one head: its K and V stay in shared memory, its dK and dV in registers, while
// the Q tiles it attends to pass by in the table's order. The dQ part of each task goes through shared memory
// and is added in fp32 to global memory by bulk reductions. With turns, part number r of a dQ tile is added
// once part r - 1 has arrived there: a fixed sequence of roundings, hence the same bits every time. Without
// turns it is the same kernel in any order.
//
// A CTA is a producer warpgroup (one loader thread, two writer threads, see producer.cuh) and two consumer
// warpgroups of 64 keys each (consumer.cuh).
#pragma once

#include "attention_backward/consumer_steps.cuh"

namespace natten_sim::kernels::attention_backward {

template <class T>
__device__ __forceinline__ void initialize(const Arguments& a, Shared<T>& s) {
  if (threadIdx.x == 0) {
    if ((shared_address(&s) & 1023) != 0) __trap();
    barrier_init(&s.kv_full, 1);
    barrier_init(&s.kv_empty, kConsumerWarps);
    for (int i = 0; i < kStages; ++i) {
      barrier_init(&s.q_full[i], 1);
      barrier_init(&s.o_full[i], 1);
      barrier_init(&s.q_empty[i], kConsumerWarps);
      barrier_init(&s.o_empty[i], kConsumerWarps);
      barrier_init(&s.dq_full[i], kDqWarps<T>);
    }
    for (std::uint64_t& empty : s.dq_empty) barrier_init(&empty, 1);
    barrier_init_fence();
    prefetch_map(&a.q);
    prefetch_map(&a.d_o);
    prefetch_map(&a.k);
    prefetch_map(&a.v);
  }
  __syncthreads();
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    attention_backward_kernel(const __grid_constant__ Arguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t memory[];
  Shared<T>& s = *reinterpret_cast<Shared<T>*>(memory);
  initialize<T>(a, s);
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) >> 7, 0);
  if (warpgroup == 0) {
    give_registers<T::kProducerRegisters>();
    if (threadIdx.x == 0) load<T>(a, s);
    if (threadIdx.x == 32) write_dq<T>(a, s, 0);
    if (threadIdx.x == 64) write_dq<T>(a, s, 1);
  } else {
    take_registers<T::kConsumerRegisters>();
    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) >> 5, 0) & 3;
    const int own = static_cast<int>(threadIdx.x) & 31;
    const int lane = __shfl_sync(0xffffffffu, own, own);  // kept in a register, not read again in the loop
    Consumer<T> consumer{a, s, warpgroup - 1, warp, lane};
    consumer.run();
  }
#endif
}

}  // namespace natten_sim::kernels::attention_backward
