#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim::schedules {

/// Chains on workers such that the busiest has little to do: MULTIFIT (Coffman, Garey and Johnson 1978).
/// `chains` with their `times`, each list longest first. Bisects the time that no worker may exceed, from
/// `least`, and packs first fit decreasing; never later than 13/11 of the optimum.
/// O(chains * log chains + steps * chains * workers).
[[nodiscard]] std::vector<std::vector<std::int32_t>> multifit(const std::vector<std::int32_t>& chains,
                                                              const std::vector<double>& times,
                                                              std::int32_t workers, double least);

/// head * kv_tiles + kv_tile of the chains that have tasks, head by head.
[[nodiscard]] std::vector<std::int32_t> chains_with_tasks(const BackwardProblem& problem);

/// Of the busiest worker of a static schedule, with the time of a chain by its KV tile.
[[nodiscard]] double largest_load(const BackwardProblem& problem, const BackwardSchedule& schedule,
                                  const std::vector<double>& times);

}  // namespace natten_sim::schedules
