// Ratios, losses and decisions by hand; the heat map has a cell for everything.
#include <cmath>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/studies/regime_map.hpp>

#include "catch.hpp"

namespace regime_map_test {

using namespace natten_sim;
using namespace natten_sim::validate;

kernels::AttentionProblem problem_of(std::int64_t tokens, std::int64_t head_dim = 128, bool causal = false) {
  kernels::AttentionProblem problem;
  problem.tokens = tokens;
  problem.head_dim = head_dim;
  problem.causal = causal;
  return problem;
}

/// A time at which the problem runs at so many TFLOP/s.
double milliseconds(const kernels::AttentionProblem& problem, double tflops) {
  return problem.operations() / tflops * 1e-9;
}

RecordedRow own_row(const kernels::AttentionProblem& problem, int q_tile, double tflops) {
  RecordedRow row;
  AttentionCase point;
  point.problem = problem;
  point.variant.q_tile = q_tile;
  row.point = point;
  Timing timing;
  const double median = milliseconds(problem, tflops);
  timing.milliseconds = {median, median, median, median};
  row.timing = timing;
  return row;
}

SdpaRow their_row(const kernels::AttentionProblem& problem, const std::string& backend, double tflops) {
  SdpaRow row;
  row.problem = problem;
  row.backend = backend;
  const double median = milliseconds(problem, tflops);
  row.milliseconds = Spread{median, median, median, median};
  row.repetitions = 20;
  return row;
}

SdpaRow failed_row(const kernels::AttentionProblem& problem, const std::string& backend,
                   const std::string& status) {
  SdpaRow row;
  row.problem = problem;
  row.backend = backend;
  row.status = status;
  return row;
}

struct Pair {
  Recording ours;
  SdpaRecording theirs;
};

Pair of_one_device() {
  Pair pair;
  pair.ours.head.suite = "tiles";
  pair.ours.head.device.name = pair.theirs.device.name = "G";
  pair.ours.head.driver = pair.theirs.driver = "1";
  return pair;
}

bool near(double a, double b) { return std::abs(a - b) < 1e-9 * std::abs(b); }

TEST_CASE("the fastest tiles stand for this kernel, and what cannot run keeps its reason") {
  Pair pair = of_one_device();
  const auto problem = problem_of(1024);
  pair.ours.rows = {own_row(problem, 64, 100), own_row(problem, 128, 200)};
  pair.theirs.rows = {their_row(problem, "auto", 400), failed_row(problem, "math", "out of memory")};
  const RegimeMap map = regime_map(pair.ours, pair.theirs);
  REQUIRE(map.cells.size() == 1);
  const RegimeCell& cell = map.cells[0];
  CHECK(cell.own.at(*cell.best).tiles == "128x64x1");
  CHECK(near(*cell.own_throughput().tflops, 200));
  CHECK(near(*cell.ratio(0), 0.5));
  CHECK_FALSE(cell.ratio(4).has_value());
  CHECK(cell.backends[4].status == "out of memory");
  CHECK(cell.backends[1].status == "not recorded");
}

TEST_CASE("problems of one side alone are cells as well") {
  Pair pair = of_one_device();
  pair.ours.rows = {own_row(problem_of(512), 128, 100)};
  pair.theirs.rows = {their_row(problem_of(1024, 80), "auto", 400), their_row(problem_of(2048), "auto", 400)};
  const RegimeMap map = regime_map(pair.ours, pair.theirs);
  REQUIRE(map.cells.size() == 3);
  CHECK(map.cells[0].own_throughput().status == "no kernel of this head dim");
  CHECK(map.cells[1].backends[0].status == "not recorded");
  CHECK(map.cells[2].own_throughput().status == "not recorded");
  // "auto" is no kernel of its own, so only the first cell has a fastest one.
  CHECK(decisions(map).size() == 1);
}

TEST_CASE("a kernel that failed to run has no throughput") {
  Pair pair = of_one_device();
  RecordedRow failed = own_row(problem_of(512), 128, 100);
  failed.status = "out of memory";
  failed.timing.reset();
  pair.ours.rows = {failed};
  const RegimeMap map = regime_map(pair.ours, pair.theirs);
  CHECK_FALSE(map.cells.at(0).best.has_value());
  CHECK(map.cells[0].own_throughput().status == "out of memory");
  CHECK(decisions(map).empty());
  CHECK(tiles_sensitivity(map).empty());
}

TEST_CASE("times of two machines or drivers are not divided by each other") {
  Pair pair = of_one_device();
  pair.theirs.driver = "2";
  CHECK_THROWS_AS(regime_map(pair.ours, pair.theirs), InvalidParameter);
  pair.theirs.driver = "1";
  pair.theirs.device.name = "H";
  CHECK_THROWS_AS(regime_map(pair.ours, pair.theirs), InvalidParameter);
}

TEST_CASE("sensitivity is the loss against the best tiles of each length, in two bands") {
  Pair pair = of_one_device();
  for (const auto& [tokens, small, large] :
       {std::tuple{1024, 200.0, 100.0}, {2048, 100.0, 100.0}, {4096, 75.0, 100.0}}) {
    pair.ours.rows.push_back(own_row(problem_of(tokens), 64, small));
    pair.ours.rows.push_back(own_row(problem_of(tokens), 128, large));
  }
  const auto rows = tiles_sensitivity(regime_map(pair.ours, pair.theirs));
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].band == "short");
  CHECK(rows[0].tiles == "64x64x1");  // the first of equals is the best at 2048
  CHECK(rows[0].cells == 2);
  CHECK(rows[0].best == 2);
  CHECK(rows[0].mean_loss == 0);
  CHECK(rows[1].tiles == "128x64x1");
  CHECK(rows[1].best == 0);
  CHECK(near(rows[1].mean_loss, 0.25));
  CHECK(near(rows[1].worst_loss, 0.5));
  CHECK(rows[2].band == "long");
  CHECK(rows[2].tiles == "128x64x1");
  CHECK(near(rows[3].mean_loss, 0.25));
}

TEST_CASE("neighbouring lengths with the same answer are one decision") {
  Pair pair = of_one_device();
  for (const auto& [tokens, flash, cudnn] :
       {std::tuple{512, 50.0, 40.0}, {1024, 300.0, 200.0}, {2048, 200.0, 180.0}, {4096, 300.0, 400.0}}) {
    pair.ours.rows.push_back(own_row(problem_of(tokens), 128, 100));
    pair.theirs.rows.push_back(their_row(problem_of(tokens), "flash", flash));
    pair.theirs.rows.push_back(their_row(problem_of(tokens), "cudnn", cudnn));
    pair.theirs.rows.push_back(their_row(problem_of(tokens), "auto", flash));
  }
  const auto rows = decisions(regime_map(pair.ours, pair.theirs));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].fastest == "natten-sim");
  CHECK(near(*rows[0].own_least, 1));
  CHECK(near(*rows[0].of_auto, 0.5));
  CHECK(rows[1].fastest == "flash");
  CHECK(rows[1].from_tokens == 1024);
  CHECK(rows[1].to_tokens == 2048);
  CHECK(near(rows[1].fastest_tflops, 200));
  CHECK(near(*rows[1].own_least, 1.0 / 3));
  CHECK(near(*rows[1].own_most, 0.5));
  CHECK(near(*rows[1].of_auto, 1));
  CHECK(rows[2].fastest == "cudnn");
  CHECK(near(*rows[2].of_auto, 0.75));
}

}  // namespace regime_map_test
