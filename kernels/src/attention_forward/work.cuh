// Which Q tile an item is, and which KV tiles it visits, in which order.
//
// A thread of its own decodes items, ahead of the producer and the consumers, which find the result in shared
// memory: decoding takes several divisions and, for boxes, loads that wait for each other.
//
// Items are numbered by section (this many heads of all batches), then Q tile, then head of the section, so
// that 1 head a section is "all tiles of a head, then the next head" and all heads in one section is "one
// tile of all heads, then the next tile".
#pragma once

#include "attention_forward/arguments.hpp"
#include "attention_forward/ptx.cuh"

namespace natten_sim::kernels::attention_forward {

struct alignas(16) Work {
  int x = 0, y = 0, z = 0;  // first query of the tile
  int head = 0;
  int batch = 0;
  int group = 0;
  int first = 0;                     // kBand: first KV tile walked. kBox: first entry
  int count = 0;                     // KV tiles
  int step = 1;                      // kBand: +1 ascending, -1 descending. kBox: place on a fourth axis
  int full_begin = 0, full_end = 0;  // positions on the walk of the tiles that need no mask
  int part = 0;                      // kBand: of Arguments::parts, counted from 1; 0: a whole item.
                                     // kBox: position of the first tile that two products mask
};
inline constexpr int kNoPart = -1;  // Work::part where a CTA has no more to do
inline constexpr int kWorkWords = sizeof(Work) / 4;

/// kBox: what of the item's dilation group its consumers need.
struct BoxPlace {
  int length[3] = {1, 1, 1};
  int first_range[3] = {0, 0, 0};
  std::int64_t first_row = 0;
};

/// Keys [begin, end) of query `row`, on one axis, before and after the last key is cut off.
__host__ __device__ __forceinline__ int2 band(const Arguments& a, int row) {
  const int diagonal = row + a.kv_tokens - a.q_tokens;
  const int begin = diagonal - a.left, end = diagonal + a.right + 1;
  return {begin > 0 ? begin : 0, end < a.kv_tokens ? end : a.kv_tokens};
}

/// KV tiles [begin, end) that some query of a Q tile sees; one, all masked, where there are none.
struct BandTiles {
  int begin, end;
};
__host__ __device__ __forceinline__ BandTiles band_tiles(const Arguments& a, int tile, int q_tile, int kv_tile) {
  const int first_row = tile * q_tile;
  const int last_row = (first_row + q_tile < a.q_tokens ? first_row + q_tile : a.q_tokens) - 1;
  const int begin = band(a, first_row).x / kv_tile;
  const int last_key = band(a, last_row).y;
  const int end = ((last_key > 0 ? last_key : 0) + kv_tile - 1) / kv_tile;
  return {begin, end > begin ? end : begin + 1};
}

template <int kQTile, int kKvTile>
__device__ __forceinline__ void decode_band(const Arguments& a, int tile, int pass, Work& work) {
  work.x = tile * kQTile;
  const int last_row = min(work.x + kQTile, a.q_tokens) - 1;
  const auto [begin, end] = band_tiles(a, tile, kQTile, kKvTile);
  work.count = end - begin;
  const bool descending = a.walk == 2 || (a.walk == 1 && (pass & 1) != 0);
  work.first = descending ? end - 1 : begin;
  work.step = descending ? -1 : 1;
  const int full_begin = (band(a, last_row).x + kKvTile - 1) / kKvTile;
  const int full_end = max(band(a, work.x).y, 0) / kKvTile;
  work.full_begin = min(max(descending ? end - full_end : full_begin - begin, 0), work.count);
  work.full_end = min(max(descending ? end - full_begin : full_end - begin, work.full_begin), work.count);
}

/// Q tile and head (of all batches) of an item.
struct ItemPlace {
  int tile, head;
};
__host__ __device__ __forceinline__ ItemPlace item_place(const Arguments& a, int item) {
  const int heads_in_all = a.heads * a.batch;
  const int section = item / (a.section * a.q_tiles);
  const int in_section = item - section * a.section * a.q_tiles;
  const int heads_left = heads_in_all - section * a.section;
  const int heads_here = a.section < heads_left ? a.section : heads_left;
  const int tile = in_section / heads_here;
  const int head = section * a.section + in_section - tile * heads_here;
  return {a.last_q_tile_first ? a.q_tiles - 1 - tile : tile, head};
}

template <MaskKind kMask, int kQTile, int kKvTile>
__device__ __forceinline__ Work decode_whole(const Arguments& a, int item, int pass) {
  Work work;
  const auto [tile, head] = item_place(a, item);
  work.head = head / a.batch;
  work.batch = head - work.head * a.batch;
  if constexpr (kMask == MaskKind::kBand) {
    decode_band<kQTile, kKvTile>(a, tile, pass, work);
  } else {
    const QTileRow row = a.rows[tile];
    work.x = row.x;
    work.y = row.y;
    work.z = row.z;
    work.step = row.w;
    work.group = row.group;
    work.first = row.first_entry;
    work.count = row.count;
    work.full_end = row.full;
    work.part = row.single_end;
  }
  return work;
}

template <MaskKind kMask, int kQTile, int kKvTile>
__device__ __forceinline__ Work decode(const Arguments& a, int item) {
  if (item < a.whole_items) return decode_whole<kMask, kQTile, kKvTile>(a, item, item / a.items_a_wave);
  const int index = item - a.whole_items;
  const ItemPart part = a.parts[index];
  Work work;
  work.part = kNoPart;
  if (part.item < 0) return work;
  // All parts of an item walk in one direction.
  work = decode_whole<kMask, kQTile, kKvTile>(a, part.item, a.whole_items / a.items_a_wave);
  work.first += work.step * part.begin;
  work.count = part.end - part.begin;
  work.full_begin = min(max(work.full_begin - part.begin, 0), work.count);
  work.full_end = min(max(work.full_end - part.begin, work.full_begin), work.count);
  work.part = part.parts > 1 ? index + 1 : 0;
  return work;
}

/// `work`'s KV tile number `index`. kBand: xw is its first key.
template <MaskKind kMask, int kKvTile>
__device__ __forceinline__ KvTileEntry kv_entry(const Arguments& a, const Work& work, int index) {
  if constexpr (kMask == MaskKind::kBand)
    return {0, 0, 0, static_cast<std::uint32_t>((work.first + work.step * index) * kKvTile)};
  return a.entries[work.first + index];
}

__host__ __device__ __forceinline__ bool is_extra(const KvTileEntry& entry) {
  return entry.xw >> kXBits == kExtraKeys;
}

/// Origin of its box, without its head. Of extra keys: x is the number of the first.
template <MaskKind kMask, int kKvTile>
__device__ __forceinline__ int4 kv_origin(const Arguments& a, const KvTileEntry& entry) {
  if constexpr (kMask == MaskKind::kBand) return {static_cast<int>(entry.xw), 0, 0, 0};
  const int x = static_cast<int>(entry.xw & ((1u << kXBits) - 1)), w = static_cast<int>(entry.xw >> kXBits);
  if (is_extra(entry)) return {x * kKvTile, 0, 0, 0};
  return {x * a.kv_tile[0], entry.y * a.kv_tile[1], entry.z * a.kv_tile[2], w};
}

/// The same for masks, which leave a fourth axis to lists.
struct MaskedTile {
  int x = 0, y = 0, z = 0;  // its origin; x of a tile of extra keys: how many there are from it on, negative
  int products = 0;         // bits, see KvTileEntry
};
template <MaskKind kMask, int kKvTile>
__device__ __forceinline__ MaskedTile masked_tile(const Arguments& a, const Work& work, int index) {
  const KvTileEntry entry = kv_entry<kMask, kKvTile>(a, work, index);
  const int4 origin = kv_origin<kMask, kKvTile>(a, entry);
  if (kMask == MaskKind::kBox && is_extra(entry)) return {origin.x - a.extra_tokens, 0, 0, 0};
  return {origin.x, origin.y, origin.z, entry.products};
}

__device__ __forceinline__ BoxOrigin place(const HeadPlacement& at, int head, int batch, int4 token,
                                           int column) {
  return {column + head * at.head_c0, token.x, token.y, token.z + head * at.head_c3,
          head * at.head_c4 + batch * at.batch_c4 + token.w};
}

/// `work`'s place on a fourth axis.
template <MaskKind kMask>
__device__ __forceinline__ int fourth(const Work& work) {
  return kMask == MaskKind::kBox ? work.step : 0;
}

}  // namespace natten_sim::kernels::attention_forward
