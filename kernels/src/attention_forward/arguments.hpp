#pragma once

#include <cstdint>

#include <cuda.h>
#include <vector_types.h>

#include <natten_sim/kernels/gpu/item_interval.hpp>

#include "attention_forward/box_lists.hpp"

namespace natten_sim::kernels::attention_forward {

/// What the kernel reads besides its tensors. Filled by plan.cu; all sizes have been checked there.

/// Where a head of a batch lies in a tensor map: head * each of these is added to the box's coordinates, and
/// batch * batch_c4 to the last one, which the place on a fourth axis is added to as well. Which are not zero
/// depends on the layout (heads first or last) and the rank.
struct HeadPlacement {
  int head_c0 = 0;
  int head_c3 = 0;
  int head_c4 = 0;
  int batch_c4 = 0;

  friend bool operator==(const HeadPlacement&, const HeadPlacement&) = default;
};

/// Which query tokens see which keys.
enum class MaskKind {
  kBand,  ///< one axis; key j is seen by query i iff i + offset - left <= j <= i + offset + right
  kBox,   ///< up to four axes; each query sees a box of keys, and extra keys; lists of KV tiles
};

/// One dilation group (kBand: the sequence). Its own tensor maps, since its base address and lengths are its
/// own.
struct DilationGroup {
  CUtensorMap q, k, v, o;
  int length[3] = {1, 1, 1};       ///< tokens, innermost axis first
  int first_range[3] = {0, 0, 0};  ///< of the axis, in `ranges`
  std::int64_t first_row = 0;      ///< of LSE
};

/// A piece of an item: KV tiles [begin, end) of its walk.
struct ItemPart {
  int item = -1;  ///< none: nothing to do
  int begin = 0;
  int end = 0;
  int parts = 1;       ///< of the item
  int first_slot = 0;  ///< of the item's parts in the workspace
  int slot = 0;        ///< of this one
  int counter = 0;     ///< of the item
  int reserved = 0;
};

struct Arguments {
  DilationGroup only;  // kBand, and kBox without dilation; other groups are in `groups`
  HeadPlacement q_at, kv_at, o_at;
  float* lse = nullptr;  // (batch, heads, q_tokens)
  float scale_log2 = 0;  // log2(e) * scale

  // Items: Q tiles of all heads. See work.cuh.
  int items = 0;
  int q_tiles = 0;  // of one head
  int heads = 1;
  int heads_per_kv_head = 1;
  int batch = 1;
  int section = 1;
  bool last_q_tile_first = false;
  int walk = 0;                       // KvOrder
  int items_a_wave = 1;               // CTAs at once: the sawtooth turns after so many
  unsigned* ticket = nullptr;         // two counters, zero between launches; null: static
  ItemInterval* intervals = nullptr;  // of each item, or null
  // Items from whole_items on are parts of items.
  int whole_items = 0;
  const ItemPart* parts = nullptr;
  float* workspace = nullptr;      // by slot and warpgroup: O, then maxima and sums, in registers' order
  unsigned* arrivals = nullptr;    // by counter and warpgroup, zero between launches

  // kBand
  int q_tokens = 0;
  int kv_tokens = 0;
  int left = 0;
  int right = 0;

  // kBox
  const QTileRow* rows = nullptr;
  const KvTileEntry* entries = nullptr;
  const DilationGroup* groups = nullptr;  // null: `only`
  const int2* ranges = nullptr;  // by axis and query coordinate: keys begin, end
  const std::uint32_t* prefix = nullptr;
  int prefix_words = 0;
  int first_prefix[3] = {0, 0, 0};
  int coordinate_pairs[kMostMaskProducts * kPairsAProduct] = {};  // of KV tiles, see box_tables.hpp
  int q_tile[3] = {1, 1, 1};  // innermost axis first
  int kv_tile[3] = {1, 1, 1};
  int warpgroup_step[3] = {0, 0, 0};
  std::int64_t row_stride[4] = {1, 0, 0, 0};  // of LSE, a step of each axis
  CUtensorMap extra_k, extra_v;               // (column, token, 1, head, batch)
  int extra_tokens = 0;
};

/// Tables of column masks: prefix_words = 4 * (sides + axes).
inline constexpr int kMaxPrefixWords = 4 * (128 + 1 + 1 + 3);

}  // namespace natten_sim::kernels::attention_forward
