#pragma once

#include <natten_sim/search/windows/search.hpp>

#include "windows/axis_table.hpp"

namespace natten_sim {

/// search_best without the combinations that `leave_out` names: the first of each window in the order of
/// search_best is never one of them.
[[nodiscard]] SearchResult search_representatives(const SearchSpace& space,
                                                  const SearchConstraints& constraints, Objective objective,
                                                  std::size_t top, LeaveOut leave_out, const SearchRun& run);

}  // namespace natten_sim
