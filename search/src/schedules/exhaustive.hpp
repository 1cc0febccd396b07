#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim::schedules {

struct ExhaustiveResult {
  std::optional<BackwardSchedule> better;  ///< than the given makespan, if one was found
  double makespan = 0;                     ///< of it, else the given one
  bool complete = false;                   ///< all schedules were covered: nothing is earlier than `makespan`
};

/// Branch and bound over all static schedules (every dynamic run is one of them). Steps are appended in the
/// order in which their reductions start, so every schedule is reached, and a bound prunes those that it
/// rules out. Of equal idle workers and of equal untouched heads only one is tried. Stops after `nodes`
/// steps, at `lower_bound`, or when `go_on` says so, which it asks now and then.
[[nodiscard]] ExhaustiveResult search_exhaustively(const BackwardProblem& problem, const BackwardCosts& costs,
                                                   double makespan, double lower_bound, std::int64_t nodes,
                                                   const std::function<bool()>& go_on);

}  // namespace natten_sim::schedules
