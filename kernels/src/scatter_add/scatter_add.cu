// Scatter-add of rows, all paths but `sorted` (sorted_segments.cu).
//
// Variants: path (scalar, red of 4, 8, 16 bytes, atom, cas, bulk, private copies, fp32 accumulator), dtype,
// row numbers by row or by element. Floor: values and row numbers once through DRAM.
#include <algorithm>

#include "gpu/cuda_check.cuh"
#include "gpu/launch_stream.cuh"
#include "gpu/kernel_limits.cuh"
#include "gpu/random_value.hpp"
#include "scatter_add/lane_updates.cuh"
#include "scatter_add/lowering_probes.cuh"
#include "scatter_add/sorted_segments.cuh"

namespace natten_sim::kernels::scatter_add {
namespace {

constexpr int kThreads = 128;
constexpr int kPieces = 4;  // of a thread, kThreads apart
constexpr int kBulkBytes = 2048;

/// The row of a piece: a division, or a shift where pieces of a row are a power of two.
struct PiecesOfRow {
  std::int64_t pieces;
  int shift;  // -1: divide
  __device__ __forceinline__ std::int64_t row(std::int64_t piece) const {
    return shift >= 0 ? piece >> shift : piece / pieces;
  }
};

PiecesOfRow pieces_of_row(std::int64_t pieces) {
  int shift = -1;
  if ((pieces & (pieces - 1)) == 0)
    for (shift = 0; (std::int64_t{1} << shift) < pieces;) ++shift;
  return {pieces, shift};
}

template <typename Update>
__global__ void __launch_bounds__(kThreads)
    add_pieces(const typename Update::Type* __restrict__ values, const std::int64_t* __restrict__ index,
               typename Update::Type* destination, std::int64_t all, PiecesOfRow of, bool by_element,
               std::int64_t copies, std::int64_t copy_elements) {
  using Type = typename Update::Type;
  constexpr int kElements = Update::kElements;
  destination += blockIdx.x % copies * copy_elements;
  std::int64_t piece = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kPieces) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kPieces; ++i, piece += kThreads) {
    if (piece >= all) return;
    const std::int64_t update = of.row(piece);
    const std::int64_t column = piece - update * of.pieces;
    const std::int64_t row = by_element ? index[piece] : index[update];
    alignas(16) Type held[kElements];
    if constexpr (sizeof held == 16) {
      *reinterpret_cast<uint4*>(held) = *reinterpret_cast<const uint4*>(values + piece * kElements);
    } else if constexpr (sizeof held == 8) {
      *reinterpret_cast<uint2*>(held) = *reinterpret_cast<const uint2*>(values + piece * kElements);
    } else if constexpr (sizeof held == 4) {
      *reinterpret_cast<unsigned*>(held) = *reinterpret_cast<const unsigned*>(values + piece * kElements);
    } else {
      held[0] = values[piece];
    }
    Update::add(destination + (row * of.pieces + column) * kElements, held);
  }
}

/// fp32 sums of 16-bit or fp32 values, four a lane.
template <typename Element>
__global__ void __launch_bounds__(kThreads)
    add_widened(const Element* __restrict__ values, const std::int64_t* __restrict__ index, float* sums,
                std::int64_t all, PiecesOfRow of) {
  std::int64_t piece = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kPieces) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kPieces; ++i, piece += kThreads) {
    if (piece >= all) return;
    const std::int64_t update = of.row(piece);
    const std::int64_t column = piece - update * of.pieces;
    alignas(16) Element narrow[4];
    if constexpr (sizeof(Element) == 4) {
      *reinterpret_cast<uint4*>(narrow) = *reinterpret_cast<const uint4*>(values + piece * 4);
    } else {
      *reinterpret_cast<uint2*>(narrow) = *reinterpret_cast<const uint2*>(values + piece * 4);
    }
    alignas(16) float wide[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) wide[k] = static_cast<float>(narrow[k]);
    float* const target = sums + (index[update] * of.pieces + column) * 4;
#if __CUDA_ARCH__ >= 900
    RedUpdate<float, 4>::add(target, wide);
#else
#pragma unroll
    for (int k = 0; k < 4; ++k) RedUpdate<float, 1>::add(target + k, wide + k);
#endif
  }
}

/// destination += copies, in their order.
template <typename Element, typename Copy>
__global__ void fold(Element* destination, const Copy* copies, std::int64_t elements, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += stride) {
    float sum = static_cast<float>(destination[i]);
    for (std::int64_t c = 0; c < count; ++c) sum += static_cast<float>(copies[c * elements + i]);
    destination[i] = static_cast<Element>(sum);
  }
}

/// A warp stages a piece of a row and reduces it into memory as a whole.
template <typename Element>
__global__ void __launch_bounds__(kThreads)
    add_bulk(const Element* __restrict__ values, const std::int64_t* __restrict__ index, Element* destination,
             std::int64_t updates, std::int64_t row_bytes) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) unsigned char stage[kThreads / 32][kBulkBytes];
  unsigned char* const mine = stage[threadIdx.x / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t pieces = (row_bytes + kBulkBytes - 1) / kBulkBytes;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (kThreads / 32);
  for (std::int64_t piece = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
       piece < updates * pieces; piece += warps) {
    const std::int64_t update = piece / pieces;
    const std::int64_t offset = piece % pieces * kBulkBytes;
    const int bytes = row_bytes - offset < kBulkBytes ? static_cast<int>(row_bytes - offset) : kBulkBytes;
    const auto* const source = reinterpret_cast<const unsigned char*>(values) + update * row_bytes + offset;
    if (lane == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __syncwarp();
    for (int at = lane * 16; at < bytes; at += 32 * 16)
      *reinterpret_cast<uint4*>(mine + at) = *reinterpret_cast<const uint4*>(source + at);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane != 0) continue;
    unsigned char* const target =
        reinterpret_cast<unsigned char*>(destination) + index[update] * row_bytes + offset;
    const unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(mine));
    if constexpr (std::is_same_v<Element, float>) {
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(target),
                   "r"(shared), "r"(bytes)
                   : "memory");
    } else if constexpr (std::is_same_v<Element, __half>) {
      asm volatile(
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], %2;" ::"l"(target),
          "r"(shared), "r"(bytes)
          : "memory");
    } else {
      asm volatile(
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;" ::"l"(target),
          "r"(shared), "r"(bytes)
          : "memory");
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
  if (lane == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#else
  __trap();
#endif
}

template <typename Element>
__global__ void fill_values(Element* values, std::int64_t count, std::uint64_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    values[i] = static_cast<Element>(random_value(seed, static_cast<std::uint64_t>(i)));
}

__global__ void expand_index(std::int64_t* by_element, const std::int64_t* by_row, std::int64_t count,
                             std::int64_t width) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    by_element[i] = by_row[i / width];
}

template <typename Element>
struct Arrays {
  const Element* values;
  const std::int64_t* index;
  Element* destination;
  void* scratch;
};

unsigned blocks_for(std::int64_t items, std::int64_t each) {
  return static_cast<unsigned>(std::max<std::int64_t>((items + each - 1) / each, 1));
}

template <typename Update>
void launch_pieces(const Problem& problem, const Arrays<typename Update::Type>& arrays,
                   typename Update::Type* destination, std::int64_t copies = 1) {
  const std::int64_t pieces = problem.width / Update::kElements;
  const std::int64_t all = problem.updates * pieces;
  add_pieces<Update><<<blocks_for(all, kThreads * kPieces), kThreads, 0, launch_stream()>>>(
      arrays.values, arrays.index, destination, all, pieces_of_row(pieces),
      problem.index == IndexLayout::kElement, copies, problem.rows * problem.width);
}

template <typename Element>
void launch_private(const Problem& problem, const Arrays<Element>& arrays) {
  const std::int64_t elements = problem.rows * problem.width;
  auto* const copies = static_cast<Element*>(arrays.scratch);
  NATTEN_SIM_CUDA_CHECK(
      cudaMemsetAsync(copies, 0, static_cast<std::size_t>(elements * problem.copies) * sizeof(Element),
                      launch_stream()));
  launch_pieces<ScalarUpdate<Element>>(problem, arrays, copies, problem.copies);
  fold<<<std::min(blocks_for(elements, 256), 8192u), 256, 0, launch_stream()>>>(arrays.destination, copies, elements,
                                                                                 problem.copies);
}

template <typename Element>
void launch_accumulator(const Problem& problem, const Arrays<Element>& arrays) {
  const std::int64_t elements = problem.rows * problem.width;
  auto* const sums = static_cast<float*>(arrays.scratch);
  NATTEN_SIM_CUDA_CHECK(
      cudaMemsetAsync(sums, 0, static_cast<std::size_t>(elements) * sizeof(float), launch_stream()));
  const std::int64_t pieces = problem.width / 4;
  add_widened<<<blocks_for(problem.updates * pieces, kThreads * kPieces), kThreads, 0, launch_stream()>>>(
      arrays.values, arrays.index, sums, problem.updates * pieces, pieces_of_row(pieces));
  fold<<<std::min(blocks_for(elements, 256), 8192u), 256, 0, launch_stream()>>>(arrays.destination, sums, elements, 1);
}

template <typename Element>
void launch_path(const GpuInfo& gpu, const Problem& problem, const Arrays<Element>& arrays) {
  switch (problem.path) {
    case Path::kScalar:
      return launch_pieces<ScalarUpdate<Element>>(problem, arrays, arrays.destination);
    case Path::kRed4:
      return launch_pieces<RedUpdate<Element, 1>>(problem, arrays, arrays.destination);
    case Path::kRed8:
      return launch_pieces<RedUpdate<Element, 2>>(problem, arrays, arrays.destination);
    case Path::kRed16:
      return launch_pieces<RedUpdate<Element, 4>>(problem, arrays, arrays.destination);
    case Path::kAtom:
      return launch_pieces<AtomUpdate<Element>>(problem, arrays, arrays.destination);
    case Path::kCas:
      return launch_pieces<CasUpdate<Element>>(problem, arrays, arrays.destination);
    case Path::kPrivate:
      return launch_private(problem, arrays);
    case Path::kAccumulator:
      return launch_accumulator(problem, arrays);
    case Path::kSorted:
      return launch_sorted(problem, arrays.values, arrays.index, arrays.destination, arrays.scratch);
    case Path::kBulk:
      break;
  }
  const std::int64_t row_bytes = problem.width * element_bytes(problem.dtype);
  const std::int64_t pieces = problem.updates * ((row_bytes + kBulkBytes - 1) / kBulkBytes);
  const unsigned blocks = std::min(blocks_for(pieces, kThreads / 32), static_cast<unsigned>(gpu.sms) * 16);
  add_bulk<<<blocks, kThreads, 0, launch_stream()>>>(
      arrays.values, arrays.index, arrays.destination, problem.updates, row_bytes);
}

bool needs_sm90(const Problem& problem) {
  const bool native_bf16 = problem.path == Path::kRed4 || problem.path == Path::kAtom;
  return problem.path == Path::kRed8 || problem.path == Path::kRed16 || problem.path == Path::kBulk ||
         (native_bf16 && problem.dtype == Dtype::kBf16);
}

void require_room(const char* name, const DeviceBuffer& buffer, std::size_t bytes) {
  if (buffer.bytes() >= bytes) return;
  throw InvalidParameter(name, std::to_string(buffer.bytes()),
                         "at least " + std::to_string(bytes) + " bytes");
}

template <typename Element>
void launch_typed(const GpuInfo& gpu, const Problem& problem, const Buffers& buffers,
                  std::size_t first_byte) {
  launch_path<Element>(
      gpu, problem,
      {static_cast<const Element*>(buffers.values.data()),
       static_cast<const std::int64_t*>(buffers.index.data()),
       reinterpret_cast<Element*>(static_cast<char*>(buffers.destination.data()) + first_byte),
       buffers.scratch.data()});
}

}  // namespace

std::size_t scratch_bytes(const Problem& problem) {
  require_valid(problem);
  const auto elements = static_cast<std::size_t>(problem.rows * problem.width);
  if (problem.path == Path::kAccumulator) return elements * sizeof(float);
  if (problem.path == Path::kPrivate)
    return elements * static_cast<std::size_t>(problem.copies * element_bytes(problem.dtype));
  return problem.path == Path::kSorted ? sorted_scratch_bytes(problem) : 0;
}

Buffers make_buffers(const Problem& problem, const std::vector<std::int64_t>& index, std::uint64_t seed) {
  require_valid(problem);
  if (std::ssize(index) != problem.updates)
    throw InvalidParameter("index", std::to_string(index.size()), "a row number an update");
  const auto elements = static_cast<std::size_t>(problem.updates * problem.width);
  const auto bytes = static_cast<std::size_t>(element_bytes(problem.dtype));
  Buffers buffers;
  buffers.values = DeviceBuffer(elements * bytes);
  buffers.destination = DeviceBuffer(static_cast<std::size_t>(problem.rows * problem.width) * bytes);
  buffers.destination.fill(0);
  buffers.scratch = DeviceBuffer(scratch_bytes(problem));
  buffers.index = DeviceBuffer(index.size() * sizeof(std::int64_t));
  buffers.index.copy_from_host(index.data(), buffers.index.bytes());
  const auto count = static_cast<std::int64_t>(elements);
  if (problem.index == IndexLayout::kElement) {
    const DeviceBuffer by_row = buffers.index;
    buffers.index = DeviceBuffer(elements * sizeof(std::int64_t));
    expand_index<<<4096, 256>>>(static_cast<std::int64_t*>(buffers.index.data()),
                                static_cast<const std::int64_t*>(by_row.data()), count, problem.width);
    synchronize();
  }
  if (problem.dtype == Dtype::kFp32) {
    fill_values<<<4096, 256>>>(static_cast<float*>(buffers.values.data()), count, seed);
  } else if (problem.dtype == Dtype::kFp16) {
    fill_values<<<4096, 256>>>(static_cast<__half*>(buffers.values.data()), count, seed);
  } else {
    fill_values<<<4096, 256>>>(static_cast<__nv_bfloat16*>(buffers.values.data()), count, seed);
  }
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
  return buffers;
}

void launch(const GpuInfo& gpu, const Problem& problem, const Buffers& buffers, std::size_t first_byte) {
  require_valid(problem);
  const auto bytes = static_cast<std::size_t>(element_bytes(problem.dtype));
  const std::size_t elements = static_cast<std::size_t>(problem.updates * problem.width);
  require_room("values", buffers.values, elements * bytes);
  require_room(
      "index", buffers.index,
      (problem.index == IndexLayout::kElement ? elements : static_cast<std::size_t>(problem.updates)) *
          sizeof(std::int64_t));
  require_room("destination", buffers.destination,
               first_byte + static_cast<std::size_t>(problem.rows * problem.width) * bytes);
  require_room("scratch", buffers.scratch, scratch_bytes(problem));
  if (needs_sm90(problem) && gpu.compute_major < 9)
    throw HardwareAbsent("a GPU of sm_90 or later", gpu.name + " lacks " + to_string(problem.path));
  if (problem.updates == 0) return;
  if (problem.dtype == Dtype::kFp32) {
    launch_typed<float>(gpu, problem, buffers, first_byte);
  } else if (problem.dtype == Dtype::kFp16) {
    launch_typed<__half>(gpu, problem, buffers, first_byte);
  } else {
    launch_typed<__nv_bfloat16>(gpu, problem, buffers, first_byte);
  }
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace natten_sim::kernels::scatter_add
