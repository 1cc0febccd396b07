// What every warpgroup of a CTA shares, and the three threads of the producer warpgroup: a loader that walks
// the worker's list and asks TMA for tiles, and two writers, one a dQ buffer, that add dQ tiles to global
// memory in the order of the table.
#pragma once

#include "attention_backward/arguments.hpp"
#include "attention_backward/bulk.cuh"
#include "attention_backward/turns.cuh"
#include "gpu/global_timer.cuh"

namespace natten_sim::kernels::attention_backward {

/// What is fixed when a kernel is compiled; see KernelShape.
template <typename ElementT, int kHeadDimV, int kQTileV, Pipeline kPipelineV, bool kPairsV = false,
          Draws kDrawsV = Draws::kEarly>
struct Traits {
  using Element = ElementT;
  static constexpr int kHeadDim = kHeadDimV;
  static constexpr int kQTile = kQTileV;
  static constexpr int kKvTile = 128;  // 64 rows a consumer warpgroup
  static constexpr Pipeline kPipeline = kPipelineV;
  static constexpr bool kWaitsTogether = kPipeline == Pipeline::kWaitsTogether;
  /// The LSE of the next task is asked for where its Q is waited for, not beside S.
  static constexpr bool kLseAhead = kPipeline != Pipeline::kWaitsApart;
  /// A warpgroup computes the whole dQ of every second task, instead of half of each.
  static constexpr bool kDqInTurn = kPipeline == Pipeline::kDqInTurn;

  static constexpr bool kPairs = kPairsV;  // masks by patterns instead of a band
  static constexpr Draws kDraws = kDrawsV;
  /// A product has 64 rows, so dQ is computed transposed where the Q tile has no multiple of them.
  static constexpr bool kDqTransposed = kQTile % 64 != 0;
  static constexpr int kDqBuffers = kDqTransposed ? 1 : 2;  // what shared memory has room for
  static constexpr bool kPacksEarly = kHeadDim == 128 && kQTile == 64;
  static constexpr int kDqParts =
      kQTile * kHeadDim / (kDqInTurn ? 128 : 256);  // registers of a thread's part of dQ

  static constexpr int kThreads = 384;
  static constexpr int kBoxes = kHeadDim / 64;  // TMA boxes are 64 columns wide: 128 bytes, swizzled
  static constexpr int kRowBytes = 128;
  static constexpr int kQBytes = kQTile * kHeadDim * 2;
  static constexpr int kKvBytes = kKvTile * kHeadDim * 2;
  static constexpr int kDsBytes = kQTile * kKvTile * 2;
  static constexpr int kDqBytes = kQTile * kHeadDim * 4;
  static constexpr int kProducerRegisters = 24;
  static constexpr int kConsumerRegisters = 240;
  static_assert(kDraws == Draws::kEarly || kDqBuffers == 2, "see load_task");
  static_assert(!kDqInTurn || !kDqTransposed, "a warpgroup has no registers for more than 64 x 128 of dQ");
  static_assert(kDqTransposed || kDqBytes == 2 * 64 * 64 * 4, "a warpgroup computes a 64 x 64 part of dQ");
};

inline constexpr int kStages = 2;  // of Q, dO and dS
inline constexpr int kSlots = 8;   // tasks that are known in a CTA
inline constexpr int kConsumerWarps = 8;
/// Warps that bring a task's dQ.
template <class T>
inline constexpr int kDqWarps = T::kDqInTurn ? kConsumerWarps / 2 : kConsumerWarps;

template <class T>
struct Shared {
  alignas(1024) std::uint8_t k[T::kKvBytes];
  alignas(1024) std::uint8_t v[T::kKvBytes];
  alignas(1024) std::uint8_t q[kStages][T::kQBytes];
  alignas(1024) std::uint8_t d_o[kStages][T::kQBytes];
  alignas(1024) std::uint8_t ds[kStages][T::kDsBytes];        // boxes of 64 keys: one a warpgroup
  alignas(1024) std::uint8_t dq[T::kDqBuffers][T::kDqBytes];  // accumulators as they come, half a warpgroup
  alignas(16) float lse2[kStages][T::kQTile];
  alignas(16) float delta[kStages][T::kQTile];
  Task slot[kSlots];
  std::uint32_t sink[kConsumerWarps];  // written, never read: see Consumer::keep
  std::uint64_t kv_full, kv_empty;
  std::uint64_t q_full[kStages], q_empty[kStages];
  std::uint64_t o_full[kStages], o_empty[kStages];
  std::uint64_t dq_full[kStages];  // one a writer
  std::uint64_t dq_empty[T::kDqBuffers];
};

/// Task number n of a CTA lies in stage n % 2 and slot n % 8. A slot is written again six tasks later at the
/// earliest: by then its consumers and its writer are done with it, since a task's Q stage is released only
/// after the writer has read the task two before.
__device__ __forceinline__ int stage_of(unsigned n) { return static_cast<int>(n & 1); }
__device__ __forceinline__ std::uint32_t parity_of(unsigned n) { return n >> 1 & 1; }

/// Buffer of the dQ of task number n, and the parity of its use.
template <class T>
__device__ __forceinline__ int dq_buffer(unsigned n) {
  return T::kDqBuffers == 1 ? 0 : stage_of(n);
}
template <class T>
__device__ __forceinline__ std::uint32_t dq_parity(unsigned n) {
  return T::kDqBuffers == 1 ? n & 1 : parity_of(n);
}

// --- loader ---------------------------------------------------------------------------------------------

template <class T>
__device__ __forceinline__ void load_rows(std::uint8_t* target, const CUtensorMap* map, std::uint64_t* full,
                                          int rows, int first_row, int head, int batch) {
#pragma unroll
  for (int box = 0; box < T::kBoxes; ++box) {
    load_box(shared_address(target) + box * rows * T::kRowBytes, map, full,
             {box * 64, first_row, 0, head, batch});
  }
}

/// `closes`: the loader will wait for the turn of this task's addition, to draw a chain in time. A barrier
/// does not tell a phase from the one after the next. So the use of the buffer before this one is waited for
/// here: while dO is missing, this task cannot use the buffer, and the phase that is waited for later is the
/// next one. (With one buffer the task between uses it too.)
template <class T>
__device__ __forceinline__ void load_task(const Arguments& a, Shared<T>& s, const Task& task, unsigned n,
                                          bool closes) {
  const int stage = stage_of(n), first_row = task.q_tile * T::kQTile;
  const unsigned row = static_cast<unsigned>(dq_tile(a, task)) * T::kQTile;
  barrier_wait(&s.q_empty[stage], parity_of(n) ^ 1);
  s.slot[n % kSlots] = task;
  barrier_arrive_expect(&s.q_full[stage], T::kQBytes + T::kQTile * 4);
  load_rows<T>(s.q[stage], &a.q, &s.q_full[stage], T::kQTile, first_row, task.head, task.batch);
  bulk_load(shared_address(s.lse2[stage]), a.lse2 + row, T::kQTile * 4, &s.q_full[stage]);
  barrier_wait(&s.o_empty[stage], parity_of(n) ^ 1);
  if constexpr (T::kDraws == Draws::kInTime) {
    if (closes && n >= kStages) barrier_wait(&s.dq_empty[dq_buffer<T>(n)], dq_parity<T>(n - kStages));
  }
  barrier_arrive_expect(&s.o_full[stage], T::kQBytes + T::kQTile * 4);
  load_rows<T>(s.d_o[stage], &a.d_o, &s.o_full[stage], T::kQTile, first_row, task.head, task.batch);
  bulk_load(shared_address(s.delta[stage]), a.delta + row, T::kQTile * 4, &s.o_full[stage]);
}

/// A chain is known before the one before it is done with its K and V.
template <class T>
__device__ __forceinline__ void prefetch_kv(const Arguments& a, const Task& task) {
#pragma unroll
  for (int box = 0; box < T::kBoxes; ++box) {
    const BoxOrigin at = {box * 64, task.kv_tile * T::kKvTile, 0, task.kv_head, task.batch};
    prefetch_box(&a.k, at);
    prefetch_box(&a.v, at);
  }
}

template <class T>
__device__ __forceinline__ void load_kv(const Arguments& a, Shared<T>& s, const Task& task,
                                        std::uint32_t parity) {
  barrier_wait(&s.kv_empty, parity ^ 1);
  barrier_arrive_expect(&s.kv_full, 2 * T::kKvBytes);
  load_rows<T>(s.k, &a.k, &s.kv_full, T::kKvTile, task.kv_tile * T::kKvTile, task.kv_head, task.batch);
  load_rows<T>(s.v, &a.v, &s.kv_full, T::kKvTile, task.kv_tile * T::kKvTile, task.kv_head, task.batch);
}

template <class T>
__device__ __forceinline__ void load(const Arguments& a, Shared<T>& s) {
  unsigned n = 0;
  std::uint32_t kv_parity = 0;
  int chain = 0, end = a.chain_count;
  if (a.worker_begin != nullptr) {
    chain = a.worker_begin[blockIdx.x];
    end = a.worker_begin[blockIdx.x + 1];
  } else {
    chain = static_cast<int>(atomicAdd(a.ticket, 1));
  }
#pragma unroll 1
  while (chain < end) {
    const Chain tasks = a.chains[chain];
#pragma unroll 1
    for (int i = 0; i < tasks.count; ++i, ++n) {
      const Task task = a.tasks[tasks.first + i];
      if (i == 0) prefetch_kv<T>(a, task);
      load_task<T>(a, s, task, n, a.worker_begin == nullptr && i + 1 == tasks.count);
      if (i == 0) load_kv<T>(a, s, task, kv_parity);
    }
    kv_parity ^= 1;
    if (a.worker_begin != nullptr) {
      ++chain;
      continue;
    }
    // In an order, until the turn of the last addition has come: a worker is free then. Draws::kEarly: over at once while
    // the addition two tasks before is still in line, whose phase looks the same.
    if (a.ordered) barrier_wait(&s.dq_empty[dq_buffer<T>(n - 1)], dq_parity<T>(n - 1));
    chain = static_cast<int>(atomicAdd(a.ticket, 1));
  }
  // One end for each writer; consumers see the first.
  barrier_wait(&s.q_empty[stage_of(n)], parity_of(n) ^ 1);
  Task none;
  none.flags = kEnd;
  s.slot[n % kSlots] = none;
  s.slot[(n + 1) % kSlots] = none;
  barrier_arrive(&s.q_full[stage_of(n)]);
}

// --- writers --------------------------------------------------------------------------------------------

/// Adds the dQ tiles of every second task. Its buffer is given back before the turn is passed
/// on, and no turn is held back while another one is waited for: so any table that finishes with one buffer
/// finishes here.
template <class T>
__device__ __forceinline__ void write_dq(const Arguments& a, Shared<T>& s, unsigned writer) {
  const int buffer = dq_buffer<T>(writer);
  for (unsigned n = writer;; n += kStages) {
    barrier_wait(&s.dq_full[writer], parity_of(n));
    // What the consumers stored is visible to the bulk operations below. This thread has time; in theirs the
    // fence would stand between dQ and the next task.
    fence_async_shared();
    const Task task = s.slot[n % kSlots];
    if (task.has(kEnd)) return;
    if (task.has(kNoDq)) {
      barrier_arrive(&s.dq_empty[buffer]);
      continue;
    }
    const int tile = dq_tile(a, task);
    float* target = a.dq + static_cast<std::int64_t>(tile) * (T::kDqBytes / 4);
    const std::uint32_t source = shared_address(s.dq[buffer]);
    TurnTimes times;
    if (a.times != nullptr) times.ready_ns = global_timer();
    if (a.delay_ns != 0) delay(a, task);
    const bool first = a.ordered ? task.rank == 0 : comes_first(a, tile);
    if (first) {
      bulk_store(target, source, T::kDqBytes);
    } else {
      if (a.ordered) await_turn(a, tile, task.rank);
      fence_async_global();
      if (a.times != nullptr) times.turn_ns = global_timer();
      bulk_add(target, source, T::kDqBytes);
    }
    store_commit();
    store_wait_read();
    barrier_arrive(&s.dq_empty[buffer]);
    if (a.ordered || first) {
      bulk_wait_complete();
      fence_async_global();
      const unsigned after = a.ordered ? task.rank + 1 : kThere;
      if (tile != a.dropped) store_release(a.turns + tile, after);
    }
    if (a.times != nullptr) {
      times.end_ns = global_timer();
      times.worker = blockIdx.x;
      a.times[static_cast<std::int64_t>(tile) * a.kv_tiles + task.kv_tile] = times;
    }
  }
}

}  // namespace natten_sim::kernels::attention_backward
