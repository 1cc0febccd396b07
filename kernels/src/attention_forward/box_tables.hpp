// Tables of box masks, and which part of a box a warpgroup owns.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>

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
