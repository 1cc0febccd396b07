#pragma once

#include <vector>

#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// The fastest algorithm that is no search, over costs: reductions of 0 to 2 computes, handoffs of 0 to 2.
/// `unordered` is left out: it is not deterministic. O(15 runs of each algorithm).
[[nodiscard]] std::vector<CostRegion> cost_map(const ScheduleRequest& request);

}  // namespace natten_sim::study
