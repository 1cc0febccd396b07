// Every ordered algorithm of the table, whoever added it, on random problems: valid, the same in both
// engines, never below the bound, and met by its closed form where it has one.

#include <rapidcheck.h>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>

#include "catch.hpp"
#include "property/holds.hpp"

namespace schedule_algorithm_test {

using namespace natten_sim;

std::int32_t pick_tiles(std::int32_t lo, std::int32_t hi) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int32_t>(lo, hi + 1));
}

ScheduleRequest random_request() {
  ScheduleRequest request;
  const std::int32_t q = pick_tiles(1, 7), kv = pick_tiles(0, 1) == 0 ? q : pick_tiles(1, 7);
  const std::int32_t kind = pick_tiles(0, 2);
  const SequenceWindow window = kind == 0   ? SequenceWindow{}
                                : kind == 1 ? SequenceWindow{std::nullopt, 0}
                                            : SequenceWindow{pick_tiles(0, 8), pick_tiles(0, 8)};
  request.problem.mask = window_mask({2 * q, 2 * kv, 2, 2}, window);
  request.problem.heads = pick_tiles(1, 4);
  request.problem.workers = pick_tiles(0, 1) == 0 ? kv : pick_tiles(1, 9);
  request.costs.compute = pick_tiles(0, 9);
  request.costs.compute_partial = pick_tiles(0, 1) == 0 ? request.costs.compute : pick_tiles(0, 9);
  request.costs.reduce = pick_tiles(0, 5);
  request.costs.handoff = pick_tiles(0, 2);
  request.costs.writer_stages = pick_tiles(0, 2);
  if (pick_tiles(0, 2) == 0) request.costs.prologue = pick_tiles(0, 4);
  if (pick_tiles(0, 2) == 0) request.costs.epilogue = pick_tiles(0, 4);
  if (pick_tiles(0, 1) == 0)
    request.dispatch = pick_tiles(0, 1) == 0 ? Dispatch::kStatic : Dispatch::kDynamic;
  request.effort = 4;
  return request;
}

/// Makespans by events and by the longest path; none when the schedule never finishes.
struct BothEngines {
  PlanRun events;
  double graph = 0;
};
std::optional<BothEngines> run_both(const SchedulePlan& plan) {
  auto outcome = attempt_run(plan);
  const auto* run = std::get_if<PlanRun>(&outcome);
  if (run == nullptr) return std::nullopt;
  BothEngines both{*run};
  for (std::size_t i = 0; i < plan.phases.size(); ++i) {
    const SchedulePhase& phase = plan.phases[i];
    both.graph +=
        solve_schedule_dag(phase.problem, phase.costs, phase.schedule, run->runs[i].worker).makespan;
  }
  return both;
}

TEST_CASE("every ordered algorithm runs alike in both engines, above its bound and on its closed form") {
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
    if (!algorithm->ordered) continue;
    INFO(algorithm->name);
    int finished = 0, asked = 0;
    REQUIRE(natten_sim::test::holds("algorithm " + algorithm->name, 400, [&] {
      ++asked;
      const ScheduleRequest request = random_request();
      const PlanOutcome outcome = attempt_plan(*algorithm, request);
      RC_ASSERT(std::holds_alternative<NotApplicable>(outcome) ==
                algorithm->not_applicable(request.problem).has_value());
      const auto* plan = std::get_if<SchedulePlan>(&outcome);
      if (plan == nullptr) return;
      for (const SchedulePhase& phase : plan->phases) {
        require_valid(phase.problem, phase.schedule);
        RC_ASSERT(!phase.schedule.dq_order.empty());
      }
      const std::optional<BothEngines> both = run_both(*plan);
      if (!both) return;
      ++finished;
      RC_ASSERT(both->events.makespan == both->graph);
      RC_ASSERT(both->events.lower_bound <= both->events.makespan);
      const std::optional<double> form = closed_form(*algorithm, request, plan->dispatch);
      if (form) RC_ASSERT(*form == both->events.makespan);
    }));
    CHECK(finished > asked / 8);
  }
}

}  // namespace schedule_algorithm_test
