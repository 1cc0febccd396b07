// Which tables the backward launches with chains drawn in time.
#include <cmath>
#include <string>

#include <natten_sim/kernels/attention_backward/draws.hpp>
#include <natten_sim/kernels/attention_backward/problem.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/search/schedules/schedule_plan.hpp>

#include "catch.hpp"

namespace attention_backward_draws_test {

using namespace natten_sim;
using namespace natten_sim::kernels::attention_backward;

struct Table {
  BackwardProblem tiles;
  BackwardSchedule schedule;
};

/// Head dimension 128: tiles of 64 queries and 128 keys; 64: of 128 and 128.
Table table_of(const std::string& algorithm, const Band& mask, std::int64_t tokens, std::int64_t heads,
               std::int32_t workers = 132, std::int64_t head_dim = 128) {
  Problem problem;
  problem.head_dim = head_dim;
  problem.heads = problem.heads_kv = heads;
  problem.q_tokens = problem.kv_tokens = tokens;
  problem.mask = mask;
  lay_out_heads_first(problem);
  ScheduleRequest request;
  request.problem = scheduling_problem(problem, best_kernel(problem), workers);
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2, .handoff = 1, .writer_stages = 2};
  request.effort = 0;
  const ScheduleAlgorithm& chosen = schedule_algorithm(algorithm);
  if (chosen.searches) request.dispatch = Dispatch::kStatic;
  const SchedulePlan plan = plan_backward(chosen, request);
  return {plan.phases.front().problem, plan.phases.front().schedule};
}

Draws draws_of(const std::string& algorithm, const Band& mask, std::int64_t tokens, std::int64_t heads) {
  const Table table = table_of(algorithm, mask, tokens, heads);
  return best_draws(table.tiles, table.schedule);
}

const Band kCausal{std::nullopt, 0};

TEST_CASE("a table's time is that of an event simulation with the same times of a task") {
  // As bench/attention_backward/early_draws.py prints them, which runs event by event: ascending, causal, and
  // what the kernel took when it drew early: more than half of that is its draws.
  struct Row {
    std::int64_t tokens, heads;
    std::int32_t workers;
    double in_time, recorded;
  };
  for (const Row& row : {Row{2048, 4, 32, 176, 259}, Row{1024, 256, 132, 690, 1873},
                         Row{2048, 128, 132, 1268, 5335}, Row{4096, 64, 132, 2339, 10628}}) {
    INFO(row.tokens << " tokens, " << row.heads << " heads, " << row.workers << " workers");
    const Table table = table_of("ascending", kCausal, row.tokens, row.heads, row.workers);
    CHECK(std::abs(simulated_us(table.tiles, table.schedule, Draws::kInTime) / row.in_time - 1) < 0.005);
    const double early = simulated_us(table.tiles, table.schedule, Draws::kEarly);
    CHECK(early > 1.1 * row.in_time);
    CHECK(early < row.recorded);
  }
}

TEST_CASE("one chain after the other takes the sum of its tasks, whatever the rule of drawing") {
  // One worker, two chains of four tasks: nobody else takes turns. 4 * 2.0, a look 0.42, the next chain 5.5
  // after the last turn, 4 * 2.0, a look and the last addition 1.3.
  const Table table = table_of("ascending", Band{}, 256, 1, 1);
  REQUIRE(table.tiles.mask.kv_tiles == 2);
  for (const Draws draws : {Draws::kEarly, Draws::kInTime})
    CHECK(std::abs(simulated_us(table.tiles, table.schedule, draws) -
                   (4 * 2.0 + 0.42 + 5.5 + 4 * 2.0 + 0.42 + 1.3)) < 1e-9);
}

TEST_CASE("chains are drawn in time where they stand in line for turns, and early in every other table") {
  const auto early = [](const char* algorithm, const Band& mask, std::int64_t tokens, std::int64_t heads) {
    INFO(algorithm << ", " << tokens << " tokens");
    CHECK(draws_of(algorithm, mask, tokens, heads) == Draws::kEarly);
  };
  for (const std::int64_t tokens : {1024, 2048, 4096}) {
    const std::int64_t heads = 16 * 16384 / tokens;
    CHECK(draws_of("ascending", kCausal, tokens, heads) == Draws::kInTime);
    early("spt", kCausal, tokens, heads);
    early("spt", Band{}, tokens, heads);
    // Static tables draw nothing.
    for (const char* algorithm : {"shift", "wave-shift", "symmetric-shift"})
      early(algorithm, kCausal, tokens, heads);
    early("shift", Band{}, tokens, heads);
    early("unordered", kCausal, tokens, heads);
  }
  early("best", kCausal, 1024, 32);
  CHECK(draws_of("descending", kCausal, 2048, 128) == Draws::kInTime);
  CHECK(draws_of("outside-in", kCausal, 1024, 256) == Draws::kInTime);
  // Descending chains of 16,384 tokens wait, but not for chains that were drawn early.
  early("descending", kCausal, 16384, 16);
}

TEST_CASE("chains of four tasks are drawn early, those of eight in time") {
  for (const char* algorithm : {"ascending", "descending"}) {
    const Table four = table_of(algorithm, kCausal, 512, 1024, 132, 64);
    REQUIRE(four.tiles.mask.q_tiles == 4);
    CHECK(best_draws(four.tiles, four.schedule) == Draws::kEarly);
    const Table eight = table_of(algorithm, kCausal, 1024, 512, 132, 64);
    REQUIRE(eight.tiles.mask.q_tiles == 8);
    CHECK(best_draws(eight.tiles, eight.schedule) == Draws::kInTime);
  }
}

}  // namespace attention_backward_draws_test
