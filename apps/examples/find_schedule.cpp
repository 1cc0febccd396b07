// Finds a deterministic backward schedule for three causal heads on a GPU that runs four KV tiles at a time,
// says how far it is from optimal, and writes the table that a kernel would load.
#include <cstdio>

#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

int main() {
  using namespace natten_sim;
  ScheduleRequest request;
  request.problem = {
      .mask =
          window_mask({.q_tokens = 896, .kv_tokens = 896, .q_tile = 128, .kv_tile = 128}, {std::nullopt, 0}),
      .heads = 3,
      .workers = 4,
  };
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2, .handoff = 1};
  const SchedulePlan named = plan_backward(schedule_algorithm("descending"), request);
  const SchedulePlan best = plan_backward(schedule_algorithm("best"), request);
  const PlanRun before = run_plan(named), after = run_plan(best);  // throws DeadlockError if it never ends
  std::fprintf(stderr, "descending %g, best %g, no schedule below %g: gap %.1f%%\n", before.makespan,
               after.makespan, after.lower_bound, 100 * after.optimality_gap);
  std::fputs(to_json({best.phases.front().problem, best.phases.front().schedule}).c_str(), stdout);
}
