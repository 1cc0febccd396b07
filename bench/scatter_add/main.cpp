// Scatter-add on this machine's GPU.
//
//   scatter_add_bench check                      every path against its oracle
//   scatter_add_bench time CELLS SECONDS         JSON lines: ms of four accumulating runs from zero
//   scatter_add_bench steady CELLS SECONDS       JSON lines: ms of 20 accumulating runs after three, as
//                                                `natten-sim validate remedies --l2 warm` times them
//   scatter_add_bench count CELLS SECONDS METRIC..  JSON lines: counters of one run from zero
//   scatter_add_bench index CELLS FOLDER         row numbers of each cell, little-endian int64
//
// Cells are lines of the form of cells.hpp. The last cells are left out when the seconds are over.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>

#include <natten_sim/validate/measure/counters.hpp>
#include <natten_sim/validate/measure/range_profiler.hpp>

#include "cells.hpp"
#include "check.hpp"

namespace natten_sim::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr float kLongMs = 150;  // of a first run: one more then, instead of three

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string listed(const std::vector<float>& ms) {
  std::string list;
  for (const float each : ms) list += (list.empty() ? "" : ",") + std::to_string(each);
  return list;
}

int time_cells(const std::string& file, double seconds) {
  const kernels::GpuInfo gpu = kernels::open_gpu();
  const Clock::time_point begin = Clock::now();
  for (const Cell& cell : read_cells(file)) {
    if (seconds_since(begin) > seconds) {
      std::printf("{%s,\"skipped\":true}\n", json_of(cell).c_str());
      continue;
    }
    kernels::scatter_add::Buffers buffers =
        kernels::scatter_add::make_buffers(cell.problem, index_of(cell), 1);
    const auto once = [&] { kernels::scatter_add::launch(gpu, cell.problem, buffers); };
    once();  // loads the kernel
    buffers.destination.fill(0);
    kernels::synchronize();
    std::vector<float> ms = kernels::time_with_events(once, 1);
    const std::vector<float> more = kernels::time_with_events(once, ms.front() > kLongMs ? 1 : 3);
    ms.insert(ms.end(), more.begin(), more.end());
    std::printf("{%s,\"ms\":[%s]}\n", json_of(cell).c_str(), listed(ms).c_str());
    std::fflush(stdout);
  }
  return 0;
}

int time_steadily(const std::string& file, double seconds) {
  constexpr int kWarmUps = 3, kRuns = 20;
  const kernels::GpuInfo gpu = kernels::open_gpu();
  const Clock::time_point begin = Clock::now();
  for (const Cell& cell : read_cells(file)) {
    if (seconds_since(begin) > seconds) {
      std::printf("{%s,\"skipped\":true}\n", json_of(cell).c_str());
      continue;
    }
    const kernels::scatter_add::Buffers buffers =
        kernels::scatter_add::make_buffers(cell.problem, index_of(cell), 1);
    const auto once = [&] { kernels::scatter_add::launch(gpu, cell.problem, buffers); };
    (void)kernels::time_with_events(once, kWarmUps);
    std::printf("{%s,\"ms\":[%s]}\n", json_of(cell).c_str(),
                listed(kernels::time_with_events(once, kRuns)).c_str());
    std::fflush(stdout);
  }
  return 0;
}

int count_cells(const std::string& file, double seconds, const std::vector<std::string>& metrics) {
  const kernels::GpuInfo gpu = kernels::open_gpu();
  std::string reason;
  const auto profiler = validate::RangeProfiler::open(gpu.index, metrics, reason);
  if (profiler == nullptr) throw kernels::CudaError("CUPTI", reason);
  const Clock::time_point begin = Clock::now();
  for (const Cell& cell : read_cells(file)) {
    if (seconds_since(begin) > seconds) break;
    kernels::scatter_add::Buffers buffers =
        kernels::scatter_add::make_buffers(cell.problem, index_of(cell), 1);
    buffers.destination.fill(0);
    kernels::synchronize();
    const std::vector<double> values =
        profiler->measure([&] { kernels::scatter_add::launch(gpu, cell.problem, buffers); });
    std::string list;
    for (std::size_t i = 0; i < values.size(); ++i)
      list += ",\"" + metrics[i] + "\":" + std::to_string(static_cast<long long>(values[i]));
    std::printf("{%s%s}\n", json_of(cell).c_str(), list.c_str());
    std::fflush(stdout);
  }
  return 0;
}

int write_indices(const std::string& file, const std::string& folder) {
  int number = 0;
  for (const Cell& cell : read_cells(file)) {
    const std::vector<std::int64_t> index = index_of(cell);
    std::ofstream out(folder + "/" + std::to_string(number++) + ".bin", std::ios::binary);
    out.write(reinterpret_cast<const char*>(index.data()),
              static_cast<std::streamsize>(index.size() * sizeof(std::int64_t)));
  }
  return 0;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "check") return check_all();
  if (words.size() == 3 && words[0] == "time") return time_cells(words[1], std::stod(words[2]));
  if (words.size() == 3 && words[0] == "steady") return time_steadily(words[1], std::stod(words[2]));
  if (words.size() == 3 && words[0] == "index") return write_indices(words[1], words[2]);
  if (words.size() > 3 && words[0] == "count")
    return count_cells(words[1], std::stod(words[2]), {words.begin() + 3, words.end()});
  std::fprintf(
      stderr,
      "scatter_add_bench check | time CELLS SECONDS | steady CELLS SECONDS | count CELLS SECONDS METRIC.. | "
      "index CELLS FOLDER\n");
  return 2;
}

}  // namespace
}  // namespace natten_sim::bench

int main(int argc, char** argv) {
  try {
    return natten_sim::bench::run({argv + 1, argv + argc});
  } catch (const natten_sim::HardwareAbsent& absent) {
    std::fprintf(stderr, "skipped: %s\n", absent.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
