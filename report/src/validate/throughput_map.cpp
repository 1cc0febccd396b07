#include <algorithm>
#include <map>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/draw/chart.hpp>

#include "validate/validation_pictures.hpp"

namespace natten_sim::report {
namespace {

using validate::RegimeCell;
using validate::RegimeMap;

/// Cells of one dtype and mask, by tokens and head dim.
struct MapLine {
  std::string title;
  std::map<std::int64_t, std::map<std::int64_t, const RegimeCell*>> cells;
};

std::vector<MapLine> lines_of(const RegimeMap& map) {
  std::vector<MapLine> lines;
  for (const RegimeCell& cell : map.cells) {
    const kernels::AttentionProblem& p = cell.problem;
    const std::string title = std::string(to_string(p.dtype)) + ", " + (p.causal ? "causal" : "full");
    if (lines.empty() || lines.back().title != title) lines.push_back({title, {}});
    if (!lines.back().cells[p.tokens].emplace(p.head_dim, &cell).second) {
      throw InvalidParameter("heat map",
                             title + ", head dim " + std::to_string(p.head_dim) + ", " +
                                 std::to_string(p.tokens) + " tokens twice",
                             "one batch and number of heads for each head dim and length");
    }
  }
  return lines;
}

/// The ratio to a backend, or why there is none.
draw::HeatCell heat_cell(const RegimeCell* cell, std::size_t backend) {
  draw::HeatCell heat;
  if (cell == nullptr) {
    heat.reason = "not recorded";
    return heat;
  }
  heat.value = cell->ratio(backend);
  if (heat.value) return heat;
  const validate::Throughput own = cell->own_throughput();
  heat.reason = own.tflops ? cell->backends[backend].status : own.status;
  return heat;
}

}  // namespace

draw::Picture throughput_map(const RegimeMap& map) {
  std::set<std::int64_t> head_dims;
  for (const RegimeCell& cell : map.cells) head_dims.insert(cell.problem.head_dim);
  draw::HeatMap picture;
  picture.heading = {"TFLOP/s of this kernel with its best tiles, in % of PyTorch's backends",
                     map.device + ", driver " + map.driver + ", " + map.framework};
  picture.scale = {.low = 0.25,
                   .middle = 1,
                   .high = 4,
                   .axis = draw::Scale::kLog,
                   .unit = draw::Unit::kPercent,
                   .low_note = "slower",
                   .high_note = "faster"};
  picture.row_name = "tokens";
  picture.column_name = "head dim";
  for (const MapLine& line : lines_of(map)) {
    draw::HeatLine heat_line{line.title, {}};
    for (std::size_t b = 0; b < validate::sdpa_backends().size(); ++b) {
      draw::HeatPanel panel;
      panel.title = validate::sdpa_backends()[b];
      for (const std::int64_t head_dim : head_dims) panel.columns.push_back(std::to_string(head_dim));
      for (const auto& [tokens, row] : line.cells) {
        panel.rows.push_back(std::to_string(tokens));
        for (const std::int64_t head_dim : head_dims) {
          const auto found = row.find(head_dim);
          panel.cells.push_back(heat_cell(found == row.end() ? nullptr : found->second, b));
        }
      }
      heat_line.panels.push_back(std::move(panel));
    }
    picture.lines.push_back(std::move(heat_line));
  }
  return picture_of(picture);
}

}  // namespace natten_sim::report
