// Scatter-add by sorting: deterministic, no atomics. Variants: dtype. Floor: values once through DRAM, and
// four passes over row numbers and positions for the sort.
#include <cub/device/device_radix_sort.cuh>

#include "gpu/cuda_check.cuh"
#include "gpu/launch_stream.cuh"
#include "scatter_add/sorted_segments.cuh"

namespace natten_sim::kernels::scatter_add {
namespace {

constexpr int kBlock = 64;  // sorted updates of one partial sum
constexpr std::size_t kAlign = 256;

/// Arrays in the scratch buffer, by their offsets.
struct Layout {
  std::size_t rows_sorted, positions, positions_sorted, first, last, sort, bytes, sort_bytes;
};

std::size_t blocks_of(const Problem& problem) {
  return static_cast<std::size_t>((problem.updates + kBlock - 1) / kBlock);
}

int bits_of(std::int64_t rows) {
  int bits = 1;
  while ((rows - 1) >> bits != 0) ++bits;
  return bits;
}

Layout layout_of(const Problem& problem) {
  Layout layout{};
  std::size_t at = 0;
  const auto place = [&](std::size_t bytes) {
    const std::size_t begin = at;
    at += (bytes + kAlign - 1) / kAlign * kAlign;
    return begin;
  };
  const auto updates = static_cast<std::size_t>(problem.updates);
  const std::size_t partial = blocks_of(problem) * static_cast<std::size_t>(problem.width) * sizeof(float);
  layout.rows_sorted = place(updates * sizeof(std::int64_t));
  layout.positions = place(updates * sizeof(std::int32_t));
  layout.positions_sorted = place(updates * sizeof(std::int32_t));
  layout.first = place(partial);
  layout.last = place(partial);
  NATTEN_SIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
      nullptr, layout.sort_bytes, static_cast<const std::int64_t*>(nullptr),
      static_cast<std::int64_t*>(nullptr), static_cast<const std::int32_t*>(nullptr),
      static_cast<std::int32_t*>(nullptr), static_cast<int>(problem.updates), 0, bits_of(problem.rows), launch_stream()));
  layout.sort = place(layout.sort_bytes);
  layout.bytes = at;
  return layout;
}

__global__ void number(std::int32_t* positions, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    positions[i] = static_cast<std::int32_t>(i);
}

/// The sums of each block: rows within a block go to memory, a row that began before to `first`, one that
/// goes on to `last`. One thread a block and column.
template <typename Element>
__global__ void sum_blocks(const Element* __restrict__ values, const std::int64_t* __restrict__ rows,
                           const std::int32_t* __restrict__ positions, Element* destination, float* first,
                           float* last, std::int64_t updates, std::int64_t width) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t block = item / width, column = item % width;
  const std::int64_t begin = block * kBlock;
  if (begin >= updates) return;
  const std::int64_t end = min(begin + kBlock, updates);
  bool from_before = begin > 0 && rows[begin - 1] == rows[begin];
  float sum = 0;
  for (std::int64_t at = begin; at < end; ++at) {
    sum += static_cast<float>(values[positions[at] * width + column]);
    const bool goes_on = at + 1 < updates && rows[at + 1] == rows[at];
    if (goes_on && at + 1 < end) continue;
    if (from_before) {
      first[item] = sum;
    } else if (goes_on) {
      last[item] = sum;
    } else {
      Element& target = destination[rows[at] * width + column];
      target = static_cast<Element>(static_cast<float>(target) + sum);
    }
    from_before = false;
    sum = 0;
  }
}

/// Rows that cross blocks, by the thread of the block in which they begin.
template <typename Element>
__global__ void join_blocks(const std::int64_t* __restrict__ rows, Element* destination,
                            const float* __restrict__ first, const float* __restrict__ last,
                            std::int64_t updates, std::int64_t width) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::int64_t block = item / width;
  const std::int64_t column = item % width, begin = block * kBlock, end = begin + kBlock;
  if (end >= updates) return;
  const std::int64_t row = rows[end - 1];
  const bool goes_on = rows[end] == row;
  const bool began_here = begin == 0 || rows[begin - 1] != row;
  if (!goes_on || !began_here) return;
  float sum = last[item];
  for (++block; block * kBlock < updates && rows[block * kBlock] == row; ++block)
    sum += first[block * width + column];
  Element& target = destination[row * width + column];
  target = static_cast<Element>(static_cast<float>(target) + sum);
}

}  // namespace

std::size_t sorted_scratch_bytes(const Problem& problem) { return layout_of(problem).bytes; }

template <typename Element>
void launch_sorted(const Problem& problem, const Element* values, const std::int64_t* index,
                   Element* destination, void* scratch) {
  Layout layout = layout_of(problem);
  auto* const base = static_cast<char*>(scratch);
  auto* const rows = reinterpret_cast<std::int64_t*>(base + layout.rows_sorted);
  auto* const positions = reinterpret_cast<std::int32_t*>(base + layout.positions);
  auto* const sorted = reinterpret_cast<std::int32_t*>(base + layout.positions_sorted);
  auto* const first = reinterpret_cast<float*>(base + layout.first);
  auto* const last = reinterpret_cast<float*>(base + layout.last);
  number<<<1024, 256, 0, launch_stream()>>>(positions, problem.updates);
  NATTEN_SIM_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
      base + layout.sort, layout.sort_bytes, index, rows, static_cast<const std::int32_t*>(positions), sorted,
      static_cast<int>(problem.updates), 0, bits_of(problem.rows), launch_stream()));
  const std::size_t threads = blocks_of(problem) * static_cast<std::size_t>(problem.width);
  const auto grid = static_cast<unsigned>((threads + 127) / 128);
  sum_blocks<<<grid, 128, 0, launch_stream()>>>(values, rows, sorted, destination, first, last, problem.updates,
                                                problem.width);
  join_blocks<<<grid, 128, 0, launch_stream()>>>(rows, destination, first, last, problem.updates, problem.width);
}

template void launch_sorted(const Problem&, const float*, const std::int64_t*, float*, void*);
template void launch_sorted(const Problem&, const __half*, const std::int64_t*, __half*, void*);
template void launch_sorted(const Problem&, const __nv_bfloat16*, const std::int64_t*, __nv_bfloat16*, void*);

}  // namespace natten_sim::kernels::scatter_add
