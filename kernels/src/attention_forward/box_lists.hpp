// Which KV tiles each Q tile of a neighborhood visits, as the kernel reads it.
#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/attention_forward/problem.hpp>

#include "attention_forward/box_tables.hpp"

namespace natten_sim::kernels::attention_forward {

/// One Q tile. The tiles that need no mask come first in its list, then those that one mask product masks.
struct QTileRow {
  int first_entry = 0;
  int full = 0;        ///< entries that need no mask
  int single_end = 0;  ///< entries before those that two products mask
  int count = 0;       ///< all entries
  int group = 0;
  int x = 0, y = 0, z = 0;  ///< first query, innermost axis first, coordinates of the group
  int w = 0;                ///< of a fourth axis, coordinate of the layout
};

inline constexpr int kXBits = 20;
inline constexpr int kYBits = 14;

/// One KV tile of a list, in tiles along each axis, innermost first. `w`, a coordinate of the layout, lies
/// above kXBits bits of x; kExtraKeys there: tile x of the extra keys. `products`: bit i where the pair of
/// tiles needs a mask along an axis that mask product i has coordinates of.
struct KvTileEntry {
  std::uint16_t y : kYBits = 0;
  std::uint16_t products : kMostMaskProducts = 0;
  std::uint16_t z = 0;
  std::uint32_t xw = 0;
};
inline constexpr std::uint32_t kExtraKeys = 0xfff;

static_assert(sizeof(KvTileEntry) == 8 && kYBits + kMostMaskProducts == 16);

struct BoxLists {
  std::vector<QTileRow> rows;
  std::vector<KvTileEntry> entries;
};

/// The mask products of its KV tiles; none where an axis of a dilation group has 2^15 tokens or more, which
/// the kernel's packed ranges do not hold.
[[nodiscard]] MaskProducts mask_products(const Neighborhood& neighborhood);

/// Q tiles by dilation group and then in tile_order; of each its full tiles, then those that need one mask
/// product, then those that need two, each in tile_order. Tiles of `extra_tokens` extra keys come first, but one that they do not fill comes last.
/// @throws InvalidParameter for origins that the kernel's tiles do not have.
[[nodiscard]] BoxLists box_lists(const Neighborhood& neighborhood, std::int64_t extra_tokens = 0);

}  // namespace natten_sim::kernels::attention_forward
