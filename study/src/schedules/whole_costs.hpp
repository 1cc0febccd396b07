#pragma once

#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// Costs counted in parts of their unit: whole numbers, `parts` times the given ones.
struct WholeCosts {
  BackwardCosts costs;
  double parts = 1;
};

/// Decimal costs (0.3) are not exact in binary, so ties would depend on the last bit, and dynamic dispatch
/// and visiting times with them. This function turns costs of up to nine decimals into whole numbers, in
/// which all sums are exact, also the fifths of two-pass. Times found with them are divided by `parts`. Costs
/// that are no such decimals, or whose sums would exceed 2^53, are returned unchanged, or without the fifths.
[[nodiscard]] WholeCosts whole_costs(const BackwardProblem& problem, const BackwardCosts& costs);

/// Times from parts back to the given unit.
void divide_times(FinishedSchedule& schedule, double parts);

}  // namespace natten_sim::study
