#pragma once

#include <optional>

#include "windows/axis_table.hpp"
#include "windows/candidate_order.hpp"

namespace natten_sim {

/// For a search that found nothing in its sparsity range: the sparsity nearest to the range of all points
/// that meet every other constraint; of two as near the lower one. None if there is no such point, no range,
/// or if too many options would have to be looked at.
[[nodiscard]] std::optional<double> nearest_sparsity(const SearchSpace& space,
                                                     const SearchConstraints& constraints,
                                                     Objective objective, const SearchRun& run);

}  // namespace natten_sim
