#pragma once

#include <cstddef>

#include <natten_sim/core/mask.hpp>

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

}  // namespace natten_sim::kernels::attention_forward
