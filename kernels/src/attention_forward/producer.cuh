// What every warpgroup of a CTA shares, and three threads beside them: the decoder, which draws items and
// works out what they are, the producer, which asks TMA for tiles, and the observer, which notes when items
// begin and end where that is asked for.
#pragma once

#include <cstring>
#include <type_traits>

#include <natten_sim/kernels/attention_forward/problem.hpp>

#include "attention_forward/arguments.hpp"
#include "attention_forward/best_shape.hpp"
#include "attention_forward/ptx.cuh"
#include "attention_forward/work.cuh"
#include "gpu/global_timer.cuh"
#include "gpu/sm_number.cuh"

namespace natten_sim::kernels::attention_forward {

template <Dtype kDtype>
using ElementOf = std::conditional_t<kDtype == Dtype::kFp16, __half, __nv_bfloat16>;

/// What is fixed when a kernel is compiled.
template <KernelShape kShape>
struct Traits {
  using Element = ElementOf<kShape.dtype>;
  static constexpr KernelShape kKernel = kShape;
  static constexpr int kHeadDim = kShape.head_dim;
  static constexpr int kKvTile = kShape.kv_tile;
  static constexpr int kConsumers = kShape.q_tile / 64;
  static constexpr int kKStages = kShape.stages;
  static constexpr int kVStages = kShape.v_stages;
  static constexpr int kQStages = kShape.q_stages;
  static constexpr MaskKind kMask = kShape.neighborhood ? MaskKind::kBox : MaskKind::kBand;
  static constexpr bool kOverlap = kShape.overlap;
  static constexpr bool kPingPong = kShape.ping_pong;
  static constexpr Rescale kRescale = kShape.rescale;
  static constexpr int kEarly = kShape.early;
  static constexpr bool kJoined = kShape.joined;
  static constexpr bool kSplits = can_split(kShape);
  static constexpr bool kRedo = kRescale == Rescale::kOnOverflow;
  static constexpr int kMaskProducts = kShape.mask_products;
  static_assert(kShape.q_tile % 64 == 0);
  static_assert(kMaskProducts == 0 || (kMask == MaskKind::kBox && kMaskProducts <= kMostMaskProducts));
  static_assert(!kRedo || (kJoined && kQStages == 2));
  static_assert(!kJoined || (kOverlap && !kPingPong && kQStages > 1), "needs the next Q tile");

  static constexpr int kQTile = 64 * kConsumers;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kColumns = kHeadDim % 64 == 0 ? 64 : 32;  // of a TMA box
  static constexpr int kRowBytes = 2 * kColumns;
  static constexpr int kBoxes = kHeadDim / kColumns;
  static constexpr int kQBytes = kQTile * kHeadDim * 2;
  static constexpr int kKvBytes = kKvTile * kHeadDim * 2;
  // What the launch allocates, shared out; the sum may not exceed it. A producer of boxes has coordinates to
  // keep, and 224 are enough for its consumers but for masks by two products of head dimension 128.
  static constexpr bool kWideProducer =
      kConsumers == 2 && kMask == MaskKind::kBox && (kHeadDim != 128 || kMaskProducts < 2);
  static constexpr int kProducerRegisters = kConsumers == 1 || kWideProducer ? 56 : kConsumers == 3 ? 32 : 40;
  static constexpr int kConsumerRegisters = kConsumers == 1   ? 256
                                            : kConsumers == 3 ? 160
                                            : kWideProducer   ? 224
                                                              : 232;
  static constexpr int kConsumerWarps = 4 * kConsumers;
};

template <class T>
struct Shared {
  alignas(1024) std::uint8_t q[T::kQStages][T::kQBytes];
  alignas(1024) std::uint8_t k[T::kKStages][T::kKvBytes];
  alignas(1024) std::uint8_t v[T::kVStages][T::kKvBytes];
  // Masks by products: rows of keys in groups of eight, of a group the first eight features and then the
  // others.
  alignas(128) std::uint8_t key_features[T::kMaskProducts > 0 ? T::kMaskProducts * 32 * T::kKvTile : 1];
  std::uint64_t q_full[T::kQStages], q_empty[T::kQStages];
  std::uint64_t k_full[T::kKStages], k_empty[T::kKStages];
  std::uint64_t v_full[T::kVStages], v_empty[T::kVStages];
  std::uint64_t next_ready, next_wanted;
  Work next;  // from the decoder to the producer
  int next_item;
  KvTileEntry first_entry;  // written, never read: brings the line that the producer reads into the L1
  int item[T::kQStages];
  unsigned overflowed[T::kQStages];  // warpgroups, a bit each, whose sums of the item left the range
  unsigned again[T::kQStages];       // those that compute the item once more; 0: it is new
  Work work[T::kQStages];
  BoxPlace place[T::kMask == MaskKind::kBox ? T::kQStages : 1];
  float sums[T::kConsumers][4];  // written, never read: see Consumer::hold
  unsigned arrived[T::kConsumers];
  std::uint32_t prefix[T::kMask == MaskKind::kBox && T::kMaskProducts == 0 ? kMaxPrefixWords : 1];
};

/// A place in a ring of kDepth stages, and the parity of its round.
template <int kDepth>
struct Ring {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kDepth) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The same in one register where that is enough: the producer has few.
template <int kDepth>
struct CountedRing {
  std::uint32_t rounds = 0;  // tiles; of other depths than powers of two, the parity in bit 8
  __device__ __forceinline__ int stage() const {
    return static_cast<int>(kPower ? rounds % kDepth : rounds & 255);
  }
  __device__ __forceinline__ std::uint32_t parity() const {
    return kPower ? rounds / kDepth & 1 : rounds >> 8;
  }
  __device__ __forceinline__ void advance() {
    ++rounds;
    if (!kPower && stage() == kDepth) rounds ^= 256 | kDepth;
  }
  static constexpr bool kPower = (kDepth & (kDepth - 1)) == 0;
};

// --- decoder --------------------------------------------------------------------------------------------

/// The next item is drawn so many tiles before the end of one: late, so that CTAs end together, and early
/// enough for a ticket, a few divisions and loads that wait for each other.
inline constexpr int kDrawAhead = 5;

/// Draws and decodes the first item, and another one whenever the producer asks for it, until there are none.
template <class T>
__device__ __forceinline__ void decode_items(const Arguments& a, Shared<T>& s) {
  std::uint32_t parity = 0;
  for (int item = blockIdx.x;; parity ^= 1) {
    Work work;
    work.part = kNoPart;
    if (item < a.items) work = decode<T::kMask, T::kQTile, T::kKvTile>(a, item);
    s.next = work;
    s.next_item = item;
    barrier_arrive(&s.next_ready);
    if (work.part == kNoPart) break;
    if constexpr (T::kMask == MaskKind::kBox) s.first_entry = a.entries[work.first];
    barrier_wait(&s.next_wanted, parity);
    if (a.ticket != nullptr) {
      item = static_cast<int>(gridDim.x) + static_cast<int>(atomicAdd(a.ticket, 1));
    } else {
      item += static_cast<int>(gridDim.x);
    }
  }
  if (a.ticket != nullptr && atomicAdd(a.ticket + 1, 1) == gridDim.x - 1) {
    // All CTAs have drawn their last ticket: ready for the next launch.
    a.ticket[0] = 0;
    a.ticket[1] = 0;
  }
}

// --- producer -------------------------------------------------------------------------------------------

/// A KV tile, all of which is known before its place in a ring is free: what is worked out behind that wait
/// makes the tile late.
struct KvBox {
  int4 token = {0, 0, 0, 0};  // its first, from its head's on; of extra keys: x is the number of the first
  bool extra = false;
};
/// An entry as it lies in memory: asked for a tile ahead, and taken apart only then.
template <MaskKind kMask, int kKvTile>
__device__ __forceinline__ uint2 kv_words(const Arguments& a, const Work& work, int index) {
  static_assert(sizeof(KvTileEntry) == sizeof(uint2));
  if constexpr (kMask == MaskKind::kBox) return reinterpret_cast<const uint2*>(a.entries)[work.first + index];
  uint2 words;
  const KvTileEntry entry = kv_entry<kMask, kKvTile>(a, work, index);
  memcpy(&words, &entry, sizeof words);
  return words;
}
template <class T>
__device__ __forceinline__ KvBox kv_box(const Arguments& a, const uint2& words) {
  KvTileEntry entry;
  memcpy(&entry, &words, sizeof entry);
  return {kv_origin<T::kMask, T::kKvTile>(a, entry), T::kMask == MaskKind::kBox && is_extra(entry)};
}

struct KvHead {
  int number, batch;
  BoxOrigin first;  // its first token
};

/// `extra`: the map of K's or V's extra keys.
template <class T>
__device__ __forceinline__ void load_kv(const CUtensorMap* map, const CUtensorMap* extra,
                                        std::uint8_t* target, std::uint64_t* full, const KvHead& head,
                                        const KvBox& tile) {
  barrier_arrive_expect(full, T::kKvBytes);
  if (T::kMask == MaskKind::kBox && tile.extra) {
#pragma unroll 1
    for (int box = 0; box < T::kBoxes; ++box) {
      load_box(shared_address(target) + box * T::kKvTile * T::kRowBytes, extra, full,
               {box * T::kColumns, tile.token.x, 0, head.number, head.batch});
    }
    return;
  }
#pragma unroll
  for (int box = 0; box < T::kBoxes; ++box) {
    load_box(shared_address(target) + box * T::kKvTile * T::kRowBytes, map, full,
             {head.first.c0 + box * T::kColumns, tile.token.x, tile.token.y, tile.token.z + head.first.c3,
              tile.token.w + head.first.c4});
  }
}

__device__ __forceinline__ const DilationGroup& group_of(const Arguments& a, const Work& work) {
  return a.groups == nullptr ? a.only : a.groups[work.group];
}

/// What the consumers of an item want to know of it.
template <class T>
__device__ __forceinline__ void publish(const Arguments& a, Shared<T>& s, const Work& work, int stage) {
  s.work[stage] = work;
  if constexpr (T::kMask == MaskKind::kBox) {
    BoxPlace& place = s.place[stage];
    const DilationGroup& group = group_of(a, work);
    for (int axis = 0; axis < 3; ++axis) {
      place.length[axis] = group.length[axis];
      place.first_range[axis] = group.first_range[axis];
    }
    place.first_row = group.first_row;
  }
}

template <class T>
__device__ __forceinline__ void load_q(const Arguments& a, Shared<T>& s, const CUtensorMap* map,
                                       const Work& work, int stage) {
  barrier_arrive_expect(&s.q_full[stage], T::kQBytes);
#pragma unroll
  for (int box = 0; box < T::kBoxes; ++box) {
    load_box(shared_address(s.q[stage]) + box * T::kQTile * T::kRowBytes, map, &s.q_full[stage],
             place(a.q_at, work.head, work.batch, {work.x, work.y, work.z, fourth<T::kMask>(work)},
                   box * T::kColumns));
  }
}

// Shared::item where there is none: consumers finish what they have, or end.
inline constexpr int kFlush = 0x7ffffffe;
inline constexpr int kEnd = 0x7fffffff;

/// Warpgroups for which the item that has just left a stage is to be computed again.
template <class T>
__device__ __forceinline__ unsigned take_overflow(Shared<T>& s, int stage) {
  const unsigned again = s.overflowed[stage];
  s.overflowed[stage] = 0;
  s.again[stage] = again;
  return again;
}

/// K and V of an item; V trails K by a tile, as the consumers want them. Asks for the next item on the way,
/// before tile `ask_at`.
template <class T>
__device__ __forceinline__ void load_walk(const Arguments& a, Shared<T>& s, const DilationGroup& group,
                                          const Work& work, int ask_at, CountedRing<T::kKStages>& k_ring,
                                          CountedRing<T::kVStages>& v_ring) {
  KvHead head{work.head / a.heads_per_kv_head, work.batch, {}};
  head.first = place(a.kv_at, head.number, head.batch, {0, 0, 0, 0}, 0);
  uint2 next = kv_words<T::kMask, T::kKvTile>(a, work, 0), words = next, before = next;
  for (int i = 0; i <= work.count; ++i) {
    if (i == ask_at) barrier_arrive(&s.next_wanted);
    if (i < work.count) {
      words = next;
      const KvBox tile = kv_box<T>(a, words);
      if (i + 1 < work.count) next = kv_words<T::kMask, T::kKvTile>(a, work, i + 1);
      barrier_wait(&s.k_empty[k_ring.stage()], k_ring.parity() ^ 1);
      load_kv<T>(&group.k, &a.extra_k, s.k[k_ring.stage()], &s.k_full[k_ring.stage()], head, tile);
      k_ring.advance();
    }
    if (i > 0) {
      const KvBox tile = kv_box<T>(a, before);
      barrier_wait(&s.v_empty[v_ring.stage()], v_ring.parity() ^ 1);
      load_kv<T>(&group.v, &a.extra_v, s.v[v_ring.stage()], &s.v_full[v_ring.stage()], head, tile);
      v_ring.advance();
    }
    before = words;
  }
}

template <class T>
__device__ __forceinline__ void produce(const Arguments& a, Shared<T>& s) {
  CountedRing<T::kKStages> k_ring;
  CountedRing<T::kVStages> v_ring;
  CountedRing<T::kQStages> q_ring;
  bool flushed = true;       // nothing under way
  std::uint32_t parity = 0;  // of next_ready
  bool none_left = false;
  for (;;) {
    barrier_wait(&s.q_empty[q_ring.stage()], q_ring.parity() ^ 1);
    const int stage = q_ring.stage();
    const bool again = T::kRedo && take_overflow<T>(s, stage) != 0;
    if (!again && !none_left) {
      barrier_wait(&s.next_ready, parity);
      parity ^= 1;
      none_left = s.next.part == kNoPart;
    }
    if (!again && none_left) {
      // The last item may have to be computed again: consumers finish it before they are told to end.
      s.item[stage] = flushed ? kEnd : kFlush;
      barrier_arrive(&s.q_full[stage]);
      if (flushed) break;
      flushed = true;
      q_ring.advance();
      continue;
    }
    flushed = !T::kRedo;
    Work work = again ? s.work[stage] : s.next;
    if (again) {
      work.full_begin = work.full_end = work.count;  // with masks, and so with maxima
    } else {
      s.item[stage] = s.next_item;
    }
    publish<T>(a, s, work, stage);
    const DilationGroup& group = T::kMask == MaskKind::kBox ? group_of(a, work) : a.only;
    load_q<T>(a, s, &group.q, work, stage);
    q_ring.advance();
    load_walk<T>(a, s, group, work, again ? -1 : max(work.count - kDrawAhead, 0), k_ring, v_ring);
  }
}

// --- observer -------------------------------------------------------------------------------------------

/// An item begins when its Q tile is there and the item before has ended, and ends when its O tile is stored.
/// The observer arrives at "empty" like a consumer: so no round passes it by.
template <class T>
__device__ __forceinline__ void observe(const Arguments& a, Shared<T>& s) {
  CountedRing<T::kQStages> q_ring;
  for (;;) {
    barrier_wait(&s.q_full[q_ring.stage()], q_ring.parity());
    const int item = s.item[q_ring.stage()];
    if (item == kEnd) return;
    if (item == kFlush) {
      barrier_arrive(&s.q_empty[q_ring.stage()]);
      q_ring.advance();
      continue;
    }
    a.intervals[item].begin_ns = global_timer();
    barrier_arrive(&s.q_empty[q_ring.stage()]);
    barrier_wait(&s.q_empty[q_ring.stage()], q_ring.parity());
    a.intervals[item].end_ns = global_timer();
    a.intervals[item].cta = blockIdx.x;
    a.intervals[item].sm = sm_number();
    q_ring.advance();
  }
}

}  // namespace natten_sim::kernels::attention_forward
