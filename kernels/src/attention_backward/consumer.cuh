// A consumer warpgroup: 64 keys of the KV tile. S and dP are computed transposed, so that P and dS leave the
// softmax as operands in registers for dV and dK; only dS passes through shared memory, for dQ.
#pragma once

#include <cstring>

#include "attention_backward/producer.cuh"
#include "attention_backward/wgmma_transposed.cuh"
#include "attention_forward/mask.cuh"
#include "attention_forward/wgmma.cuh"

namespace natten_sim::kernels::attention_backward {

template <class T>
struct Consumer {
  using Element = typename T::Element;
  static constexpr int kScores = T::kQTile / 2;  // registers of S and of dP: 64 keys x Q tile
  static constexpr int kGradients = T::kHeadDim / 2;
  static constexpr int kPairs = kScores / 2;  // packed P or dS

  const Arguments& a;
  Shared<T>& s;
  int warpgroup;  // 0 or 1
  int warp;       // in the warpgroup
  int lane;
  unsigned n = 0;  // tasks so far

  uint4 raw;  // the task as it lies in its slot: taken apart where it is used, not where it is read

  float scores[kScores];
  float dk[kGradients], dv[kGradients];

  __device__ __forceinline__ uint4 load_slot(unsigned task) const {
    return *reinterpret_cast<const uint4*>(&s.slot[task % kSlots]);
  }
  static __device__ __forceinline__ Task unpack(const uint4& raw) {
    Task task;
    memcpy(&task, &raw, sizeof task);
    return task;
  }
  /// Says that all lanes have the same: addresses made of it then stay in uniform registers, where wgmma's
  /// descriptors are read. From ordinary ones each takes two moves before its product can be issued.
  static __device__ __forceinline__ int uniform(int value) { return __shfl_sync(0xffffffffu, value, 0); }

  __device__ __forceinline__ void arrive(std::uint64_t* barrier) {
    if (lane == 0) barrier_arrive(barrier);
  }

  // Operands: `box` of 64 columns, k-step `i` of 16 rows or columns. See operand_low.
  static __device__ __forceinline__ std::uint64_t along_columns(std::uint32_t low, int rows, int i) {
    return operand<T::kRowBytes>(low + (((i >> 2) * rows * T::kRowBytes + (i & 3) * 32) >> 4));
  }
  static __device__ __forceinline__ std::uint64_t along_rows(std::uint32_t low, int i) {
    return operand<T::kRowBytes>(low + ((i * 16 * T::kRowBytes) >> 4));
  }

  /// keys (64 x head dim, this warpgroup's rows of K or V) times the transpose of Q or dO.
  __device__ __forceinline__ void issue_scores(float (&to)[kScores], const std::uint8_t* keys,
                                               const std::uint8_t* queries) {
    const std::uint32_t left = operand_low(shared_address(keys) + warpgroup * 64 * T::kRowBytes, 0);
    const std::uint32_t right = operand_low(shared_address(queries), 0);
    pin(to);
    product_fence();
#pragma unroll
    for (int i = 0; i < T::kHeadDim / 16; ++i) {
      ScoreProduct<Element, T::kQTile>::issue(to, along_columns(left, T::kKvTile, i),
                                              along_columns(right, T::kQTile, i), i != 0);
    }
    product_commit();
  }

  /// to += packed^T (64 keys x Q tile) times dO or Q.
  __device__ __forceinline__ void issue_gradient(float (&to)[kGradients],
                                                 const std::uint32_t (&packed)[kPairs],
                                                 const std::uint8_t* queries) {
    const std::uint32_t right = operand_low(shared_address(queries), T::kQTile * T::kRowBytes);
    pin(to);
    product_fence();
#pragma unroll
    for (int i = 0; i < T::kQTile / 16; ++i) {
      OutputProduct<Element, T::kHeadDim>::issue(to, packed + 4 * i, along_rows(right, i));
    }
    product_commit();
  }

  /// This warpgroup's part of dS K: columns of the head dimension, or rows where that is 64; in turn all of
  /// it.
  __device__ __forceinline__ void issue_dq(float (&to)[T::kDqParts], const std::uint8_t* ds) {
    const int row = T::kHeadDim == 64 && !T::kDqInTurn ? 64 * warpgroup : 0;
    const int box = T::kHeadDim == 64 || T::kDqInTurn ? 0 : warpgroup;
    const std::uint32_t left = operand_low(shared_address(ds) + row * T::kRowBytes, 0);
    const std::uint32_t right =
        operand_low(shared_address(s.k) + box * T::kKvTile * T::kRowBytes, T::kKvTile * T::kRowBytes);
    pin(to);
    product_fence();
#pragma unroll
    for (int i = 0; i < T::kKvTile / 16; ++i) {
      const std::uint64_t keys = along_rows(right, i);
      if constexpr (T::kDqTransposed) {
        TransposedGradientProduct<Element, T::kQTile>::issue(to, keys, along_columns(left, T::kQTile, i),
                                                             i != 0);
      } else if constexpr (T::kDqInTurn && T::kHeadDim == 64) {
        const std::uint32_t second = left + ((64 * T::kRowBytes) >> 4);
        GradientProduct<Element, 64>::issue(reinterpret_cast<float(&)[32]>(to[0]),
                                            along_columns(left, T::kQTile, i), keys, i != 0);
        GradientProduct<Element, 64>::issue(reinterpret_cast<float(&)[32]>(to[32]),
                                            along_columns(second, T::kQTile, i), keys, i != 0);
      } else {
        GradientProduct<Element, T::kDqParts * 2>::issue(to, along_columns(left, T::kQTile, i), keys, i != 0);
      }
    }
    product_commit();
  }

  /// This thread's words of the task's pattern: asked for before the scores that they hide.
  __device__ __forceinline__ uint2 pattern(const Task& task) {
    if (!T::kPairs || !task.has(kMasked)) return {0, 0};
    return __ldg(a.patterns + task.pattern * kConsumerThreads + 128 * warpgroup + 32 * warp + lane);
  }

  /// Queries that a key sees, relative to the tile's first: of two rows, 8 apart.
  __device__ __forceinline__ void mask(const Task& task, uint2 seen) {
    if constexpr (T::kPairs) {
      hide<T::kQTile>(scores, 0, 0, seen.x);
      hide<T::kQTile>(scores, 1, 0, seen.y);
    } else {
      mask_band(task);
    }
  }
  __device__ __forceinline__ void mask_band(const Task& task) {
    RowRanges ranges;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int key = task.kv_tile * T::kKvTile + 64 * warpgroup + 16 * warp + lane / 4 + 8 * half;
      const int diagonal = key - (a.kv_tokens - a.q_tokens);  // the query whose diagonal is this key
      ranges.of[half][0] = key < a.kv_tokens ? int2{diagonal - a.right, diagonal + a.left + 1} : int2{0, 0};
    }
    const int first = task.q_tile * T::kQTile;
    hide_band<T::kQTile>(scores, ranges, first, lane & 3);
  }

  __device__ __forceinline__ void pack_probabilities(std::uint32_t (&packed)[kPairs]) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) packed[i] = pack<Element>(scores[2 * i], scores[2 * i + 1]);
  }

  /// dS^T from registers to dS in shared memory: rows of queries, this warpgroup's box of 64 keys.
  __device__ __forceinline__ void store_ds(const std::uint32_t (&packed)[kPairs], std::uint8_t* ds) {
    const std::uint32_t box = shared_address(ds) + warpgroup * T::kQTile * T::kRowBytes;
    const int chunk = 2 * warp + (lane >> 3 & 1);
#pragma unroll
    for (int i = 0; i < T::kQTile / 16; ++i) {
      const int query = 16 * i + (lane >> 4) * 8 + (lane & 7);
      store_matrices_transposed(box + query * T::kRowBytes + ((chunk ^ (query & 7)) << 4), packed[4 * i],
                                packed[4 * i + 1], packed[4 * i + 2], packed[4 * i + 3]);
    }
  }

  /// The accumulators as they come.
  __device__ __forceinline__ void copy_dq(const float (&dq)[T::kDqParts], int buffer) {
    const int half = T::kDqInTurn ? 0 : warpgroup;
    float4* target = reinterpret_cast<float4*>(s.dq[buffer] + half * (T::kDqBytes / 2)) + 32 * warp + lane;
#pragma unroll
    for (int i = 0; i < T::kDqParts / 4; ++i) {
      target[128 * i] = make_float4(dq[4 * i], dq[4 * i + 1], dq[4 * i + 2], dq[4 * i + 3]);
    }
  }

  /// ptxas would sink the exponentials behind the wait for dP; a store that depends on all of them holds them
  /// before it.
  __device__ __forceinline__ void keep(std::uint32_t word) {
    asm volatile(
        "{.reg .pred first;\n"
        "setp.eq.s32 first, %2, 0;\n"
        "@first st.shared.b32 [%0], %1;}" ::"r"(shared_address(&s.sink[4 * warpgroup + warp])),
        "r"(word), "r"(lane)
        : "memory");
  }
  __device__ __forceinline__ void hold(const std::uint32_t (&packed)[kPairs]) {
    std::uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) all ^= packed[i];
    keep(all);
  }
  __device__ __forceinline__ void hold(const float (&values)[kScores]) {
    std::uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < kScores; ++i) all ^= __float_as_uint(values[i]);
    keep(all);
  }

  // LSE and delta of a thread's columns, two a column block. They are asked for eight blocks ahead, since
  // beside products a load from shared memory takes up to 300 cycles.
  static constexpr int kColumns = kScores / 4;
  static constexpr int kRing = T::kQTile == 80 ? 4 : 8;
  float2 ring[kRing];
  __device__ __forceinline__ void ask_for_lse(int stage) {
    const std::uint32_t lse = shared_address(s.lse2[stage]) + 8 * (lane & 3);
#pragma unroll
    for (int j = 0; j < kRing; ++j) ring[j] = statistic(lse, j);
  }
  __device__ __forceinline__ float2 statistic(std::uint32_t at, int j) {
    float2 value;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "r"(at + 32 * j));
    return value;
  }
  /// P in place of S; the ring then holds the first columns of delta.
  __device__ __forceinline__ void probabilities(std::uint32_t lse, std::uint32_t delta) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& x = scores[4 * j + 2 * half];
        float& y = scores[4 * j + 2 * half + 1];
        x = exp2_approx(fmaf(x, a.scale_log2, -ring[j % kRing].x));
        y = exp2_approx(fmaf(y, a.scale_log2, -ring[j % kRing].y));
      }
      ring[j % kRing] =
          j + kRing < kColumns ? statistic(lse, j + kRing) : statistic(delta, j + kRing - kColumns);
    }
  }
  __device__ __forceinline__ void score_gradients(std::uint32_t delta, const float (&dp)[kScores],
                                                  std::uint32_t (&packed)[kPairs]) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      float2& at = ring[(kColumns + j) % kRing];  // behind those of the LSE
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = 4 * j + 2 * half;
        packed[2 * j + half] = pack<Element>(scores[i] * (dp[i] - at.x), scores[i + 1] * (dp[i + 1] - at.y));
      }
      if (j + kRing < kColumns) at = statistic(delta, j + kRing);
    }
  }

  /// S and dP of the task, P into `scores`, dS packed.
  __device__ __forceinline__ void arithmetic(const Task& task, std::uint32_t (&p)[kPairs],
                                             std::uint32_t (&ds)[kPairs]) {
    const int stage = uniform(stage_of(n));
    const std::uint32_t lse = shared_address(s.lse2[stage]) + 8 * (lane & 3);
    const std::uint32_t delta = shared_address(s.delta[stage]) + 8 * (lane & 3);
    float dp[kScores];
    const uint2 seen = pattern(task);
    std::uint32_t o_there = 0;
    if constexpr (!T::kWaitsTogether) o_there = barrier_ask(&s.o_full[stage], parity_of(n));
    issue_scores(scores, s.k, s.q[stage]);
    if constexpr (!T::kLseAhead) ask_for_lse(stage);
    if constexpr (!T::kWaitsTogether) barrier_wait_unless(o_there, &s.o_full[stage], parity_of(n));
    issue_scores(dp, s.v, s.d_o[stage]);
    product_wait<1>();
    pin(scores);
    if (task.has(kMasked)) mask(task, seen);
    probabilities(lse, delta);
    if constexpr (T::kPacksEarly) {
      pack_probabilities(p);
      hold(p);
    } else {  // that many registers more would be too many
      hold(scores);
    }
    product_wait<0>();
    pin(dp);
    score_gradients(delta, dp, ds);
    if constexpr (!T::kPacksEarly) pack_probabilities(p);
  }

  /// The next task and, with it, its first LSE; its Q is there.
  __device__ __forceinline__ void take_next(int stage) {
    if constexpr (T::kLseAhead) ask_for_lse(stage);
    raw = load_slot(n + 1);
  }

  /// One task, whose Q is there, and whether the chain goes on, with the next one in `raw`; see
  /// consumer_steps.cuh.
  __device__ __forceinline__ bool step();
  __device__ __forceinline__ bool step_in_turn();

  __device__ __forceinline__ void chain() {
    if constexpr (T::kWaitsTogether) barrier_wait(&s.o_full[stage_of(n)], parity_of(n));
    if constexpr (T::kLseAhead) ask_for_lse(stage_of(n));
    if constexpr (T::kDqInTurn) {
#pragma unroll 1
      while (step_in_turn()) {
      }
    } else {
#pragma unroll 1
      while (step()) {
      }
    }
  }

  /// Of four lanes, lane i then has word i of all four.
  __device__ __forceinline__ void transpose_quad(std::uint32_t (&words)[4]) const {
#pragma unroll
    for (int step = 1; step <= 2; ++step) {
      const bool upper = (lane & step) != 0;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        std::uint32_t &low = words[step == 1 ? 2 * i : i], &high = words[step == 1 ? 2 * i + 1 : i + 2];
        const std::uint32_t other = __shfl_xor_sync(0xffffffffu, upper ? low : high, step);
        (upper ? low : high) = other;
      }
    }
  }

  __device__ __forceinline__ void store_rows(const float (&values)[kGradients], const Task& task, void* to,
                                             const RowStrides& strides, float factor) {
    const int first = task.kv_tile * T::kKvTile + 64 * warpgroup + 16 * warp + lane / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const bool exists = first + 8 * half < a.kv_tokens;
      const std::int64_t row = task.batch * strides.batch +
                               (a.partial ? task.head : task.kv_head) * strides.head +
                               (first + 8 * half) * strides.token;
#pragma unroll
      for (int j = 0; j < kGradients / 4; j += 4) {  // four blocks of eight columns, one a lane in the end
        std::uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float x = values[4 * (j + i) + 2 * half] * factor;
          const float y = values[4 * (j + i) + 2 * half + 1] * factor;
          words[i] = pack<Element>(x, y);
          if (!a.partial || !exists || 8 * (j + i) >= a.head_dim) continue;
          float* const place = static_cast<float*>(to) + row + 8 * (j + i) + 2 * (lane & 3);
          *reinterpret_cast<float2*>(place) = make_float2(x, y);
        }
        if (a.partial) continue;
        transpose_quad(words);
        const int column = 8 * (j + (lane & 3));
        if (!exists || column >= a.head_dim) continue;
        *reinterpret_cast<uint4*>(static_cast<Element*>(to) + row + column) =
            make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }

  /// Lets both writers go.
  __device__ __forceinline__ void finish() {
#pragma unroll 1
    for (int writer = 0; writer < kStages; ++writer, ++n) {
      // The last real task's buffer; with one buffer that is the last task of both writers.
      if (writer < T::kDqBuffers) barrier_wait(&s.dq_empty[dq_buffer<T>(n)], dq_parity<T>(n) ^ 1);
      if (!T::kDqInTurn || stage_of(n) == warpgroup) arrive(&s.dq_full[stage_of(n)]);
    }
  }

  __device__ __forceinline__ void run() {
    std::uint32_t kv_parity = 0;
#pragma unroll 1
    for (;;) {
      barrier_wait(&s.q_full[stage_of(n)], parity_of(n));
      raw = load_slot(n);
      const Task task = unpack(raw);
      if (task.has(kEnd)) break;
#pragma unroll
      for (int i = 0; i < kGradients; ++i) dk[i] = dv[i] = 0;
      barrier_wait(&s.kv_full, kv_parity);
      kv_parity ^= 1;
      chain();
      arrive(&s.kv_empty);
      store_rows(dv, task, a.dv, a.dv_strides, 1.0f);
      store_rows(dk, task, a.dk, a.dk_strides, a.scale);
    }
    finish();
  }
};

}  // namespace natten_sim::kernels::attention_backward
