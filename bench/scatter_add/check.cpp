#include "check.hpp"

#include <cstdio>
#include <cstring>

#include "cells.hpp"

namespace natten_sim::bench {
namespace {

using kernels::scatter_add::CheckValues;
using kernels::scatter_add::Path;
using kernels::scatter_add::Problem;

struct Tally {
  int checked = 0, wrong = 0;
};

/// A row that receives more than 120 values of up to 2 could pass 256, beyond which bf16 skips integers.
struct Shape {
  std::int64_t width, updates, rows;
  const char* distribution;
};
constexpr Shape kShapes[] = {{256, 1000, 700, "uniform"}, {8, 999, 37, "zipf:0.3"},
                             {16, 100, 3, "hot:1"},       {72, 513, 64, "uniform"},
                             {1032, 77, 5, "uniform"},    {64, 3000, 3000, "zipf:0.5"},
                             {40, 1, 1, "hot:1"},         {2048, 110, 9, "hot:2"},
                             {136, 120, 2, "hot:1"},      {4096, 65, 1, "hot:1"}};

void check_cell(const kernels::GpuInfo& gpu, const Cell& cell, Tally& tally) {
  for (const CheckValues values : {CheckValues::kIntegers, CheckValues::kRandom}) {
    const auto result = kernels::scatter_add::check(gpu, cell.problem, index_of(cell), values, 7);
    ++tally.checked;
    if (result.passed) continue;
    ++tally.wrong;
    std::printf("wrong: {%s} %s values, error %g, guards %s\n", json_of(cell).c_str(),
                values == CheckValues::kIntegers ? "integer" : "random", result.error,
                result.guards_intact ? "intact" : "overwritten");
  }
}

/// Two launches from the same start on random values give the same bits.
void check_repeats(const kernels::GpuInfo& gpu, const Cell& cell, Tally& tally) {
  std::vector<char> found[2];
  for (std::vector<char>& bytes : found) {
    kernels::scatter_add::Buffers buffers =
        kernels::scatter_add::make_buffers(cell.problem, index_of(cell), 3);
    kernels::scatter_add::launch(gpu, cell.problem, buffers);
    bytes.resize(buffers.destination.bytes());
    buffers.destination.copy_to_host(bytes.data(), bytes.size());
  }
  ++tally.checked;
  if (found[0] == found[1]) return;
  ++tally.wrong;
  std::printf("not repeatable: {%s}\n", json_of(cell).c_str());
}

}  // namespace

int check_all() {
  const kernels::GpuInfo gpu = kernels::open_gpu();
  Tally tally;
  for (const auto& path : NamesOf<Path>::kTable) {
    for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16, Dtype::kFp16}) {
      for (const Shape& shape : kShapes) {
        Cell cell;
        cell.problem = {shape.updates, shape.rows, shape.width, dtype, path.value};
        cell.distribution = shape.distribution;
        check_cell(gpu, cell, tally);
        if (path.value == Path::kSorted) check_repeats(gpu, cell, tally);
        if (path.value != Path::kScalar) continue;
        cell.problem.index = IndexLayout::kElement;
        check_cell(gpu, cell, tally);
      }
    }
  }
  std::printf("%d checks, %d wrong\n", tally.checked, tally.wrong);
  return tally.wrong == 0 && tally.checked > 0 ? 0 : 1;
}

}  // namespace natten_sim::bench
