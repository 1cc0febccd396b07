#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/schedule_fit.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"

using namespace natten_sim;

namespace schedule_fit_test {

bool close(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

/// FlashAttention-3's shape in small: Q tiles half of KV tiles, sections of 2 heads, an asynchronous writer.
ThroughputComparison causal_comparison() {
  ThroughputComparison comparison;
  comparison.problem.mask = window_mask({1024, 1024, 64, 128}, {std::nullopt, 0});
  comparison.problem.heads = 8;
  comparison.problem.workers = 12;
  comparison.launch = HeadSections{2};
  comparison.reference.algorithm = schedule_algorithm("unordered");
  for (const char* name : {"ascending", "descending", "spt"})
    comparison.schedules.push_back({schedule_algorithm(name), std::nullopt});
  return comparison;
}

BackwardCosts costs_of(double reduce, double tax, double handoff) {
  BackwardCosts costs;
  costs.reduce = reduce;
  costs.per_tile_tax = tax;
  costs.handoff = handoff;
  costs.writer_stages = 1;
  return costs;
}

TEST_CASE("a fit recovers the costs that synthetic ratios were made with") {
  const ThroughputComparison comparison = causal_comparison();
  for (const auto& [tax, handoff] : {std::pair{0.9, 0.2}, {1.3, 0.05}, {0.8, 0.6}}) {
    const std::vector<double> ratios = compare_throughput(comparison, costs_of(0.25, tax, handoff)).ratios;
    const ScheduleCostFit found = fit_costs({.published = {{comparison, ratios}},
                                             .costs = costs_of(0.25, 0, 0),
                                             .fitted = {CostParameter::kPerTileTax, CostParameter::kHandoff},
                                             .starts = {{0.7, 0.1}, {1.2, 0.4}}});
    INFO("tax " << tax << ", handoff " << handoff << ", found " << found.costs.per_tile_tax << " "
                << found.costs.handoff);
    CHECK(found.fit.rms_error < 1e-4);
    CHECK(close(found.costs.per_tile_tax, tax, 2e-3));
    CHECK(close(found.costs.handoff, handoff, 2e-3));
    CHECK(found.fit.rank == 2);
  }
}

TEST_CASE("with an asynchronous writer ordered schedules show the sum of reduction and tax, not its parts") {
  ThroughputComparison comparison = causal_comparison();
  const ComparedThroughput a = compare_throughput(comparison, costs_of(0.25, 0.875, 0.125)),
                           b = compare_throughput(comparison, costs_of(0.75, 0.375, 0.125));
  CHECK(a.makespans == b.makespans);
  // The unordered reference hides reductions but for the last one of a chain.
  CHECK(a.reference_makespan < b.reference_makespan);
  comparison.reference.algorithm = schedule_algorithm("ascending");
  const ScheduleCostFit found = fit_costs({.published = {{comparison, {1, 1.2, 1.25}}},
                                           .costs = costs_of(0, 0, 0.125),
                                           .fitted = {CostParameter::kReduce, CostParameter::kPerTileTax},
                                           .starts = {{0.25, 0.875}}});
  CHECK(found.fit.rank == 1);
  CHECK(found.fit.standard_errors.empty());
}

TEST_CASE("time elsewhere dilutes a ratio: (reference + e) / (makespan + e)") {
  ThroughputComparison comparison = causal_comparison();
  const ComparedThroughput bare = compare_throughput(comparison, costs_of(0.25, 1, 0.25));
  comparison.elsewhere = 100;
  const ComparedThroughput diluted = compare_throughput(comparison, costs_of(0.25, 1, 0.25));
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(diluted.makespans[i] == bare.makespans[i]);
    CHECK(diluted.ratios[i] == (bare.reference_makespan + 100) / (bare.makespans[i] + 100));
  }
}

TEST_CASE("makespans are those of plan_backward and run_plan, for every algorithm") {
  ThroughputComparison comparison = causal_comparison();
  const BackwardCosts costs = costs_of(0.25, 1, 0.25);
  comparison.schedules = {{schedule_algorithm("ascending"), Dispatch::kStatic},
                          {schedule_algorithm("shift"), Dispatch::kDynamic},
                          {schedule_algorithm("fa2-split"), std::nullopt},
                          {schedule_algorithm("two-pass"), std::nullopt}};
  const ComparedThroughput compared = compare_throughput(comparison, costs);
  for (std::size_t i = 0; i < comparison.schedules.size(); ++i) {
    ScheduleRequest request;
    request.problem = comparison.problem;
    request.costs = costs;
    request.dispatch = comparison.schedules[i].dispatch;
    request.launch = comparison.launch;
    CHECK(compared.makespans[i] ==
          run_plan(plan_backward(comparison.schedules[i].algorithm, request)).makespan);
  }
}

TEST_CASE("a cost fit refuses requests that do not fit together") {
  const ThroughputComparison comparison = causal_comparison();
  ScheduleCostFitRequest good{.published = {{comparison, {0.6, 0.8, 0.82}}},
                              .costs = costs_of(0.25, 0, 0),
                              .fitted = {CostParameter::kHandoff},
                              .starts = {{0.1}}};
  ScheduleCostFitRequest request = good;
  request.published.front().ratios.pop_back();
  CHECK_THROWS_AS(fit_costs(request), InvalidParameter);
  request = good;
  request.fitted.push_back(CostParameter::kHandoff);
  request.starts = {{0.1, 0.1}};
  CHECK_THROWS_AS(fit_costs(request), InvalidParameter);
  request = good;
  request.starts = {{0.1, 0.1}};
  CHECK_THROWS_AS(fit_costs(request), InvalidParameter);
  request = good;
  request.published.front().comparison.elsewhere = -1;
  CHECK_THROWS_AS(fit_costs(request), InvalidParameter);
  request = good;
  request.published.clear();
  CHECK_THROWS_AS(fit_costs(request), InvalidParameter);
}

}  // namespace schedule_fit_test
