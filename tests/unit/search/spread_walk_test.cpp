// Shift with spread starts: how far apart chains of a head begin, and what that saves.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"
#include "random_masks.hpp"
#include "schedule_plans.hpp"

namespace spread_walk_test {

using namespace natten_sim;
using test::makespan_of;

ScheduleRequest full_request(std::int32_t tiles, std::int32_t heads, std::int32_t workers) {
  ScheduleRequest request;
  request.problem.mask = {
      tiles, tiles,
      std::vector<TileWork>(static_cast<std::size_t>(tiles) * static_cast<std::size_t>(tiles),
                            TileWork::kFull)};
  request.problem.heads = heads;
  request.problem.workers = workers;
  request.costs = {.compute = 4, .compute_partial = 4, .reduce = 2, .handoff = 3, .writer_stages = 2};
  request.walk = TileWalk::kSpread;
  return request;
}

BackwardSchedule shift_of(const ScheduleRequest& request) {
  return plan_backward(schedule_algorithm("shift"), request).phases.front().schedule;
}

TEST_CASE("chains of a head at work begin as far apart as a dQ tile takes to be handed on") {
  // 16 tiles, 16 workers, 4 to compute and 7 to hand over: two tasks. Two heads at a time have eight chains
  // each.
  const BackwardSchedule schedule = shift_of(full_request(16, 4, 16));
  CHECK(schedule.dispatch == Dispatch::kStatic);
  REQUIRE(schedule.chains.size() == 64);
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    const ScheduledChain& chain = schedule.chains[i];
    CHECK(chain.head / 2 == static_cast<std::int32_t>(i / 32));  // sections of two heads
    CHECK(chain.q_order.front() == 2 * chain.kv_tile % 16);
    CHECK(std::set<std::int32_t>(chain.q_order.begin(), chain.q_order.end()).size() == 16);
    for (std::size_t t = 1; t < 16; ++t) CHECK(chain.q_order[t] == (chain.q_order[t - 1] + 1) % 16);
  }
}

TEST_CASE("spread starts end the waits of a shift whose tiles are handed over slowly") {
  // A shift's chains begin a task of 4 apart and hand over in 5: a chain waits behind the one before.
  ScheduleRequest request = full_request(16, 4, 16);
  const double spread = makespan_of(plan_backward(schedule_algorithm("shift"), request));
  CHECK(spread == 4 * (16 * 4 + 2));  // four chains a worker, the last sum behind each
  request.walk = TileWalk::kInOrder;
  CHECK(makespan_of(plan_backward(schedule_algorithm("shift"), request)) > spread);
}

TEST_CASE("a tile that is handed on just when its next owner comes needs no more heads") {
  ScheduleRequest request = full_request(16, 4, 16);
  request.costs.compute = 6, request.costs.reduce = 4,
  request.costs.handoff = 0;  // 6 is half as long again as 4
  for (const ScheduledChain& chain : shift_of(request).chains) CHECK(chain.q_order.front() == chain.kv_tile);
  request.costs.handoff_far = 1;
  for (const ScheduledChain& chain : shift_of(request).chains)
    CHECK(chain.q_order.front() == 2 * chain.kv_tile % 16);
}

TEST_CASE("the launch order of a request says how many heads share the workers") {
  ScheduleRequest request = full_request(16, 4, 16);
  for (const auto& [heads, apart] : std::map<std::int32_t, std::int32_t>{{1, 1}, {2, 2}, {4, 4}}) {
    request.launch = HeadSections{heads};
    CAPTURE(heads);
    for (const ScheduledChain& chain : shift_of(request).chains)
      CHECK(chain.q_order.front() == apart * chain.kv_tile % 16);
  }
}

TEST_CASE("a long head's chains begin no further apart than a hand-over takes, to keep its dQ in the L2") {
  // 64 tiles and 8 workers: spread over all tiles they would begin 8 apart; 4 to compute and 7 and a half to hand over
  // are two.
  for (const ScheduledChain& chain : shift_of(full_request(64, 2, 8)).chains)
    CHECK(chain.q_order.front() == 2 * (chain.kv_tile % 8) % 64);
}

ScheduleRequest causal_request(std::int32_t tiles, std::int32_t heads, std::int32_t workers, std::int32_t ratio = 1) {
  ScheduleRequest request = full_request(tiles, heads, workers);
  const std::int64_t tokens = std::int64_t{64} * ratio * tiles;
  request.problem.mask = window_mask({tokens, tokens, 64, 64 * ratio}, {std::nullopt, 0});
  return request;
}

BackwardSchedule pairs_of(const ScheduleRequest& request) {
  return plan_backward(schedule_algorithm("symmetric-shift"), request).phases.front().schedule;
}

TEST_CASE("pairs of a head that run at a time lie as many rows apart as a hand-over takes tasks") {
  // 32 KV tiles have 16 pairs; two rows apart, 16 workers run every second pair of two heads, then the others.
  const BackwardSchedule schedule = pairs_of(causal_request(32, 4, 16));
  REQUIRE(schedule.chains.size() == 4 * 32);
  for (std::size_t pair = 0; pair < 64; ++pair) {
    const ScheduledChain &first = schedule.chains[2 * pair], &second = schedule.chains[2 * pair + 1];
    const auto number = static_cast<std::int32_t>(pair);
    CAPTURE(pair);
    CHECK(first.head == number / 32 * 2 + number / 8 % 2);
    CHECK(first.kv_tile == number % 8 * 2 + number / 16 % 2);
    CHECK(second.head == first.head);
    CHECK(second.kv_tile == 31 - first.kv_tile);
    CHECK(schedule.worker[2 * pair] == number % 16);
    CHECK(schedule.worker[2 * pair + 1] == number % 16);
  }
  // Rows of two Q tiles are two tasks: neighbours may run at a time.
  CHECK(pairs_of(causal_request(32, 4, 16, 2)).chains[2].kv_tile == 1);
}

TEST_CASE("the last two rounds of pairs go chain by chain, the longest first, so that workers end together") {
  // 3 heads of 16 KV tiles: 24 pairs of 17 rows for 16 workers take two rounds, 34 tasks, where 25.5 are due.
  ScheduleRequest request = causal_request(16, 3, 16);
  request.costs = {.compute = 1, .compute_partial = 1, .reduce = 0, .writer_stages = 2};
  std::vector<std::size_t> loads(16);
  const BackwardSchedule schedule = pairs_of(request);
  for (std::size_t i = 0; i < schedule.chains.size(); ++i)
    loads[static_cast<std::size_t>(schedule.worker[i])] += schedule.chains[i].q_order.size();
  CHECK(3 * *std::max_element(loads.begin(), loads.end()) <= 4 * 26);  // Graham's bound for longest first
  CHECK(makespan_of(plan_backward(schedule_algorithm("symmetric-shift"), request)) < 34);
  request.walk = TileWalk::kInOrder;
  CHECK(makespan_of(plan_backward(schedule_algorithm("symmetric-shift"), request)) == 34);
}

TEST_CASE("pairs of at most eight rows of two Q tiles stay together, in rounds to the end") {
  for (const std::int32_t tiles : {2, 8, 9}) {
    const ScheduleRequest request = causal_request(tiles, 5, 3, 2);
    ScheduleRequest in_order = request;
    in_order.walk = TileWalk::kInOrder;
    CAPTURE(tiles);
    CHECK((pairs_of(request).worker == pairs_of(in_order).worker) == (tiles <= 8));
    CHECK(pairs_of(causal_request(tiles, 5, 3)).worker.size() == static_cast<std::size_t>(5 * tiles));
  }
}

TEST_CASE("a spread symmetric shift has every chain once and runs to its end, also with a last KV tile half as long") {
  RandomSequence random(48);
  for (int trial = 0; trial < 200; ++trial) {
    const auto ratio = static_cast<std::int32_t>(1 + random.below(2)), tiles = static_cast<std::int32_t>(1 + random.below(40));
    ScheduleRequest request = causal_request(tiles, static_cast<std::int32_t>(1 + random.below(5)),
                                             static_cast<std::int32_t>(1 + random.below(20)), ratio);
    if (ratio == 2 && random.below(2) == 1) {
      const std::int64_t tokens = std::int64_t{128} * tiles - 64;
      request.problem.mask = window_mask({tokens, tokens, 64, 128}, {std::nullopt, 0});
      REQUIRE(request.problem.mask.q_tiles == 2 * tiles - 1);
    }
    request.costs.reduce = static_cast<double>(random.below(7));
    CAPTURE(trial, tiles, ratio);
    const SchedulePlan plan = plan_backward(schedule_algorithm("symmetric-shift"), request);
    require_valid(request.problem, plan.phases.front().schedule);
    CHECK(makespan_of(plan) >= 0);
  }
}

TEST_CASE("a spread shift of any mask runs to its end") {
  RandomSequence random(47);
  int ran = 0;
  for (int trial = 0; trial < 200; ++trial) {
    ScheduleRequest request;
    request.problem.mask = test::random_block_mask(random, 6);
    request.problem.heads = static_cast<std::int32_t>(1 + random.below(5));
    request.problem.workers = static_cast<std::int32_t>(1 + random.below(9));
    request.costs.compute = static_cast<double>(1 + random.below(5));
    request.costs.compute_partial = request.costs.compute;
    request.costs.reduce = static_cast<double>(random.below(7));
    request.costs.handoff = static_cast<double>(random.below(4));
    request.costs.writer_stages = static_cast<std::int32_t>(random.below(3));
    request.walk = TileWalk::kSpread;
    const SchedulePlan plan = plan_backward(schedule_algorithm("shift"), request);
    CAPTURE(trial);
    require_valid(request.problem, plan.phases.front().schedule);
    CHECK(makespan_of(plan) >= 0);
    ++ran;
    // Other algorithms have no spread starts.
    ScheduleRequest in_order = request;
    in_order.walk = TileWalk::kInOrder;
    CHECK(plan_backward(schedule_algorithm("ascending"), request)
              .phases.front()
              .schedule.chains.front()
              .q_order == plan_backward(schedule_algorithm("ascending"), in_order)
                              .phases.front()
                              .schedule.chains.front()
                              .q_order);
  }
  CHECK(ran == 200);
}

}  // namespace spread_walk_test
