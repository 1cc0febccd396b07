#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// Two consecutive reductions into one dQ tile of which the second is not deeper than the first. The depth of
/// a task is the number of tasks before it on its worker.
struct DepthViolation {
  std::int32_t head = 0;
  std::int32_t q_tile = 0;
  std::int32_t first_kv_tile = 0;
  std::int32_t first_depth = 0;
  std::int32_t second_kv_tile = 0;
  std::int32_t second_depth = 0;
};

/// Tests Lemma 1 of DASH. Empty if the depths along every dQ order increase strictly, else the first
/// violation (by head, Q tile, position). The lemma's edge leads from the end of one reduction to the start
/// of the next, so its "not decreasing" in nodes is "strictly increasing" in tasks.
///
/// If it holds, tasks all cost the same and there is no handoff, then no task ever waits: a task of depth k
/// starts at k (c + r), and the makespan is that of the workers' own loads. The converse needs more than the
/// paper says: only if all workers have equal loads and r > 0 does a violation lengthen the makespan; a
/// worker with slack can wait for free.
///
/// `worker`: the worker of each chain in launch order (the schedule's own when static, else what a run
/// found). O(tasks). Unordered schedules have nothing to violate.
/// @throws InvalidParameter on a schedule that does not fit, or a worker list of another length.
[[nodiscard]] std::optional<DepthViolation> find_depth_violation(const BackwardProblem& problem,
                                                                 const BackwardSchedule& schedule,
                                                                 const std::vector<std::int32_t>& worker);

}  // namespace natten_sim
