// Attention forward, split-Q, mma.sync (sm_80 and later).
//
// Variants (AttentionTiles, compiled) x (AttentionVariant, at run time): head dim 64, 96, 128, 160; fp16 and
// bf16; Q tile, KV tile, stages; persistent, grid or tile-based CTAs; cyclic, sawtooth or descending KV walk;
// full or causal.
//
// Floor, operations: 4 * tokens^2 * head_dim a head (half if causal) over the tensor cores' rate. On an H200
// (790 TFLOP/s dense bf16), 16384 tokens, 16 heads of 128: 2.2e12 operations, 2.8 ms full and 1.4 ms causal.
// Floor, bytes: each Q tile's walk over K and V through the L2, 17 GB with Q tiles of 128 rows, 2.0 ms at the
// 8.7 TB/s that its hits reach. So operations bind.
// Measured there: 367 TFLOP/s full (6.0 ms, 2.1 times the floor), 339 causal (3.2 ms, 2.3 times);
// FlashAttention-2 in PyTorch 349 and 321, cuDNN 651 and 630. mma.sync reaches about two thirds of what wgmma
// does on sm_90; the exponentials (one a score, 16 a cycle and SM quarter) do not overlap fully with it.
// On sm_80 the same code is not timed. Shared memory bounds the CTAs an SM there (164 KiB, 100 KiB on sm_86,
// sm_89 and sm_120): a variant that does not fit is refused at launch, and becomes a row that says so.
//
// A warp owns 16 or 32 rows of the Q tile. S and O stay in registers in the layout of mma.m16n8k16's
// accumulators, which is also the layout of its A operand, so P needs no shared memory. K and V tiles arrive
// by cp.async in rings of kStages; K of the next tile and V of this one travel while this one is multiplied.
// Rows in shared memory are split in 16-byte chunks. Chunk c of row r lies at c ^ (r % 8) where rows are a
// multiple of 8 chunks (head dim 64, 128), and at c ^ (r / 2 % 4) where they are an odd multiple of 4 (96,
// 160): chunk c of 8 rows in a row lies in 8 places. No bank conflicts, and no padding.
#pragma once

#include <cstdint>

#include <natten_sim/kernels/attention/attention.hpp>

#include "attention/instructions.cuh"
#include "gpu/global_timer.cuh"
#include "gpu/sm_number.cuh"

namespace natten_sim::kernels {

struct AttentionArguments {
  const void* q;
  const void* k;
  const void* v;
  void* o;
  int tokens;
  int batch;
  int heads;
  int heads_kv;
  int q_tiles;   // of one head
  int kv_tiles;  // of one head
  int items;
  int resident;      // CTAs that run at once
  float scale_log2;  // log2(e) / sqrt(head_dim)
  bool causal;
  bool last_q_tile_first;
  int schedule;             // CtaSchedule
  int walk;                 // KvOrder
  ItemInterval* intervals;  // of each item, or null
};

namespace device {

constexpr int greatest_common_divisor(int a, int b) { return b == 0 ? a : greatest_common_divisor(b, a % b); }

template <typename Element, int kHeadDim, int kQTile, int kKvTile, int kWarps, int kStages,
          bool kMarksMiddles>
struct Cta {
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRowBytes = kHeadDim * 2;
  static constexpr int kRowChunks = kRowBytes / 16;
  static constexpr int kWarpRows = kQTile / kWarps;
  static constexpr int kM = kWarpRows / 16;  // row blocks of a warp
  static constexpr int kN = kKvTile / 8;     // column blocks of S
  static constexpr int kO = kHeadDim / 8;    // column blocks of O
  static constexpr int kKvBytes = kKvTile * kRowBytes;
  static constexpr int kPending = 2 * (kStages - 1);
  static_assert(kWarpRows == 16 || kWarpRows == 32);
  // All threads copy kPhases * kThreads chunks, that is kStep rows, before places repeat.
  static constexpr int kPhases = kRowChunks / greatest_common_divisor(kThreads, kRowChunks);
  static constexpr int kStep = kPhases * kThreads / kRowChunks;
  static_assert(kKvTile % 16 == 0 && kHeadDim % 32 == 0);
  static_assert(kStep % 8 == 0);

  const AttentionArguments& a;
  std::uint32_t q_shared, k_shared, v_shared;
  int warp, lane;

  /// Rows first .. first+kRows-1 of a (tokens, head_dim) matrix; rows past the end become zeros.
  template <int kRows>
  __device__ void load_tile(std::uint32_t target, const Element* matrix, int first) const {
    static_assert(kRows % kStep == 0);
#pragma unroll
    for (int phase = 0; phase < kPhases; ++phase) {
      const int index = static_cast<int>(threadIdx.x) + phase * kThreads;
      const int row = index / kRowChunks;
      const int chunk = index % kRowChunks;
      const Element* source = matrix + static_cast<std::int64_t>(first + row) * kHeadDim + chunk * 8;
      const std::uint32_t address = target + chunk_offset<kRowBytes>(row, chunk);
      if (first + kRows <= a.tokens) {
#pragma unroll
        for (int i = 0; i < kRows / kStep; ++i) {
          copy_async(address + i * kStep * kRowBytes, source + i * kStep * kHeadDim, true);
        }
      } else {
#pragma unroll
        for (int i = 0; i < kRows / kStep; ++i) {
          const bool valid = first + row + i * kStep < a.tokens;
          copy_async(address + i * kStep * kRowBytes, valid ? source + i * kStep * kHeadDim : matrix, valid);
        }
      }
    }
  }

  __device__ void scores(float (&s)[kM][kN][4], std::uint32_t k_tile) const {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int n = 0; n < kN; ++n) s[m][n][0] = s[m][n][1] = s[m][n][2] = s[m][n][3] = 0;
    }
    const std::uint32_t q_first =
        q_shared + chunk_offset<kRowBytes>(warp * kWarpRows + (lane & 15), lane >> 4);
    const std::uint32_t k_first =
        k_tile + chunk_offset<kRowBytes>((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
#pragma unroll
    for (int d = 0; d < kHeadDim / 16; ++d) {
      Fragment q[kM];
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        load_matrices(q[m], chunk_pair<kRowBytes>(q_first, d) + m * 16 * kRowBytes);
      }
#pragma unroll
      for (int n = 0; n < kN / 2; ++n) {
        Fragment k;
        load_matrices(k, chunk_pair<kRowBytes>(k_first, d) + n * 16 * kRowBytes);
#pragma unroll
        for (int m = 0; m < kM; ++m) {
          multiply<Element>(s[m][2 * n], q[m], k[0], k[1]);
          multiply<Element>(s[m][2 * n + 1], q[m], k[2], k[3]);
        }
      }
    }
  }

  /// Scores of tokens past the end, and with a causal mask of tokens after the query, become -infinity.
  __device__ void mask(float (&s)[kM][kN][4], int first_row, int first_column) const {
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int n = 0; n < kN; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = first_row + m * 16 + (lane >> 2) + (i >> 1) * 8;
          const int column = first_column + n * 8 + (lane & 3) * 2 + (i & 1);
          if (column >= a.tokens || (a.causal && column > row)) s[m][n][i] = -infinity();
        }
      }
    }
  }

  /// Turns scores into unnormalised probabilities; rescales what was accumulated under a smaller maximum.
  __device__ void softmax(float (&s)[kM][kN][4], float (&o)[kM][kO][4], float (&maximum)[kM][2],
                          float (&sum)[kM][2]) const {
    float correction[kM][2];
    bool changed = false;
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float top = maximum[m][h];
#pragma unroll
        for (int n = 0; n < kN; ++n) top = fmaxf(top, fmaxf(s[m][n][2 * h], s[m][n][2 * h + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        // A row that has seen no unmasked score yet keeps exp2(-inf - 0) = 0.
        const float reference = top == -infinity() ? 0.f : top * a.scale_log2;
        changed |= top != maximum[m][h];
        correction[m][h] = exp2_approximate(maximum[m][h] * a.scale_log2 - reference);
        maximum[m][h] = top;
        float part = 0;
#pragma unroll
        for (int n = 0; n < kN; ++n) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float& p = s[m][n][2 * h + i];
            p = exp2_approximate(fmaf(p, a.scale_log2, -reference));
            part += p;
          }
        }
        sum[m][h] = fmaf(sum[m][h], correction[m][h], part);
      }
    }
    // Late in a walk maxima rarely move; then every correction is 1.
    if (__any_sync(0xffffffffu, changed)) {
#pragma unroll
      for (int m = 0; m < kM; ++m) {
#pragma unroll
        for (int d = 0; d < kO; ++d) {
#pragma unroll
          for (int i = 0; i < 4; ++i) o[m][d][i] *= correction[m][i >> 1];
        }
      }
    }
  }

  __device__ void accumulate(float (&o)[kM][kO][4], const float (&p)[kM][kN][4], std::uint32_t v_tile) const {
    const std::uint32_t v_first = v_tile + chunk_offset<kRowBytes>(lane & 15, lane >> 4);
#pragma unroll
    for (int j = 0; j < kKvTile / 16; ++j) {
      Fragment probabilities[kM];
#pragma unroll
      for (int m = 0; m < kM; ++m) {
        probabilities[m][0] = pack<Element>(p[m][2 * j][0], p[m][2 * j][1]);
        probabilities[m][1] = pack<Element>(p[m][2 * j][2], p[m][2 * j][3]);
        probabilities[m][2] = pack<Element>(p[m][2 * j + 1][0], p[m][2 * j + 1][1]);
        probabilities[m][3] = pack<Element>(p[m][2 * j + 1][2], p[m][2 * j + 1][3]);
      }
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        Fragment v;
        load_matrices_transposed(v, chunk_pair<kRowBytes>(v_first, d) + j * 16 * kRowBytes);
#pragma unroll
        for (int m = 0; m < kM; ++m) {
          multiply<Element>(o[m][2 * d], probabilities[m], v[0], v[1]);
          multiply<Element>(o[m][2 * d + 1], probabilities[m], v[2], v[3]);
        }
      }
    }
  }

  /// Normalises and stores. The warp's own rows of the Q tile in shared memory serve to turn them into whole
  /// rows.
  __device__ void store(float (&o)[kM][kO][4], float (&sum)[kM][2], Element* output, int first_row) const {
    std::uint8_t* const rows =
        static_cast<std::uint8_t*>(__cvta_shared_to_generic(q_shared)) + warp * kWarpRows * kRowBytes;
    __syncwarp();
#pragma unroll
    for (int m = 0; m < kM; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float total = sum[m][h];
        total += __shfl_xor_sync(0xffffffffu, total, 1);
        total += __shfl_xor_sync(0xffffffffu, total, 2);
        const float inverse = total > 0 ? 1.f / total : 0.f;
        const int row = m * 16 + h * 8 + (lane >> 2);
#pragma unroll
        for (int d = 0; d < kO; ++d) {
          *reinterpret_cast<std::uint32_t*>(rows + chunk_offset<kRowBytes>(row, d) + (lane & 3) * 4) =
              pack<Element>(o[m][d][2 * h] * inverse, o[m][d][2 * h + 1] * inverse);
        }
      }
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < kWarpRows * kRowChunks; i += 32) {
      const int row = i / kRowChunks, chunk = i % kRowChunks;
      if (first_row + row < a.tokens) {
        *reinterpret_cast<uint4*>(output + static_cast<std::int64_t>(first_row + row) * kHeadDim +
                                  chunk * 8) =
            *reinterpret_cast<const uint4*>(rows + chunk_offset<kRowBytes>(row, chunk));
      }
    }
  }

  /// Where an item's operands lie, and how many KV tiles it visits.
  struct Item {
    std::int64_t q_offset;  // elements, of O as well
    const Element* k_matrix;
    const Element* v_matrix;
    int first_row;
    int visited;
  };
  __device__ __forceinline__ Item item_of(int item) const {
    const int in_head = item % a.q_tiles;
    const int q_tile = a.last_q_tile_first ? a.q_tiles - 1 - in_head : in_head;
    const int batch = item / a.q_tiles % a.batch;
    const int head = item / a.q_tiles / a.batch;
    const std::int64_t head_elements = static_cast<std::int64_t>(a.tokens) * kHeadDim;
    const std::int64_t kv_offset =
        (static_cast<std::int64_t>(batch) * a.heads_kv + head / (a.heads / a.heads_kv)) * head_elements;
    const int first_row = q_tile * kQTile;
    return {(static_cast<std::int64_t>(batch) * a.heads + head) * head_elements,
            static_cast<const Element*>(a.k) + kv_offset, static_cast<const Element*>(a.v) + kv_offset,
            first_row, a.causal ? (min(first_row + kQTile, a.tokens) - 1) / kKvTile + 1 : a.kv_tiles};
  }

  /// Written at once: nothing of it stays in registers.
  __device__ __forceinline__ static void begin(ItemInterval& interval) {
    interval.begin_ns = global_timer();
    interval.begin_cycle = sm_cycles();
    interval.cta = blockIdx.x;
    interval.sm = sm_number();
  }
  __device__ __forceinline__ static void end(ItemInterval& interval) {
    interval.end_ns = global_timer();
    interval.end_cycle = sm_cycles();
  }

  /// Notes the clock if the tile is a marked one.
  __device__ __forceinline__ static void mark(std::array<std::uint64_t, kItemMarks>& cycles, int step) {
    const int offset = step - kFirstMarkedTile;
    if (offset < 0 || (offset & (offset - 1)) != 0) return;
    const int at = 32 - __clz(offset);  // 0 for the first
    if (at < kItemMarks) reinterpret_cast<std::uint64_t*>(&cycles)[at] = sm_cycles();
  }

  /// Loads K of a later tile. The kernel that marks middles notes this one, and of one tile how long K took.
  template <typename Load>
  __device__ __forceinline__ void load_next(int item, int step, int visited, const Load& load) const {
    const bool marks = kMarksMiddles && a.intervals != nullptr;
    if (marks && threadIdx.x == 0) mark(a.intervals[item].middle_cycles, step);
    const bool waits = marks && step == kWaitedTile && step + kStages < visited;
    const std::uint64_t asked = waits ? sm_cycles() : 0;
    load();
    if (!waits) return;
    wait_for_copies<0>();
    __syncthreads();
    if (threadIdx.x == 0) a.intervals[item].arrival_cycles = sm_cycles() - asked;
  }

  __device__ void process(int item, bool odd_pass) const {
    const Item at = item_of(item);
    const int visited = at.visited, warp_row = at.first_row + warp * kWarpRows;
    const bool descending = a.walk == 2 || (a.walk == 1 && odd_pass);
    const auto kv_row = [&](int step) { return (descending ? visited - 1 - step : step) * kKvTile; };
    const auto load_k = [&](int step) {
      if (step < visited) load_tile<kKvTile>(k_shared + step % kStages * kKvBytes, at.k_matrix, kv_row(step));
      commit_copies();
    };
    const auto load_v = [&](int step) {
      if (step < visited) load_tile<kKvTile>(v_shared + step % kStages * kKvBytes, at.v_matrix, kv_row(step));
      commit_copies();
    };

    if (a.intervals != nullptr && threadIdx.x == 0) begin(a.intervals[item]);
    __syncthreads();  // the last item's tiles and rows of O are no longer read
    load_tile<kQTile>(q_shared, static_cast<const Element*>(a.q) + at.q_offset, at.first_row);
    load_k(0);
#pragma unroll
    for (int step = 0; step + 1 < kStages; ++step) {
      load_v(step);
      load_k(step + 1);
    }

    float o[kM][kO][4] = {};
    float maximum[kM][2], sum[kM][2];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
      maximum[m][0] = maximum[m][1] = -infinity();
      sum[m][0] = sum[m][1] = 0;
    }
    for (int step = 0; step < visited; ++step) {
      const int slot = step % kStages;
      float s[kM][kN][4];
      wait_for_copies<kPending>();
      __syncthreads();  // K is here for all; V of the last step is read
      if (a.intervals != nullptr && threadIdx.x == 0) mark(a.intervals[item].mark_cycles, step);
      load_v(step + kStages - 1);
      scores(s, k_shared + slot * kKvBytes);
      const int first_column = kv_row(step);
      if (first_column + kKvTile > a.tokens || (a.causal && first_column + kKvTile - 1 > warp_row)) {
        mask(s, warp_row, first_column);
      }
      softmax(s, o, maximum, sum);
      wait_for_copies<kPending>();
      __syncthreads();  // V is here for all; K of this step is read
      load_next(item, step, visited, [&] { load_k(step + kStages); });
      accumulate(o, s, v_shared + slot * kKvBytes);
    }
    store(o, sum, static_cast<Element*>(a.o) + at.q_offset, warp_row);
    if (a.intervals != nullptr && threadIdx.x == 0) end(a.intervals[item]);
  }
};

}  // namespace device

/// One that marks the middles of tiles, and waits for one, is another kernel: its CTAs keep another pace.
template <typename Element, int kHeadDim, int kQTile, int kKvTile, int kWarps, int kStages, int kMaxCtas,
          bool kMarksMiddles = false>
__global__ void __launch_bounds__(kWarps * 32, kMaxCtas)
    attention_kernel(const __grid_constant__ AttentionArguments a) {
  extern __shared__ __align__(1024) std::uint8_t shared[];
  using Cta = device::Cta<Element, kHeadDim, kQTile, kKvTile, kWarps, kStages, kMarksMiddles>;
  const std::uint32_t q_shared = device::shared_address(shared);
  const std::uint32_t k_shared = q_shared + kQTile * Cta::kRowBytes;
  const Cta cta{a,
                q_shared,
                k_shared,
                k_shared + kStages * Cta::kKvBytes,
                static_cast<int>(threadIdx.x) / 32,
                static_cast<int>(threadIdx.x) % 32};
  int begin = static_cast<int>(blockIdx.x), end = a.items, step = static_cast<int>(gridDim.x), pass = 0;
  if (a.schedule == 1) {
    end = begin + 1;
    pass = begin / a.resident;
  } else if (a.schedule == 2) {
    const int pairs = (a.q_tiles + 1) / 2;
    const int head = begin / pairs;
    begin = head * a.q_tiles + begin % pairs * 2;
    end = min(begin + 2, (head + 1) * a.q_tiles);
    step = 1;
  }
  for (int item = begin; item < end; item += step, ++pass) cta.process(item, pass & 1);
}

}  // namespace natten_sim::kernels
