// FlashAttention-2's split of dQ, and chains that take partly masked tiles first, by hand.
#include <vector>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>

#include "catch.hpp"
#include "schedule_plans.hpp"

namespace fa2_split_test {

using namespace natten_sim;
using test::makespan_of;

/// A full mask; one head has q x kv tiles.
ScheduleRequest request_of(std::int32_t q, std::int32_t kv, std::int32_t heads, std::int32_t workers,
                           double c, double r) {
  ScheduleRequest request;
  request.problem.mask = window_mask({2 * q, 2 * kv, 2, 2}, {});
  request.problem.heads = heads;
  request.problem.workers = workers;
  request.costs = {.compute = c, .compute_partial = c, .reduce = r};
  return request;
}

TEST_CASE("in fa2-split every head of a group has dK and dV of its own, and a third kernel sums them") {
  // One tile, six heads in groups of two, three workers: six CTAs of 1 + 3, two a worker; six sums of one
  // buffer, two a worker; three sums of two heads' dK/dV, one a worker.
  ScheduleRequest request = request_of(1, 1, 6, 3, 1, 3);
  request.problem.heads_per_kv_head = 2;
  request.costs.reduce_kv = 2;
  const SchedulePlan plan = plan_backward(schedule_algorithm("fa2-split"), request);
  CHECK(plan.dispatch == Dispatch::kDynamic);
  CHECK(plan.phases.size() == 3);
  CHECK(makespan_of(plan) == 2 * 4 + 2 * 3 + 2 * 2);
}

TEST_CASE("fa2-split gives a CTA to the worker that is really free first, with a writer too") {
  // KV tile 0: a full tile, then a partial one; its second result waits for the writer: 10 + 6 + 6 = 22,
  // although its work alone would allow 10 + 1 + 6. KV tile 1: partial, then full: 1 + 10 + 6 = 17. Two heads
  // on three workers are two CTAs a head; the fourth goes behind the one of 17. Then six sums of two buffers.
  ScheduleRequest request = request_of(2, 2, 2, 3, 10, 6);
  request.problem.mask.work = {TileWork::kFull, TileWork::kPartial, TileWork::kPartial, TileWork::kFull};
  request.costs.compute_partial = 1;
  request.costs.writer_stages = 1;
  CHECK(makespan_of(plan_backward(schedule_algorithm("fa2-split"), request)) == 2 * 17 + 2 * 2 * 6);
}

std::int32_t worker_of_last_cta(const ScheduleRequest& request) {
  return plan_backward(schedule_algorithm("fa2-split"), request).phases.front().schedule.worker.back();
}

TEST_CASE("with one buffer a chain computes again when its writer is done") {
  // KV tile 0: tasks of 10, 4 and 10, sums of 5. The second result waits for the buffer until 15, so the
  // third is there at 25, and summed at 30. KV tile 1: 4, 10 and 10, no wait, summed at 29. Two heads on
  // three workers are two CTAs a head; the fourth goes behind the second.
  ScheduleRequest request = request_of(3, 2, 2, 3, 10, 5);
  request.problem.mask.work = {TileWork::kFull,    TileWork::kPartial,  //
                               TileWork::kPartial, TileWork::kFull,     //
                               TileWork::kFull,    TileWork::kFull};
  request.costs.compute_partial = 4;
  request.costs.writer_stages = 1;
  CHECK(worker_of_last_cta(request) == 1);
}

TEST_CASE("with a writer an epilogue runs beside the last sum") {
  // KV tiles 0 and 2, one CTA: each 10, and sum and epilogue of 5 at once, 30. KV tile 1: 10, 10 and 6, of
  // which the last waits until 25: 31 with the sum. The fourth CTA goes behind the first.
  ScheduleRequest request = request_of(3, 3, 2, 3, 10, 5);
  request.problem.mask.work = {TileWork::kFull, TileWork::kFull,    TileWork::kFull,  //
                               TileWork::kNone, TileWork::kFull,    TileWork::kNone,  //
                               TileWork::kNone, TileWork::kPartial, TileWork::kNone};
  request.costs.compute_partial = 6;
  request.costs.epilogue = 5;
  request.costs.writer_stages = 1;
  CHECK(worker_of_last_cta(request) == 0);
}

TEST_CASE("a KV tile without tasks takes no time in fa2-split") {
  ScheduleRequest request = request_of(1, 2, 1, 1, 7, 2);
  request.problem.mask.work = {TileWork::kFull, TileWork::kNone};
  for (const double early_exit : {0.0, 3.0}) {
    request.costs.early_exit = early_exit;
    CHECK(makespan_of(plan_backward(schedule_algorithm("fa2-split"), request)) == 7 + 2 + 2);
  }
}

TEST_CASE("fa2-split sums a buffer of every CTA, of those without a KV tile too") {
  // One KV tile, one Q tile and one head on four workers: four CTAs, one of which works; four buffers.
  CHECK(makespan_of(plan_backward(schedule_algorithm("fa2-split"), request_of(1, 1, 1, 4, 7, 2))) ==
        9 + 4 * 2);
}

TEST_CASE("a chain that walks partial tiles first takes them ascending, then the full ones") {
  ScheduleRequest request = request_of(4, 1, 1, 1, 1, 1);
  request.problem.mask.work = {TileWork::kFull, TileWork::kPartial, TileWork::kFull, TileWork::kPartial};
  request.walk = TileWalk::kPartialFirst;
  const auto order = [&](const char* name) {
    return plan_backward(schedule_algorithm(name), request).phases.front().schedule.chains.front().q_order;
  };
  CHECK(order("ascending") == std::vector<std::int32_t>{1, 3, 0, 2});
  CHECK(order("spt") == std::vector<std::int32_t>{1, 3, 0, 2});
  CHECK(order("descending") == std::vector<std::int32_t>{2, 0, 3, 1});
  for (const char* shift : {"shift", "wave-shift"})  // have an order of their own
    CHECK(order(shift) == std::vector<std::int32_t>{0, 1, 2, 3});
  request.walk = TileWalk::kInOrder;
  CHECK(order("ascending") == std::vector<std::int32_t>{0, 1, 2, 3});
}

TEST_CASE("partial tiles first makes an ascending order of a sliding window wait for whole chains") {
  // KV tile j attends to Q tiles j to j + 3, of which the first and the last are partial. Partial first, a
  // chain comes to Q tile j + 3 second, where KV tile j + 1, .. must follow it and j - 1, .. come before.
  ScheduleRequest request = request_of(16, 16, 1, 16, 7, 2);
  request.problem.mask = window_mask({32, 32, 2, 2}, {std::int64_t{6}, 0});
  const auto makespan = [&](TileWalk walk) {
    request.walk = walk;
    return makespan_of(plan_backward(schedule_algorithm("ascending"), request));
  };
  CHECK(makespan(TileWalk::kPartialFirst) > makespan(TileWalk::kInOrder));
}

TEST_CASE("fa2-split counts an epilogue a KV tile when it looks for the worker that is free first") {
  // Three KV tiles with 1, 3 and 1 tasks of 1, and an epilogue of 2 behind each; two CTAs a head: KV tiles 0
  // and 2 take 3 + 3, KV tile 1 takes 5. The fourth CTA goes behind the second.
  ScheduleRequest request = request_of(3, 3, 2, 3, 1, 0);
  request.problem.mask.work = {TileWork::kFull, TileWork::kFull, TileWork::kFull,  //
                               TileWork::kNone, TileWork::kFull, TileWork::kNone,  //
                               TileWork::kNone, TileWork::kFull, TileWork::kNone};
  request.costs.epilogue = 2;
  const BackwardSchedule schedule =
      plan_backward(schedule_algorithm("fa2-split"), request).phases.front().schedule;
  std::vector<std::int32_t> kv_tiles;
  for (const ScheduledChain& chain : schedule.chains) kv_tiles.push_back(chain.kv_tile);
  CHECK(kv_tiles == std::vector<std::int32_t>{0, 2, 1, 0, 2, 1});
  CHECK(schedule.worker == std::vector<std::int32_t>{0, 0, 1, 2, 2, 1});
}

TEST_CASE("fa2-split's sum is a launch of its own, dispatched as a grid whatever the first kernel is") {
  ScheduleRequest request = request_of(2, 2, 2, 3, 1, 1);
  for (const Dispatch dispatch : {Dispatch::kStatic, Dispatch::kDynamic}) {
    request.dispatch = dispatch;
    const SchedulePlan plan = plan_backward(schedule_algorithm("fa2-split"), request);
    REQUIRE(plan.phases.size() == 2);
    CHECK(plan.phases[1].schedule.dispatch == Dispatch::kDynamic);
  }
}

TEST_CASE("fa2-split sums up to 2^27 buffers of dQ tiles") {
  const ScheduleAlgorithm& algorithm = schedule_algorithm("fa2-split");
  BackwardProblem problem;
  problem.mask = {1 << 16, 1, std::vector<TileWork>(1 << 16, TileWork::kFull)};
  problem.workers = 1 << 11;  // 2^11 splits of 2^16 tiles
  CHECK_FALSE(algorithm.not_applicable(problem));
  problem.workers += 1;
  CHECK(algorithm.not_applicable(problem));
  problem.workers = 1 << 12;
  problem.heads = 2;  // 2^11 splits of 2^17 tiles
  CHECK(algorithm.not_applicable(problem));
}

}  // namespace fa2_split_test
