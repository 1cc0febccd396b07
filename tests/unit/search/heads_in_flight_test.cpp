// Heads at work at a time: counted by hand and by brute force, and kept small by the search.
#include <set>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace heads_in_flight_test {

using namespace natten_sim;

ScheduleRequest causal_request(std::int32_t tiles, std::int32_t heads, std::int32_t workers) {
  ScheduleRequest request;
  request.problem.mask = window_mask({2 * tiles, 2 * tiles, 2, 2}, {std::nullopt, 0});
  request.problem.heads = heads;
  request.problem.workers = workers;
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2};
  return request;
}

std::int32_t heads_of(const SchedulePlan& plan) { return run_plan(plan).heads_in_flight; }

TEST_CASE("a head is in flight from its first chain's start to its last one's end, exclusive") {
  // One tile a head, two workers: heads 0 and 1, then 2 and 3. Ends and starts coincide, so two at a time.
  ScheduleRequest request = causal_request(1, 4, 2);
  CHECK(heads_of(plan_backward(schedule_algorithm("ascending"), request)) == 2);
  // Two causal tiles a head on two workers. KV tile 0 takes two tasks of 9, KV tile 1 one, and the second
  // task of KV tile 0 waits for nothing: worker 1 is free at 9 and takes head 1 while head 0 goes on.
  request = causal_request(2, 2, 2);
  CHECK(heads_of(plan_backward(schedule_algorithm("descending"), request)) == 2);
  request.problem.workers = 1;
  CHECK(heads_of(plan_backward(schedule_algorithm("spt"), request)) == 1);
}

TEST_CASE("the count of heads in flight equals that at every start of a chain, of random schedules") {
  const std::uint64_t seed = test::stored_seed();
  RandomSequence random(seed);
  INFO("NATTEN_SIM_SEED=" << seed);
  for (int i = 0; i < 60; ++i) {
    ScheduleRequest request = causal_request(1 + static_cast<std::int32_t>(random.below(6)),
                                             1 + static_cast<std::int32_t>(random.below(6)),
                                             1 + static_cast<std::int32_t>(random.below(9)));
    request.costs.handoff = static_cast<double>(random.below(4));
    request.effort = 3;
    request.seed = random.below(1000);
    const SchedulePlan plan = plan_backward(schedule_algorithm(i % 2 == 0 ? "best" : "descending"), request);
    const PlanRun run = run_plan(plan, RecordTimes::kYes);
    // Serial, no prologue: a chain is at work from its first compute to its last reduction.
    struct Span {
      double start, end;
      std::int32_t head;
    };
    std::vector<Span> spans;
    std::size_t task = 0;
    for (const ScheduledChain& chain : plan.phases.front().schedule.chains) {
      if (chain.q_order.empty()) continue;
      const std::size_t last = task + chain.q_order.size() - 1;
      const std::vector<TaskTimes>& tasks = run.runs.front().tasks;
      spans.push_back({tasks[task].compute_start, tasks[last].reduce_end, chain.head});
      task = last + 1;
    }
    std::size_t most = 0;
    for (const Span& at : spans) {
      std::set<std::int32_t> heads;
      for (const Span& other : spans) {
        if (other.start <= at.start && at.start < other.end) heads.insert(other.head);
      }
      most = std::max(most, heads.size());
    }
    CHECK(static_cast<std::size_t>(run.heads_in_flight) == most);
  }
}

TEST_CASE("best keeps heads together when they are limited, and is no later than orders that do") {
  // 16 heads of 8 causal tiles on 12 workers. Without a limit chains of all heads are mixed.
  ScheduleRequest request = causal_request(8, 16, 12);
  request.effort = 20;
  const PlanRun mixed = run_plan(plan_backward(schedule_algorithm("best"), request));
  CHECK(mixed.heads_in_flight > 6);
  for (const std::int32_t limit : {4, 6}) {
    request.heads_in_flight = limit;
    const PlanRun together = run_plan(plan_backward(schedule_algorithm("best"), request));
    CHECK(together.heads_in_flight <= limit);
    CHECK(together.makespan >= mixed.makespan);
    for (const char* name : {"descending", "spt", "symmetric-shift"}) {
      ScheduleRequest named = request;
      const PlanRun run = run_plan(plan_backward(schedule_algorithm(name), named));
      if (run.heads_in_flight <= limit) CHECK(together.makespan <= run.makespan);
    }
  }
  // A limit that nothing keeps: twelve workers need two heads of eight chains. The fewest win.
  request.heads_in_flight = 1;
  const PlanRun fewest = run_plan(plan_backward(schedule_algorithm("best"), request));
  CHECK(fewest.heads_in_flight <= 3);
  request.heads_in_flight = 0;
  CHECK_THROWS_AS(plan_backward(schedule_algorithm("best"), request), InvalidParameter);
}

TEST_CASE("as many heads as fit the L2, and no fewer than keep the workers busy") {
  // Head dim 128, 16 bits: Q, dO and fp32 dQ of a token take 128 * (2 * 2 + 4) = 1,024 bytes.
  BackwardCall call{.q_tokens = 2048, .kv_tokens = 2048, .head_dim = 128, .element_bytes = 2};
  const std::int64_t h200 = 60 << 20;
  CHECK(schedules::heads_within(h200, call, 132, 16) == 30);
  // 16 MiB a head: three fit. 132 workers take two heads of 128 chains, one may end and one begin.
  call.q_tokens = 16384;
  CHECK(schedules::heads_within(h200, call, 132, 128) == 4);
}

}  // namespace heads_in_flight_test
