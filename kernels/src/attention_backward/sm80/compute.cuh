// A compute warp: 16 keys of the KV tile.
#pragma once

#include "attention_backward/sm80/dq_turns.cuh"
#include "attention_backward/sm80/products.cuh"
#include "attention_forward/mask.cuh"

namespace natten_sim::kernels::attention_backward::sm80 {

template <class T>
struct Compute {
  using P = Products<T>;
  using Element = typename T::Element;

  const Arguments& a;
  Shared<T>& s;
  P products;
  DqTurns turns;
  unsigned n = 0;  // tasks so far
  float dk[P::kGradients], dv[P::kGradients];

  /// This thread's words of the task's pattern.
  __device__ __forceinline__ uint2 pattern(const Task& task) const {
    if (!T::kPairs || !task.has(kMasked)) return {0, 0};
    return __ldg(a.patterns + task.pattern * kConsumerThreads + threadIdx.x);
  }

  __device__ __forceinline__ void mask(float (&scores)[P::kScores], const Task& task, uint2 seen) const {
    using namespace attention_forward;
    if constexpr (T::kPairs) {
      hide<T::kQTile>(scores, 0, 0, seen.x);
      hide<T::kQTile>(scores, 1, 0, seen.y);
    } else {
      RowRanges ranges;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key = task.kv_tile * T::kKvTile + 16 * products.warp + products.lane / 4 + 8 * half;
        const int diagonal = key - (a.kv_tokens - a.q_tokens);  // the query whose diagonal is this key
        ranges.of[half][0] = key < a.kv_tokens ? int2{diagonal - a.right, diagonal + a.left + 1} : int2{0, 0};
      }
      hide_band<T::kQTile>(scores, ranges, task.q_tile * T::kQTile, products.lane & 3);
    }
  }

  /// LSE or delta of the two queries of this thread's column block j. Volatile: ptxas would read many ahead,
  /// and spill.
  __device__ __forceinline__ float2 statistic(const float* rows, int j) const {
    float2 value;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(value.x), "=f"(value.y)
                 : "r"(shared_address(rows) + 32 * j + 8 * (products.lane & 3)));
    return value;
  }

  /// S of the task, hidden where its pairs do not attend.
  __device__ __forceinline__ void masked_scores(float (&x)[P::kScores]) const {
    const uint2 seen = pattern(task_of(s, n));
    const P here = products.again();
#pragma unroll
    for (int i = 0; i < P::kScores; ++i) x[i] = 0;
#pragma unroll
    for (int step = 0; step < P::kDepth; ++step) here.score_step(x, s.k, s.q[n & 1], step);
    if (const Task task = task_of(s, n); task.has(kMasked)) mask(x, task, seen);
  }

  /// ptxas would pack P where it is used, and until then keep it in twice the registers; a store that depends
  /// on all of it holds the packing here.
  __device__ __forceinline__ void hold(const std::uint32_t (&packed)[P::kPacked]) const {
    std::uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < P::kPacked; ++i) all ^= packed[i];
    asm volatile(
        "{.reg .pred first;\n"
        "setp.eq.s32 first, %2, 0;\n"
        "@first st.shared.b32 [%0], %1;}" ::"r"(shared_address(&s.sink[products.warp])),
        "r"(all), "r"(products.lane)
        : "memory");
  }

  /// P and dS as operands, from S and dP. Exponentials run beside the products of dP. By 64 queries: dP of
  /// 128 would leave no registers for the fragments of its products.
  __device__ __forceinline__ void probabilities(float (&x)[P::kScores], std::uint32_t (&p)[P::kPacked],
                                                std::uint32_t (&ds)[P::kPacked]) const {
    constexpr int kPart = 8, kBlocks = kPart / P::kDepth;  // column blocks of a part, and of a step
    const P here = products.again();
#pragma unroll
    for (int first = 0; first < P::kColumns; first += kPart) {
      float dp[4 * kPart];
#pragma unroll
      for (float& each : dp) each = 0;
#pragma unroll
      for (int step = 0; step < P::kDepth; ++step) {
        here.score_step(dp, s.v, s.d_o + 8 * first * T::kRowBytes, step);
#pragma unroll
        for (int j = first + step * kBlocks; j < first + (step + 1) * kBlocks; ++j) {
          const float2 lse = statistic(s.lse2[n & 1], j);
#pragma unroll
          for (int i = 0; i < 4; ++i)
            x[4 * j + i] = exp2_approximate(fmaf(x[4 * j + i], a.scale_log2, -(i % 2 == 0 ? lse.x : lse.y)));
        }
      }
#pragma unroll
      for (int j = 0; j < kPart; ++j) {
        const float2 delta = statistic(s.delta, first + j);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int i = 4 * j + 2 * half, all = 4 * first + i;
          p[all / 2] = pack<Element>(x[all], x[all + 1]);
          ds[all / 2] = pack<Element>(x[all] * (dp[i] - delta.x), x[all + 1] * (dp[i + 1] - delta.y));
        }
      }
    }
    hold(p);
  }

  /// This warp's part of dS K, added to the tile in global memory. With its turn a CTA has the tile for
  /// itself: it reads, adds and writes, one rounding an element; what lies there before the first addition
  /// does not count. Reads are asked for before the products.
  __device__ __forceinline__ void add_dq() const {
    const Task task = task_of(s, n);
    float4* const to = reinterpret_cast<float4*>(a.dq) +
                       static_cast<std::int64_t>(dq_tile(a, task)) * (T::kDqBytes / 16) +
                       products.again().dq_place();
    const bool ordered = a.turns != nullptr, reads = ordered && task.rank != 0;
    float4 sum[P::kDqParts / 4];
#pragma unroll
    for (int i = 0; i < P::kDqParts / 4; ++i)
      sum[i] = reads ? __ldcg(to + P::dq_step(i / 4, i % 4)) : make_float4(0, 0, 0, 0);
    float part[P::kDqParts];
    products.again().dq(part, s.ds, s.k);
    if (task.has(kNoDq)) return;
#pragma unroll
    for (int i = 0; i < P::kDqParts / 4; ++i) {
      float4* const target = to + P::dq_step(i / 4, i % 4);
      const float4 own = make_float4(part[4 * i], part[4 * i + 1], part[4 * i + 2], part[4 * i + 3]);
      if (ordered) {
        __stcg(target, make_float4(sum[i].x + own.x, sum[i].y + own.y, sum[i].z + own.z, sum[i].w + own.w));
      } else {
        add_unordered(target, own);
      }
    }
  }

  /// Asks for Q of the next task, and for the task after it, which all know when that Q is there.
  __device__ __forceinline__ void ask_for_q() {
    copy_q(a, s, n + 1);
    if (threadIdx.x == 0 && !task_of(s, n + 1).has(kLast))
      copy_async(shared_address(&s.slot[(n + 2) % kSlots]), a.tasks + (s.first + static_cast<int>(n) + 2),
                 true);
  }

  /// Task number n, whose tiles are there. Whether the chain goes on.
  /// Where it is needed, the task is read from its slot again: that takes fewer registers.
  __device__ __forceinline__ bool step() {
    const unsigned turn = turns.peek(task_of(s, n));
    if (!task_of(s, n).has(kLast)) ask_for_q();
    commit_copies();
    float x[P::kScores];
    masked_scores(x);
    std::uint32_t p[P::kPacked], ds[P::kPacked];
    probabilities(x, p, ds);
    products.again().store_ds(s.ds, ds);
    products.again().add_gradient(dv, p, s.d_o);
    turns.await(task_of(s, n), turn);
    __syncthreads();  // dS is there, dO is read; this dQ tile has its turn
    if (!task_of(s, n).has(kLast)) copy_d_o(a, s, n + 1);
    commit_copies();
    add_dq();
    products.again().add_gradient(dk, ds, s.q[n & 1]);
    wait_for_copies<0>();
    __syncthreads();  // Q and dO of the next task are there; tiles of this one are read, and its dQ is stored
    turns.pass_on(task_of(s, n));
    return !task_of(s, n++).has(kLast);
  }

  __device__ __forceinline__ void store_rows(const float (&values)[P::kGradients], const Task& task, void* to,
                                             const RowStrides& strides, float factor) const {
    const int first = task.kv_tile * T::kKvTile + 16 * products.warp + products.lane / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (first + 8 * half >= a.kv_tokens) continue;
      const std::int64_t row = task.batch * strides.batch +
                               (a.partial ? task.head : task.kv_head) * strides.head +
                               (first + 8 * half) * strides.token + 2 * (products.lane & 3);
#pragma unroll
      for (int j = 0; j < T::kHeadDim / 8; ++j) {
        if (8 * j >= a.head_dim) break;
        const float x = values[4 * j + 2 * half] * factor, y = values[4 * j + 2 * half + 1] * factor;
        if (a.partial) {
          *reinterpret_cast<float2*>(static_cast<float*>(to) + row + 8 * j) = make_float2(x, y);
        } else {
          *reinterpret_cast<std::uint32_t*>(static_cast<Element*>(to) + row + 8 * j) = pack<Element>(x, y);
        }
      }
    }
  }

  /// All tiles of the chain before are read when this begins.
  __device__ __forceinline__ void run_chain() {
    if (threadIdx.x < 2) {
      const Chain chain = a.chains[s.chain];
      const int i = static_cast<int>(threadIdx.x);
      if (i < chain.count) s.slot[(n + threadIdx.x) % kSlots] = a.tasks[chain.first + i];
      if (i == 0) s.first = chain.first - static_cast<int>(n);
    }
    __syncthreads();
    copy_q(a, s, n);
    copy_d_o(a, s, n);
    copy_kv(a, s, n);
    commit_copies();
#pragma unroll
    for (int i = 0; i < P::kGradients; ++i) dk[i] = dv[i] = 0;
    wait_for_copies<0>();
    __syncthreads();
#pragma unroll 1
    while (step()) {
    }
    const Task task = task_of(s, n - 1);
    store_rows(dv, task, a.dv, a.dv_strides, 1.0f);
    store_rows(dk, task, a.dk, a.dk_strides, a.scale);
  }

  /// The next chain: of the worker's own, or in launch order. Behind it, all know s.chain.
  __device__ __forceinline__ void take_chain() {
    if (threadIdx.x == 0)
      s.chain = a.worker_begin != nullptr ? s.chain + 1 : static_cast<int>(atomicAdd(a.ticket, 1));
    __syncthreads();
  }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      const bool owns = a.worker_begin != nullptr;
      s.chain = owns ? a.worker_begin[blockIdx.x] - 1 : 0;
      s.chains_end = owns ? a.worker_begin[blockIdx.x + 1] : a.chain_count;
    }
    take_chain();
#pragma unroll 1
    while (s.chain < s.chains_end) {
      run_chain();
      take_chain();
    }
  }
};

}  // namespace natten_sim::kernels::attention_backward::sm80
