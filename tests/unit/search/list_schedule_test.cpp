// List schedules against their rule written out: of all workers the one that is free first goes on, with the
// tile whose reduction could start earliest.
#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "catch.hpp"
#include "random_masks.hpp"
#include "schedules/construct.hpp"
#include "schedules/partial_schedule.hpp"

namespace list_schedule_test {

using namespace natten_sim;
using schedules::Assignment;
using schedules::PartialSchedule;
using Lists = std::vector<std::vector<std::int32_t>>;

constexpr std::int32_t kNone = PartialSchedule::kNone;

struct Scenario {
  BackwardProblem problem;
  BackwardCosts costs;
  std::vector<std::int32_t> chains;  // with tasks, in a random order
  std::vector<double> preference;
};

std::vector<std::int32_t> shuffled(std::vector<std::int32_t> values, RandomSequence& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
  return values;
}

Scenario random_scenario(RandomSequence& random) {
  Scenario scenario;
  const auto between = [&](std::size_t lo, std::size_t hi) {
    return static_cast<std::int32_t>(lo + random.below(hi - lo + 1));
  };
  BackwardProblem& problem = scenario.problem;
  problem.mask = test::random_block_mask(random, 5);
  problem.heads = between(1, 3);
  problem.workers = between(1, 5);
  BackwardCosts& costs = scenario.costs;
  costs.compute = between(1, 6), costs.compute_partial = between(1, 6), costs.reduce = between(1, 4);
  costs.per_tile_tax = between(0, 2), costs.handoff = between(0, 3);
  if (between(0, 1) == 0) costs.handoff_far = costs.handoff + between(0, 3);
  costs.prologue = between(0, 2), costs.epilogue = between(0, 2), costs.early_exit = between(0, 1);
  costs.writer_stages = between(0, 2);
  for (std::int32_t chain = 0; chain < problem.heads * problem.mask.kv_tiles; ++chain) {
    if (!attended_q_tiles(problem.mask, chain % problem.mask.kv_tiles).empty())
      scenario.chains.push_back(chain);
  }
  scenario.chains = shuffled(scenario.chains, random);
  if (between(0, 1) == 0) {
    for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q) scenario.preference.push_back(between(0, 3));
  }
  return scenario;
}

/// The tile of the chain that can be reduced first; ties to the dQ tile with most contributions to come, then
/// to the larger preference, then to the smaller tile.
std::int32_t chosen_tile(const Scenario& scenario, const PartialSchedule& partial, std::int32_t worker,
                         std::int32_t chain) {
  std::optional<std::tuple<double, std::int32_t, double, std::int32_t>> best;
  for (const std::int32_t q : attended_q_tiles(scenario.problem.mask, partial.kv_tile_of(chain))) {
    if (partial.reduced(chain, q)) continue;
    const double preference =
        scenario.preference.empty() ? 0 : scenario.preference[static_cast<std::size_t>(q)];
    const std::tuple key(partial.times({worker, chain, q}).start, -partial.dq_left(partial.cell_of(chain, q)),
                         -preference, q);
    if (!best || key < *best) best = key;
  }
  return std::get<3>(*best);
}

BackwardSchedule listed_by_rule(const Scenario& scenario, const Lists& lists) {
  PartialSchedule partial(scenario.problem, scenario.costs);
  std::vector<std::size_t> next(lists.size(), 0);
  std::vector<bool> done(static_cast<std::size_t>(scenario.problem.workers), false);
  while (true) {
    std::int32_t worker = kNone;
    for (std::int32_t each = 0; each < scenario.problem.workers; ++each) {
      if (done[static_cast<std::size_t>(each)]) continue;
      if (worker == kNone || partial.worker(each).free < partial.worker(worker).free) worker = each;
    }
    if (worker == kNone) return partial.schedule();
    std::int32_t chain = partial.worker(worker).chain;
    if (chain == kNone) {
      const std::size_t list = lists.size() == 1 ? 0 : static_cast<std::size_t>(worker);
      if (next[list] == lists[list].size()) {
        done[static_cast<std::size_t>(worker)] = true;
        continue;
      }
      chain = lists[list][next[list]++];
    }
    partial.append({worker, chain, chosen_tile(scenario, partial, worker, chain)});
  }
}

void check_same(const BackwardSchedule& found, const BackwardSchedule& wanted) {
  REQUIRE(found.chains.size() == wanted.chains.size());
  for (std::size_t i = 0; i < found.chains.size(); ++i) {
    CHECK(found.chains[i].head == wanted.chains[i].head);
    CHECK(found.chains[i].kv_tile == wanted.chains[i].kv_tile);
    CHECK(found.chains[i].q_order == wanted.chains[i].q_order);
  }
  CHECK(found.worker == wanted.worker);
  CHECK(found.dq_order == wanted.dq_order);
  CHECK(found.dispatch == wanted.dispatch);
}

TEST_CASE("a list schedule is what its rule says, with one list and with one a worker") {
  RandomSequence random(13);
  for (int trial = 0; trial < 400; ++trial) {
    const Scenario scenario = random_scenario(random);
    INFO("trial " << trial);
    const auto one =
        schedules::list_schedule(scenario.problem, scenario.costs, scenario.chains, scenario.preference);
    REQUIRE(one);
    check_same(*one, listed_by_rule(scenario, {scenario.chains}));
    require_valid(scenario.problem, *one);
    Lists lists(static_cast<std::size_t>(scenario.problem.workers));
    for (const std::int32_t chain : scenario.chains) lists[random.below(lists.size())].push_back(chain);
    const auto own = schedules::list_schedule(scenario.problem, scenario.costs, lists, scenario.preference);
    REQUIRE(own);
    check_same(*own, listed_by_rule(scenario, lists.size() == 1 ? Lists{lists.front()} : lists));
  }
}

/// Of all workers the one whose next reduction could start first, ties to the smaller, goes on.
BackwardSchedule first_come_by_rule(const Scenario& scenario, const Assignment& assignment) {
  PartialSchedule partial(scenario.problem, scenario.costs);
  std::vector<std::size_t> next(assignment.of_worker.size(), 0);
  while (true) {
    std::optional<std::pair<double, PartialSchedule::Step>> first;
    for (std::int32_t worker = 0; worker < scenario.problem.workers; ++worker) {
      const PartialSchedule::Worker& state = partial.worker(worker);
      const auto& chains = assignment.of_worker[static_cast<std::size_t>(worker)];
      const std::size_t at = next[static_cast<std::size_t>(worker)];
      if (state.chain == kNone && at == chains.size()) continue;
      const std::int32_t chain = state.chain == kNone ? chains[at] : state.chain;
      const auto done = static_cast<std::size_t>(state.chain == kNone ? 0 : state.done);
      const PartialSchedule::Step step{worker, chain,
                                       assignment.q_order[static_cast<std::size_t>(chain)][done]};
      const double start = partial.times(step).start;
      if (!first || start < first->first) first = {start, step};
    }
    if (!first) return partial.schedule();
    const PartialSchedule::Step& step = first->second;
    if (partial.worker(step.worker).chain == kNone) ++next[static_cast<std::size_t>(step.worker)];
    partial.append(step);
  }
}

TEST_CASE("first come, first served is what its rule says, and comes back from its own schedule") {
  RandomSequence random(17);
  for (int trial = 0; trial < 400; ++trial) {
    const Scenario scenario = random_scenario(random);
    INFO("trial " << trial);
    Assignment assignment;
    assignment.of_worker.resize(static_cast<std::size_t>(scenario.problem.workers));
    assignment.q_order.resize(
        static_cast<std::size_t>(scenario.problem.heads * scenario.problem.mask.kv_tiles));
    for (const std::int32_t chain : scenario.chains) {
      assignment.of_worker[random.below(assignment.of_worker.size())].push_back(chain);
      assignment.q_order[static_cast<std::size_t>(chain)] =
          shuffled(attended_q_tiles(scenario.problem.mask, chain % scenario.problem.mask.kv_tiles), random);
    }
    const auto found = schedules::first_come_first_served(scenario.problem, scenario.costs, assignment);
    REQUIRE(found);
    check_same(*found, first_come_by_rule(scenario, assignment));
    const ScheduleRun run = run_schedule(scenario.problem, scenario.costs, *found);
    const Assignment again = schedules::assignment_of(scenario.problem, *found, run.worker);
    CHECK(again.of_worker == assignment.of_worker);
    CHECK(again.q_order == assignment.q_order);
  }
}

TEST_CASE("ordered dK/dV and turns that are kept make schedules that run as they were built, or none") {
  RandomSequence random(19);
  int built = 0, none = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Scenario scenario = random_scenario(random);
    scenario.problem.heads_per_kv_head = 2;
    scenario.problem.heads = 2 * static_cast<std::int32_t>(1 + random.below(2));
    scenario.costs.reduce_kv = 2;
    if (random.below(2) == 0) scenario.costs.release = TurnRelease::kAfterNext;
    if (random.below(2) == 0) scenario.costs.dkv_turns = DkvTurns::kApart;
    scenario.chains.clear();
    for (std::int32_t chain = 0; chain < scenario.problem.heads * scenario.problem.mask.kv_tiles; ++chain) {
      if (!attended_q_tiles(scenario.problem.mask, chain % scenario.problem.mask.kv_tiles).empty())
        scenario.chains.push_back(chain);
    }
    // Head by head, each head's turn comes; backwards on one worker, it never does.
    const auto in_order = schedules::list_schedule(scenario.problem, scenario.costs, scenario.chains, {});
    if (scenario.costs.release == TurnRelease::kAtOnce) REQUIRE(in_order);
    if (in_order) {
      ++built;
      require_valid(scenario.problem, *in_order);
      CHECK(std::holds_alternative<ScheduleRun>(
          attempt_schedule(scenario.problem, scenario.costs, *in_order, RecordTimes::kNo)));
    }
    if (scenario.chains.empty()) continue;
    scenario.problem.workers = 1;
    std::vector<std::int32_t> backwards = scenario.chains;
    std::reverse(backwards.begin(), backwards.end());
    CHECK_FALSE(schedules::list_schedule(scenario.problem, scenario.costs, backwards, {}));
    ++none;
  }
  CHECK(built > 200);
  CHECK(none > 200);
}

TEST_CASE("a worker whose last tile is held in the middle of its chain waits, and the others go on") {
  // KV tile 0 attends to Q tiles 0 and 1, KV tile 1 to 1 and 2, KV tile 2 to 0. Worker 0 reduces Q tile 0
  // until 4, worker 1 Q tile 1, of which it keeps the turn until it has that of Q tile 2, at 7. So worker 0
  // ends at 8, and its second chain at 8 + 3 + 1.
  BackwardProblem problem;
  problem.mask = {3, 3, std::vector<TileWork>(9, TileWork::kNone)};
  for (const std::size_t cell : {0, 3, 4, 7, 2}) problem.mask.work[cell] = TileWork::kFull;
  problem.workers = 2;
  BackwardCosts costs{.compute = 3, .compute_partial = 3, .reduce = 1};
  costs.release = TurnRelease::kAfterNext;
  const std::vector<std::vector<std::int32_t>> lists = {{0, 2}, {1}};
  const auto held = schedules::list_schedule(problem, costs, lists, {});
  REQUIRE(held);
  CHECK(held->dq_order == std::vector<std::vector<std::int32_t>>{{0, 2}, {1, 0}, {1}});
  CHECK(run_schedule(problem, costs, *held).makespan == 12);
  // First come, first served: worker 0 comes to its second tile after worker 1 has begun to hold it.
  problem.mask.work[0] = TileWork::kPartial;
  costs.compute_partial = 4;
  const auto first_come = schedules::first_come_first_served(problem, costs, {lists, {{0, 1}, {1, 2}, {0}}});
  REQUIRE(first_come);
  CHECK(first_come->dq_order == std::vector<std::vector<std::int32_t>>{{0, 2}, {1, 0}, {1}});
  CHECK(run_schedule(problem, costs, *first_come).makespan == 5 + 3 + 1 + 4);
}

TEST_CASE("chains of a list schedule are in the order in which they start") {
  RandomSequence random(83);
  for (int trial = 0; trial < 100; ++trial) {
    const Scenario scenario = random_scenario(random);
    const auto found = schedules::list_schedule(scenario.problem, scenario.costs, scenario.chains, {});
    if (!found) continue;
    const auto outcome = attempt_schedule(scenario.problem, scenario.costs, *found, RecordTimes::kYes);
    std::vector<double> starts;  // of those with tasks; others stand where their workers have time
    for (std::size_t i = 0; i < found->chains.size(); ++i) {
      if (!found->chains[i].q_order.empty()) starts.push_back(std::get<ScheduleRun>(outcome).chains[i].start);
    }
    CAPTURE(trial);
    CHECK(std::is_sorted(starts.begin(), starts.end()));
  }
}

TEST_CASE("of tiles that can be reduced at once the one that more chains still add to comes first") {
  BackwardProblem problem;
  problem.mask = {3, 2, std::vector<TileWork>(6, TileWork::kNone)};
  for (const std::size_t cell : {2, 4, 5}) problem.mask.work[cell] = TileWork::kFull;
  problem.workers = 2;
  const BackwardCosts costs{.compute = 3, .compute_partial = 3, .reduce = 1};
  const std::vector<std::vector<std::int32_t>> lists = {{0}, {1}};
  const auto found = schedules::list_schedule(problem, costs, lists, {});
  REQUIRE(found);
  CHECK(found->chains[0].q_order == std::vector<std::int32_t>{2, 1});
}

}  // namespace list_schedule_test
