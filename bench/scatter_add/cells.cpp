#include "cells.hpp"

#include <fstream>
#include <sstream>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>

namespace natten_sim::bench {

std::vector<Cell> read_cells(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw InvalidParameter("cells", "'" + file + "'", "a readable file");
  std::vector<Cell> cells;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string path, layout, dtype;
    Cell cell;
    words >> path >> layout >> dtype >> cell.problem.width >> cell.problem.updates >> cell.problem.rows >>
        cell.distribution;
    if (!words) throw InvalidParameter("cell", "'" + line + "'", "seven words, and perhaps a seed");
    words >> cell.seed;
    cell.problem.path = parse_name<kernels::scatter_add::Path>(path);
    cell.problem.index = parse_name<IndexLayout>(layout);
    cell.problem.dtype = parse_name<Dtype>(dtype);
    cells.push_back(cell);
  }
  return cells;
}

std::vector<std::int64_t> index_of(const Cell& cell) {
  const kernels::scatter_add::Problem& problem = cell.problem;
  const auto stream =
      generate_indices({parse_index_distribution(cell.distribution), problem.updates, problem.rows,
                        problem.width * element_bytes(problem.dtype), cell.seed});
  std::vector<std::int64_t> index(static_cast<std::size_t>(problem.updates));
  std::size_t done = 0;
  while (done < index.size()) done += stream->read(std::span(index).subspan(done));
  return index;
}

std::string json_of(const Cell& cell) {
  const kernels::scatter_add::Problem& p = cell.problem;
  return "\"path\":\"" + std::string(to_string(p.path)) + "\",\"index\":\"" + to_string(p.index) +
         "\",\"dtype\":\"" + to_string(p.dtype) + "\",\"width\":" + std::to_string(p.width) +
         ",\"updates\":" + std::to_string(p.updates) + ",\"rows\":" + std::to_string(p.rows) +
         ",\"distribution\":\"" + cell.distribution + "\"";
}

}  // namespace natten_sim::bench
