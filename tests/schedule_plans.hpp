#pragma once

#include <cstddef>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>

#include "catch.hpp"

namespace natten_sim::test {

/// Simulated by events and as a graph, which must agree.
[[nodiscard]] inline double makespan_of(const SchedulePlan& plan) {
  const PlanRun run = run_plan(plan);
  double graph = 0;
  for (std::size_t i = 0; i < plan.phases.size(); ++i) {
    const SchedulePhase& phase = plan.phases[i];
    graph += solve_schedule_dag(phase.problem, phase.costs, phase.schedule, run.runs[i].worker).makespan;
  }
  CHECK(run.makespan == graph);
  return run.makespan;
}

}  // namespace natten_sim::test
