// A consumer warpgroup: scores, softmax and output of 64 query rows.
//
// An item is a run of steps, one a KV tile. A step asks for S of its tile and for P V of the tile before, and
// works on softmax of the former while the latter runs. With kJoined that goes on from one item to the next: the
// first step of an item carries the last product of the item before, whose rows are stored while the new item's
// probabilities wait in registers.
#pragma once

#include "attention_forward/mask.cuh"
#include "attention_forward/output.cuh"
#include "attention_forward/softmax.cuh"
#include "attention_forward/wgmma.cuh"

namespace natten_sim::kernels::attention_forward {

/// One consumer warpgroup.
template <class T>
struct Consumer : OutputRows<T> {
  static constexpr int kScores = T::kKvTile / 2;  // registers of S
  using OutputRows<T>::kOutputs;
  using OutputRows<T>::a;
  using OutputRows<T>::s;
  using OutputRows<T>::warpgroup;
  using OutputRows<T>::warp;
  using OutputRows<T>::lane;
  using OutputRows<T>::o;
  using OutputRows<T>::row;
  using OutputRows<T>::release;
  using OutputRows<T>::from_lane_0;
  using OutputRows<T>::query;

  std::uint32_t q_low, k_low, v_low;  // operands in the first stages
  Ring<T::kKStages> k_ring;
  Ring<T::kVStages> v_ring;
  bool k_ready = false, v_ready = false;
  std::uint32_t p[kScores / 2];
  RowStatistics rows;
  std::conditional_t<(T::kMaskProducts > 0), FeatureRanges<T::kMaskProducts>, RowRanges> ranges;

  // Turns: a warpgroup waits for its own barrier before it issues products, then lets the next one go.
  __device__ __forceinline__ void take_turn() {
    if constexpr (T::kPingPong) named_sync(1 + warpgroup, 256);
  }
  __device__ __forceinline__ void pass_turn() {
    if constexpr (T::kPingPong) named_arrive(1 + (warpgroup + 1 == T::kConsumers ? 0 : warpgroup + 1), 256);
  }

  __device__ __forceinline__ void wait_for_k() { barrier_wait(&s.k_full[k_ring.stage], k_ring.parity); }
  __device__ __forceinline__ void wait_for_v() { barrier_wait(&s.v_full[v_ring.stage], v_ring.parity); }
  // Asked long before they are needed, so that the answer's latency hides.
  __device__ __forceinline__ void test_k() { k_ready = barrier_test(&s.k_full[k_ring.stage], k_ring.parity); }
  __device__ __forceinline__ void test_v() { v_ready = barrier_test(&s.v_full[v_ring.stage], v_ring.parity); }

  /// kMasks: products that hide pairs of the tile; 1 of 2 is the one that the tile needs.
  template <int kMasks>
  __device__ __forceinline__ void issue_scores(float (&scores)[kScores], int q_stage,
                                               const MaskedTile& tile) {
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
    if constexpr (kMasks > 0) {  // features are found while the tensor cores are busy with the others
      const int first = kMasks < T::kMaskProducts ? tile.products >> 1 : 0;
      std::uint32_t features[kMasks][4];
#pragma unroll
      for (int i = 0; i < kMasks; ++i) hidden_features(features[i], ranges, first + i, tile);
      product_fence();
#pragma unroll
      for (int i = 0; i < kMasks; ++i) {
        MaskProduct<T::kKvTile>::issue(
            scores, features[i],
            plain_operand(shared_address(s.key_features) + (first + i) * 32 * T::kKvTile));
      }
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

  __device__ __forceinline__ void mask(float (&scores)[kScores], const MaskedTile& tile) {
    if constexpr (T::kMask == MaskKind::kBand) {
      hide_band<T::kKvTile>(scores, ranges, tile.x, lane & 3);
    } else if (tile.x < 0) {
      hide_extra<T::kKvTile>(scores, -tile.x, lane & 3);
    } else if constexpr (T::kMaskProducts == 0) {
      hide_box<T::kKvTile>(scores, ranges, tile, a, s.prefix, lane & 3);
    }
  }

  /// kSeen: every row has seen a key, in a tile without a mask.
  template <bool kSeen = false>
  __device__ __forceinline__ float softmax_row(float (&scores)[kScores], int h) {
    if constexpr (kSeen && T::kRedo) {
      add_row<T>(scores, h, a.scale_log2, rows);
      return 1;
    }
    return row_to_probabilities<T>(scores, h, a.scale_log2, rows);
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
    return T::kRescale == Rescale::kAlways ||
           __any_sync(0xffffffffu, correction[0] != 1.0f || correction[1] != 1.0f);
  }
  __device__ __forceinline__ void rescale(const float (&correction)[2]) {
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) o[i] *= correction[i >> 1 & 1];
  }

  template <bool kMasked, bool kSeen = !kMasked, int kMasks = kMasked ? T::kMaskProducts : 0>
  __device__ __forceinline__ void step(const Work& work, int index, int q_stage) {
    float scores[kScores];
    float correction[2];
    MaskedTile tile;  // asked for long before it is needed
    if constexpr (kMasked) tile = masked_tile<T::kMask, T::kKvTile>(a, work, index);
    if (!k_ready) wait_for_k();
    if (T::kOverlap && !v_ready) wait_for_v();
    take_turn();
    issue_scores<kMasks>(scores, q_stage, tile);
    if constexpr (T::kOverlap) {
      issue_output();
      pass_turn();
      if constexpr (T::kJoined) this->settle();
      product_wait<1>();
      scores_done(scores);
      test_k();
      if constexpr (kMasked) mask(scores, tile);
      correction[0] = this->template softmax_row<kSeen>(scores, 0);
      if constexpr (T::kEarly == 1) hold(rows.sum[0]);
      correction[1] = this->template softmax_row<kSeen>(scores, 1);
      if constexpr (T::kEarly == 2) hold(rows.sum[0] + rows.sum[1]);
      const bool rescaled = !(kSeen && T::kRedo) && needs_rescale(correction);
      product_wait<0>();
      output_done();
      test_v();
      pack_probabilities(scores);
      if (rescaled) rescale(correction);
    } else {
      product_wait<0>();
      scores_done(scores);
      pass_turn();
      if constexpr (kMasked) mask(scores, tile);
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

  /// The first tile of an item with overlap. kJoins: the last product of the item before, in `stage_before`, is
  /// still to come, and runs beside it; otherwise there is nothing to multiply V with yet.
  template <bool kJoins>
  __device__ __forceinline__ void first_step(Work& work, int q_stage, int stage_before) {
    float scores[kScores];
    const bool masked = work.full_begin > 0 || work.full_end == 0;
    MaskedTile tile;
    if (masked) tile = masked_tile<T::kMask, T::kKvTile>(a, work, 0);
    if (masked || !kJoins) find_ranges(work, q_stage);
    wait_for_k();
    if constexpr (kJoins) {
      if (!v_ready) wait_for_v();
    }
    issue_scores<T::kMaskProducts>(scores, q_stage, tile);
    if constexpr (kJoins) {
      issue_output();
      product_wait<1>();
    } else {
      product_wait<0>();
    }
    scores_done(scores);
    if (masked) mask(scores, tile);
    const RowStatistics before = rows;
    rows.reset();
    softmax_row(scores, 0);
    if constexpr (kJoins && T::kEarly >= 1) hold(rows.sum[0]);
    softmax_row(scores, 1);
    if constexpr (kJoins) {
      product_wait<0>();
      output_done();
      this->finish(stage_before, before);
      // Recomputed to save registers.
      asm volatile("" : "+r"(work.x)::"memory");
    }
    if constexpr (kJoins) find_ranges(work, q_stage);
    this->clear();
    pack_probabilities(scores);
    k_ready = v_ready = false;
  }

  /// The last product of an item, alone, and what follows.
  __device__ __forceinline__ void close(int q_stage) {
    if constexpr (T::kOverlap) {
      wait_for_v();
      issue_output();
      product_wait<0>();
      output_done();
    }
    this->finish(q_stage, rows);
  }

  /// Steps from number `i` on; masked tiles lie at either end of the walk.
  __device__ __forceinline__ void walk(const Work& work, int q_stage, int i) {
    int masked_end = work.full_begin;
    // Rows that masked tiles have hidden need a maximum from the first tile without a mask.
    if (T::kRedo && masked_end > 0 && masked_end < work.full_end) ++masked_end;
#pragma unroll 1
    for (int end = 0; end < 2; ++end) {
#pragma unroll 1
      for (; i < masked_end; ++i) step<true>(work, i, q_stage);
#pragma unroll 1
      for (; i < work.full_end; ++i) step<false>(work, i, q_stage);
      if constexpr (T::kRedo) {
        if (work.full_end > work.full_begin) {
          if constexpr (T::kMaskProducts > 1) {
#pragma unroll 1
            for (; i < work.part; ++i) step<true, true, 1>(work, i, q_stage);
          }
#pragma unroll 1
          for (; i < work.count; ++i) step<true, true>(work, i, q_stage);
        }
      }
      masked_end = work.count;
    }
  }

  /// Keys that this thread's rows see.
  __device__ __forceinline__ void find_ranges(const Work& work, int q_stage) {
    if constexpr (T::kMask == MaskKind::kBand) {
#pragma unroll
      for (int h = 0; h < 2; ++h) ranges.of[h][0] = band(a, work.x + row(h));
    } else if (work.full_begin > 0 || work.full_end < work.count) {  // ranges are for masks
      int last[3], first_range[3];
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        last[axis] = from_lane_0(s.place[q_stage].length[axis]) - 1;
        first_range[axis] = from_lane_0(s.place[q_stage].first_range[axis]);
      }
      const auto range = [&](const int3& token, int axis) {
        const int at = axis == 0 ? token.x : axis == 1 ? token.y : token.z;
        const int end = axis == 0 ? last[0] : axis == 1 ? last[1] : last[2];
        const int first = axis == 0 ? first_range[0] : axis == 1 ? first_range[1] : first_range[2];
        return a.ranges[first + min(at, end)];
      };
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int3 token = query(work, row(h));
        if constexpr (T::kMaskProducts == 0) {
#pragma unroll
          for (int axis = 0; axis < 3; ++axis) ranges.of[h][axis] = range(token, axis);
        } else {
#pragma unroll
          for (int i = 0; i < 2 * T::kMaskProducts; ++i) {
            const int pair = coordinate_pair(a, i, lane & 3);
            const int2 keys = range(token, pair >> 8);
            if (h == 0)
              ranges.axes = (i == 0 ? 0 : ranges.axes) | static_cast<std::uint32_t>(pair >> 8) << (2 * i);
            ranges.count_begin[h][i] = static_cast<std::uint32_t>(keys.y - keys.x) << 16 |
                                       static_cast<std::uint16_t>(keys.x - (pair & 255));
          }
        }
      }
    }
  }

  /// Items one after the other, each closed before the next one begins.
  __device__ __forceinline__ void run_apart() {
    Ring<T::kQStages> q_ring;
    if (T::kPingPong && warpgroup == T::kConsumers - 1) pass_turn();
    for (;;) {
      barrier_wait(&s.q_full[q_ring.stage], q_ring.parity);
      if (from_lane_0(s.item[q_ring.stage]) == kEnd) break;
      Work work = this->work_of(q_ring.stage);
      if constexpr (!T::kOverlap) find_ranges(work, q_ring.stage);
      rows.reset();
      this->clear();
      k_ready = v_ready = false;
      if constexpr (T::kOverlap) first_step<false>(work, q_ring.stage, 0);
      walk(work, q_ring.stage, T::kOverlap ? 1 : 0);
      close(q_ring.stage);
      q_ring.advance();
    }
  }

  __device__ __forceinline__ void run_joined() {
    Ring<T::kQStages> q_ring;
    int open = -1;  // Q stage of an item whose last product is still to come
    for (;;) {
      barrier_wait(&s.q_full[q_ring.stage], q_ring.parity);
      const int item = from_lane_0(s.item[q_ring.stage]);
      if (item == kEnd) break;
      if (T::kRedo && item == kFlush) {
        close(open);
        this->settle();
        release(&s.q_empty[q_ring.stage]);
        q_ring.advance();
        open = -1;
        continue;
      }
      Work work = this->work_of(q_ring.stage);
      if (open >= 0) {
        first_step<true>(work, q_ring.stage, open);
      } else {
        first_step<false>(work, q_ring.stage, 0);
      }
      walk(work, q_ring.stage, 1);
      this->settle();
      open = q_ring.stage;
      q_ring.advance();
    }
    if (!T::kRedo && open >= 0) close(open);
    this->settle();
  }

  __device__ __forceinline__ void run() {
    if constexpr (T::kJoined) {
      run_joined();
    } else {
      run_apart();
    }
  }
};

}  // namespace natten_sim::kernels::attention_forward
