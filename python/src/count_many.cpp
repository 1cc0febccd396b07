#include "count_many.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/count.hpp>

#include "many.hpp"

namespace natten_sim::python {
namespace {

/// The counts of axes that occurred lately, by their parameters.
class AxisMemory {
 public:
  const AxisCount& count(const AxisMask& axis, const AxisTiles& tiles, const TilingProblem& problem) {
    Slot& slot = slots_[slot_of(axis, tiles)];
    if (!slot.used || !(slot.axis == axis) || slot.tiles.walked != tiles.walked ||
        slot.tiles.streamed != tiles.streamed || slot.kv_tiling != problem.kv_tiling)
      slot = {true, axis, tiles, problem.kv_tiling, count_axis(axis, tiles, problem.kv_tiling, problem.walk)};
    return slot.count;
  }

 private:
  struct Slot {
    bool used = false;
    AxisMask axis;
    AxisTiles tiles;
    KvTiling kv_tiling = KvTiling::kStatic;
    AxisCount count;
  };
  static constexpr std::size_t kSlots = 4096;

  static std::size_t slot_of(const AxisMask& axis, const AxisTiles& tiles) {
    std::uint64_t hash = (axis.causal ? 1 : 0) + (axis.cyclic ? 2 : 0);
    for (const std::int64_t part :
         {axis.length, axis.window, axis.stride, axis.dilation, tiles.walked, tiles.streamed})
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15u;
    return (hash >> 40) % kSlots;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
};

bool is_valid(const TilingProblem& problem) {
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    const AxisMask& mask = problem.mask[axis];
    const bool in_range = mask.length >= 1 && mask.length <= kMaxAxisLength && mask.window >= 1 &&
                          mask.dilation >= 1 && mask.stride >= 1 && mask.stride <= mask.window &&
                          mask.window <= mask.length / mask.dilation;
    if (!in_range) return false;
    if (mask.cyclic && (mask.causal || mask.length % mask.dilation != 0 ||
                        problem.kv_tiling == KvTiling::kDynamic))
      return false;
  }
  for (const Extents* tile : {&problem.tiles.q_tile, &problem.tiles.kv_tile}) {
    for (const std::int64_t size : *tile) {
      if (size < 1 || size > kMaxAxisLength) return false;
    }
  }
  return true;
}

TileCount count_one(const TilingProblem& problem, AxisMemory& memory) {
  if (problem.tiling == Tiling::kSingleDimensional) return natten_sim::count(problem);
  PerAxis<AxisCount> axes;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis)
    axes.push_back(memory.count(problem.mask[axis], axis_tiles(problem.tiles, axis, problem.walk), problem));
  return combine_axes(problem, axes);
}

TilingProblem problem_of(const TilesJob& job, const TilesFrame& frame, std::size_t row) {
  TilingProblem problem = frame.base;
  const std::size_t rank = problem.mask.rank();
  const auto value = [&](const RowValues* column, std::size_t axis, std::int64_t otherwise) {
    return column == nullptr ? otherwise : column->words(row)[axis];
  };
  const ShapeColumns& columns = job.columns;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    AxisMask& mask = problem.mask[axis];
    mask.length = value(columns.input, axis, mask.length);
    mask.window = value(columns.window, axis, mask.window);
    mask.stride = value(columns.stride, axis, mask.stride);
    mask.dilation = value(columns.dilation, axis, mask.dilation);
    mask.causal = value(columns.causal, axis, mask.causal ? 1 : 0) != 0;
    mask.cyclic = value(columns.cyclic, axis, mask.cyclic ? 1 : 0) != 0;
  }
  if (has_cycle(problem.mask)) problem.kv_tiling = frame.cyclic_kv_tiling;
  for (std::size_t axis = 0; axis < problem.tiles.q_tile.rank(); ++axis)
    problem.tiles.q_tile[axis] = value(columns.q_tile, axis, problem.tiles.q_tile[axis]);
  for (std::size_t axis = 0; axis < problem.tiles.kv_tile.rank(); ++axis)
    problem.tiles.kv_tile[axis] = value(columns.kv_tile, axis, problem.tiles.kv_tile[axis]);
  return problem;
}

/// Answers rows in one thread.
class Worker {
 public:
  explicit Worker(const TilesJob& job) : job_(job) {}

  void answer(std::size_t row) {
    const std::size_t group = job_.groups->of_row.empty() ? 0 : job_.groups->of_row[row];
    if (job_.frames[group] == nullptr) throw InvalidParameter(*job_.errors[group]);
    const TilesFrame& frame = *job_.frames[group];
    const TilingProblem problem = problem_of(job_, frame, row);
    if (!is_valid(problem)) require_valid(problem);
    TileCount count;
    const bool counts = !job_.counts.empty() || !job_.ratios.empty();
    if (counts) count = count_one(problem, memory_);
    if (!job_.times.empty() && frame.timed) {
      study::ManyCountTimes& times = times_of(group, frame);
      const auto numbers = times.of(problem, counts ? &count : nullptr);
      if (!counts && !times.has_kernel())
        throw InvalidParameter("kernel", "not given", "a kernel by name: NATTEN has none for this problem");
      if (numbers) {
        for (const auto& out : job_.times) out.numbers[row] = out.of(*numbers);
      }
    }
    for (const auto& out : job_.counts) out.numbers[row] = out.of(count);
    for (const auto& out : job_.ratios) out.numbers[row] = out.of(count);
  }

 private:
  study::ManyCountTimes& times_of(std::size_t group, const TilesFrame& frame) {
    constexpr std::size_t kMost = 64;
    const auto known = times_.find(group);
    if (known != times_.end()) return known->second;
    if (times_.size() == kMost) times_.erase(times_.begin());
    const auto make = [&](const study::ManyCountTimes* like) {
      return study::ManyCountTimes(*frame.timed, frame.pass, frame.context->get(), job_.waves, like);
    };
    if (!axes_) axes_.emplace(make(nullptr));  // keeps what is known of axes
    return times_.emplace(group, make(&*axes_)).first->second;
  }

  const TilesJob& job_;
  AxisMemory memory_;
  std::unordered_map<std::size_t, study::ManyCountTimes> times_;
  std::optional<study::ManyCountTimes> axes_;
};

}  // namespace

void answer_rows(const TilesJob& job, const Parallel& parallel) {
  // Signals are heard between blocks.
  const bool simulates = !job.times.empty() && job.waves == study::WaveCount::kSimulated;
  const std::size_t block_rows = simulates ? 32 : 4096;
  const std::size_t blocks = (job.rows + block_rows - 1) / block_rows;
  std::vector<std::unique_ptr<Worker>> workers(worker_count(parallel));
  run_tasks(blocks, parallel, [&](std::size_t block, std::size_t number) {
    std::unique_ptr<Worker>& worker = workers[number];
    if (worker == nullptr) worker = std::make_unique<Worker>(job);
    for (std::size_t row = block * block_rows; row < std::min(job.rows, (block + 1) * block_rows); ++row) {
      poll();
      try {
        worker->answer(row);
      } catch (const Error& error) {  // only to say which row
        if (job.valid == nullptr) rethrow_of_row(error, row);
        job.valid[row] = 0;
      }
    }
  });
}

}  // namespace natten_sim::python
