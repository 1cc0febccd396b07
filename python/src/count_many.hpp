#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim::python {

/// One parameter of many problems: a value for each axis of each row, row-major; null: that of the base.
struct Column {
  const std::int64_t* values = nullptr;
};

/// Problems that differ in some parameters, one a row.
struct ManyProblems {
  TilingProblem base;
  KvTiling cyclic_kv_tiling = KvTiling::kStatic;  ///< of rows with a cyclic axis
  std::size_t rows = 0;
  Column input, window, stride, dilation, causal, cyclic, q_tile, kv_tile;
};

/// Row `row` as a problem.
[[nodiscard]] TilingProblem problem_of(const ManyProblems& many, std::size_t row);

/// Counts rows begin .. end-1 into `out`, which has room for all rows. Axes that occurred before are looked
/// up, so a grid of windows and strides costs a product of four numbers a row. Rows that are not valid: none
/// in `valid` (one byte a row) if there is one. @throws InvalidParameter, OverflowError naming the row.
void count_rows(const ManyProblems& many, std::size_t begin, std::size_t end, TileCount* out,
                std::uint8_t* valid);

}  // namespace natten_sim::python
