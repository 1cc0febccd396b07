// Closed forms, bounds and the depth test of backward schedules against both simulations.
#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/schedules/depth_monotone.hpp>
#include <natten_sim/models/schedules/launch_monotone.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>

#include "catch.hpp"
#include "sanitized.hpp"
#include "schedule_plans.hpp"

namespace schedule_models_test {

using namespace natten_sim;
using test::makespan_of;

enum class Mask { kFull, kCausal };

const ScheduleAlgorithm& kAscending = schedule_algorithm("ascending");
const ScheduleAlgorithm& kDescending = schedule_algorithm("descending");
const ScheduleAlgorithm& kSpt = schedule_algorithm("spt");
const ScheduleAlgorithm& kShift = schedule_algorithm("shift");
const ScheduleAlgorithm& kSymmetricShift = schedule_algorithm("symmetric-shift");
const ScheduleAlgorithm& kFa2Split = schedule_algorithm("fa2-split");
const ScheduleAlgorithm& kTwoPass = schedule_algorithm("two-pass");
const ScheduleAlgorithm& kUnordered = schedule_algorithm("unordered");
const ScheduleAlgorithm& kBest = schedule_algorithm("best");

/// One head has q x kv tiles; a causal mask aligns the ends.
ScheduleRequest request_of(Mask mask, std::int32_t q, std::int32_t kv, std::int32_t heads,
                           std::int32_t workers, double c, double r) {
  ScheduleRequest request;
  const SequenceWindow window = mask == Mask::kCausal ? SequenceWindow{std::nullopt, 0} : SequenceWindow{};
  request.problem.mask = window_mask({2 * q, 2 * kv, 2, 2}, window);
  request.problem.heads = heads;
  request.problem.workers = workers;
  request.costs = {.compute = c, .compute_partial = c, .reduce = r};
  return request;
}

/// Holds the closed forms of every algorithm against both simulations.
class ComparedForms {
 public:
  void compare(const ScheduleRequest& request) {
    for (const ScheduleAlgorithm& algorithm : algorithms_) {
      for (const Dispatch dispatch : {Dispatch::kDynamic, Dispatch::kStatic}) {
        const std::optional<double> form = closed_form(algorithm, request, dispatch);
        if (!form) continue;
        ScheduleRequest placed = request;
        placed.dispatch = dispatch;
        INFO(algorithm.name << ' ' << to_string(dispatch) << ": " << request.problem.mask.q_tiles << " Q x "
                            << request.problem.mask.kv_tiles << " KV tiles, " << request.problem.heads
                            << " heads, " << request.problem.workers << " workers, c "
                            << request.costs.compute << ", r " << request.costs.reduce);
        CHECK(makespan_of(plan_backward(algorithm, placed)) == *form);
        ++compared_[algorithm.name];
      }
    }
  }

  void compare(std::initializer_list<std::int32_t> tiles, std::initializer_list<std::int32_t> heads) {
    for (const auto& [c, r] : {std::pair{7.0, 2.0}, std::pair{5.0, 5.0}, std::pair{1.0, 0.0}, std::pair{2.0, 9.0},
                               std::pair{0.0, 3.0}}) {
      for (const std::int32_t n : tiles) {
        for (const std::int32_t m : heads) {
          for (const Mask mask : {Mask::kFull, Mask::kCausal}) {
            for (const std::int32_t workers : {n, 1, 2, n + 1, 2 * n + 3})
              compare(request_of(mask, n, n, m, workers, c, r));
          }
          compare(request_of(Mask::kFull, n + 3, n, m, n + 1, c, r));
          compare(request_of(Mask::kFull, 2 * n, n, m, n, c, r));
        }
      }
    }
    for (const ScheduleAlgorithm& algorithm : algorithms_) {
      INFO(algorithm.name);
      CHECK(compared_[algorithm.name] > 5 * tiles.size() * heads.size());  // all costs, with a form for some mask
    }
  }

 private:
  const std::array<std::reference_wrapper<const ScheduleAlgorithm>, 6> algorithms_ = {
      kAscending, kDescending, kSpt, kShift, kSymmetricShift, kUnordered};
  std::map<std::string, std::size_t> compared_;
};

TEST_CASE("every closed form equals both simulations on a grid of tiles, heads, workers and costs") {
  ComparedForms().compare({1, 2, 3, 4, 7, 12}, {1, 2, 3, 6});
}

TEST_CASE("every closed form equals both simulations on a fine grid, and for the SMs of an H100", "[.nightly][long]") {
  ComparedForms forms;
  forms.compare({1, 2, 3, 4, 5, 6, 7, 8, 9, 16}, {1, 2, 3, 4, 5, 6});
  for (const std::int32_t m : {1, 2}) {
    if (natten_sim::test::kSanitized) break;
    for (const Mask mask : {Mask::kFull, Mask::kCausal}) forms.compare(request_of(mask, 132, 132, m, 132, 7, 2));
  }
}

TEST_CASE("the paper's form of the descending schedule fails outside its conditions") {
  const auto printed = [](double n, double m, double c, double r) {
    return m * (n + 1) * (c + r) / 2 + (n - 1) * r;
  };
  const auto simulated = [](std::int32_t n, std::int32_t m, double c, double r, Dispatch dispatch) {
    ScheduleRequest request = request_of(Mask::kCausal, n, n, m, n, c, r);
    request.dispatch = dispatch;
    return makespan_of(plan_backward(kDescending, request));
  };
  CHECK(simulated(8, 4, 7, 2, Dispatch::kDynamic) == printed(8, 4, 7, 2));
  CHECK(simulated(8, 4, 7, 2, Dispatch::kStatic) == 4 * 8 * (7 + 2));       // the dispatch
  CHECK(simulated(8, 3, 7, 2, Dispatch::kDynamic) != printed(8, 3, 7, 2));  // odd heads
  CHECK(simulated(8, 4, 2, 7, Dispatch::kDynamic) != printed(8, 4, 2, 7));  // r > c
}

TEST_CASE("the descending form is given for an even number of heads and reductions no longer than computes") {
  const auto form = [](std::int32_t heads, double c, double r) {
    return closed_form(kDescending, request_of(Mask::kCausal, 8, 8, heads, 8, c, r), Dispatch::kDynamic);
  };
  CHECK(form(4, 7, 2) == 4 * 9 * (7 + 2) / 2 + 7 * 2);
  CHECK(form(2, 5, 5) == 2 * 9 * (5 + 5) / 2 + 7 * 5);
  CHECK(!form(3, 7, 2));
  CHECK(!form(4, 2, 7));
}

TEST_CASE("no closed form is given where tasks differ, hand over slowly, overlap or share KV heads") {
  const ScheduleRequest plain = request_of(Mask::kCausal, 4, 4, 2, 4, 7, 2);
  const auto form = [](const ScheduleRequest& request) {
    return closed_form(kAscending, request, Dispatch::kDynamic);
  };
  CHECK(form(plain) == 2 * 4 * 9 + 3 * 2);
  ScheduleRequest taxed = plain;
  taxed.costs.per_tile_tax = 1;  // as a longer reduction
  CHECK(form(taxed) == 2 * 4 * 10 + 3 * 3);
  for (const auto& spoil : std::initializer_list<void (*)(ScheduleRequest&)>{
           [](ScheduleRequest& r) { r.costs.compute_partial = 8; },
           [](ScheduleRequest& r) { r.costs.handoff = 1; },
           [](ScheduleRequest& r) { r.costs.handoff_far = 1; },
           [](ScheduleRequest& r) { r.costs.writer_stages = 1; },
           [](ScheduleRequest& r) { r.problem.heads_per_kv_head = 2; },
           [](ScheduleRequest& r) { r.problem.workers = 5; },
           [](ScheduleRequest& r) { r.problem.mask.work[3] = TileWork::kFull; }}) {
    ScheduleRequest other = plain;
    spoil(other);
    CHECK(!form(other));
  }
}

TEST_CASE("symmetric shift never waits and is as short as its bins, for any tiles, heads and workers") {
  int compared = 0;
  for (std::int32_t n = 1; n <= 9; ++n) {
    for (std::int32_t m = 1; m <= 5; ++m) {
      for (std::int32_t workers = 1; workers <= 11; ++workers) {
        for (const std::int32_t ratio : {1, 2, 3}) {  // KV tiles as long as so many Q tiles
          ScheduleRequest request = request_of(Mask::kCausal, n, n, m, workers, 7, 2);
          request.problem.mask = window_mask({6 * n, 6 * n, 6 / ratio, 6}, {std::nullopt, 0});
          const SchedulePlan plan = plan_backward(kSymmetricShift, request);
          const SchedulePhase& phase = plan.phases.front();
          INFO(n << " tiles, " << m << " heads, " << workers << " workers, ratio " << ratio);
          CHECK(!find_depth_violation(phase.problem, phase.schedule, phase.schedule.worker));
          const PlanRun run = run_plan(plan);
          CHECK(run.bubble.startup == 0);
          CHECK(run.bubble.wait_for_turn == 0);
          if (ratio == 1) CHECK(run.makespan == closed_form(kSymmetricShift, request, Dispatch::kStatic));
          ++compared;
        }
      }
    }
  }
  CHECK(compared == 9 * 5 * 11 * 3);
  // Odd tiles, which the paper leaves out: as many workers as tiles, even heads: no idle time at all.
  const PlanRun odd = run_plan(plan_backward(kSymmetricShift, request_of(Mask::kCausal, 7, 7, 4, 7, 7, 2)));
  CHECK(odd.makespan == 4 * (7 + 1) * 9 / 2);
  CHECK(odd.optimality_gap == 0);
}

TEST_CASE("symmetric shift refuses masks that it cannot pair") {
  ScheduleRequest window = request_of(Mask::kCausal, 6, 6, 2, 6, 1, 1);
  window.problem.mask = window_mask({12, 12, 2, 2}, {4, 0});
  CHECK_THROWS_AS(plan_backward(kSymmetricShift, window), InvalidParameter);
  CHECK_THROWS_AS(plan_backward(kSymmetricShift, request_of(Mask::kFull, 4, 4, 2, 4, 1, 1)),
                  InvalidParameter);
  CHECK_THROWS_AS(plan_backward(kSymmetricShift, request_of(Mask::kCausal, 4, 6, 2, 4, 1, 1)),
                  InvalidParameter);
}

TEST_CASE(
    "Lemma 1: increasing depths mean no wait, with equal loads and r > 0 a violation lengthens the "
    "makespan") {
  for (const std::int32_t n : {2, 4, 5, 8}) {
    const ScheduleRequest request = request_of(Mask::kFull, n, n, 2, n, 7, 2);
    const double load = 2 * n * 9;  // of every worker
    for (const ScheduleAlgorithm& algorithm :
         {std::cref(kAscending), std::cref(kDescending), std::cref(kSpt), std::cref(kShift)}) {
      ScheduleRequest placed = request;
      placed.dispatch = Dispatch::kStatic;
      const SchedulePhase phase = plan_backward(algorithm, placed).phases.front();
      const bool violated =
          find_depth_violation(phase.problem, phase.schedule, phase.schedule.worker).has_value();
      const double makespan = run_schedule(phase.problem, phase.costs, phase.schedule).makespan;
      INFO(algorithm.name << ", " << n << " tiles");
      CHECK(violated == (&algorithm != &kShift));
      CHECK((makespan > load) == violated);
    }
  }
}

TEST_CASE(
    "the depth test names its counterexample, and a violation can be free where workers have slack or r is "
    "0") {
  // Two KV tiles on two workers, both visit Q tile 0 first: equal depths.
  ScheduleRequest request = request_of(Mask::kFull, 2, 2, 1, 2, 7, 2);
  request.dispatch = Dispatch::kStatic;
  const SchedulePhase phase = plan_backward(kAscending, request).phases.front();
  const std::optional<DepthViolation> violation =
      find_depth_violation(phase.problem, phase.schedule, phase.schedule.worker);
  REQUIRE(violation);
  CHECK(violation->head == 0);
  CHECK(violation->q_tile == 0);
  CHECK(violation->first_kv_tile == 0);
  CHECK(violation->first_depth == 0);
  CHECK(violation->second_kv_tile == 1);
  CHECK(violation->second_depth == 0);
  BackwardCosts free = phase.costs;
  free.reduce = 0;
  CHECK(run_schedule(phase.problem, free, phase.schedule).makespan == 2 * 7);
  // Causal, descending, one head: violations everywhere below, yet as short as the longest chain.
  ScheduleRequest causal = request_of(Mask::kCausal, 3, 3, 1, 3, 7, 2);
  causal.dispatch = Dispatch::kStatic;
  const SchedulePhase slack = plan_backward(kDescending, causal).phases.front();
  CHECK(find_depth_violation(slack.problem, slack.schedule, slack.schedule.worker));
  CHECK(run_schedule(slack.problem, slack.costs, slack.schedule).makespan == 3 * 9);
}

TEST_CASE("dynamic schedules are safe on any number of workers if launched in the order of their waits") {
  for (const ScheduleAlgorithm& algorithm :
       {std::cref(kAscending), std::cref(kDescending), std::cref(kSpt), std::cref(kShift)}) {
    ScheduleRequest request = request_of(Mask::kCausal, 5, 5, 2, 3, 7, 2);
    request.dispatch = Dispatch::kDynamic;
    const SchedulePhase phase = plan_backward(algorithm, request).phases.front();
    INFO(algorithm.name);
    const bool safe = !find_launch_violation(phase.problem, phase.schedule);
    CHECK(safe == (&algorithm != &kShift));
    if (!safe) continue;
    BackwardProblem fewer = phase.problem;
    for (fewer.workers = 1; fewer.workers <= 11; ++fewer.workers) {
      for (const double c : {0.0, 1.0, 100.0})
        CHECK_NOTHROW(run_schedule(fewer, {.compute = c}, phase.schedule));
    }
  }
  // Shifted, KV tile 0 comes to Q tile 1 behind KV tile 1, which one worker has not started.
  ScheduleRequest request = request_of(Mask::kFull, 2, 2, 1, 1, 1, 1);
  SchedulePhase phase = plan_backward(kShift, request_of(Mask::kFull, 2, 2, 1, 2, 1, 1)).phases.front();
  const std::optional<LaunchViolation> violation = find_launch_violation(phase.problem, phase.schedule);
  REQUIRE(violation);
  CHECK(violation->q_tile == 1);
  CHECK(violation->waiting_kv_tile == 0);
  CHECK(violation->awaited_kv_tile == 1);
  phase.schedule.dispatch = Dispatch::kDynamic;
  phase.schedule.worker.clear();
  CHECK_THROWS_AS(run_schedule(request.problem, {}, phase.schedule), DeadlockError);
  // dK/dV by head: the second head must not be launched before the first.
  ScheduleRequest grouped = request_of(Mask::kFull, 1, 1, 2, 1, 1, 1);
  grouped.problem.heads_per_kv_head = 2;
  phase = plan_backward(kAscending, grouped).phases.front();
  CHECK(!find_launch_violation(phase.problem, phase.schedule));
  std::swap(phase.schedule.chains[0], phase.schedule.chains[1]);
  REQUIRE(find_launch_violation(phase.problem, phase.schedule));
  CHECK(find_launch_violation(phase.problem, phase.schedule)->q_tile == -1);
  CHECK_THROWS_AS(run_schedule(phase.problem, {}, phase.schedule), DeadlockError);
}

TEST_CASE("visiting times count the tax, so shifts do not wait when it is all that a task costs") {
  ScheduleRequest causal = request_of(Mask::kCausal, 4, 4, 2, 4, 0, 0);
  causal.costs.per_tile_tax = 1;
  CHECK(makespan_of(plan_backward(kSymmetricShift, causal)) == 5);
  ScheduleRequest full = request_of(Mask::kFull, 4, 4, 2, 4, 0, 0);
  full.costs.per_tile_tax = 1;
  CHECK(makespan_of(plan_backward(kShift, full)) == 8);
}

TEST_CASE("costs far apart: the search ends at the bound, not near it") {
  // 3 causal tiles on two workers: six tasks of 10^12, and of the six reductions of 1 three on each worker.
  ScheduleRequest small = request_of(Mask::kCausal, 3, 3, 1, 2, 1e12, 1);
  CHECK(run_plan(plan_backward(kBest, small)).makespan == 3e12 + 3);
  ScheduleRequest window = request_of(Mask::kFull, 8, 8, 4, 3, 1e12, 1);
  window.problem.mask = window_mask({16, 16, 2, 2}, {4, 0});
  window.effort = 50;
  CHECK(run_plan(plan_backward(kBest, window)).makespan <=
        run_plan(plan_backward(kDescending, window)).makespan);
}

TEST_CASE("bounds are rounded up to the grain of whole costs") {
  const ScheduleBounds grained = schedule_bounds(request_of(Mask::kFull, 3, 3, 1, 2, 10, 5).problem,
                                                 {.compute = 10, .compute_partial = 10, .reduce = 5});
  CHECK(grained.grain == 5);
  CHECK(grained.work == 9 * 15 / 2.0);
  CHECK(grained.best() == 2 * 3 * 15);  // two chains on one worker
  const ScheduleRequest spread = request_of(Mask::kCausal, 2, 2, 1, 2, 4, 2);
  ScheduleBounds one = schedule_bounds(spread.problem, {.compute = 4, .compute_partial = 6, .reduce = 2});
  CHECK(one.grain == 2);
  one.work = 101;
  CHECK(one.best() == 102);
  one.grain = 0;
  CHECK(one.best() == 101);
}

TEST_CASE("zero costs leave ties alone: shifts dispatched dynamically do not deadlock on them") {
  ScheduleRequest request = request_of(Mask::kFull, 5, 3, 3, 2, 0, 0);
  request.dispatch = Dispatch::kDynamic;
  CHECK(makespan_of(plan_backward(kShift, request)) == 0);
}

TEST_CASE("each bound binds somewhere, with the value of its formula") {
  const auto bounds = [](const ScheduleRequest& request) {
    return schedule_bounds(request.problem, request.costs);
  };
  const ScheduleBounds balanced = bounds(request_of(Mask::kFull, 4, 4, 2, 4, 7, 2));
  CHECK(balanced.best() == 2 * 4 * 9);
  CHECK(balanced.binding() == BindingBound::kWork);
  const ScheduleBounds tasks = bounds(request_of(Mask::kCausal, 8, 8, 3, 8, 7, 2));
  CHECK(tasks.best() == 14 * 9);  // 108 tasks on 8 workers
  CHECK(tasks.binding() == BindingBound::kTasks);
  const ScheduleBounds chains = bounds(request_of(Mask::kFull, 5, 3, 1, 2, 7, 2));
  CHECK(chains.best() == 2 * 5 * 9);  // three chains on two workers
  CHECK(chains.binding() == BindingBound::kChains);
  ScheduleRequest slow = request_of(Mask::kFull, 1, 6, 1, 6, 7, 2);
  slow.costs.handoff = 3;
  CHECK(bounds(slow).best() == 7 + 6 * 2 + 5 * 3);
  CHECK(bounds(slow).binding() == BindingBound::kDqSequence);
  const ScheduleBounds crowded = bounds(request_of(Mask::kFull, 2, 4, 1, 4, 7, 2));
  CHECK(crowded.best() == 2 * 9 + 2);  // two of four chains come to a Q tile at the same position
  CHECK(crowded.binding() == BindingBound::kCrowding);
  ScheduleRequest grouped = request_of(Mask::kFull, 1, 1, 4, 4, 7, 2);
  grouped.problem.heads_per_kv_head = 4;
  grouped.costs.reduce_kv = 5;
  CHECK(bounds(grouped).best() == 9 + 4 * 5);
  CHECK(bounds(grouped).binding() == BindingBound::kDkvSequence);
}

TEST_CASE("fa2-split and two-pass cost what their passes cost, by hand") {
  // Two KV tiles, two workers, one head: two CTAs with a buffer each, two tasks of 9; then two dQ tiles of
  // two buffers.
  const ScheduleRequest request = request_of(Mask::kFull, 2, 2, 1, 2, 7, 2);
  CHECK(makespan_of(plan_backward(kFa2Split, request)) == 2 * 9 + 2 * 2);
  // One head more: two CTAs, one buffer each.
  CHECK(makespan_of(plan_backward(kFa2Split, request_of(Mask::kFull, 2, 2, 2, 2, 7, 2))) == 4 * 9 + 2 * 2);
  ScheduleRequest fives = request_of(Mask::kFull, 3, 2, 1, 2, 10, 2);
  CHECK(makespan_of(plan_backward(kTwoPass, fives)) ==
        3 * 8 + 2 * 2 * 6);  // two chains of 3, then three of 2 on two
}

TEST_CASE("unordered reduces dK/dV as atomics do too, two-pass keeps their order") {
  ScheduleRequest request = request_of(Mask::kFull, 1, 1, 2, 2, 5, 0);
  request.problem.heads_per_kv_head = 2;
  request.costs.reduce_kv = 4;
  CHECK(makespan_of(plan_backward(kUnordered, request)) == 5 + 4);
  CHECK(makespan_of(plan_backward(kTwoPass, request)) ==
        (4 + 4 + 4) + 3);  // the second head waits for the first
  CHECK(run_plan(plan_backward(kUnordered, request)).optimality_gap == 0);
}

TEST_CASE("plans refuse what they cannot hold") {
  ScheduleRequest request = request_of(Mask::kFull, 4, 4, 1, 4, 1, 1);
  request.problem.heads = 1 << 30;
  CHECK_THROWS_AS(plan_backward(kAscending, request), InvalidParameter);
  request.problem.heads = 1;
  request.launch = HeadSections{0};
  CHECK_THROWS_AS(plan_backward(kAscending, request), InvalidParameter);
  request.launch.reset();
  request.effort = -1;
  CHECK_THROWS_AS(plan_backward(kBest, request), InvalidParameter);
  request.effort = 0;
  request.costs.compute = -1;
  CHECK_THROWS_AS(plan_backward(kBest, request), InvalidParameter);
  request.costs.compute = 1;
  request.problem.workers = kMaxWorkers + 1;
  CHECK_THROWS_AS(plan_backward(kAscending, request), InvalidParameter);
}

TEST_CASE("a mask without any task takes no time, in every algorithm that accepts it") {
  ScheduleRequest request = request_of(Mask::kFull, 2, 3, 2, 4, 7, 2);
  request.problem.mask.work = MaskCells(request.problem.mask.work.size(), TileWork::kNone);
  for (const ScheduleAlgorithm& algorithm :
       {std::cref(kAscending), std::cref(kDescending), std::cref(kSpt), std::cref(kShift),
        std::cref(kUnordered), std::cref(kBest), std::cref(kTwoPass)}) {
    const PlanRun run = run_plan(plan_backward(algorithm, request));
    CHECK(run.makespan == 0);
    CHECK(run.optimality_gap == 0);
    CHECK(!run.utilization);
  }
}

}  // namespace schedule_models_test
