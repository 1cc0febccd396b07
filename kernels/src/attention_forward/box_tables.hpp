// Tables of box masks, and which part of a box a warpgroup owns.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/per_axis.hpp>

namespace natten_sim::kernels::attention_forward {

/// Rows of a warpgroup within the Q tile: a share of its outermost axis that is not 1.
struct WarpgroupBox {
  std::array<int, 3> box;
  std::array<int, 3> step{0, 0, 0};
};
[[nodiscard]] inline WarpgroupBox warpgroup_box(const std::array<int, 3>& q_tile, int consumers) {
  WarpgroupBox made{q_tile};
  for (int axis = 2; axis >= 0; --axis) {
    if (q_tile[axis] == 1) continue;
    if (q_tile[axis] % consumers != 0) break;
    made.box[axis] = q_tile[axis] / consumers;
    made.step[axis] = made.box[axis];
    return made;
  }
  throw InvalidParameter("q_tile", std::to_string(q_tile[2]),
                         "an outermost axis that " + std::to_string(consumers) + " warpgroups divide");
}

/// Up to three axes.
[[nodiscard]] inline std::array<int, 3> innermost_first(const Extents& extents) {
  std::array<int, 3> made = {1, 1, 1};
  for (std::size_t axis = 0; axis < std::min<std::size_t>(extents.rank(), 3); ++axis) {
    made[axis] = static_cast<int>(extents[extents.rank() - 1 - axis]);
  }
  return made;
}

inline constexpr int kPairsAProduct = 8;
inline constexpr int kMostMaskProducts = 2;  // more cost as much as selections
inline constexpr int kNoPair = 255;          // a coordinate that no KV tile has

/// Masks by products (mask.cuh) have a feature for each coordinate of each axis of the KV tile. A thread has
/// them in pairs of neighbours. An axis belongs to one product, so that tiles are masked by those alone whose
/// axes hide keys.
struct MaskProducts {
  int count = 0;  // 0: no room, masks are selections
  std::array<int, 3> of_axis{};
  std::array<int, kPairsAProduct * kMostMaskProducts> pairs{};  // axis << 8 | first coordinate, or kNoPair
};
[[nodiscard]] inline MaskProducts mask_products(const std::array<int, 3>& tile) {
  std::array<int, 3> axes = {0, 1, 2};
  std::ranges::stable_sort(axes, [&](int a, int b) { return tile[a] > tile[b]; });
  MaskProducts made;
  made.pairs.fill(kNoPair);
  std::array<int, kMostMaskProducts> used{};
  for (const int axis : axes) {  // the longest first, into the first product with room
    const int needed = (tile[axis] + 1) / 2;
    int product = 0;
    while (product < kMostMaskProducts && used[product] + needed > kPairsAProduct) ++product;
    if (product == kMostMaskProducts) return {};
    for (int pair = 0; pair < needed; ++pair)
      made.pairs[product * kPairsAProduct + used[product] + pair] = axis << 8 | 2 * pair;
    used[product] += needed;
    made.of_axis[axis] = product;
    made.count = std::max(made.count, product + 1);
  }
  return made;
}

/// Column masks by axis, coordinate 0..side and quarter of a warp's quad; see mask.cuh.
[[nodiscard]] inline std::vector<std::uint32_t> prefix_table(const std::array<int, 3>& tile, int (&first)[3]) {
  std::vector<std::uint32_t> table;
  const int columns = tile[0] * tile[1] * tile[2];
  for (int axis = 0; axis < 3; ++axis) {
    first[axis] = static_cast<int>(table.size()) / 4;
    for (int before = 0; before <= tile[axis]; ++before) {
      for (int quarter = 0; quarter < 4; ++quarter) {
        std::uint32_t word = 0;
        for (int bit = 0; bit < 32; ++bit) {
          const int column = 8 * (bit / 2) + 2 * quarter + bit % 2;
          if (column >= columns) continue;
          const std::array<int, 3> at = {column % tile[0], column / tile[0] % tile[1],
                                         column / tile[0] / tile[1]};
          if (at[axis] < before) word |= 1u << bit;
        }
        table.push_back(word);
      }
    }
  }
  return table;
}

}  // namespace natten_sim::kernels::attention_forward
