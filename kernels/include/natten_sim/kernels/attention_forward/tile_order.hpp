#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/kernels/attention_forward/problem.hpp>

namespace natten_sim::kernels::attention_forward {

/// Axes in the order in which the kernel takes the Q tiles of a head, and walks the KV tiles of each: the
/// slowest first. Along an axis of which windows take a larger share, neighbouring Q tiles have more keys in
/// common, so such axes go faster: tiles that are worked on together then need less of K and V, and walk it
/// in step. Equal shares stay in the layout's order.
[[nodiscard]] PerAxis<std::size_t> tile_order(const NeighborhoodMask& mask);

/// `of`, with its axes in that order.
template <typename T>
[[nodiscard]] PerAxis<T> in_order(const PerAxis<T>& of, const PerAxis<std::size_t>& order) {
  PerAxis<T> made;
  for (const std::size_t axis : order) made.push_back(of[axis]);
  return made;
}

/// A pair of tiles as the kernel meets it. `products`: bit i where the pair needs a mask along an axis that
/// mask product i has coordinates of; 0 where it needs none. Where masks are selections there is one.
struct WalkedTile {
  const VisitedTile* tile = nullptr;
  std::uint16_t products = 0;

  [[nodiscard]] bool needs_several() const { return (products & (products - 1)) != 0; }
};

/// Q tiles by dilation group and then in tile_order; of each its full tiles, then those that need one mask
/// product, then those that need two, each in tile_order. Points into `neighborhood`.
[[nodiscard]] std::vector<WalkedTile> walked_tiles(const Neighborhood& neighborhood);

}  // namespace natten_sim::kernels::attention_forward
