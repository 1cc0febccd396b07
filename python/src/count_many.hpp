#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/parallel.hpp>
#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/core/tiling.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/many_times.hpp>

#include "row_values.hpp"

namespace natten_sim::python {

/// The parameters of one mask and its tiles that may have a value an axis in each row; null: that of the base.
struct ShapeColumns {
  const RowValues *input = nullptr, *window = nullptr, *stride = nullptr, *dilation = nullptr, *causal = nullptr,
                  *cyclic = nullptr, *q_tile = nullptr, *kv_tile = nullptr;
};

/// Rows that differ in the columns alone.
struct TilesFrame {
  TilingProblem base;
  KvTiling cyclic_kv_tiling = KvTiling::kStatic;  ///< of rows with a cyclic axis
  Walk pass = Walk::kForward;
  std::optional<study::CountQuestion> timed;  ///< none: no times
  std::unique_ptr<study::WithKernels> context;
};

/// Where a number of a row goes, and what it is.
template <typename Number, typename Answer>
struct NumberOut {
  Number* numbers;
  Number (*of)(const Answer&);
};

/// What is asked of many rows. What the pointers point to outlives it.
struct TilesJob {
  ShapeColumns columns;
  std::size_t rows = 0;
  const RowGroups* groups = nullptr;
  std::vector<std::unique_ptr<TilesFrame>> frames;         ///< of each group; null: it has an error
  std::vector<std::optional<InvalidParameter>> errors = {};  ///< of each group
  std::vector<NumberOut<std::int64_t, TileCount>> counts = {};
  std::vector<NumberOut<double, TileCount>> ratios = {};
  std::vector<NumberOut<double, study::TimeNumbers>> times = {};
  study::WaveCount waves = study::WaveCount::kSimulated;
  std::uint8_t* valid = nullptr;  ///< becomes 0 for rows that are refused; null: they throw
};

/// Answers all rows by so many threads. Axes that occurred before are looked up, so a grid of windows and strides costs a
/// product of four numbers a row, and its times what a launch's closed form takes. @throws InvalidParameter naming the
/// first row that is refused
void answer_rows(const TilesJob& job, const Parallel& parallel);

}  // namespace natten_sim::python
