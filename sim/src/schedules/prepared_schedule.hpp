#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// What the run of a schedule needs and does not depend on the costs. Requires a valid schedule.
struct PreparedSchedule {
  PreparedSchedule(const BackwardProblem& problem, const BackwardSchedule& schedule);

  std::vector<std::int32_t> launch_of;  ///< by chain: head * KV tiles + KV tile
  std::vector<std::size_t> first_task;  ///< by launch
  std::vector<std::int32_t> rank;       ///< by task, in the order of the launches; empty without an order
  std::size_t tasks = 0;
};

}  // namespace natten_sim
