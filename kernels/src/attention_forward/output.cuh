// What a consumer warpgroup does when its rows are done: normalises O, adds up parts of a split item, stores.
#pragma once

#include "attention_forward/producer.cuh"

namespace natten_sim::kernels::attention_forward {

/// Maxima and sums of a thread's two rows. `sum` is of this thread's columns until it is reduced.
struct RowStatistics {
  float max[2];
  float sum[2];

  __device__ __forceinline__ void reset() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      max[h] = -1e30f;  // finite: a row that sees nothing of a tile must not make NaN
      sum[h] = 0;
    }
  }
};

/// O of a warpgroup's 64 rows, in registers.
template <class T>
struct OutputRows {
  static constexpr int kOutputs = T::kHeadDim / 2;
  static constexpr int kSlotFloats = 128 * (kOutputs + 4);  // of the workspace, a part and warpgroup

  const Arguments& a;
  Shared<T>& s;
  int warpgroup;  // 0..kConsumers-1
  int warp;       // in the warpgroup
  int lane;
  float o[kOutputs] = {};
  int stored_stage = -1;  // Q stage that this warp gives back once TMA has read it

  __device__ __forceinline__ int row(int half) const {
    return 64 * warpgroup + 16 * warp + lane / 4 + 8 * half;
  }
  __device__ __forceinline__ void release(std::uint64_t* empty) {
    if (lane == 0) barrier_arrive(empty);
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) o[i] = 0;
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

  /// kBox: coordinates of a row of the Q tile.
  __device__ __forceinline__ int3 query(const Work& work, int r) const {
    const int y = r / a.q_tile[0];
    const int z = y / a.q_tile[1];
    return {work.x + r - y * a.q_tile[0], work.y + y - z * a.q_tile[1], work.z + z};
  }

  __device__ __forceinline__ void store_lse(const Work& work, const BoxPlace& place, const RowStatistics& rows) {
    if ((lane & 3) != 0) return;
    const std::int64_t head = (static_cast<std::int64_t>(work.batch) * a.heads + work.head) * a.q_tokens;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float lse = rows.sum[h] > 0 ? (rows.max[h] * a.scale_log2 + __log2f(rows.sum[h])) * 0.693147180559945f
                                   : -__int_as_float(0x7f800000);
      if constexpr (T::kMask == MaskKind::kBand) {
        if (work.x + row(h) < a.q_tokens) a.lse[head + work.x + row(h)] = lse;
      } else {
        const int3 token = query(work, row(h));
        if (token.x < place.length[0] && token.y < place.length[1] && token.z < place.length[2]) {
          a.lse[head + place.first_row + token.x * a.row_stride[0] + token.y * a.row_stride[1] +
                token.z * a.row_stride[2] + fourth<T::kMask>(work) * a.row_stride[3]] = lse;
        }
      }
    }
  }

  /// O through this warpgroup's own rows of the Q tile, then by TMA.
  __device__ __forceinline__ void store_output(const Work& work, int q_stage, const RowStatistics& rows) {
    float scale[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) scale[h] = rows.sum[h] > 0 ? 1.0f / rows.sum[h] : 0.0f;
    const std::uint32_t target = shared_address(s.q[q_stage]) + warpgroup * 64 * T::kRowBytes;
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
      int4 token = {work.x + 64 * warpgroup, 0, 0, 0};
      const CUtensorMap* map = &a.only.o;
      if constexpr (T::kMask == MaskKind::kBox) {
        token = {work.x + warpgroup * a.warpgroup_step[0], work.y + warpgroup * a.warpgroup_step[1],
                 work.z + warpgroup * a.warpgroup_step[2], fourth<T::kMask>(work)};
        map = &group_of(a, work).o;
      }
#pragma unroll
      for (int box = 0; box < T::kBoxes; ++box) {
        store_box(map, target + box * T::kQTile * T::kRowBytes,
                  place(a.o_at, work.head, work.batch, token, box * T::kColumns));
      }
      store_commit();
    }
  }

  /// The Q tile goes back once TMA has read O from its place; the warp that asked for that waits for it, later
  /// if it can.
  __device__ __forceinline__ void settle() {
    if (stored_stage < 0) return;
    if (lane == 0) {
      store_wait_read();
      barrier_arrive(&s.q_empty[stored_stage]);
    }
    stored_stage = -1;
  }
  __device__ __forceinline__ void give_back(int q_stage, bool stored) {
    if (stored && warp == 0) {
      stored_stage = q_stage;
      if constexpr (!T::kJoined) settle();
    } else {
      release(&s.q_empty[q_stage]);
    }
  }

  __device__ __forceinline__ float* slot(int number) const {
    return a.workspace + (static_cast<std::int64_t>(number) * T::kConsumers + warpgroup) * kSlotFloats +
           4 * (32 * warp + lane);
  }

  /// A part of a split item: leaves its rows in the workspace. True for the last part to arrive, which then
  /// holds the rows of the whole item, added up in the order of keys whoever it is.
  __device__ __forceinline__ bool add_parts(int index, RowStatistics& rows) {
    const ItemPart part = a.parts[index];
    const int parts = __shfl_sync(0xffffffffu, part.parts, 0);  // tells the compiler that warps do not part
    float* const own = slot(part.slot);
#pragma unroll
    for (int i = 0; i < kOutputs; i += 4) write_quad(own + 128 * i, o[i], o[i + 1], o[i + 2], o[i + 3]);
    write_quad(own + 128 * kOutputs, rows.max[0], rows.max[1], rows.sum[0], rows.sum[1]);
    __threadfence();
    named_sync(8 + warpgroup, 128);
    unsigned* const arrivals = a.arrivals + part.counter * T::kConsumers + warpgroup;
    if (warp == 0 && lane == 0) {
      const unsigned before = atomicAdd(arrivals, 1);
      s.arrived[warpgroup] = before;
      if (before + 1 == static_cast<unsigned>(parts)) *arrivals = 0;  // for the next launch
      __threadfence();
    }
    named_sync(8 + warpgroup, 128);
    const bool last = from_lane_0(s.arrived[warpgroup]) + 1 == static_cast<unsigned>(parts);
    named_sync(8 + warpgroup, 128);  // before the word is written again
    if (!last) return false;
    clear();
    rows.reset();
#pragma unroll 1
    for (int other = 0; other < parts; ++other) add_part(slot(part.first_slot + other), rows);
    return true;
  }

  __device__ __forceinline__ void add_part(const float* from, RowStatistics& rows) {
    const float4 of = read_quad(from + 128 * kOutputs);
    const float max[2] = {of.x, of.y}, sum[2] = {of.z, of.w};
    float kept[2], added[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float top = fmaxf(rows.max[h], max[h]);
      kept[h] = exp2_approx((rows.max[h] - top) * a.scale_log2);
      added[h] = exp2_approx((max[h] - top) * a.scale_log2);
      rows.max[h] = top;
      rows.sum[h] = rows.sum[h] * kept[h] + sum[h] * added[h];
    }
#pragma unroll
    for (int i = 0; i < kOutputs; i += 4) {
      const float4 more = read_quad(from + 128 * i);
      o[i] = o[i] * kept[0] + more.x * added[0];
      o[i + 1] = o[i + 1] * kept[0] + more.y * added[0];
      o[i + 2] = o[i + 2] * kept[1] + more.z * added[1];
      o[i + 3] = o[i + 3] * kept[1] + more.w * added[1];
    }
  }

  /// Whether this warpgroup's sums of the item in `q_stage` can be stored. If not, the producer finds that when
  /// it takes the stage back, and brings the item again. A warpgroup whose sums were all right the first time
  /// lets the second pass.
  __device__ __forceinline__ bool is_in_range(int q_stage, const RowStatistics& rows) {
    // A probability is at most the sum, so below this none was infinite in its type.
    constexpr float kMost = T::kKernel.dtype == Dtype::kFp16 ? 65504.0f : 1.8446744e19f;  // 2^64
    const unsigned again = from_lane_0(s.again[q_stage]);
    if (again != 0) return (again >> warpgroup & 1) != 0;
    const bool wrong = __any_sync(0xffffffffu, !(rows.sum[0] <= kMost) || !(rows.sum[1] <= kMost));
    if (wrong && lane == 0) atomicOr(&s.overflowed[q_stage], 1u << warpgroup);
    named_sync(8 + warpgroup, 128);
    return (from_lane_0(s.overflowed[q_stage]) >> warpgroup & 1) == 0;
  }

  /// The item in `q_stage` is done.
  __device__ __forceinline__ void finish(int q_stage, RowStatistics rows) {
    const Work work = work_of(q_stage);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      rows.sum[h] += __shfl_xor_sync(0xffffffffu, rows.sum[h], 1);
      rows.sum[h] += __shfl_xor_sync(0xffffffffu, rows.sum[h], 2);
    }
    if (T::kRedo && !is_in_range(q_stage, rows)) return give_back(q_stage, false);
    if (T::kSplits && work.part > 0 && !add_parts(work.part - 1, rows))
      return give_back(q_stage, false);
    BoxPlace place;  // before the Q tile is given back
    if constexpr (T::kMask == MaskKind::kBox) {
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) place.length[axis] = from_lane_0(s.place[q_stage].length[axis]);
      place.first_row = from_lane_0(s.place[q_stage].first_row);
    }
    store_output(work, q_stage, rows);
    give_back(q_stage, true);
    store_lse(work, place, rows);
  }
};

}  // namespace natten_sim::kernels::attention_forward
