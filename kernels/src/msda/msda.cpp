#include <algorithm>
#include <bit>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/msda/msda.hpp>

#include "require_range.hpp"

namespace natten_sim::kernels::msda {
namespace {

void require_levels(const std::vector<MsdaLevel>& levels) {
  require_range("levels", std::ssize(levels), 1, kMostLevels);
  std::int64_t first = 0;
  for (const MsdaLevel& level : levels) {
    require_range("level height", level.height, 1, 1 << 14);
    require_range("level width", level.width, 1, 1 << 14);
    require_range("first pixel of a level", level.first, first, first);
    first += level.pixels();
  }
}

}  // namespace

std::int64_t Problem::pixels() const {
  std::int64_t sum = 0;
  for (const MsdaLevel& level : levels) sum += level.pixels();
  return sum;
}

std::int64_t Problem::samples() const { return batch * queries * heads * std::ssize(levels) * points; }

Problem problem_of(const MsdaConfig& config) {
  natten_sim::require_valid(config);
  Problem problem;
  problem.batch = config.batch;
  problem.queries = queries_per_image(config);
  problem.heads = config.heads;
  problem.head_channels = config.head_channels();
  problem.points = config.points;
  problem.levels = pyramid(config);
  return problem;
}

void require_valid(const Problem& problem) {
  require_range("batch", problem.batch, 1, 1 << 16);
  require_range("queries", problem.queries, 1, 1 << 24);
  require_range("heads", problem.heads, 1, 1 << 10);
  require_range("points", problem.points, 1, 1 << 10);
  require_range("copies", problem.copies, 1, 64);
  require_levels(problem.levels);
  if (problem.dtype != Dtype::kFp32 && problem.dtype != Dtype::kFp16 && problem.dtype != Dtype::kBf16)
    throw InvalidParameter("dtype", to_string(problem.dtype), "fp32, fp16 or bf16");
  if (problem.parameters != Dtype::kFp32 && problem.parameters != problem.dtype)
    throw InvalidParameter("parameters", to_string(problem.parameters),
                           std::string("fp32, or the type of the values, ") + to_string(problem.dtype));
  using scatter_add::Path;
  if (problem.path == Path::kBulk || problem.path == Path::kSorted || problem.path == Path::kRed8) {
    throw InvalidParameter("path", to_string(problem.path),
                           "scalar, red-4, red-16, atom, cas, private or fp32-accumulator", "red-16");
  }
  const std::int64_t row_bytes = problem.head_channels * element_bytes(problem.dtype);
  const std::int64_t lanes = row_bytes / 16;
  if (row_bytes % 16 != 0 || lanes < 1 || lanes > 32 ||
      !std::has_single_bit(static_cast<std::uint64_t>(lanes))) {
    throw InvalidParameter("head_channels", std::to_string(problem.head_channels),
                           "rows of 16, 32, 64, 128, 256 or 512 bytes");
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const auto require_small = [](const char* name, std::int64_t count) {
    if (count >= kMost) throw InvalidParameter(name, std::to_string(count), "fewer than 2^31");
  };
  require_small("samples", problem.samples());
  require_small("pixels of an image", problem.pixels());
}

TensorBytes tensor_bytes(const Problem& problem) {
  require_valid(problem);
  const auto values = static_cast<std::size_t>(element_bytes(problem.dtype));
  const auto parameters = static_cast<std::size_t>(element_bytes(problem.parameters));
  const std::int64_t row = problem.heads * problem.head_channels;
  TensorBytes bytes;
  bytes.values = static_cast<std::size_t>(problem.batch * problem.pixels() * row) * values;
  bytes.output = static_cast<std::size_t>(problem.batch * problem.queries * row) * values;
  bytes.weights = static_cast<std::size_t>(problem.samples()) * parameters;
  bytes.locations = 2 * bytes.weights;
  bytes.order = static_cast<std::size_t>(problem.batch * problem.queries) * sizeof(std::int32_t);
  return bytes;
}

std::size_t scratch_bytes(const Problem& problem, MsdaPhase phase) {
  const TensorBytes bytes = tensor_bytes(problem);
  const auto element = static_cast<std::size_t>(element_bytes(problem.dtype));
  if (phase == MsdaPhase::kForward) {
    const bool sums = problem.tiling == MsdaTiling::kPoint && problem.dtype != Dtype::kFp32;
    return sums ? bytes.output / element * sizeof(float) : 0;
  }
  if (problem.path == scatter_add::Path::kAccumulator) return bytes.values / element * sizeof(float);
  return problem.path == scatter_add::Path::kPrivate ? bytes.values * static_cast<std::size_t>(problem.copies)
                                                     : 0;
}

}  // namespace natten_sim::kernels::msda
