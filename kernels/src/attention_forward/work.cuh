// Which Q tile an item is, and which KV tiles it visits, in which order.
//
// The producer decodes items, ahead of the consumers, which find the result in shared memory: decoding takes
// several divisions and, for boxes, loads that wait for each other.
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
  int step = 1;                      // kBand: +1 ascending, -1 descending
  int full_begin = 0, full_end = 0;  // positions on the walk of the tiles that need no mask
  int reserved = 0;
};
inline constexpr int kWorkWords = sizeof(Work) / 4;

/// kBox: what of the item's dilation group its consumers need.
struct BoxPlace {
  int length[3] = {1, 1, 1};
  int first_range[3] = {0, 0, 0};
  std::int64_t first_row = 0;
};

/// Keys [begin, end) of query `row`, on one axis, before and after the last key is cut off.
__device__ __forceinline__ int2 band(const Arguments& a, int row) {
  const int diagonal = row + a.kv_tokens - a.q_tokens;
  return {max(diagonal - a.left, 0), min(diagonal + a.right + 1, a.kv_tokens)};
}

template <int kQTile, int kKvTile>
__device__ __forceinline__ void decode_band(const Arguments& a, int tile, int pass, Work& work) {
  work.x = tile * kQTile;
  const int last_row = min(work.x + kQTile, a.q_tokens) - 1;
  const int begin = band(a, work.x).x / kKvTile;
  const int end = (max(band(a, last_row).y, 0) + kKvTile - 1) / kKvTile;
  work.count = max(end - begin, 0);
  const bool descending = a.walk == 2 || (a.walk == 1 && (pass & 1) != 0);
  work.first = descending ? end - 1 : begin;
  work.step = descending ? -1 : 1;
  const int full_begin = (band(a, last_row).x + kKvTile - 1) / kKvTile;
  const int full_end = max(band(a, work.x).y, 0) / kKvTile;
  work.full_begin = min(max(descending ? end - full_end : full_begin - begin, 0), work.count);
  work.full_end = min(max(descending ? end - full_begin : full_end - begin, work.full_begin), work.count);
}

template <MaskKind kMask, int kQTile, int kKvTile>
__device__ __forceinline__ Work decode(const Arguments& a, int item, int pass) {
  Work work;
  const int heads_in_all = a.heads * a.batch;
  const int section = item / (a.section * a.q_tiles);
  const int in_section = item - section * a.section * a.q_tiles;
  const int heads_here = min(a.section, heads_in_all - section * a.section);
  int tile = in_section / heads_here;
  const int head = section * a.section + in_section - tile * heads_here;
  if (a.last_q_tile_first) tile = a.q_tiles - 1 - tile;
  work.head = head / a.batch;
  work.batch = head - work.head * a.batch;
  if constexpr (kMask == MaskKind::kBand) {
    decode_band<kQTile, kKvTile>(a, tile, a.items_a_wave == 0 ? pass : item / a.items_a_wave, work);
  } else {
    const QTileRow row = a.rows[tile];
    work.x = row.x;
    work.y = row.y;
    work.z = row.z;
    work.group = row.group;
    work.first = row.first_entry;
    work.count = row.count;
    work.full_begin = row.partial;
    work.full_end = row.count;
  }
  return work;
}

/// Origin of the box of `work`'s KV tile number `index`, without its head.
template <MaskKind kMask, int kKvTile>
__device__ __forceinline__ int3 kv_origin(const Arguments& a, const Work& work, int index) {
  if constexpr (kMask == MaskKind::kBand) return {(work.first + work.step * index) * kKvTile, 0, 0};
  const KvTileEntry entry = a.entries[work.first + index];
  return {static_cast<int>(entry.x) * a.kv_tile[0], entry.y * a.kv_tile[1], entry.z * a.kv_tile[2]};
}

__device__ __forceinline__ BoxOrigin place(const HeadPlacement& at, int head, int batch, int3 token,
                                           int column) {
  return {column + head * at.head_c0, token.x, token.y, token.z + head * at.head_c3,
          head * at.head_c4 + batch * at.batch_c4};
}

}  // namespace natten_sim::kernels::attention_forward
