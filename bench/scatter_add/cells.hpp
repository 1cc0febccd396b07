#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/kernels/scatter_add/scatter_add.hpp>

namespace natten_sim::bench {

/// One line of a file of cells: "path index dtype width updates rows distribution", as in
/// "scalar element bf16 256 65536 32768 zipf:1.5". A seed of the row numbers may follow.
struct Cell {
  kernels::scatter_add::Problem problem;
  std::string distribution;
  std::uint64_t seed = 0;
};

[[nodiscard]] std::vector<Cell> read_cells(const std::string& file);

/// The row numbers that `natten-sim atomics` counts for the same cell and seed.
[[nodiscard]] std::vector<std::int64_t> index_of(const Cell& cell);

/// The members of a JSON object that name the cell.
[[nodiscard]] std::string json_of(const Cell& cell);

}  // namespace natten_sim::bench
