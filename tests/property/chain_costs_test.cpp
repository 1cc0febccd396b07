// Costs of a chain beside those of its tasks, by hand.
#include <natten_sim/models/schedules/schedule_bounds.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "catch.hpp"

namespace chain_costs_test {

using namespace natten_sim;

/// Two KV tiles of two Q tiles on one worker, everything ascending.
struct TwoChains {
  BackwardProblem problem{.mask = {2, 2, std::vector<TileWork>(4, TileWork::kFull)}};
  BackwardSchedule schedule{.chains = {{0, 0, {0, 1}}, {0, 1, {0, 1}}}, .dq_order = {{0, 1}, {0, 1}}};
};

double makespan_of(const TwoChains& two, const BackwardCosts& costs) {
  const ScheduleRun run = run_schedule(two.problem, costs, two.schedule);
  CHECK(solve_schedule_dag(two.problem, costs, two.schedule, run.worker).makespan == run.makespan);
  return run.makespan;
}

TEST_CASE("a serial chain takes its prologue, its tasks and its epilogue") {
  const BackwardCosts costs{.compute = 5, .reduce = 2, .prologue = 3, .epilogue = 4};
  CHECK(makespan_of({}, costs) == 2 * (3 + 2 * (5 + 2) + 4));
}

TEST_CASE("with a writer, the epilogue runs beside the last reduction") {
  BackwardCosts costs{.compute = 5, .reduce = 2, .prologue = 3, .writer_stages = 1};
  CHECK(makespan_of({}, costs) == 2 * (3 + 2 * 5 + 2));
  costs.epilogue = 1;  // shorter than the reduction: nothing changes
  CHECK(makespan_of({}, costs) == 2 * (3 + 2 * 5 + 2));
  costs.epilogue = 7;
  CHECK(makespan_of({}, costs) == 2 * (3 + 2 * 5 + 7));
}

TEST_CASE("dK/dV of a group of heads are reduced behind the epilogue") {
  TwoChains two;
  two.problem = {.mask = {1, 1, {TileWork::kFull}}, .heads = 2, .heads_per_kv_head = 2};
  two.schedule = {.chains = {{0, 0, {0}}, {1, 0, {0}}}, .dq_order = {{0}, {0}}};
  const BackwardCosts costs{.compute = 5, .reduce = 2, .reduce_kv = 6, .prologue = 3, .epilogue = 4};
  CHECK(makespan_of(two, costs) == 2 * (3 + 5 + 2 + 4 + 6));
}

TEST_CASE("the critical path names prologue and epilogue") {
  TwoChains two;
  const BackwardCosts costs{.compute = 5, .reduce = 2, .prologue = 3, .epilogue = 4};
  const DagSolution dag = solve_schedule_dag(two.problem, costs, two.schedule, {0, 0});
  REQUIRE(dag.critical_path.size() == 12);
  CHECK(dag.critical_path[0].phase == TaskPhase::kPrologue);
  CHECK(dag.critical_path[0].task == 0);
  CHECK(dag.critical_path[1].phase == TaskPhase::kCompute);
  CHECK(dag.critical_path[5].phase == TaskPhase::kEpilogue);
  CHECK(dag.critical_path[6].phase == TaskPhase::kPrologue);
  CHECK(dag.critical_path[11].end == dag.makespan);
}

TEST_CASE("with a writer too, two contributions of one worker to a dQ tile lie a compute apart") {
  // One Q tile, 40 KV tiles, 2 workers: 40 reductions follow one another, and between any two lies a handoff
  // (two workers) or a compute (one worker, whose next chain starts when the last is done); both cost 5.
  const BackwardProblem problem{.mask = {1, 40, std::vector<TileWork>(40, TileWork::kFull)}, .workers = 2};
  const BackwardCosts costs{
      .compute = 5, .compute_partial = 5, .reduce = 1, .handoff = 5, .writer_stages = 1};
  CHECK(schedule_bounds(problem, costs).dq_sequence == 5 + 40 * 1 + 39 * 5);
}

}  // namespace chain_costs_test
