// Attention forward for sm_90a: O = softmax(scale * Q K^T) V and LSE, split over Q tiles.
//
// A CTA is a producer warpgroup, of which one thread decodes items and another asks TMA for tiles, and two or
// three consumer warpgroups of 64 query rows each. K and V travel through rings of kStages tiles with an
// mbarrier "full" and one "empty" a stage; Q has its own ring, and O leaves through the Q tile's place.
// Consumers keep S, P and O in registers: P in the accumulator's layout is the next product's A operand.
//
// Within a warpgroup S of the next tile and P V of this one are in flight together, and softmax of the former
// runs while the tensor cores work on the latter, of this warpgroup or another. Masked tiles have loops of
// their own. An earlier step of the ladder made warpgroups issue products in turns (kPingPong); they now run
// freely.
//
// Every warp arrives for itself at "empty": wgmma's completion is only known to the warps that waited for it.
#pragma once

#include "attention_forward/consumer.cuh"

namespace natten_sim::kernels::attention_forward {

template <class T>
__device__ __forceinline__ void initialize(const Arguments& a, Shared<T>& s) {
  if (threadIdx.x == 0) {
    if ((shared_address(&s) & 1023) != 0) __trap();
    for (int i = 0; i < T::kQStages; ++i) {
      barrier_init(&s.q_full[i], 1);
      s.overflowed[i] = 0;
      s.again[i] = 0;
      barrier_init(&s.q_empty[i], T::kConsumerWarps + (a.intervals != nullptr ? 1 : 0));
    }
    for (int i = 0; i < T::kKStages; ++i) {
      barrier_init(&s.k_full[i], 1);
      barrier_init(&s.k_empty[i], T::kConsumerWarps);
    }
    for (int i = 0; i < T::kVStages; ++i) {
      barrier_init(&s.v_full[i], 1);
      barrier_init(&s.v_empty[i], T::kConsumerWarps);
    }
    barrier_init(&s.next_ready, 1);
    barrier_init(&s.next_wanted, 1);
    barrier_init_fence();
    if (a.groups == nullptr) {
      prefetch_map(&a.only.q);
      prefetch_map(&a.only.k);
      prefetch_map(&a.only.v);
      prefetch_map(&a.only.o);
    }
  }
  if constexpr (T::kMaskProducts > 0) {
    write_key_features<T::kMaskProducts, T::kKvTile>(a, s.key_features);
    fence_async_shared();
  } else if constexpr (T::kMask == MaskKind::kBox) {
    for (int i = threadIdx.x; i < a.prefix_words; i += T::kThreads) s.prefix[i] = a.prefix[i];
  }
  __syncthreads();
}

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    attention_forward_kernel(const __grid_constant__ Arguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t memory[];
  Shared<T>& s = *reinterpret_cast<Shared<T>*>(memory);
  initialize<T>(a, s);
  const int warpgroup = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) >> 7, 0);
  if (warpgroup == 0) {
    give_registers<T::kProducerRegisters>();
    if (threadIdx.x == 32 && a.intervals != nullptr) {
      observe<T>(a, s);
      return;
    }
    if (threadIdx.x == 64) decode_items<T>(a, s);
    if (threadIdx.x == 0) produce<T>(a, s);
  } else {
    take_registers<T::kConsumerRegisters>();
    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) >> 5, 0) & 3;
    Consumer<T> consumer{
        {a, s, warpgroup - 1, warp, static_cast<int>(threadIdx.x) & 31},
        operand_low(shared_address(s.q) + (warpgroup - 1) * 64 * T::kRowBytes, 0),
        operand_low(shared_address(s.k), 0),
        operand_low(shared_address(s.v), T::kKvTile * T::kRowBytes)};
    consumer.run();
  }
#endif
}

}  // namespace natten_sim::kernels::attention_forward
