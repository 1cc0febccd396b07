// Which KV tiles each Q tile of a neighborhood visits, as the kernel reads it.
#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/attention_forward/problem.hpp>

namespace natten_sim::kernels::attention_forward {

/// One Q tile. The tiles that need no mask come first in its list.
struct QTileRow {
  int first_entry = 0;
  int full = 0;   ///< entries that need no mask
  int count = 0;  ///< all entries
  int group = 0;
  int x = 0, y = 0, z = 0;  ///< first query, innermost axis first, coordinates of the group
  int reserved = 0;
};

/// One KV tile of a list, in tiles along each axis, innermost first.
struct KvTileEntry {
  std::uint16_t y = 0;
  std::uint16_t z = 0;
  std::uint32_t x = 0;
};

struct BoxLists {
  std::vector<QTileRow> rows;
  std::vector<KvTileEntry> entries;
};

/// Q tiles by dilation group and then in tile_order; of each its full tiles, then its partial ones, each in
/// tile_order. @throws InvalidParameter for origins that the kernel's tiles do not have.
[[nodiscard]] BoxLists box_lists(const Neighborhood& neighborhood);

}  // namespace natten_sim::kernels::attention_forward
