#pragma once

#include <array>
#include <cstdint>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/search/windows/search.hpp>

#include "windows/candidate_order.hpp"

namespace natten_sim {

/// One value a pass; the second is of use only where both are searched.
template <typename T>
using PerPass = std::array<T, 2>;

struct Pass {
  Walk walk = Walk::kForward;
  KvTiling kv_tiling = KvTiling::kStatic;
  std::int64_t weight = 1;  ///< of its cost in the sum
};

/// The passes of a space, the heavier first: its cost says more about the sum.
class Passes {
 public:
  explicit Passes(const SearchSpace& space);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const Pass& operator[](std::size_t index) const { return passes_[index]; }
  [[nodiscard]] const Pass* begin() const noexcept { return passes_.data(); }
  [[nodiscard]] const Pass* end() const noexcept { return passes_.data() + size_; }

 private:
  PerPass<Pass> passes_;
  std::size_t size_ = 1;
};

[[nodiscard]] inline const TilePair& tiles_of(const TileChoice& choice, Walk walk) {
  return walk == Walk::kForward ? choice.tiles : choice.backward_tiles;
}

/// Factor of the objective's cost along one axis: visited, maximum or attended. Visited are the tiles of the
/// space's kernel, where it has one.
[[nodiscard]] std::int64_t axis_cost(const SearchSpace& space, const AxisMask& mask, const AxisTiles& tiles,
                                     Walk walk, const AxisCount& count, Objective objective);

/// How the cost of one tile choice compares with that of others: 1 / objective is the sum over passes of
/// scale times the product of the axis costs, over `base`.
struct CostScale {
  PerPass<std::int64_t> scale = {1, 0};
  std::int64_t base = 1;

  /// Requires that the sum fits, see require_fits.
  [[nodiscard]] Ratio cost(const PerPass<std::int64_t>& products) const noexcept {
    return {scale[0] * products[0] + scale[1] * products[1], base};
  }
  /// @throws OverflowError unless the sum fits for these products.
  void require_fits(const PerPass<std::int64_t>& products) const;
};

/// @throws OverflowError
[[nodiscard]] CostScale cost_scale(const SearchSpace& space, Objective objective, const TileChoice& choice);

/// Whether the tiles of all passes divide every group of every axis.
[[nodiscard]] bool divides_evenly(const SearchSpace& space, const TileChoice& choice);

/// The smallest step between windows that are multiples of the KV tile of every pass.
[[nodiscard]] std::int64_t kv_tile_step(const SearchSpace& space, const TileChoice& choice, std::size_t axis);

}  // namespace natten_sim
