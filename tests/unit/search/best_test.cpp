// How long the search for a schedule goes on by itself, and what it tries before.
#include <cstdint>
#include <optional>
#include <variant>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

#include "catch.hpp"
#include "schedules/search_budget.hpp"

namespace best_test {

using namespace natten_sim;

BlockMask causal_mask(std::int32_t tiles) {
  BlockMask mask{tiles, tiles, {}};
  for (std::int32_t q = 0; q < tiles; ++q) {
    for (std::int32_t kv = 0; kv < tiles; ++kv)
      mask.work.push_back(kv <= q ? TileWork::kFull : TileWork::kNone);
  }
  return mask;
}

/// Iterations that a search does by itself: the share of one, which it reports before its second.
double default_effort(std::int32_t tiles, std::int32_t heads) {
  ScheduleRequest request;
  request.problem.mask = causal_mask(tiles);
  request.problem.heads = heads;
  request.problem.workers = 17;
  request.costs = {.compute = 5, .reduce = 5, .handoff = 9};
  struct Enough {
    double share;
  };
  request.progress = [](double share) {
    if (share > 0) throw Enough{share};
  };
  try {
    (void)run_plan(plan_backward(schedule_algorithm("best"), request));
  } catch (const Enough& enough) {
    return 1 / enough.share;
  }
  return 0;
}

TEST_CASE("a search does 2^22 iterations over its tasks, 2000 at most") {
  CHECK(default_effort(11, 3) == Approx(2000));              // 3 * 66 tasks
  CHECK(default_effort(66, 1) == Approx((1 << 22) / 2211));  // 66 * 67 / 2 tasks
}

TEST_CASE("a search of many tasks does the work of 200 million simulated tasks, unless told otherwise") {
  using schedules::SearchBudget;
  constexpr std::int64_t kTasks = 10'000'000;
  ScheduleRequest request;
  SearchBudget usual(request, kTasks);
  CHECK(usual.affords(20));
  CHECK_FALSE(usual.affords(20.1));
  usual.spend(15);
  CHECK(usual.share() == Approx(0.75));
  CHECK(usual.affords(5));
  CHECK_FALSE(usual.affords(5.1));
  CHECK(SearchBudget(request, 1 << 18).affords(1e9));  // few tasks
  CHECK_FALSE(SearchBudget(request, (1 << 18) + 1).affords(1e9));
  request.effort = 8;
  SearchBudget told(request, kTasks);
  told.spend(1e6);
  CHECK(told.affords(1e6));
  CHECK(told.share() == 0);
  request.effort.reset();
  request.time_limit_s = 0;
  SearchBudget over(request, kTasks);
  CHECK(over.affords(1));  // nothing is known of its pace
  over.spend(1);
  CHECK_FALSE(over.affords(1));
}

TEST_CASE("a search of many tasks without time answers with one schedule by a rule") {
  ScheduleRequest request;
  request.problem.mask = causal_mask(96);
  request.problem.heads = 60;  // 60 * 96 * 97 / 2 tasks, more than 2^18
  request.problem.workers = 132;
  request.time_limit_s = 0;
  const PlanRun found = run_plan(plan_backward(schedule_algorithm("best"), request));
  request.dispatch = Dispatch::kDynamic;
  const PlanRun by_rule = run_plan(plan_backward(schedule_algorithm("spt"), request));
  CHECK(by_rule.makespan > by_rule.lower_bound);  // a search with time would go on
  CHECK(found.makespan == by_rule.makespan);
}

TEST_CASE("a search of few tasks without time answers with its first schedule") {
  ScheduleRequest request;
  request.problem.mask = causal_mask(9);
  request.problem.heads = 3;
  request.problem.workers = 9;
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2};
  const double searched = run_plan(plan_backward(schedule_algorithm("best"), request)).makespan;
  // The last ordered algorithm of the table is the first that is tried, statically.
  std::optional<double> first;
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
    if (!algorithm->ordered || algorithm->searches) continue;
    ScheduleRequest named = request;
    named.dispatch = Dispatch::kStatic;
    const PlanOutcome plan = attempt_plan(*algorithm, named);
    if (const auto* found = std::get_if<SchedulePlan>(&plan)) first = run_plan(*found).makespan;
  }
  REQUIRE(first);
  REQUIRE(searched < *first);
  request.time_limit_s = 0;
  CHECK(run_plan(plan_backward(schedule_algorithm("best"), request)).makespan == *first);
}

TEST_CASE("asked for dynamic dispatch, a search tries the named schedules in it") {
  // 40 random problems, of which some are solved best by a named schedule that is dispatched dynamically.
  RandomSequence random(7);
  for (int i = 0; i < 40; ++i) {
    ScheduleRequest request;
    request.problem.mask = causal_mask(11);
    request.effort = 0;
    request.dispatch = Dispatch::kDynamic;
    request.problem.workers = 2 + static_cast<std::int32_t>(random.below(12));
    request.problem.heads = 1 + static_cast<std::int32_t>(random.below(4));
    request.costs = {.compute = 1. + static_cast<double>(random.below(5)),
                     .reduce = 1. + static_cast<double>(random.below(5)),
                     .handoff = static_cast<double>(random.below(9))};
    const double best = run_plan(plan_backward(schedule_algorithm("best"), request)).makespan;
    for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
      if (!algorithm->ordered || algorithm->searches) continue;
      const PlanOutcome outcome = attempt_plan(*algorithm, request);
      const auto* plan = std::get_if<SchedulePlan>(&outcome);
      if (plan == nullptr || plan->phases.size() != 1) continue;
      const auto run = attempt_run(*plan);
      INFO(algorithm->name << ", problem " << i);
      if (const auto* finished = std::get_if<PlanRun>(&run)) CHECK(best <= finished->makespan);
    }
  }
}

TEST_CASE("without effort a search constructs schedules, and proves none by trying all") {
  // Six tasks, with handoffs that no bound knows: few enough to try all.
  ScheduleRequest request;
  request.problem.mask = causal_mask(3);
  request.problem.workers = 2;
  request.costs = {.compute = 3, .reduce = 2, .handoff = 7};
  const auto exhausted = [&](std::int64_t effort) {
    request.effort = effort;
    return plan_backward(schedule_algorithm("best"), request).exhausted_at.has_value();
  };
  CHECK_FALSE(exhausted(0));
  CHECK(exhausted(1000));
}

}  // namespace best_test
