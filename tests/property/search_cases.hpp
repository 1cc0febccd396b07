#pragma once

#include <cstdint>
#include <optional>

#include <rapidcheck.h>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/search/windows/search.hpp>

#include "property/holds.hpp"

/// Random questions of the search by windows, strides and tiles.
namespace natten_sim::test {

/// Thousandths, so that bounds are exact integers here and decimals there.
struct Limits {
  std::int64_t sparsity_lo = 0, sparsity_hi = 1000;
  bool sparsity = false;
  std::int64_t imbalance = 0;  // 0: none
  std::int64_t speedup = 0;    // 0: none
};

struct Case {
  SearchSpace space;
  SearchConstraints constraints;
  Limits limits;
  Objective objective = Objective::kWork;
  TieBreak tie_break = TieBreak::kStrideProduct;
};

struct Point {
  Extents window, stride;
  std::size_t choice = 0;
  TileCount count;  // of the backward pass, where it is alone
  bool fast_path = false;
  std::optional<TileCount> backward = {};  // where both are searched
  TileCount ranked = {};                   // by the kernel's visits, where the space has a kernel
  std::optional<TileCount> backward_ranked = {};
};

inline Case random_case() {
  Case random;
  Extents input, dilation;
  const std::int64_t rank = pick(1, 3);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    input.push_back(pick(1, rank == 1 ? 24 : rank == 2 ? 9 : 5));
    dilation.push_back(pick(0, 3) == 0 ? pick(1, input[static_cast<std::size_t>(axis)]) : 1);
  }
  random.space = full_space(input, dilation);
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    random.space.causal[axis] = pick(0, 3) == 0;
    random.space.cyclic.push_back(!random.space.causal[axis] && input[axis] % dilation[axis] == 0 &&
                                  pick(0, 3) == 0);
    const std::int64_t widest = random.space.window[axis].hi;
    if (pick(0, 2) == 0) {
      const std::int64_t lo = pick(1, widest);
      random.space.window[axis] = {lo, pick(lo, widest)};
    }
    if (pick(0, 3) == 0) {
      const std::int64_t least = pick(1, random.space.window[axis].hi);
      random.space.stride[axis] = {least, pick(least, random.space.input[axis])};
    }
  }
  const bool cyclic = has_cycle(make_mask(input, Extents(input.rank(), 1), {}, dilation, random.space.causal,
                                          random.space.cyclic));
  if (cyclic) {  // static tiling, and no kernel that permutes tokens
  } else if (pick(0, 1) == 0) {
    random.space.kernel =
        *rc::gen::element(NattenBackend::kHopperFna, NattenBackend::kBlackwellFna, NattenBackend::kFlexFna);
  } else {
    if (pick(0, 3) == 0) random.space.kv_tiling = KvTiling::kDynamic;
    if (pick(0, 3) == 0) random.space.backward_kv_tiling = KvTiling::kDynamic;
  }
  random.space.phase = *rc::gen::element(SearchPhase::kForward, SearchPhase::kBackward, SearchPhase::kBoth);
  if (pick(0, 1) == 0) random.space.weights = {pick(1, 7), pick(1, 7)};
  for (std::int64_t choice = pick(1, 3); choice > 0; --choice) {
    TileChoice tiles;
    for (std::size_t axis = 0; axis < input.rank(); ++axis) {
      for (Extents* sizes : {&tiles.tiles.q_tile, &tiles.tiles.kv_tile, &tiles.backward_tiles.q_tile,
                             &tiles.backward_tiles.kv_tile})
        sizes->push_back(pick(1, 4));
    }
    random.space.tiles.push_back(tiles);
  }
  random.objective =
      *rc::gen::element(Objective::kWork, Objective::kWorst, Objective::kMean, Objective::kFlop);
  if (pick(0, 1) == 0) {
    random.limits.sparsity = true;
    random.limits.sparsity_lo = pick(0, 20) * 50;
    random.limits.sparsity_hi = pick(random.limits.sparsity_lo / 50, 20) * 50;
    random.constraints.sparsity = SparsityRange{static_cast<double>(random.limits.sparsity_lo) / 1000.0,
                                                static_cast<double>(random.limits.sparsity_hi) / 1000.0};
  }
  if (pick(0, 3) == 0) {
    random.limits.imbalance = pick(10, 40) * 100;
    random.constraints.max_imbalance = static_cast<double>(random.limits.imbalance) / 1000.0;
  }
  random.constraints.window_multiple_of_kv_tile = pick(0, 3) == 0;
  random.constraints.fully_block_sparse = pick(0, 3) == 0;
  random.constraints.no_padding = pick(0, 5) == 0;
  random.constraints.natten_fast_path = pick(0, 5) == 0;
  if (pick(0, 3) == 0) {
    random.limits.speedup = pick(500, 4000);
    random.constraints.min_speedup = static_cast<double>(random.limits.speedup) / 1000.0;
  }
  if (pick(0, 3) == 0) random.tie_break = TieBreak::kFastPath;
  return random;
}

}  // namespace natten_sim::test
