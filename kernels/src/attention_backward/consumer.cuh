// A consumer warpgroup: 64 keys of the KV tile. S and dP are computed transposed, so that P and dS leave the
// softmax as operands in registers for dV and dK; only dS passes through shared memory, for dQ.
#pragma once

#include "attention_backward/producer.cuh"
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

  float scores[kScores];
  float dk[kGradients], dv[kGradients];

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

  /// This warpgroup's 64 x 64 part of dS K: columns of the head dimension, or rows where that is 64.
  __device__ __forceinline__ void issue_dq(float (&to)[32], const std::uint8_t* ds) {
    const int row = T::kHeadDim == 64 ? 64 * warpgroup : 0, box = T::kHeadDim == 64 ? 0 : warpgroup;
    const std::uint32_t left = operand_low(shared_address(ds) + row * T::kRowBytes, 0);
    const std::uint32_t right =
        operand_low(shared_address(s.k) + box * T::kKvTile * T::kRowBytes, T::kKvTile * T::kRowBytes);
    pin(to);
    product_fence();
#pragma unroll
    for (int i = 0; i < T::kKvTile / 16; ++i) {
      GradientProduct<Element, 64>::issue(to, along_columns(left, T::kQTile, i), along_rows(right, i),
                                          i != 0);
    }
    product_commit();
  }

  /// Queries that a key sees, relative to the tile's first: of two rows, 8 apart.
  __device__ __forceinline__ void mask(const Task& task) {
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

  __device__ __forceinline__ void probabilities(int stage) {
#pragma unroll
    for (int j = 0; j < kScores / 4; ++j) {
      const float2 lse = *reinterpret_cast<const float2*>(&s.lse2[stage][8 * j + 2 * (lane & 3)]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& x = scores[4 * j + 2 * half];
        float& y = scores[4 * j + 2 * half + 1];
        x = exp2_approx(fmaf(x, a.scale_log2, -lse.x));
        y = exp2_approx(fmaf(y, a.scale_log2, -lse.y));
      }
    }
  }

  __device__ __forceinline__ void pack_probabilities(std::uint32_t (&packed)[kPairs]) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) packed[i] = pack<Element>(scores[2 * i], scores[2 * i + 1]);
  }

  __device__ __forceinline__ void score_gradients(int stage, const float (&dp)[kScores],
                                                  std::uint32_t (&packed)[kPairs]) {
#pragma unroll
    for (int j = 0; j < kScores / 4; ++j) {
      const float2 delta = *reinterpret_cast<const float2*>(&s.delta[stage][8 * j + 2 * (lane & 3)]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = 4 * j + 2 * half;
        packed[2 * j + half] =
            pack<Element>(scores[i] * (dp[i] - delta.x), scores[i + 1] * (dp[i + 1] - delta.y));
      }
    }
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

  __device__ __forceinline__ void hand_over_dq(const float (&dq)[32], unsigned task) {
    const int buffer = stage_of(task);
    barrier_wait(&s.dq_empty[buffer], parity_of(task) ^ 1);
    float4* target =
        reinterpret_cast<float4*>(s.dq[buffer] + warpgroup * (T::kDqBytes / 2)) + 32 * warp + lane;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      target[128 * i] = make_float4(dq[4 * i], dq[4 * i + 1], dq[4 * i + 2], dq[4 * i + 3]);
    }
    fence_async_shared();
    __syncwarp();
    arrive(&s.dq_full[buffer]);
  }

  /// One task, whose S is complete (kAhead) or in flight; begins S of the next one unless it is the chain's
  /// last. No product is in flight at the end.
  template <bool kLastV>
  __device__ __forceinline__ void step(const Task& task) {
    const int stage = stage_of(n);
    float dp[kScores];
    std::uint32_t p[kPairs], ds[kPairs];
    if constexpr (!T::kAhead) {
      barrier_wait(&s.q_full[stage], parity_of(n));
      issue_scores(scores, s.k, s.q[stage]);
    }
    barrier_wait(&s.o_full[stage], parity_of(n));
    issue_scores(dp, s.v, s.d_o[stage]);
    if constexpr (!T::kAhead) {
      product_wait<1>();
      pin(scores);
    }
    if (task.has(kMasked)) mask(task);
    probabilities(stage);
    product_wait<0>();
    pin(dp);
    score_gradients(stage, dp, ds);
    pack_probabilities(p);
    issue_gradient(dv, p, s.d_o[stage]);
    store_ds(ds, s.ds[stage]);
    fence_async_shared();
    if constexpr (!T::kLateBarrier) named_sync(1, 256);
    issue_gradient(dk, ds, s.q[stage]);
    if constexpr (T::kLateBarrier) named_sync(1, 256);  // the other half of dS is there
    float dq[32];
    issue_dq(dq, s.ds[stage]);
    product_wait<1>();
    pin(dv);
    pin(dk);
    arrive(&s.o_empty[stage]);
    arrive(&s.q_empty[stage]);
    if constexpr (T::kAhead && !kLastV) {
      barrier_wait(&s.q_full[stage_of(n + 1)], parity_of(n + 1));
      issue_scores(scores, s.k, s.q[stage_of(n + 1)]);
      product_wait<1>();
    } else {
      product_wait<0>();
    }
    pin(dq);
    hand_over_dq(dq, n);
    if constexpr (T::kAhead && !kLastV) {
      product_wait<0>();
      pin(scores);
    }
    ++n;
  }

  __device__ __forceinline__ void chain(Task& task) {
    if constexpr (T::kAhead) {
      issue_scores(scores, s.k, s.q[stage_of(n)]);
      product_wait<0>();
      pin(scores);
    }
#pragma unroll 1
    while (!task.has(kLast)) {
      step<false>(task);
      if constexpr (!T::kAhead) barrier_wait(&s.q_full[stage_of(n)], parity_of(n));
      task = s.slot[n % kSlots];
    }
    step<true>(task);
  }

  /// kRotated: S of a task that is there, then P while dP is computed. No product is in flight at the end.
  __device__ __forceinline__ void finish_scores(const Task& task, float (&dp)[kScores], unsigned number) {
    const int stage = stage_of(number);
    pin(scores);
    if (task.has(kMasked)) mask(task);
    probabilities(stage);
    product_wait<0>();
    pin(dp);
  }

  /// kRotated: one task whose P (in scores) and dP are there; leaves those of the next one, unless it is the
  /// chain's last.
  template <bool kLastV>
  __device__ __forceinline__ void rotated_step(Task& task, float (&dp)[kScores]) {
    const int stage = stage_of(n), next = stage_of(n + 1);
    std::uint32_t p[kPairs], ds[kPairs];
    score_gradients(stage, dp, ds);
    pack_probabilities(p);
    issue_gradient(dv, p, s.d_o[stage]);
    store_ds(ds, s.ds[stage]);
    fence_async_shared();
    issue_gradient(dk, ds, s.q[stage]);
    named_sync(1, 256);  // the other half of dS is there
    float dq[32];
    issue_dq(dq, s.ds[stage]);
    product_wait<1>();
    pin(dv);
    pin(dk);
    arrive(&s.o_empty[stage]);
    arrive(&s.q_empty[stage]);
    if constexpr (!kLastV) {
      barrier_wait(&s.q_full[next], parity_of(n + 1));
      issue_scores(scores, s.k, s.q[next]);
    }
    if constexpr (!kLastV)
      product_wait<1>();
    else
      product_wait<0>();
    pin(dq);
    hand_over_dq(dq, n);
    if constexpr (!kLastV) {
      barrier_wait(&s.o_full[next], parity_of(n + 1));
      issue_scores(dp, s.v, s.d_o[next]);
      task = s.slot[(n + 1) % kSlots];
      product_wait<1>();
      finish_scores(task, dp, n + 1);
    }
    ++n;
  }

  __device__ __forceinline__ void rotated_chain(Task& task) {
    float dp[kScores];
    issue_scores(scores, s.k, s.q[stage_of(n)]);
    barrier_wait(&s.o_full[stage_of(n)], parity_of(n));
    issue_scores(dp, s.v, s.d_o[stage_of(n)]);
    product_wait<1>();
    finish_scores(task, dp, n);
#pragma unroll 1
    while (!task.has(kLast)) rotated_step<false>(task, dp);
    rotated_step<true>(task, dp);
  }

  __device__ __forceinline__ void store_rows(const float (&values)[kGradients], const Task& task, void* to,
                                             const RowStrides& strides, float factor) {
    const int first = task.kv_tile * T::kKvTile + 64 * warpgroup + 16 * warp + lane / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (first + 8 * half >= a.kv_tokens) continue;
      const std::int64_t row = task.batch * strides.batch +
                               (a.partial ? task.head : task.kv_head) * strides.head +
                               (first + 8 * half) * strides.token + 2 * (lane & 3);
#pragma unroll
      for (int j = 0; j < kGradients / 4; ++j) {
        const float x = values[4 * j + 2 * half] * factor, y = values[4 * j + 2 * half + 1] * factor;
        if (a.partial) {
          *reinterpret_cast<float2*>(static_cast<float*>(to) + row + 8 * j) = make_float2(x, y);
        } else {
          *reinterpret_cast<std::uint32_t*>(static_cast<Element*>(to) + row + 8 * j) = pack<Element>(x, y);
        }
      }
    }
  }

  /// Lets both writers go.
  __device__ __forceinline__ void finish() {
#pragma unroll 1
    for (int writer = 0; writer < kStages; ++writer, ++n) {
      barrier_wait(&s.dq_empty[stage_of(n)], parity_of(n) ^ 1);
      arrive(&s.dq_full[stage_of(n)]);
    }
  }

  __device__ __forceinline__ void run() {
    std::uint32_t kv_parity = 0;
#pragma unroll 1
    for (;;) {
      barrier_wait(&s.q_full[stage_of(n)], parity_of(n));
      Task task = s.slot[n % kSlots];
      if (task.has(kEnd)) break;
#pragma unroll
      for (int i = 0; i < kGradients; ++i) dk[i] = dv[i] = 0;
      barrier_wait(&s.kv_full, kv_parity);
      kv_parity ^= 1;
      if constexpr (T::kPipeline == Pipeline::kRotated) {
        rotated_chain(task);
      } else {
        chain(task);
      }
      arrive(&s.kv_empty);
      store_rows(dv, task, a.dv, a.dv_strides, 1.0f);
      store_rows(dk, task, a.dk, a.dk_strides, a.scale);
    }
    finish();
  }
};

}  // namespace natten_sim::kernels::attention_backward
