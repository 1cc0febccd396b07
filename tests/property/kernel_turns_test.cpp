// What real kernels do with their turns, by hand: turns passed on late, separate turns of dK and dV, CTAs
// that exit early.
#include <string>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "catch.hpp"

namespace kernel_turns_test {

using namespace natten_sim;

BackwardProblem full_problem(std::int32_t tiles, std::int32_t workers) {
  const auto cells = static_cast<std::size_t>(tiles) * static_cast<std::size_t>(tiles);
  return {.mask = {tiles, tiles, std::vector<TileWork>(cells, TileWork::kFull)}, .workers = workers};
}

/// By events and as a graph, which must agree.
double makespan_of(const BackwardProblem& problem, const BackwardCosts& costs,
                   const BackwardSchedule& schedule) {
  const ScheduleRun run = run_schedule(problem, costs, schedule);
  CHECK(solve_schedule_dag(problem, costs, schedule, run.worker).makespan == run.makespan);
  return run.makespan;
}

TEST_CASE("a turn that is passed on with the next one makes the chain behind wait for a whole task") {
  const BackwardProblem problem = full_problem(2, 2);
  const BackwardSchedule ascending{.chains = {{0, 0, {0, 1}}, {0, 1, {0, 1}}}, .dq_order = {{0, 1}, {0, 1}}};
  BackwardCosts costs{.compute = 5, .reduce = 2};
  // Chain 0 reduces at 5 to 7 and 12 to 14. Chain 1 may follow at 7, computes until 14, reduces until 16.
  CHECK(makespan_of(problem, costs, ascending) == 16);
  // Now it may follow at 12, when chain 0 has its second turn: 12 to 14, computes until 19.
  costs.release = TurnRelease::kAfterNext;
  CHECK(makespan_of(problem, costs, ascending) == 21);
}

TEST_CASE("shift hangs where turns are passed on late, spt does not") {
  ScheduleRequest request;
  request.problem = full_problem(4, 4);
  request.costs.release = TurnRelease::kAfterNext;
  const auto hangs = [&](const char* algorithm) {
    const auto run =
        attempt_run(std::get<SchedulePlan>(attempt_plan(schedule_algorithm(algorithm), request)));
    return std::holds_alternative<Deadlock>(run);
  };
  CHECK(hangs("shift"));
  CHECK_FALSE(hangs("spt"));
  CHECK_FALSE(hangs("ascending"));
  CHECK_FALSE(hangs("best"));
}

TEST_CASE("a hang by a kept turn says who keeps it") {
  const BackwardSchedule shift{.chains = {{0, 0, {0, 1}}, {0, 1, {1, 0}}}, .dq_order = {{0, 1}, {1, 0}}};
  BackwardCosts costs{.compute = 5, .reduce = 2};
  CHECK(makespan_of(full_problem(2, 2), costs, shift) == 14);
  costs.release = TurnRelease::kAfterNext;
  const auto outcome = attempt_schedule(full_problem(2, 2), costs, shift);
  REQUIRE(std::holds_alternative<Deadlock>(outcome));
  const std::string& waits = std::get<Deadlock>(outcome).waits;
  INFO(waits);
  CHECK(waits.find(
            "waits to reduce dQ of Q tile 1 behind KV tile 1 (which has done so, and keeps the turn until "
            "it has its next)") != std::string::npos);
}

TEST_CASE("with separate turns the next head's dV follows this one's dV") {
  BackwardProblem problem{
      .mask = {1, 1, {TileWork::kFull}}, .heads = 2, .heads_per_kv_head = 2, .workers = 2};
  const BackwardSchedule schedule{.chains = {{0, 0, {0}}, {1, 0, {0}}}, .dq_order = {{0}, {0}}};
  BackwardCosts costs{.compute = 5, .reduce = 2, .reduce_kv = 6};
  CHECK(makespan_of(problem, costs, schedule) == 5 + 2 + 6 + 6);
  costs.dkv_turns = DkvTurns::kApart;  // dV 7 to 10 and 10 to 13, dK 10 to 13 and 13 to 16
  CHECK(makespan_of(problem, costs, schedule) == 5 + 2 + 3 + 3 + 3);
}

TEST_CASE("a CTA without tasks exits early, and others wait for its worker") {
  BackwardProblem problem{.mask = {1, 3, {TileWork::kNone, TileWork::kNone, TileWork::kFull}}};
  const BackwardSchedule schedule{.chains = {{0, 0, {}}, {0, 1, {}}, {0, 2, {0}}}, .dq_order = {{2}}};
  BackwardCosts costs{.compute = 5, .reduce = 2, .early_exit = 4};
  CHECK(makespan_of(problem, costs, schedule) == 4 + 4 + 5 + 2);
  problem.workers = 3;
  CHECK(makespan_of(problem, costs, schedule) == 5 + 2);
  costs.early_exit = 9;
  CHECK(makespan_of(problem, costs, schedule) == 9);
  costs.early_exit = 0;
  problem.workers = 1;
  CHECK(makespan_of(problem, costs, schedule) == 5 + 2);
}

}  // namespace kernel_turns_test
