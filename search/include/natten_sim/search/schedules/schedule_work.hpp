#pragma once

#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim {

/// What making and running one algorithm's schedule takes, told before it is made. Each algorithm of the table is
/// within a factor of two (tests/unit/study/estimate_test.cpp); a search that meets the bound ends earlier.
struct ScheduleWork {
  double steps = 0;  ///< turns of loops over tasks and chains, without those of lower bounds
  double bytes = 0;  ///< of memory at its peak, the plan included
};

/// Nothing for a problem that the algorithm does not take. `effort`: of a search, as in ScheduleRequest. O(1) but for
/// the lists of attended tiles.
[[nodiscard]] ScheduleWork schedule_work(const ScheduleAlgorithm& algorithm, const BackwardProblem& problem,
                                         std::optional<std::int64_t> effort = std::nullopt);

}  // namespace natten_sim
