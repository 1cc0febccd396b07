#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/kernels/scatter_add/scatter_add.hpp>

#include "gpu/number_bits.hpp"
#include "require_range.hpp"

namespace natten_sim::kernels::scatter_add {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::uint8_t kPoison = 0xA5;

/// Integers of -2..2 without 0, or numbers between -2 and 2.
std::vector<double> drawn(std::size_t count, CheckValues kind, std::uint64_t seed) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = random_bits(seed, i);
    constexpr std::array<double, 4> kIntegers = {-2, -1, 1, 2};
    values[i] = kind == CheckValues::kIntegers ? kIntegers[bits % 4] : 4 * random_unit(bits) - 2;
  }
  return values;
}

/// What each element may be off by.
std::vector<double> error_bounds(const Problem& problem, const std::vector<std::int64_t>& index,
                                 const std::vector<double>& values, const std::vector<double>& before) {
  const auto width = static_cast<std::size_t>(problem.width);
  std::vector<double> magnitude(before.size()), additions(before.size(), 1);
  for (std::size_t i = 0; i < before.size(); ++i) magnitude[i] = std::abs(before[i]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(index[i / width]) * width + i % width;
    magnitude[at] += std::abs(values[i]);
    additions[at] += 1;
  }
  // Copies are added up one by one afterwards.
  const double more = problem.path == Path::kPrivate ? static_cast<double>(problem.copies) : 0;
  const double unit = std::ldexp(1.0, -significand_bits(problem.dtype));
  for (std::size_t i = 0; i < magnitude.size(); ++i) magnitude[i] *= unit * (additions[i] + more) * 1.01;
  return magnitude;
}

}  // namespace

void require_valid(const Problem& problem) {
  require_range("updates", problem.updates, 0, std::int64_t{1} << 31);
  require_range("rows", problem.rows, 1, std::int64_t{1} << 31);
  require_range("width", problem.width, 1, 1 << 20);
  require_range("copies", problem.copies, 1, 64);
  if (problem.dtype != Dtype::kFp32 && problem.dtype != Dtype::kFp16 && problem.dtype != Dtype::kBf16)
    throw InvalidParameter("dtype", to_string(problem.dtype), "fp32, fp16 or bf16");
  if (problem.index == IndexLayout::kElement && problem.path != Path::kScalar)
    throw InvalidParameter("index", "element", "row for every path but scalar", "row");
  const std::int64_t lane = lane_elements(problem);
  if (problem.width % lane != 0) {
    throw InvalidParameter("width", std::to_string(problem.width),
                           "a multiple of " + std::to_string(lane) + ", which a lane adds at once");
  }
}

std::int64_t lane_elements(const Problem& problem) {
  const std::int64_t bytes = element_bytes(problem.dtype);
  switch (problem.path) {
    case Path::kScalar:
    case Path::kPrivate:
    case Path::kSorted:
      return 1;
    case Path::kRed4:
    case Path::kAtom:
    case Path::kCas:
      return 4 / bytes;
    case Path::kRed8:
      return 8 / bytes;
    case Path::kRed16:
    case Path::kBulk:
      return 16 / bytes;
    case Path::kAccumulator:
      break;
  }
  return 4;
}

std::vector<double> oracle(const Problem& problem, const std::vector<std::int64_t>& index,
                           const std::vector<double>& values, const std::vector<double>& destination) {
  std::vector<double> sum = destination;
  const auto width = static_cast<std::size_t>(problem.width);
  for (std::size_t i = 0; i < values.size(); ++i)
    sum[static_cast<std::size_t>(index[i / width]) * width + i % width] += values[i];
  return sum;
}

Check check(const GpuInfo& gpu, const Problem& problem, const std::vector<std::int64_t>& index,
            CheckValues kind, std::uint64_t seed) {
  const auto elements = static_cast<std::size_t>(problem.updates * problem.width);
  const auto held = static_cast<std::size_t>(problem.rows * problem.width);
  const std::vector<std::uint8_t> value_bytes = encoded(problem.dtype, drawn(elements, kind, seed));
  const std::vector<std::uint8_t> before = encoded(problem.dtype, drawn(held, kind, seed + 1));
  Buffers buffers = make_buffers(problem, index, seed);
  buffers.values.copy_from_host(value_bytes.data(), value_bytes.size());
  buffers.destination = DeviceBuffer(before.size() + 2 * kGuardBytes);
  buffers.destination.fill(kPoison);
  buffers.scratch.fill(kPoison);
  buffers.destination.copy_from_host(before.data(), before.size(), kGuardBytes);
  launch(gpu, problem, buffers, kGuardBytes);
  std::vector<std::uint8_t> all(before.size() + 2 * kGuardBytes);
  buffers.destination.copy_to_host(all.data(), all.size());

  Check result;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(kGuardBytes);
  const auto end = all.end() - static_cast<std::ptrdiff_t>(kGuardBytes);
  const auto poisoned = [](std::uint8_t byte) { return byte == kPoison; };
  result.guards_intact = std::all_of(all.begin(), begin, poisoned) && std::all_of(end, all.end(), poisoned);
  const std::vector<std::uint8_t> inside(begin, end);
  const std::vector<double> values = decoded(problem.dtype, value_bytes);
  const std::vector<double> start = decoded(problem.dtype, before);
  const std::vector<double> expected = oracle(problem, index, values, start);
  if (kind == CheckValues::kIntegers) {
    // +0 and -0 are equal here: which of the two a sum of integers is depends on the order.
    result.error = decoded(problem.dtype, inside) == expected ? 0 : 1;
  } else {
    const std::vector<double> found = decoded(problem.dtype, inside);
    const std::vector<double> bounds = error_bounds(problem, index, values, start);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double error = std::abs(found[i] - expected[i]) / bounds[i];
      result.error = std::max(result.error, std::isnan(error) ? HUGE_VAL : error);
    }
  }
  result.passed =
      result.guards_intact && (kind == CheckValues::kIntegers ? result.error == 0 : result.error <= 1);
  return result;
}

}  // namespace natten_sim::kernels::scatter_add
