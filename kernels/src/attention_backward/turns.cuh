// The turns of dQ tiles, in ordinary loads and stores: what writers of both engines do the same way.
#pragma once

#include "attention_backward/arguments.hpp"

namespace natten_sim::kernels::attention_backward {

__device__ __forceinline__ unsigned load_acquire(const unsigned* word) {
  unsigned value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
__device__ __forceinline__ void store_release(unsigned* word, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/// Number of the dQ tile among those of all heads.
__device__ __forceinline__ int dq_tile(const Arguments& a, const Task& task) {
  return (task.batch * a.heads + task.head) * a.q_tiles + task.q_tile;
}

/// Until `rank` additions have been made to the tile. A turn that does not come is a fault of the table or of
/// the kernel: it traps instead of holding the GPU.
__device__ __forceinline__ void await_turn(const Arguments& a, int tile, unsigned rank) {
  for (unsigned tries = 0; load_acquire(a.turns + tile) != rank; ++tries) {
    if (tries >= a.turn_tries) __trap();
  }
}

/// A dQ tile without an order: whoever comes first stores its part, so that nothing needs to be cleared, and the
/// others add theirs once it is there.
enum FirstAddition : unsigned { kNobody = 0, kComes = 1, kThere = 2 };

/// Whether the caller is the first. Otherwise the first part is there on return; its writer waits for nobody.
__device__ __forceinline__ bool comes_first(const Arguments& a, int tile) {
  unsigned state = load_acquire(a.turns + tile);
  if (state == kNobody) state = atomicCAS(a.turns + tile, kNobody, kComes);
  if (state == kNobody) return true;
  if (state != kThere) await_turn(a, tile, kThere);
  return false;
}

/// Sleeps, differently for each task: so that a test sees many interleavings.
__device__ __forceinline__ void delay(const Arguments& a, const Task& task) {
  unsigned hash = task.q_tile * 2654435761u ^ task.kv_tile * 2246822519u ^ task.head * 3266489917u ^
                  static_cast<unsigned>(clock());
  hash ^= hash >> 15;
  __nanosleep(hash % a.delay_ns);
}

}  // namespace natten_sim::kernels::attention_backward
