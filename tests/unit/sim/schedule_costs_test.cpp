// Which costs a schedule takes, and when their sums do not depend on the order of events.
#include "schedules/schedule_costs.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "catch.hpp"
#include "refused.hpp"
#include "schedules/event_queue.hpp"

namespace schedule_costs_test {

using namespace natten_sim;

struct NamedCost {
  std::string name;
  void (*set)(BackwardCosts&, double);
};

const std::vector<NamedCost> kCosts = {
    {"compute", [](BackwardCosts& c, double value) { c.compute = value; }},
    {"compute_partial", [](BackwardCosts& c, double value) { c.compute_partial = value; }},
    {"reduce", [](BackwardCosts& c, double value) { c.reduce = value; }},
    {"tax", [](BackwardCosts& c, double value) { c.per_tile_tax = value; }},
    {"handoff", [](BackwardCosts& c, double value) { c.handoff = value; }},
    {"handoff_far", [](BackwardCosts& c, double value) { c.handoff_far = value; }},
    {"reduce_kv", [](BackwardCosts& c, double value) { c.reduce_kv = value; }},
    {"prologue", [](BackwardCosts& c, double value) { c.prologue = value; }},
    {"epilogue", [](BackwardCosts& c, double value) { c.epilogue = value; }},
    {"early_exit", [](BackwardCosts& c, double value) { c.early_exit = value; }}};

BackwardProblem one_task() {
  BackwardProblem problem;
  problem.mask = {1, 1, std::vector<TileWork>(1, TileWork::kFull)};
  return problem;
}

constexpr BackwardCosts kFree{.compute = 0, .compute_partial = 0, .reduce = 0};

std::string refused(const BackwardCosts& costs) {
  return test::refused([&] { require_valid_costs(one_task(), costs); });
}

TEST_CASE("each cost is finite, not negative, and counts among those whose sum stays below 2^53") {
  for (const NamedCost& cost : kCosts) {
    INFO(cost.name);
    BackwardCosts costs = kFree;
    for (const double value : {-1e-300, std::numeric_limits<double>::infinity(), std::nan("")}) {
      cost.set(costs, value);
      CHECK(refused(costs) == cost.name);
    }
    // One task, and as much again: two of 2^52 are too much.
    cost.set(costs, std::ldexp(1, 52));
    CHECK(refused(costs) == "costs");
    cost.set(costs, std::ldexp(1, 52) - 1);
    CHECK(refused(costs).empty());
  }
  BackwardCosts writer;
  writer.writer_stages = 64;
  CHECK(refused(writer).empty());
  writer.writer_stages = 65;
  CHECK(refused(writer) == "writer_stages");
  writer.writer_stages = -1;
  CHECK(refused(writer) == "writer_stages");
}

TEST_CASE(
    "the most time is that of all cells and one more, one after the other, at the dearest of all costs") {
  BackwardProblem problem = one_task();
  problem.mask = {2, 3, std::vector<TileWork>(6, TileWork::kFull)};
  problem.heads = 5;
  BackwardCosts costs{.compute = 1, .compute_partial = 2, .reduce = 4, .per_tile_tax = 8, .handoff = 16};
  costs.reduce_kv = 32;
  costs.prologue = 64;
  costs.epilogue = 128;
  costs.early_exit = 256;
  CHECK(most_time(problem, costs) == (5 * 6 + 1) * (2 + 4 + 8 + 16 + 32 + 64 + 128 + 256));
  costs.compute = 3;
  costs.handoff_far = 20;
  CHECK(most_time(problem, costs) == (5 * 6 + 1) * (3 + 4 + 8 + 20 + 32 + 64 + 128 + 256));
}

TEST_CASE("a handoff is nothing to oneself, near to workers of the same parity, far to others") {
  BackwardCosts costs;
  costs.handoff = 3;
  CHECK(handoff(costs, 4, 4) == 0);
  CHECK(handoff(costs, 4, 5) == 3);
  costs.handoff_far = 7;
  CHECK(handoff(costs, 2, 6) == 3);
  CHECK(handoff(costs, 2, 5) == 7);
  CHECK(handoff(costs, 5, 2) == 7);
  CHECK(handoff(costs, 5, 5) == 0);
}

TEST_CASE("sums are exact when all costs are whole") {
  CHECK(sums_are_exact(kFree));
  for (const NamedCost& cost : kCosts) {
    INFO(cost.name);
    BackwardCosts costs = kFree;
    cost.set(costs, 5);
    CHECK(sums_are_exact(costs));
    cost.set(costs, 4.5);
    CHECK_FALSE(sums_are_exact(costs));
  }
}

TEST_CASE("a reduction takes time where it is more than a double leaves off beside all tasks") {
  BackwardProblem problem = one_task();
  const auto take_time = [&](const BackwardCosts& costs, bool ordered = true) {
    return reductions_take_time(problem, costs, ordered);
  };
  BackwardCosts costs = kFree;
  CHECK_FALSE(take_time(costs));
  costs.per_tile_tax = 1;
  CHECK(take_time(costs));
  CHECK_FALSE(take_time(costs, false));  // which has no tax
  costs = kFree;
  costs.reduce = 1;
  CHECK(take_time(costs, false));
  // Two tasks of 2^20 are 2^21 of time: 2^-31 is what a double leaves off.
  costs.compute = std::ldexp(1, 20) - 1;
  costs.reduce = std::ldexp(1, -31);
  costs.prologue = 1 - costs.reduce;
  CHECK_FALSE(take_time(costs));
  costs.reduce *= 2;
  costs.prologue = 1 - costs.reduce;
  CHECK(take_time(costs));
  // Of dK/dV too, where heads share it.
  problem.heads = problem.heads_per_kv_head = 2;
  CHECK_FALSE(take_time(costs));
  costs.reduce_kv = 1;
  CHECK(take_time(costs));
}

TEST_CASE(
    "by time the earliest event comes first, ties by worker, by need the last, and free workers when none "
    "goes on") {
  std::vector<int> started;
  const auto start = [&](const ScheduleEvent& end) { started.push_back(end.worker); };
  EventQueue by_time(EventOrder::kByTime);
  for (const ScheduleEvent& event :
       {ScheduleEvent{5, 1}, ScheduleEvent{3, 7}, ScheduleEvent{3, 2}, ScheduleEvent{9, 0}})
    by_time.add(event);
  std::vector<int> order;
  while (const auto event = by_time.next(start)) order.push_back(event->worker);
  CHECK(order == std::vector<int>{2, 7, 1, 0});
  CHECK(started.empty());
  CHECK_FALSE(by_time.by_need());

  EventQueue by_need(EventOrder::kByNeed);
  CHECK(by_need.by_need());
  by_need.add({5, 1});
  by_need.add({3, 2});
  by_need.add_end_of_chain({4, 9});
  by_need.add_end_of_chain({2, 8});
  order.clear();
  while (const auto event = by_need.next(start)) {
    order.push_back(event->worker);
    CHECK(started.empty());  // what goes on does
    if (order.size() == 2) break;
  }
  CHECK(order == std::vector<int>{2, 1});
  CHECK_FALSE(by_need.next(start).has_value());
  CHECK(started == std::vector<int>{8, 9});
}

}  // namespace schedule_costs_test
