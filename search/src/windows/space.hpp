#pragma once

#include <natten_sim/search/windows/search.hpp>

namespace natten_sim {

/// @throws InvalidParameter naming what is wrong with the space or the constraints.
void require_valid(const SearchSpace& space, const SearchConstraints& constraints);

/// Number of (window, stride) pairs of one axis. @throws OverflowError.
[[nodiscard]] std::int64_t axis_options(const SearchSpace& space, std::size_t axis);

/// Mask with these windows and strides in the space's layout.
[[nodiscard]] NeighborhoodMask mask_in(const SearchSpace& space, const Extents& window,
                                       const Extents& stride);

/// One axis of it.
[[nodiscard]] AxisMask axis_in(const SearchSpace& space, std::size_t axis, std::int64_t window,
                               std::int64_t stride);

/// The tiling problem of a choice in a pass of the space.
[[nodiscard]] TilingProblem problem_in(const SearchSpace& space, const NeighborhoodMask& mask,
                                       std::size_t tile_choice, Walk walk);

/// Whether every token attends to the input: kernels may run such a mask as one sequence.
[[nodiscard]] bool is_whole_window(const SearchSpace& space, const Extents& window);

}  // namespace natten_sim
