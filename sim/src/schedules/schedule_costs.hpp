#pragma once

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// Requires finite costs of 0 or more whose sum over all tasks stays below 2^53. @throws InvalidParameter.
void require_valid_costs(const BackwardProblem& problem, const BackwardCosts& costs);

/// More than all tasks take one after the other.
[[nodiscard]] double most_time(const BackwardProblem& problem, const BackwardCosts& costs);

/// Latency between a reduction's end on one worker and the next one's start on another; 0 on the same.
[[nodiscard]] double handoff(const BackwardCosts& costs, std::int32_t from, std::int32_t to);

}  // namespace natten_sim
