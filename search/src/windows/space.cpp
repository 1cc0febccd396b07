#include "windows/space.hpp"

#include <algorithm>
#include <string>

#include <natten_sim/core/checked.hpp>

#include "windows/passes.hpp"

namespace natten_sim {
namespace {

void require_range(const char* parameter, const IntRange& range, std::int64_t hi, std::size_t axis) {
  if (range.lo >= 1 && range.lo <= range.hi && range.hi <= hi) return;
  throw InvalidParameter(
      parameter,
      std::to_string(range.lo) + ":" + std::to_string(range.hi) + " on axis " + std::to_string(axis),
      "LO:HI with 1 <= LO <= HI <= " + std::to_string(hi));
}

void require_rank(const char* parameter, std::size_t given, std::size_t rank) {
  if (given == rank) return;
  throw InvalidParameter(
      parameter, std::to_string(given) + " values",
      std::to_string(rank) + (rank == 1 ? " value" : " values, one for each axis of the input"));
}

Int128 triangle(std::int64_t n) { return static_cast<Int128>(n) * (n + 1) / 2; }

}  // namespace

SearchSpace full_space(const Extents& input, const Extents& dilation) {
  SearchSpace space;
  space.input = input;
  space.dilation = dilation_of(make_mask(input, Extents(input.rank(), 1), {}, dilation));
  space.causal = PerAxis<bool>(input.rank(), false);
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    const std::int64_t widest = input[axis] / space.dilation[axis];
    space.window.push_back({1, widest});
    space.stride.push_back({1, widest});
  }
  return space;
}

void require_valid(const SearchSpace& space, const SearchConstraints& constraints) {
  const std::size_t rank = space.input.rank();
  require_rank("dilation", space.dilation.rank(), rank);
  require_rank("causal", space.causal.rank(), rank);
  require_rank("window", space.window.rank(), rank);
  require_rank("stride", space.stride.rank(), rank);
  if (has_cycle(mask_in(space, Extents(rank, 1), {})) && space.kv_tiling == KvTiling::kDynamic)
    throw InvalidParameter("kv_tiling", "dynamic", "static with a cyclic axis", "static");
  for (std::size_t axis = 0; axis < rank; ++axis) {
    require_range("window", space.window[axis], space.input[axis] / space.dilation[axis], axis);
    require_range("stride", space.stride[axis], space.input[axis], axis);
    if (space.stride[axis].lo > space.window[axis].hi) {
      throw InvalidParameter("stride",
                             std::to_string(space.stride[axis].lo) + " on axis " + std::to_string(axis),
                             "1.." + std::to_string(space.window[axis].hi) + " (the largest window)");
    }
  }
  if (space.tiles.empty()) throw InvalidParameter("tiles", "none", "at least one tile pair");
  for (const TileChoice& choice : space.tiles) {
    for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
      if (!has_pass(space.phase, walk)) continue;
      const std::string prefix = walk == Walk::kForward ? "" : "backward_";
      const TilePair& tiles = tiles_of(choice, walk);
      require_extents((prefix + "q_tile").c_str(), tiles.q_tile, rank, 1, kMaxAxisLength);
      require_extents((prefix + "kv_tile").c_str(), tiles.kv_tile, rank, 1, kMaxAxisLength);
    }
  }
  const auto [forward, backward] = space.weights;
  if (forward < 1 || backward < 1) {
    throw InvalidParameter("weights", std::to_string(forward) + " and " + std::to_string(backward),
                           "positive weights of the passes");
  }
  if (constraints.sparsity) {
    const auto [lo, hi] = *constraints.sparsity;
    if (!(lo >= 0.0 && lo <= hi && hi <= 1.0)) {
      throw InvalidParameter("sparsity", std::to_string(lo) + ":" + std::to_string(hi),
                             "LO:HI with 0 <= LO <= HI <= 1");
    }
  }
  if (constraints.max_imbalance &&
      !(*constraints.max_imbalance >= 1.0 && *constraints.max_imbalance < 1e15)) {
    throw InvalidParameter("max_imbalance", std::to_string(*constraints.max_imbalance),
                           "1 or more (below 1e15)");
  }
  if (constraints.min_speedup && !(*constraints.min_speedup >= 1e-6 && *constraints.min_speedup < 1e12)) {
    throw InvalidParameter("min_speedup", std::to_string(*constraints.min_speedup),
                           "1e-6 or more (below 1e12)");
  }
  const std::int64_t tokens = product(space.input, "tokens");
  (void)checked_multiply(tokens, tokens, "dense_pairs");
}

std::int64_t axis_options(const SearchSpace& space, std::size_t axis) {
  // For each window w: the strides lo .. min(hi, w), if any.
  const IntRange stride = space.stride[axis];
  const std::int64_t first = std::max(space.window[axis].lo, stride.lo), last = space.window[axis].hi;
  if (first > last) return 0;
  const std::int64_t bend =
      std::clamp(stride.hi, first - 1, last);  // windows up to here have w - lo + 1 strides
  const Int128 rising = triangle(bend - stride.lo + 1) - triangle(first - stride.lo);
  const Int128 flat = static_cast<Int128>(last - bend) * (stride.hi - stride.lo + 1);
  return checked_narrow(rising + flat, "space_size");
}

std::int64_t space_size(const SearchSpace& space) {
  std::int64_t size = static_cast<std::int64_t>(space.tiles.size());
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    size = checked_multiply(size, axis_options(space, axis), "space_size");
  }
  return size;
}

NeighborhoodMask mask_in(const SearchSpace& space, const Extents& window, const Extents& stride) {
  return make_mask(space.input, window, stride, space.dilation, space.causal, space.cyclic);
}

AxisMask axis_in(const SearchSpace& space, std::size_t axis, std::int64_t window, std::int64_t stride) {
  return {space.input[axis], window,         stride, space.dilation[axis], space.causal[axis],
          axis < space.cyclic.rank() && space.cyclic[axis]};
}

TilingProblem problem_in(const SearchSpace& space, const NeighborhoodMask& mask, std::size_t tile_choice,
                         Walk walk) {
  return {.mask = mask,
          .tiles = tiles_of(space.tiles[tile_choice], walk),
          .kv_tiling = walk == Walk::kForward ? space.kv_tiling : space.backward_kv_tiling,
          .walk = walk};
}

bool is_whole_window(const SearchSpace& space, const Extents& window) {
  for (std::size_t axis = 0; axis < window.rank(); ++axis) {
    if (window[axis] != space.input[axis] || axis_in(space, axis, 1, 1).causal) return false;
  }
  return true;
}

}  // namespace natten_sim
