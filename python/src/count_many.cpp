#include "count_many.hpp"

#include <array>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/count.hpp>

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

}  // namespace

TilingProblem problem_of(const ManyProblems& many, std::size_t row) {
  TilingProblem problem = many.base;
  const std::size_t rank = problem.mask.rank();
  const auto value = [&](const Column& column, std::size_t axis, std::int64_t otherwise) {
    return column.values == nullptr ? otherwise : column.values[row * rank + axis];
  };
  for (std::size_t axis = 0; axis < rank; ++axis) {
    AxisMask& mask = problem.mask[axis];
    mask.length = value(many.input, axis, mask.length);
    mask.window = value(many.window, axis, mask.window);
    mask.stride = value(many.stride, axis, mask.stride);
    mask.dilation = value(many.dilation, axis, mask.dilation);
    mask.causal = value(many.causal, axis, mask.causal ? 1 : 0) != 0;
    mask.cyclic = value(many.cyclic, axis, mask.cyclic ? 1 : 0) != 0;
  }
  if (has_cycle(problem.mask)) problem.kv_tiling = many.cyclic_kv_tiling;
  for (std::size_t axis = 0; axis < problem.tiles.q_tile.rank(); ++axis) {
    problem.tiles.q_tile[axis] = value(many.q_tile, axis, problem.tiles.q_tile[axis]);
    problem.tiles.kv_tile[axis] = value(many.kv_tile, axis, problem.tiles.kv_tile[axis]);
  }
  return problem;
}

void count_rows(const ManyProblems& many, std::size_t begin, std::size_t end, TileCount* out,
                std::uint8_t* valid) {
  AxisMemory memory;
  for (std::size_t row = begin; row < end; ++row) {
    const TilingProblem problem = problem_of(many, row);
    const bool fine = is_valid(problem);
    if (valid != nullptr) valid[row] = fine ? 1 : 0;
    out[row] = {};
    if (!fine && valid != nullptr) continue;
    try {
      if (!fine) require_valid(problem);
      out[row] = count_one(problem, memory);
    } catch (const Error& error) {  // only to say which row
      throw InvalidParameter(error.parameter() + "[" + std::to_string(row) + "]", error.value(),
                             error.accepted(), error.hint());
    }
  }
}

}  // namespace natten_sim::python
