// What a plan's run adds up over its phases, and the tiles that backward kernels take, at each edge.
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"

namespace plan_run_test {

using namespace natten_sim;

ScheduleRequest small_request() {
  ScheduleRequest request;
  request.problem.mask = window_mask({6, 6, 2, 2}, {std::nullopt, 0});  // causal, 3 x 3 tiles
  request.problem.heads = 2;
  request.problem.workers = 2;
  request.costs = {.compute = 5, .compute_partial = 5, .reduce = 3};
  return request;
}

TEST_CASE("a plan of the same phase twice takes, works and waits twice as much") {
  const SchedulePlan once = plan_backward(schedule_algorithm("ascending"), small_request());
  REQUIRE(once.phases.size() == 1);
  SchedulePlan twice = once;
  twice.phases.push_back(once.phases.front());
  const PlanRun one = run_plan(once), two = run_plan(twice);
  // 12 tiles of 5 + 3 on 2 workers: the bound is no less than 48.
  CHECK(one.total_work == 12 * 8);
  CHECK(one.lower_bound >= 48);
  CHECK(one.bubble.startup + one.bubble.wait_for_turn + one.bubble.tail == 2 * one.makespan - 96);
  CHECK(two.makespan == 2 * one.makespan);
  CHECK(two.total_work == 2 * one.total_work);
  CHECK(two.bubble.startup == 2 * one.bubble.startup);
  CHECK(two.bubble.wait_for_turn == 2 * one.bubble.wait_for_turn);
  CHECK(two.bubble.tail == 2 * one.bubble.tail);
  CHECK(two.lower_bound == 2 * one.lower_bound);
  CHECK(two.utilization == one.utilization);
  CHECK(*one.utilization == 96 / (2 * one.makespan));
  CHECK(two.optimality_gap == one.optimality_gap);
  CHECK(two.heads_in_flight == one.heads_in_flight);
  CHECK(one.binding.has_value());
  CHECK_FALSE(two.binding.has_value());
  CHECK(two.runs.size() == 2);
}

TEST_CASE("with a writer only computing counts as busy, and what is exhausted has no binding bound") {
  ScheduleRequest request = small_request();
  request.costs.writer_stages = 1;
  SchedulePlan plan = plan_backward(schedule_algorithm("ascending"), request);
  const PlanRun run = run_plan(plan);
  CHECK(*run.utilization == 12 * 5 / (2 * run.makespan));
  plan.exhausted_at = run.makespan;
  const PlanRun exhausted = run_plan(plan);
  CHECK(exhausted.lower_bound == run.makespan);
  CHECK(exhausted.optimality_gap == 0);
  CHECK_FALSE(exhausted.binding.has_value());
}

TEST_CASE("a request with a limit that cannot be is refused by the limit's name") {
  const auto refused = [](const ScheduleRequest& request, const std::string& parameter) {
    try {
      require_valid(request);
    } catch (const InvalidParameter& error) {
      return std::string(error.what()).find(parameter) != std::string::npos;
    }
    return false;
  };
  ScheduleRequest request = small_request();
  CHECK_NOTHROW(require_valid(request));
  for (const double limit : {-0.001, 86401.0, std::numeric_limits<double>::quiet_NaN()}) {
    request.time_limit_s = limit;
    CHECK(refused(request, "time_limit"));
  }
  for (const double limit : {0.0, 86400.0}) {
    request.time_limit_s = limit;
    CHECK_NOTHROW(require_valid(request));
  }
  request.time_limit_s.reset();
  request.heads_in_flight = 0;
  CHECK(refused(request, "heads_in_flight"));
  request.heads_in_flight = 1;
  CHECK_NOTHROW(require_valid(request));
  request.effort = -1;
  CHECK(refused(request, "effort"));
  request.effort = 0;
  CHECK_NOTHROW(require_valid(request));
  request.launch = HeadSections{0};
  CHECK(refused(request, "launch_order"));
  request.launch = HeadSections{1};
  CHECK_NOTHROW(require_valid(request));
}

}  // namespace plan_run_test
