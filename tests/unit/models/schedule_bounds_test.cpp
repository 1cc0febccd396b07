// The bounds of schedule_bounds.hpp once more, chain by chain and tile by tile, and monotone orders by
// looking at every pair.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include <natten_sim/models/schedules/depth_monotone.hpp>
#include <natten_sim/models/schedules/launch_monotone.hpp>
#include <natten_sim/models/schedules/schedule_bounds.hpp>

#include "catch.hpp"
#include "random_masks.hpp"
#include "random_values.hpp"
#include "refused.hpp"
#include "random.hpp"

namespace schedule_bounds_test {

using namespace natten_sim;
using test::RandomValues;

BackwardProblem random_problem(RandomSequence& masks, RandomValues& random) {
  BackwardProblem problem;
  problem.mask = test::random_block_mask(masks, 6);
  problem.heads_per_kv_head = static_cast<std::int32_t>(random.whole(1, 3));
  problem.heads = problem.heads_per_kv_head * static_cast<std::int32_t>(random.whole(1, 3));
  problem.workers = static_cast<std::int32_t>(random.whole(1, 8));
  return problem;
}

/// Whole multiples of a unit, of a half among others.
BackwardCosts random_costs(RandomValues& random) {
  const double unit = random.of({1.0, 1.0, 2.0, 3.0, 0.5});
  const auto some = [&](std::int64_t lo, std::int64_t hi) {
    return unit * static_cast<double>(random.whole(lo, hi));
  };
  BackwardCosts costs{.compute = some(0, 9), .compute_partial = some(0, 9), .reduce = some(0, 9)};
  costs.per_tile_tax = some(0, 2);
  costs.handoff = some(0, 9);
  if (random.coin()) costs.handoff_far = some(0, 9);
  costs.reduce_kv = some(0, 5) * 2;
  costs.prologue = some(0, 5);
  costs.epilogue = some(0, 9);
  costs.early_exit = some(0, 3);
  costs.writer_stages = static_cast<std::int32_t>(random.of<std::int64_t>({0, 0, 1, 3}));
  costs.dkv_turns = random.of({DkvTurns::kTogether, DkvTurns::kApart});
  return costs;
}

double compute_of(const BackwardProblem& problem, const BackwardCosts& costs, std::int32_t q,
                  std::int32_t kv) {
  return problem.mask.at(q, kv) == TileWork::kPartial ? costs.compute_partial : costs.compute;
}

/// A chain that never waits: without its reduction of dK/dV, and with it.
struct Lone {
  std::int32_t tasks = 0;
  double dq = 0, all = 0;
};

Lone lone_chain(const BackwardProblem& problem, const BackwardCosts& costs, std::int32_t kv, double reduce) {
  std::vector<double> computes;
  for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q) {
    if (problem.mask.at(q, kv) != TileWork::kNone) computes.push_back(compute_of(problem, costs, q, kv));
  }
  if (computes.empty()) return {0, 0, costs.early_exit};
  const double sum = std::accumulate(computes.begin(), computes.end(), 0.0);
  const double least = *std::min_element(computes.begin(), computes.end());
  const double n = static_cast<double>(computes.size());
  double time = sum + n * reduce + costs.epilogue;
  if (costs.writer_stages >
      0)  // computes, and behind them a reduction or the epilogue; or a compute and reductions
    time = std::max({sum + reduce, sum + costs.epilogue, least + n * reduce});
  const double dq = costs.prologue + time;
  return {static_cast<std::int32_t>(computes.size()), dq,
          problem.heads_per_kv_head > 1 ? dq + costs.reduce_kv : dq};
}

TEST_CASE("every bound is that of its formula, whatever the mask, the costs and the order of reductions") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomSequence masks(seed);
  RandomValues random(seed + 1);
  std::vector<int> binding(7, 0);
  for (int n = 0; n < 4000; ++n) {
    CAPTURE(n);
    const BackwardProblem problem = random_problem(masks, random);
    const BackwardCosts costs = random_costs(random);
    const auto order = random.of({ReductionOrder::kPrescribed, ReductionOrder::kPrescribed,
                                  ReductionOrder::kUnorderedDq, ReductionOrder::kUnordered});
    const bool prescribed = order == ReductionOrder::kPrescribed, serial = costs.writer_stages == 0;
    const double reduce = costs.reduce + (prescribed ? costs.per_tile_tax : 0);
    const double h = costs.handoff_far ? std::min(costs.handoff, *costs.handoff_far) : costs.handoff;
    const double workers = problem.workers;
    const std::int32_t heads = problem.heads, group = problem.heads_per_kv_head;

    std::vector<Lone> lone;
    std::vector<double> times;  // of all chains of all heads
    double least = HUGE_VAL, dkv = 0;
    std::int64_t tasks = 0;
    for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv) {
      lone.push_back(lone_chain(problem, costs, kv, reduce));
      REQUIRE(chain_time(problem, costs, kv, order) == lone.back().all);
      times.insert(times.end(), static_cast<std::size_t>(heads), lone.back().all);
      tasks += heads * lone.back().tasks;
      for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q) {
        if (problem.mask.at(q, kv) != TileWork::kNone)
          least = std::min(least, compute_of(problem, costs, q, kv));
      }
      if (lone.back().tasks > 0 && group > 1) {  // one turn behind the other
        const double turn = costs.dkv_turns == DkvTurns::kApart ? costs.reduce_kv / 2 : costs.reduce_kv;
        dkv = std::max(dkv,
                       lone.back().dq + costs.reduce_kv + (group - 1) * (turn + std::min(h, lone.back().dq)));
      }
    }
    const ScheduleBounds bounds = schedule_bounds(problem, costs, order);
    REQUIRE(std::abs(bounds.work - std::accumulate(times.begin(), times.end(), 0.0) / workers) <=
            1e-9 * bounds.work);
    double some_worker = 0;
    if (serial && tasks > 0)
      some_worker = std::ceil(static_cast<double>(tasks) / workers) * (least + reduce) + costs.prologue +
                    costs.epilogue;
    REQUIRE(bounds.tasks == some_worker);
    std::sort(times.rbegin(), times.rend());
    double chains = 0;
    for (std::size_t k = 0; k * static_cast<std::size_t>(workers) < times.size(); ++k) {
      const auto last =
          times.begin() + static_cast<std::ptrdiff_t>(k * static_cast<std::size_t>(workers) + 1);
      chains = std::max(chains, std::accumulate(last - static_cast<std::ptrdiff_t>(k + 1), last, 0.0));
    }
    REQUIRE(bounds.chains == chains);
    REQUIRE(bounds.dkv_sequence == (order == ReductionOrder::kUnordered ? 0 : dkv));

    double dq = 0, crowding = 0;
    for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q) {
      double least_here = HUGE_VAL;
      int contributions = 0;
      for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv) {
        if (problem.mask.at(q, kv) == TileWork::kNone) continue;
        ++contributions;
        least_here = std::min(least_here, compute_of(problem, costs, q, kv));
        int alike = 0;  // chains of as many tasks
        for (std::int32_t other = 0; other < problem.mask.kv_tiles; ++other)
          alike += problem.mask.at(q, other) != TileWork::kNone &&
                   lone[static_cast<std::size_t>(other)].tasks == lone[static_cast<std::size_t>(kv)].tasks;
        const double length = lone[static_cast<std::size_t>(kv)].tasks, crowd = std::ceil(alike / length);
        crowding = std::max(crowding, costs.prologue + costs.epilogue + length * (least + reduce) +
                                          (crowd - 1) * (reduce + std::min(h, least)));
      }
      if (contributions == 0) continue;
      const double first = costs.prologue + least_here;
      dq = std::max(dq, first + contributions * reduce + (contributions - 1) * std::min(h, first) +
                            (serial ? costs.epilogue : 0));
    }
    REQUIRE(bounds.dq_sequence == (prescribed ? dq : 0));
    REQUIRE(bounds.crowding == (prescribed && serial ? crowding : 0));

    // Multiples of the largest number that all costs in use are multiples of.
    std::vector<double> used = {reduce,         costs.handoff,  costs.handoff_far.value_or(0),
                                costs.prologue, costs.epilogue, costs.early_exit};
    if (group > 1)
      used.push_back(costs.dkv_turns == DkvTurns::kApart ? costs.reduce_kv / 2 : costs.reduce_kv);
    bool full = false, partial = false;
    for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q) {
      for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv) {
        full = full || problem.mask.at(q, kv) == TileWork::kFull;
        partial = partial || problem.mask.at(q, kv) == TileWork::kPartial;
      }
    }
    if (full) used.push_back(costs.compute);
    if (partial) used.push_back(costs.compute_partial);
    std::int64_t grain = 0;
    bool whole = true;
    for (const double cost : used) {
      whole = whole && cost == std::floor(cost);
      grain = std::gcd(grain, static_cast<std::int64_t>(cost));
    }
    REQUIRE(bounds.grain == (whole ? static_cast<double>(grain) : 0));
    if (bounds.grain == 0) REQUIRE(bounds.packing == 0);
    const double all[] = {bounds.work,        bounds.tasks,    bounds.chains,      bounds.packing,
                          bounds.dq_sequence, bounds.crowding, bounds.dkv_sequence};
    const double largest = *std::max_element(std::begin(all), std::end(all));
    REQUIRE(bounds.largest() == largest);
    const auto first = std::find(std::begin(all), std::end(all), largest) - std::begin(all);
    REQUIRE(static_cast<std::ptrdiff_t>(bounds.binding()) == first);
    ++binding[static_cast<std::size_t>(first)];
    REQUIRE(bounds.best() >= largest);
    if (bounds.grain == 0) {
      REQUIRE(bounds.best() == largest);
    } else {
      REQUIRE(bounds.best() < largest + bounds.grain);
      REQUIRE(std::fmod(bounds.best(), bounds.grain) == 0);
    }
  }
  CHECK(std::count(binding.begin(), binding.end(), 0) <= 2);
}

/// Chains in any order on any workers, and any order of reductions.
BackwardSchedule random_schedule(const BackwardProblem& problem, RandomValues& random, bool by_launch) {
  const auto shuffled = [&](auto list) {
    for (std::size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1],
                list[static_cast<std::size_t>(random.whole(0, static_cast<std::int64_t>(i) - 1))]);
    return list;
  };
  BackwardSchedule schedule;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv)
      schedule.chains.push_back({head, kv, shuffled(attended_q_tiles(problem.mask, kv))});
  }
  if (random.coin()) schedule.chains = shuffled(schedule.chains);
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q) {
      std::vector<std::int32_t> order = attended_kv_tiles(problem.mask, q);
      if (by_launch) {
        order.clear();
        for (const ScheduledChain& chain : schedule.chains) {
          const bool attends =
              std::find(chain.q_order.begin(), chain.q_order.end(), q) != chain.q_order.end();
          if (chain.head == head && attends) order.push_back(chain.kv_tile);
        }
      } else {
        order = shuffled(order);
      }
      schedule.dq_order.push_back(order);
    }
  }
  return schedule;
}

TEST_CASE(
    "the first reduction that comes before one of a smaller depth is found, and none where there is none") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomSequence masks(seed);
  RandomValues random(seed + 1);
  int violated = 0, kept = 0;
  for (int n = 0; n < 1500; ++n) {
    CAPTURE(n);
    const BackwardProblem problem = random_problem(masks, random);
    BackwardSchedule schedule = random_schedule(problem, random, random.coin());
    std::vector<std::int32_t> worker;
    for (std::size_t i = 0; i < schedule.chains.size(); ++i)
      worker.push_back(static_cast<std::int32_t>(random.whole(0, problem.workers - 1)));
    if (random.whole(0, 9) == 0) schedule.dq_order.clear();
    // Tasks of its worker before each task.
    const auto depth_of = [&](std::int32_t head, std::int32_t kv, std::int32_t q) {
      std::int32_t mine = -1, depth = 0;
      for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
        if (schedule.chains[i].head == head && schedule.chains[i].kv_tile == kv)
          mine = static_cast<std::int32_t>(i);
      }
      for (std::int32_t i = 0; i <= mine; ++i) {
        if (worker[static_cast<std::size_t>(i)] != worker[static_cast<std::size_t>(mine)]) continue;
        for (const std::int32_t other : schedule.chains[static_cast<std::size_t>(i)].q_order) {
          if (i == mine && other == q) return depth;
          ++depth;
        }
      }
      return depth;
    };
    using Found =
        std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
    std::optional<Found> expected;
    for (std::size_t cell = 0; cell < schedule.dq_order.size() && !expected; ++cell) {
      const auto head = static_cast<std::int32_t>(cell) / problem.mask.q_tiles;
      const auto q = static_cast<std::int32_t>(cell) % problem.mask.q_tiles;
      const std::vector<std::int32_t>& order = schedule.dq_order[cell];
      for (std::size_t i = 0; i + 1 < order.size() && !expected; ++i) {
        const std::int32_t a = depth_of(head, order[i], q), b = depth_of(head, order[i + 1], q);
        if (a >= b) expected = Found{head, q, order[i], a, order[i + 1], b};
      }
    }
    const auto found = find_depth_violation(problem, schedule, worker);
    REQUIRE(found.has_value() == expected.has_value());
    if (found) {
      const auto& [head, q, before, before_depth, after, after_depth] = *found;
      REQUIRE(Found{head, q, before, before_depth, after, after_depth} == *expected);
    }
    (found ? violated : kept) += 1;

    // And launches: of dQ first, then of dK/dV.
    std::vector<std::vector<std::int32_t>> at(
        static_cast<std::size_t>(problem.heads),
        std::vector<std::int32_t>(static_cast<std::size_t>(problem.mask.kv_tiles)));
    for (std::size_t i = 0; i < schedule.chains.size(); ++i)
      at[static_cast<std::size_t>(schedule.chains[i].head)]
        [static_cast<std::size_t>(schedule.chains[i].kv_tile)] = static_cast<std::int32_t>(i);
    using Launch = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
    std::optional<Launch> late;
    for (std::size_t cell = 0; cell < schedule.dq_order.size() && !late; ++cell) {
      const auto head = static_cast<std::int32_t>(cell) / problem.mask.q_tiles;
      const std::vector<std::int32_t>& order = schedule.dq_order[cell];
      const std::vector<std::int32_t>& launched = at[static_cast<std::size_t>(head)];
      for (std::size_t i = 0; i + 1 < order.size() && !late; ++i) {
        if (launched[static_cast<std::size_t>(order[i])] > launched[static_cast<std::size_t>(order[i + 1])])
          late = Launch{head, static_cast<std::int32_t>(cell) % problem.mask.q_tiles, order[i + 1], order[i]};
      }
    }
    if (random.coin()) schedule.dkv_order = DkvOrder::kUnordered;
    for (std::int32_t head = 1; head < problem.heads && !late && schedule.dkv_order == DkvOrder::kByHead;
         ++head) {
      if (head / problem.heads_per_kv_head != (head - 1) / problem.heads_per_kv_head) continue;
      for (std::int32_t kv = 0; kv < problem.mask.kv_tiles && !late; ++kv) {
        if (at[static_cast<std::size_t>(head)][static_cast<std::size_t>(kv)] <
            at[static_cast<std::size_t>(head) - 1][static_cast<std::size_t>(kv)])
          late = Launch{head, -1, kv, kv};
      }
    }
    const auto launch = find_launch_violation(problem, schedule);
    REQUIRE(launch.has_value() == late.has_value());
    if (launch) {
      const auto& [head, q, waits, for_tile] = *launch;
      REQUIRE(Launch{head, q, waits, for_tile} == *late);
    }
  }
  CHECK(violated > 50);
  CHECK(kept > 50);
}

TEST_CASE("depths are asked of a valid schedule and a worker for each of its chains") {
  RandomValues random(3);
  BackwardProblem problem;
  problem.mask = {2, 2, std::vector<TileWork>(4, TileWork::kFull)};
  problem.workers = 2;
  const BackwardSchedule schedule = random_schedule(problem, random, true);
  const auto refused = [&](const BackwardSchedule& of, std::vector<std::int32_t> worker) {
    return test::refused([&] { (void)find_depth_violation(problem, of, worker); });
  };
  CHECK(refused(schedule, {0, 1}).empty());
  CHECK(refused(schedule, {0}) == "worker");
  CHECK(refused(schedule, {0, 2}) == "worker");
  CHECK(refused(schedule, {0, -1}) == "worker");
  BackwardSchedule short_of_one = schedule;
  short_of_one.chains.pop_back();
  CHECK_FALSE(refused(short_of_one, {0}).empty());
  CHECK_FALSE(test::refused([&] { (void)find_launch_violation(problem, short_of_one); }).empty());
}

TEST_CASE("a problem without heads has no bounds") {
  BackwardProblem problem;
  problem.mask = {1, 1, std::vector<TileWork>(1, TileWork::kFull)};
  problem.heads = 0;
  CHECK_FALSE(test::refused([&] { (void)schedule_bounds(problem, {}); }).empty());
}

}  // namespace schedule_bounds_test
