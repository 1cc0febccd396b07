// Relations between schedules, and between scatters, that differ in one known way.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <rapidcheck.h>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/models/schedules/schedule_bounds.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "catch.hpp"
#include "property/holds.hpp"
#include "random.hpp"

namespace metamorphic_schedule_test {

using namespace natten_sim;

using natten_sim::test::pick;

BackwardProblem random_problem() {
  BackwardProblem problem;
  problem.mask.q_tiles = static_cast<std::int32_t>(pick(1, 7));
  problem.mask.kv_tiles = static_cast<std::int32_t>(pick(1, 7));
  for (std::int32_t i = 0; i < problem.mask.q_tiles * problem.mask.kv_tiles; ++i)
    problem.mask.work.push_back(static_cast<TileWork>(pick(0, 2)));
  problem.heads = static_cast<std::int32_t>(pick(1, 4));
  problem.workers = static_cast<std::int32_t>(pick(1, 8));
  return problem;
}

BackwardCosts random_costs() {
  BackwardCosts costs;
  costs.compute = static_cast<double>(pick(0, 9));
  costs.compute_partial = static_cast<double>(pick(0, 9));
  costs.reduce = static_cast<double>(pick(0, 5));
  costs.per_tile_tax = static_cast<double>(pick(0, 2));
  costs.handoff = static_cast<double>(pick(0, 3));
  costs.prologue = static_cast<double>(pick(0, 4));
  costs.epilogue = static_cast<double>(pick(0, 4));
  if (pick(0, 1) == 0) costs.writer_stages = static_cast<std::int32_t>(pick(1, 2));
  return costs;
}

/// Chains on random workers, each with its Q tiles ascending, and dQ in the order of the KV tiles: launched
/// in that order too, so it finishes.
BackwardSchedule ascending_schedule(const BackwardProblem& problem) {
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kStatic;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv) {
      schedule.chains.push_back({head, kv, attended_q_tiles(problem.mask, kv)});
      schedule.worker.push_back(static_cast<std::int32_t>(pick(0, problem.workers - 1)));
    }
    for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q)
      schedule.dq_order.push_back(attended_kv_tiles(problem.mask, q));
  }
  return schedule;
}

TEST_CASE("another worker never raises the bound") {
  REQUIRE(natten_sim::test::holds("workers + 1", 1500, [] {
    BackwardProblem problem = random_problem();
    const BackwardCosts costs = random_costs();
    const double before = schedule_bounds(problem, costs).largest();
    ++problem.workers;
    RC_ASSERT(schedule_bounds(problem, costs).largest() <= before);
  }));
}

TEST_CASE("no schedule is shorter than the bound") {
  REQUIRE(natten_sim::test::holds("bound <= makespan", 1500, [] {
    const BackwardProblem problem = random_problem();
    const BackwardCosts costs = random_costs();
    const double makespan = run_schedule(problem, costs, ascending_schedule(problem)).makespan;
    RC_ASSERT(schedule_bounds(problem, costs).largest() <= makespan);
  }));
}

TEST_CASE("costs in another unit scale the makespan, its bound and its bubbles") {
  REQUIRE(natten_sim::test::holds("costs times k", 1500, [] {
    const BackwardProblem problem = random_problem();
    const BackwardSchedule schedule = ascending_schedule(problem);
    BackwardCosts costs = random_costs();
    const ScheduleRun one = run_schedule(problem, costs, schedule);
    const double bound = schedule_bounds(problem, costs).largest();
    const auto k = static_cast<double>(pick(2, 5));
    for (double BackwardCosts::*cost :
         {&BackwardCosts::compute, &BackwardCosts::compute_partial, &BackwardCosts::reduce,
          &BackwardCosts::per_tile_tax, &BackwardCosts::handoff, &BackwardCosts::prologue,
          &BackwardCosts::epilogue})
      costs.*cost *= k;
    const ScheduleRun many = run_schedule(problem, costs, schedule);
    RC_ASSERT(many.makespan == k * one.makespan);
    RC_ASSERT(many.bubble.tail == k * one.bubble.tail);
    RC_ASSERT(schedule_bounds(problem, costs).largest() == k * bound);
  }));
}

TEST_CASE("no cost that grows shortens a static schedule") {
  REQUIRE(natten_sim::test::holds("a cost + 1", 1500, [] {
    const BackwardProblem problem = random_problem();
    const BackwardSchedule schedule = ascending_schedule(problem);
    BackwardCosts costs = random_costs();
    const double before = run_schedule(problem, costs, schedule).makespan;
    double BackwardCosts::*const grown =
        *rc::gen::element(&BackwardCosts::compute, &BackwardCosts::compute_partial, &BackwardCosts::reduce,
                          &BackwardCosts::per_tile_tax, &BackwardCosts::handoff, &BackwardCosts::prologue,
                          &BackwardCosts::epilogue);
    costs.*grown += 1;
    RC_ASSERT(run_schedule(problem, costs, schedule).makespan >= before);
  }));
}

TEST_CASE("reductions without an order never take longer than with one") {
  REQUIRE(natten_sim::test::holds("order dropped", 1500, [] {
    const BackwardProblem problem = random_problem();
    const BackwardCosts costs = random_costs();
    BackwardSchedule schedule = ascending_schedule(problem);
    const double ordered = run_schedule(problem, costs, schedule).makespan;
    schedule.dq_order.clear();
    RC_ASSERT(run_schedule(problem, costs, schedule).makespan <= ordered);
  }));
}

TEST_CASE("numbers of workers are names") {
  REQUIRE(natten_sim::test::holds("workers renamed", 1500, [] {
    const BackwardProblem problem = random_problem();
    const BackwardCosts costs = random_costs();
    BackwardSchedule schedule = ascending_schedule(problem);
    const double before = run_schedule(problem, costs, schedule).makespan;
    for (std::int32_t& worker : schedule.worker) worker = problem.workers - 1 - worker;
    RC_ASSERT(run_schedule(problem, costs, schedule).makespan == before);
  }));
}

TEST_CASE("a worker for each head takes as long as one head alone") {
  REQUIRE(natten_sim::test::holds("heads apart", 1500, [] {
    BackwardProblem problem = random_problem();
    problem.heads = 1;
    problem.workers = 1;
    const BackwardCosts costs = random_costs();
    const double alone = run_schedule(problem, costs, ascending_schedule(problem)).makespan;
    problem.heads = problem.workers = static_cast<std::int32_t>(pick(2, 5));
    BackwardSchedule apart = ascending_schedule(problem);
    for (std::size_t i = 0; i < apart.chains.size(); ++i) apart.worker[i] = apart.chains[i].head;
    RC_ASSERT(run_schedule(problem, costs, apart).makespan == alone);
  }));
}

TEST_CASE("work does not depend on who does it") {
  REQUIRE(natten_sim::test::holds("work is conserved", 1500, [] {
    const BackwardProblem problem = random_problem();
    const BackwardCosts costs = random_costs();
    const ScheduleRun one = run_schedule(problem, costs, ascending_schedule(problem));
    const ScheduleRun other = run_schedule(problem, costs, ascending_schedule(problem));
    RC_ASSERT(one.total_work == other.total_work);
    RC_ASSERT(one.compute_work == other.compute_work);
  }));
}

ScatterLoad load_of(const CollisionCount& count, std::int64_t width) {
  ScatterLoad load;
  load.updates = count.updates;
  load.rows_touched = count.rows_touched;
  load.max_multiplicity = count.max_multiplicity;
  load.serial_multiplicity = count.serial_multiplicity;
  load.hottest_rows = count.hottest_rows;
  load.close_updates = count.close_updates;
  load.width = width;
  return load;
}

std::vector<std::int64_t> random_rows() {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = pick(1, 1500); i > 0; --i) rows.push_back(pick(0, pick(0, 1) == 0 ? 3 : 99));
  return rows;
}

CollisionCount collisions_of(const std::vector<std::int64_t>& rows) {
  RowTally tally(100);
  for (const std::int64_t row : rows) tally.add(row);
  return tally.result();
}

TEST_CASE("multiplicities do not depend on the order of the updates, nor on the names of the rows") {
  REQUIRE(natten_sim::test::holds("updates permuted", 500, [] {
    std::vector<std::int64_t> rows = random_rows();
    const CollisionCount before = collisions_of(rows);
    for (std::size_t i = rows.size(); i > 1; --i)
      std::swap(rows[i - 1], rows[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(i) - 1))]);
    for (std::int64_t& row : rows) row = 99 - row;
    const CollisionCount after = collisions_of(rows);
    RC_ASSERT(after.histogram == before.histogram);
    RC_ASSERT(after.max_multiplicity == before.max_multiplicity);
    RC_ASSERT(after.rows_touched == before.rows_touched);
    RC_ASSERT(after.hottest_rows == before.hottest_rows);
  }));
}

TEST_CASE("a stream that is run twice doubles every multiplicity") {
  REQUIRE(natten_sim::test::holds("stream twice", 500, [] {
    std::vector<std::int64_t> rows = random_rows();
    const CollisionCount once = collisions_of(rows);
    rows.insert(rows.end(), rows.begin(), rows.end());
    const CollisionCount twice = collisions_of(rows);
    RC_ASSERT(twice.rows_touched == once.rows_touched);
    RC_ASSERT(twice.histogram.size() == once.histogram.size());
    for (std::size_t i = 0; i < once.histogram.size(); ++i) {
      RC_ASSERT(twice.histogram[i].multiplicity == 2 * once.histogram[i].multiplicity);
      RC_ASSERT(twice.histogram[i].rows == once.histogram[i].rows);
    }
  }));
}

TEST_CASE("twice the updates make twice the sectors, and never less time") {
  // Of a device whose contention has a closed form of its own, and of one that was swept.
  for (const char* device : {"a100-40gb", "h200"}) {
    const ContentionProfile profile = contention_profile(builtin_catalog().device(device));
    REQUIRE(natten_sim::test::holds(std::string("updates doubled, ") + device, 500, [&] {
      std::vector<std::int64_t> rows = random_rows();
      const std::int64_t width = 32 * pick(1, 8);
      const ContentionPrediction once = predict_contention(load_of(collisions_of(rows), width), profile);
      rows.insert(rows.end(), rows.begin(), rows.end());
      const ContentionPrediction twice = predict_contention(load_of(collisions_of(rows), width), profile);
      RC_ASSERT(twice.red_sectors == 2 * once.red_sectors);
      RC_ASSERT(twice.time_ns >= once.time_ns);
    }));
  }
}

}  // namespace metamorphic_schedule_test
