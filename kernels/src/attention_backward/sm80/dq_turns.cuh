// The turns of dQ tiles as the mma.sync engine takes them: all threads of a CTA add to the tile, one thread
// asks whether its turn has come, and another one passes it on once all have stored.
#pragma once

#include "attention_backward/turns.cuh"
#include "gpu/global_timer.cuh"

namespace natten_sim::kernels::attention_backward::sm80 {

/// As it comes: four numbers an instruction where there is one (sm_90), else one.
__device__ __forceinline__ void add_unordered(float4* to, float4 part) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(part.x),
               "f"(part.y), "f"(part.z), "f"(part.w)
               : "memory");
#else
  float* const each = reinterpret_cast<float*>(to);
  atomicAdd(each, part.x);
  atomicAdd(each + 1, part.y);
  atomicAdd(each + 2, part.z);
  atomicAdd(each + 3, part.w);
#endif
}

struct DqTurns {
  static constexpr unsigned kAsking = 0, kPassing = 96;  // threads, of different schedulers of the SM

  const Arguments& a;

  [[nodiscard]] __device__ __forceinline__ TurnTimes* times(const Task& task) const {
    return a.times + static_cast<std::int64_t>(dq_tile(a, task)) * a.kv_tiles + task.kv_tile;
  }

  /// Additions that have been made to the task's tile so far, as the asking thread sees them: a look whose
  /// answer is waited for in await.
  [[nodiscard]] __device__ __forceinline__ unsigned peek(const Task& task) const {
    unsigned value = 0;
    if (a.turns != nullptr && threadIdx.x == kAsking)
      asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                   : "=r"(value)
                   : "l"(a.turns + dq_tile(a, task))
                   : "memory");
    return value;
  }

  /// The asking thread waits for the turn; for the others, a barrier follows.
  __device__ __forceinline__ void await(const Task& task, unsigned peeked) const {
    if (threadIdx.x != kAsking || task.has(kNoDq)) return;
    if (a.times != nullptr) times(task)->ready_ns = global_timer();
    if (a.delay_ns != 0) delay(a, task);
    if (a.turns != nullptr && task.rank != 0) {
      if (peeked == task.rank) {
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
      } else {
        await_turn(a, dq_tile(a, task), task.rank);
      }
    }
    if (a.times != nullptr) {
      times(task)->turn_ns = a.turns != nullptr && task.rank == 0 ? 0 : global_timer();
      times(task)->worker = blockIdx.x;
    }
  }

  /// Behind a barrier that follows the additions of all threads: the release of one thread stands for all, since
  /// it covers what the barrier has let it see.
  __device__ __forceinline__ void pass_on(const Task& task) const {
    if (threadIdx.x != kPassing || task.has(kNoDq)) return;
    const int tile = dq_tile(a, task);
    if (a.turns != nullptr && tile != a.dropped) store_release(a.turns + tile, task.rank + 1);
    if (a.times != nullptr) times(task)->end_ns = global_timer();
  }
};

}  // namespace natten_sim::kernels::attention_backward::sm80
