// A consumer warpgroup: scores, softmax and output of 64 query rows.
#pragma once

#include "attention_forward/mask.cuh"
#include "attention_forward/producer.cuh"
#include "attention_forward/wgmma.cuh"

namespace natten_sim::kernels::attention_forward {

/// One consumer warpgroup.
template <class T>
struct Consumer {
  static constexpr int kScores = T::kKvTile / 2;  // registers of S
  static constexpr int kOutputs = T::kHeadDim / 2;

  const Arguments& a;
  Shared<T>& s;
  int warpgroup;  // 0..kConsumers-1
  int warp;       // in the warpgroup
  int lane;
  std::uint32_t q_low, k_low, v_low;  // operands in the first stages
  Ring<T::kStages> k_ring, v_ring;
  bool k_ready = false, v_ready = false;

  float o[kOutputs];
  std::uint32_t p[kScores / 2];
  float row_max[2];
  float row_sum[2];  // of this thread's columns
  RowRanges ranges;

  __device__ __forceinline__ int row(int half) const {
    return 64 * warpgroup + 16 * warp + lane / 4 + 8 * half;
  }

  // Turns: a warpgroup waits for its own barrier before it issues products, then lets the next one go.
  __device__ __forceinline__ void take_turn() {
    if constexpr (T::kPingPong) named_sync(1 + warpgroup, 256);
  }
  __device__ __forceinline__ void pass_turn() {
    if constexpr (T::kPingPong) named_arrive(1 + (warpgroup + 1 == T::kConsumers ? 0 : warpgroup + 1), 256);
  }

  __device__ __forceinline__ void release(std::uint64_t* empty) {
    if (lane == 0) barrier_arrive(empty);
  }

  /// Where a lane's row of 8 columns lies, for stmatrix of the 16 columns from `column` on.
  __device__ __forceinline__ std::uint32_t matrix_address(int q_stage, int column) const {
    const int matrix = lane >> 3;
    const int r = 16 * warp + (matrix & 1) * 8 + (lane & 7);
    constexpr int kChunks = T::kRowBytes / 16;  // of 8 elements, in a row of a box
    const int swizzle = kChunks == 8 ? r & 7 : r >> 1 & 3;
    const int box = column / T::kColumns;
    const int chunk = column % T::kColumns / 8 + (matrix >> 1);
    return shared_address(s.q[q_stage]) + (box * T::kQTile + warpgroup * 64 + r) * T::kRowBytes +
           ((chunk ^ swizzle) << 4);
  }

  __device__ __forceinline__ void wait_for_k() { barrier_wait(&s.k_full[k_ring.stage], k_ring.parity); }
  __device__ __forceinline__ void wait_for_v() { barrier_wait(&s.v_full[v_ring.stage], v_ring.parity); }
  // Asked long before they are needed, so that the answer's latency hides.
  __device__ __forceinline__ void test_k() { k_ready = barrier_test(&s.k_full[k_ring.stage], k_ring.parity); }
  __device__ __forceinline__ void test_v() { v_ready = barrier_test(&s.v_full[v_ring.stage], v_ring.parity); }

  __device__ __forceinline__ void issue_scores(float (&scores)[kScores], int q_stage) {
    const std::uint32_t queries = q_low + q_stage * (T::kQBytes >> 4);
    const std::uint32_t keys = k_low + k_ring.stage * (T::kKvBytes >> 4);
    pin(scores);
    product_fence();
#pragma unroll
    for (int i = 0; i < T::kHeadDim / 16; ++i) {
      const int box = 16 * i / T::kColumns;
      const int inside = 2 * (16 * i % T::kColumns);
      const std::uint64_t b = operand<T::kRowBytes>(keys + ((box * T::kKvTile * T::kRowBytes + inside) >> 4));
      ScoreProduct<typename T::Element, T::kKvTile>::issue(
          scores, operand<T::kRowBytes>(queries + ((box * T::kQTile * T::kRowBytes + inside) >> 4)), b,
          i != 0);
    }
    product_commit();
  }

  __device__ __forceinline__ void issue_output() {
    const std::uint32_t values = v_low + v_ring.stage * (T::kKvBytes >> 4);
    pin(o);
    product_fence();
#pragma unroll
    for (int i = 0; i < T::kKvTile / 16; ++i) {
      OutputProduct<typename T::Element, T::kHeadDim>::issue(
          o, p + 4 * i, operand<T::kRowBytes>(values + ((i * 16 * T::kRowBytes) >> 4)));
    }
    product_commit();
  }

  __device__ __forceinline__ void scores_done(float (&scores)[kScores]) {
    pin(scores);
    release(&s.k_empty[k_ring.stage]);
    k_ring.advance();
  }
  __device__ __forceinline__ void output_done() {
    pin(o);
    release(&s.v_empty[v_ring.stage]);
    v_ring.advance();
  }

  __device__ __forceinline__ void mask(float (&scores)[kScores], int3 origin) {
    if constexpr (T::kMask == MaskKind::kBand) {
      hide_band<T::kKvTile>(scores, ranges, origin.x, lane & 3);
    } else {
      hide_box<T::kKvTile>(scores, ranges, origin, a, s.prefix, lane & 3);
    }
  }

  /// Scores of a row become probabilities relative to the row's maximum so far; what was summed before is to
  /// be multiplied by the result. Row after row, so that the second row's maximum hides behind the first
  /// one's exponentials (8 cycles each).
  __device__ __forceinline__ float softmax_row(float (&scores)[kScores], int h) {
    float even = fmaxf(row_max[h], scores[2 * h]), odd = scores[2 * h + 1];  // two chains, for latency
#pragma unroll
    for (int j = 1; j < kScores / 4; ++j) {
      even = fmaxf(even, scores[4 * j + 2 * h]);
      odd = fmaxf(odd, scores[4 * j + 2 * h + 1]);
    }
    float top = fmaxf(even, odd);
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    const float correction = exp2_approx((row_max[h] - top) * a.scale_log2);
    row_max[h] = top;
    const float offset = top * a.scale_log2;
    float sum_even = 0, sum_odd = 0;
#pragma unroll
    for (int j = 0; j < kScores / 4; ++j) {
      float& x = scores[4 * j + 2 * h];
      float& y = scores[4 * j + 2 * h + 1];
      x = exp2_approx(fmaf(x, a.scale_log2, -offset));
      y = exp2_approx(fmaf(y, a.scale_log2, -offset));
      sum_even += x;
      sum_odd += y;
    }
    row_sum[h] = fmaf(row_sum[h], correction, sum_even + sum_odd);
    return correction;
  }

  /// ptxas would sink the exponentials behind the next wait; a store of their sum holds them before it. One
  /// lane stores, since racecheck takes the same word from all for a race.
  __device__ __forceinline__ void hold(float sum) {
    asm volatile(
        "{.reg .pred first;\n"
        "setp.eq.s32 first, %2, 0;\n"
        "@first st.shared.f32 [%0], %1;}" ::"r"(shared_address(&s.sums[warpgroup][warp])),
        "f"(sum), "r"(lane)
        : "memory");
  }

  __device__ __forceinline__ void pack_probabilities(const float (&scores)[kScores]) {
#pragma unroll
    for (int i = 0; i < kScores / 2; ++i) p[i] = pack<typename T::Element>(scores[2 * i], scores[2 * i + 1]);
  }

  /// Once the maxima have settled, most tiles leave them as they are.
  __device__ __forceinline__ bool needs_rescale(const float (&correction)[2]) const {
    return !T::kSkipRescale || __any_sync(0xffffffffu, correction[0] != 1.0f || correction[1] != 1.0f);
  }
  __device__ __forceinline__ void rescale(const float (&correction)[2]) {
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) o[i] *= correction[i >> 1 & 1];
  }

  template <bool kMasked>
  __device__ __forceinline__ void step(const Work& work, int index, int q_stage) {
    float scores[kScores];
    float correction[2];
    int3 origin = {0, 0, 0};  // asked for long before it is needed
    if constexpr (kMasked) origin = kv_origin<T::kMask, T::kKvTile>(a, work, index);
    if (!k_ready) wait_for_k();
    if (T::kOverlap && !v_ready) wait_for_v();
    take_turn();
    issue_scores(scores, q_stage);
    if constexpr (T::kOverlap) {
      issue_output();
      pass_turn();
      product_wait<1>();
      scores_done(scores);
      test_k();
      if constexpr (kMasked) mask(scores, origin);
      correction[0] = softmax_row(scores, 0);
      if constexpr (T::kEarly == 1) hold(row_sum[0]);
      correction[1] = softmax_row(scores, 1);
      if constexpr (T::kEarly == 2) hold(row_sum[0] + row_sum[1]);
      const bool rescaled = needs_rescale(correction);
      product_wait<0>();
      output_done();
      test_v();
      pack_probabilities(scores);
      if (rescaled) rescale(correction);
    } else {
      product_wait<0>();
      scores_done(scores);
      pass_turn();
      if constexpr (kMasked) mask(scores, origin);
      correction[0] = softmax_row(scores, 0);
      correction[1] = softmax_row(scores, 1);
      pack_probabilities(scores);
      rescale(correction);
      wait_for_v();
      issue_output();
      product_wait<0>();
      output_done();
    }
  }

  /// The first tile with overlap: nothing to multiply V with yet.
  __device__ __forceinline__ void first_step(const Work& work, int q_stage) {
    float scores[kScores];
    const bool masked = work.full_begin > 0 || work.full_end == 0;
    int3 origin = {0, 0, 0};
    if (masked) origin = kv_origin<T::kMask, T::kKvTile>(a, work, 0);
    wait_for_k();
    issue_scores(scores, q_stage);
    product_wait<0>();
    scores_done(scores);
    if (masked) mask(scores, origin);
    softmax_row(scores, 0);
    softmax_row(scores, 1);
    pack_probabilities(scores);
    k_ready = v_ready = false;
  }

  __device__ __forceinline__ void walk(const Work& work, int q_stage) {
    int i = 0;
    k_ready = v_ready = false;
    if constexpr (T::kOverlap) {
      first_step(work, q_stage);
      i = 1;
    }
    // Masked tiles lie at either end of the walk.
    int masked_end = work.full_begin;
#pragma unroll 1
    for (int end = 0; end < 2; ++end) {
#pragma unroll 1
      for (; i < masked_end; ++i) step<true>(work, i, q_stage);
#pragma unroll 1
      for (; i < work.full_end; ++i) step<false>(work, i, q_stage);
      masked_end = work.count;
    }
    if constexpr (T::kOverlap) {
      wait_for_v();
      issue_output();
      product_wait<0>();
      output_done();
    }
  }

  /// A word of shared memory, read by the lane that arrives at "empty", before which nobody may write it
  /// again.
  template <typename Word>
  __device__ __forceinline__ Word from_lane_0(const Word& word) const {
    Word read = 0;
    if (lane == 0) read = word;
    return __shfl_sync(0xffffffffu, read, 0);
  }

  __device__ __forceinline__ Work work_of(int q_stage) const {
    int words[kWorkWords];
    int4 quads[kWorkWords / 4] = {};
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < kWorkWords / 4; ++i) quads[i] = reinterpret_cast<const int4*>(&s.work[q_stage])[i];
    }
#pragma unroll
    for (int i = 0; i < kWorkWords / 4; ++i) {
      words[4 * i] = __shfl_sync(0xffffffffu, quads[i].x, 0);
      words[4 * i + 1] = __shfl_sync(0xffffffffu, quads[i].y, 0);
      words[4 * i + 2] = __shfl_sync(0xffffffffu, quads[i].z, 0);
      words[4 * i + 3] = __shfl_sync(0xffffffffu, quads[i].w, 0);
    }
    Work work;
    memcpy(&work, words, sizeof work);
    return work;
  }

  __device__ __forceinline__ void begin(const Work& work, int q_stage) {
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) o[i] = 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      row_max[h] = -1e30f;  // finite: a row that sees nothing of a tile must not make NaN
      row_sum[h] = 0;
      if constexpr (T::kMask == MaskKind::kBand) {
        ranges.of[h][0] = band(a, work.x + row(h));
      } else if (work.full_begin > 0) {  // ranges are for masks
        const int3 token = query(work, row(h));
        const BoxPlace& place = s.place[q_stage];
        const int at[3] = {token.x, token.y, token.z};
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
          const int last = from_lane_0(place.length[axis]) - 1;
          ranges.of[h][axis] = a.ranges[from_lane_0(place.first_range[axis]) + min(at[axis], last)];
        }
      }
    }
  }

  /// kBox: coordinates of a row of the Q tile.
  __device__ __forceinline__ int3 query(const Work& work, int r) const {
    const int y = r / a.q_tile[0];
    const int z = y / a.q_tile[1];
    return {work.x + r - y * a.q_tile[0], work.y + y - z * a.q_tile[1], work.z + z};
  }

  __device__ __forceinline__ void store_lse(const Work& work, const BoxPlace& place, const float (&sum)[2]) {
    if ((lane & 3) != 0) return;
    const std::int64_t head = (static_cast<std::int64_t>(work.batch) * a.heads + work.head) * a.q_tokens;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float lse = sum[h] > 0 ? (row_max[h] * a.scale_log2 + __log2f(sum[h])) * 0.693147180559945f
                                   : -__int_as_float(0x7f800000);
      if constexpr (T::kMask == MaskKind::kBand) {
        if (work.x + row(h) < a.q_tokens) a.lse[head + work.x + row(h)] = lse;
      } else {
        const int3 token = query(work, row(h));
        if (token.x < place.length[0] && token.y < place.length[1] && token.z < place.length[2]) {
          a.lse[head + place.first_row + token.x * a.row_stride[0] + token.y * a.row_stride[1] +
                token.z * a.row_stride[2]] = lse;
        }
      }
    }
  }

  /// O through this warpgroup's own rows of the Q tile, then by TMA.
  __device__ __forceinline__ void store_output(const Work& work, int q_stage, const float (&scale)[2]) {
    const std::uint32_t rows = shared_address(s.q[q_stage]) + warpgroup * 64 * T::kRowBytes;
#pragma unroll
    for (int j = 0; j < T::kHeadDim / 8; j += 2) {
      store_matrices(matrix_address(q_stage, 8 * j),
                     pack<typename T::Element>(o[4 * j] * scale[0], o[4 * j + 1] * scale[0]),
                     pack<typename T::Element>(o[4 * j + 2] * scale[1], o[4 * j + 3] * scale[1]),
                     pack<typename T::Element>(o[4 * j + 4] * scale[0], o[4 * j + 5] * scale[0]),
                     pack<typename T::Element>(o[4 * j + 6] * scale[1], o[4 * j + 7] * scale[1]));
    }
    fence_async_shared();
    named_sync(8 + warpgroup, 128);
    if (warp == 0 && lane == 0) {
      int3 token = {work.x + 64 * warpgroup, 0, 0};
      const CUtensorMap* map = &a.o;
      if constexpr (T::kMask == MaskKind::kBox) {
        token = {work.x + warpgroup * a.warpgroup_step[0], work.y + warpgroup * a.warpgroup_step[1],
                 work.z + warpgroup * a.warpgroup_step[2]};
        map = &a.groups[work.group].o;
      }
#pragma unroll
      for (int box = 0; box < T::kBoxes; ++box) {
        store_box(map, rows + box * T::kQTile * T::kRowBytes,
                  place(a.o_at, work.head, work.batch, token, box * T::kColumns));
      }
      store_commit();
      store_wait_read();
    }
    release(&s.q_empty[q_stage]);
  }

  __device__ __forceinline__ void finish(const Work& work, int q_stage) {
    float scale[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      row_sum[h] += __shfl_xor_sync(0xffffffffu, row_sum[h], 1);
      row_sum[h] += __shfl_xor_sync(0xffffffffu, row_sum[h], 2);
      scale[h] = row_sum[h] > 0 ? 1.0f / row_sum[h] : 0.0f;
    }
    BoxPlace place;  // before the Q tile is given back
    if constexpr (T::kMask == MaskKind::kBox) {
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) place.length[axis] = from_lane_0(s.place[q_stage].length[axis]);
      place.first_row = from_lane_0(s.place[q_stage].first_row);
    }
    store_output(work, q_stage, scale);
    store_lse(work, place, row_sum);
  }

  __device__ __forceinline__ void run() {
    Ring<T::kQStages> q_ring;
    if (T::kPingPong && warpgroup == T::kConsumers - 1) pass_turn();
    for (;;) {
      barrier_wait(&s.q_full[q_ring.stage], q_ring.parity);
      if (from_lane_0(s.item[q_ring.stage]) >= a.items) break;
      const Work work = work_of(q_ring.stage);
      begin(work, q_ring.stage);
      if (work.count > 0) walk(work, q_ring.stage);
      finish(work, q_ring.stage);
      q_ring.advance();
    }
  }
};

}  // namespace natten_sim::kernels::attention_forward
