#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/index_distribution.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>

namespace natten_sim::kernels::scatter_add {

/// destination[index[i]][d] += values[i][d] for all i < updates, d < width, by one of several paths.
///
/// Floor: the values and row numbers once through DRAM. Lanes take neighbouring pieces of rows; a thread of
/// a CTA of 128 has four pieces, 128 apart, as PyTorch's scatter kernels have. Launches accumulate: the
/// destination is never cleared here.

enum class Path {
  kScalar,       ///< atomicAdd on one element: a `red` in fp32, a loop of compare-and-swap in 16 bits
  kRed4,         ///< PTX red of 4 bytes a lane: f32, bf16x2, f16x2
  kRed8,         ///< PTX vector red of 8 bytes (sm_90): v2.f32, v2.bf16x2, v2.f16x2
  kRed16,        ///< PTX vector red of 16 bytes (sm_90): v4
  kAtom,         ///< as kRed4, and the old value is used
  kCas,          ///< a loop of 32-bit compare-and-swap on whole words
  kBulk,         ///< a row's pieces of up to 2 KiB staged in shared memory, bulk reduce copy (sm_90)
  kPrivate,      ///< kScalar into `copies` destinations, added up in order afterwards
  kSorted,       ///< stable sort by row, segmented sums in fp32: deterministic, no atomics
  kAccumulator,  ///< PTX v4.f32 red (sm_90; else f32) into a zeroed fp32 copy, added afterwards
};

struct Problem {
  std::int64_t updates = 0;
  std::int64_t rows = 1;
  std::int64_t width = 1;
  Dtype dtype = Dtype::kBf16;
  Path path = Path::kScalar;
  IndexLayout index = IndexLayout::kRow;  ///< kElement: one row number an element, kScalar only
  std::int64_t copies = 8;                ///< of kPrivate
};

/// @throws InvalidParameter on sizes or types that the path does not take.
void require_valid(const Problem& problem);

/// Elements of one lane's piece of a row: 1 for kScalar, 8 for kRed16 in 16 bits.
[[nodiscard]] std::int64_t lane_elements(const Problem& problem);

/// Bytes of memory besides values, row numbers and destination.
[[nodiscard]] std::size_t scratch_bytes(const Problem& problem);

struct Buffers {
  DeviceBuffer values;       ///< (updates, width)
  DeviceBuffer index;        ///< int64, (updates) or (updates, width)
  DeviceBuffer destination;  ///< (rows, width)
  DeviceBuffer scratch;
};

/// Values of mean 0 and variance 1 from the seed, a zeroed destination. `index` holds `updates` row numbers.
[[nodiscard]] Buffers make_buffers(const Problem& problem, const std::vector<std::int64_t>& index,
                                   std::uint64_t seed);

/// Adds once. `first_byte` is where the destination begins in its buffer, a multiple of 256. Asynchronous.
/// @throws InvalidParameter for buffers that are too small, HardwareAbsent for a path that this GPU lacks.
void launch(const GpuInfo& gpu, const Problem& problem, const Buffers& buffers, std::size_t first_byte = 0);

/// The sum in double, of values that were rounded to the dtype. O(updates * width).
[[nodiscard]] std::vector<double> oracle(const Problem& problem, const std::vector<std::int64_t>& index,
                                         const std::vector<double>& values,
                                         const std::vector<double>& destination);

/// One comparison with the oracle. The destination lies between poisoned guards, and is not zero before.
struct Check {
  double error = 0;  ///< largest |difference| over its bound; of integers, 0 or 1
  bool guards_intact = false;
  bool passed = false;
};
/// Small integers: any order of additions gives the same bits, as long as a row's sum stays below
/// 2^significand. Random values: each addition rounds once, so an element that m updates reach may be off by
/// (m + 1) half spacings of the sum of magnitudes.
enum class CheckValues { kIntegers, kRandom };
[[nodiscard]] Check check(const GpuInfo& gpu, const Problem& problem, const std::vector<std::int64_t>& index,
                          CheckValues values, std::uint64_t seed);

}  // namespace natten_sim::kernels::scatter_add

namespace natten_sim {

template <>
struct NamesOf<kernels::scatter_add::Path> {
  using Path = kernels::scatter_add::Path;
  static constexpr const char* kConcept = "scatter path";
  static constexpr Name<Path> kTable[] = {
      {Path::kScalar, "scalar"}, {Path::kRed4, "red-4"},
      {Path::kRed8, "red-8"},    {Path::kRed16, "red-16"},
      {Path::kAtom, "atom"},     {Path::kCas, "cas"},
      {Path::kBulk, "bulk"},     {Path::kPrivate, "private"},
      {Path::kSorted, "sorted"}, {Path::kAccumulator, "fp32-accumulator"}};
};

}  // namespace natten_sim
