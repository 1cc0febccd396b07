// How launches that costs were not fitted to widen the interval of those costs.
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/judged_launches.hpp>

#include "catch.hpp"

namespace judged_launches_test {

using namespace natten_sim;

/// One kernel, both passes, each with an interval of 5%.
Catalog one_kernel(CostOrigin origin = CostOrigin::kMeasured) {
  Catalog catalog;
  KernelCosts costs{.kernel = "k", .device = "d", .head_dim = 64};
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    PassCosts pass;
    pass.pass = walk;
    pass.evidence.origin = origin;
    pass.evidence.interval = 0.05;
    costs.passes.push_back(pass);
  }
  catalog.kernel_costs = {costs};
  return catalog;
}

void add(Catalog& catalog, const std::string& members) {
  add_judged_launches(catalog, R"({"schema": "natten-sim.judged-launches/1", "cells": [{)" + members + "}]}", "here");
}

const std::string kCell = R"("kernel": "k", "device": "d", "head_dim": 64, "pass": "backward")";

TEST_CASE("judged launches widen the interval of their pass and never narrow it") {
  Catalog wide = one_kernel(), narrow = one_kernel();
  add(wide, kCell + R"(, "points": 30, "error": 0.08, "inside": 0.9)");
  CHECK(wide.kernel_costs[0].passes[0].evidence.interval == 0.05);
  CHECK(wide.kernel_costs[0].passes[1].evidence.interval == 0.08);
  CHECK(wide.kernel_costs[0].passes[1].evidence.judged == JudgedLaunches{30, 0.08, 0.9});
  CHECK_FALSE(wide.kernel_costs[0].passes[0].evidence.judged);
  add(narrow, kCell + R"(, "points": 30, "error": 0.01, "inside": 1)");
  CHECK(narrow.kernel_costs[0].passes[1].evidence.interval == 0.05);
}

TEST_CASE("a launch has the interval of judged ones of its length, or that of all") {
  Catalog catalog = one_kernel();
  add(catalog, kCell + R"(, "points": 40, "error": 0.2, "inside": 0.95,
      "short": {"points": 12, "error": 0.3, "inside": 0.92}, "long": {"points": 28, "error": 0.01, "inside": 1})");
  const CostEvidence& both = catalog.kernel_costs[0].passes[1].evidence;
  CHECK(both.interval == 0.2);
  CHECK(interval_of_launch(both, 0.299) == 0.3);
  CHECK(interval_of_launch(both, 0.3) == 0.05);  // no less than that of the fit
  CostEvidence narrowed = both;
  take_length(narrowed, 0.01);
  CHECK(narrowed.judged == JudgedLaunches{12, 0.3, 0.92, LaunchLength::kShort});
  CHECK(narrowed.interval == 0.3);
  Catalog few = one_kernel();
  add(few, kCell + R"(, "points": 40, "error": 0.2, "inside": 0.95, "short": {"points": 32, "error": 0.3, "inside": 0.92})");
  const CostEvidence& one = few.kernel_costs[0].passes[1].evidence;
  CHECK(interval_of_launch(one, 0.01) == 0.3);
  CHECK(interval_of_launch(one, 10) == 0.2);
}

TEST_CASE("judged launches concern measured costs of their own cell alone") {
  Catalog transferred = one_kernel(CostOrigin::kTransferred), other = one_kernel();
  const Catalog before = transferred;
  add(transferred, kCell + R"(, "points": 30, "error": 0.08, "inside": 0.9)");
  CHECK(transferred.kernel_costs == before.kernel_costs);
  add(other, R"("kernel": "k", "device": "d", "head_dim": 128, "pass": "backward", "points": 9, "error": 1, "inside": 0)");
  CHECK(other.kernel_costs == one_kernel().kernel_costs);
}

TEST_CASE("judged launches are refused when they are too few or no shares") {
  for (const char* rest : {R"("points": 8, "error": 0.1, "inside": 1)", R"("points": 9, "error": -0.1, "inside": 1)",
                           R"("points": 9, "error": 0.1, "inside": 1.1)", R"("points": 9, "error": 0.1)",
                           R"("points": 9, "error": 0.1, "inside": 1, "more": 2)",
                           R"("points": 9, "error": 0.1, "inside": 1, "long": {"points": 8, "error": 0.1, "inside": 1})",
                           R"("points": 9, "error": 0.1, "inside": 1, "long": 0.1)"}) {
    Catalog catalog = one_kernel();
    INFO(rest);
    CHECK_THROWS_AS(add(catalog, kCell + ", " + rest), MalformedData);
  }
  Catalog catalog = one_kernel();
  CHECK_THROWS_AS(add(catalog, R"("kernel": "k", "device": "d", "head_dim": 64, "pass": "both", "points": 9, "error": 1, "inside": 1)"),
                  MalformedData);
}

}  // namespace judged_launches_test
