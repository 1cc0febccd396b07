// The search for schedules against plain enumeration, the lower bounds against its optimum, and the named
// algorithms against each other on random problems.
#include <algorithm>
#include <cmath>
#include <limits>

#include <rapidcheck.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>

#include "catch.hpp"
#include "property/holds.hpp"

namespace schedule_search_test {

using namespace natten_sim;

std::int32_t pick(std::int32_t lo, std::int32_t hi) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int32_t>(lo, hi + 1));
}

BackwardProblem random_problem(std::int32_t most_tiles, std::int32_t most_heads, std::int32_t most_workers) {
  BackwardProblem problem;
  problem.mask.q_tiles = pick(1, most_tiles);
  problem.mask.kv_tiles = pick(1, most_tiles);
  const std::int32_t density = pick(4, 10);
  for (std::int32_t i = 0; i < problem.mask.q_tiles * problem.mask.kv_tiles; ++i) {
    problem.mask.work.push_back(pick(1, 10) > density ? TileWork::kNone
                                : pick(0, 3) == 0     ? TileWork::kPartial
                                                      : TileWork::kFull);
  }
  problem.heads = pick(1, most_heads);
  if (problem.heads % 2 == 0 && pick(0, 2) == 0) problem.heads_per_kv_head = 2;
  problem.workers = pick(1, most_workers);
  return problem;
}

/// Whole numbers, or halves now and then; zeros, ties and dominating costs are likely.
BackwardCosts random_costs() {
  const double unit = pick(0, 5) == 0 ? 0.5 : 1.0;
  BackwardCosts costs;
  costs.compute = unit * pick(0, 9);
  costs.compute_partial = pick(0, 1) == 0 ? costs.compute : unit * pick(0, 9);
  costs.reduce = unit * pick(0, 9);
  costs.per_tile_tax = pick(0, 2) == 0 ? unit * pick(0, 3) : 0;
  costs.handoff = pick(0, 2) == 0 ? unit * pick(0, 5) : 0;
  if (pick(0, 3) == 0) costs.handoff_far = costs.handoff + unit * pick(0, 5);
  costs.reduce_kv = unit * pick(0, 4);
  if (pick(0, 7) == 0) costs.compute = costs.compute_partial = 1e12;  // far apart
  costs.writer_stages = pick(0, 3) == 0 ? pick(1, 3) : 0;
  if (pick(0, 3) == 0) costs.prologue = unit * pick(0, 4);
  if (pick(0, 3) == 0) costs.epilogue = unit * pick(0, 6);
  if (pick(0, 3) == 0) costs.release = TurnRelease::kAfterNext;
  if (pick(0, 1) == 0) costs.dkv_turns = DkvTurns::kApart;
  if (pick(0, 1) == 0) costs.early_exit = unit * pick(0, 6);
  return costs;
}

// ---- Plain enumeration of all static schedules: chains on workers, their order there, Q orders, dQ orders.

double factorial(std::size_t n) { return n < 2 ? 1.0 : static_cast<double>(n) * factorial(n - 1); }

/// Schedules that enumeration would run.
double schedule_count(const BackwardProblem& problem) {
  double count = 1, chains = 0;
  for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv)
    count *= std::pow(factorial(attended_q_tiles(problem.mask, kv).size()), problem.heads);
  for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q)
    count *= std::pow(factorial(attended_kv_tiles(problem.mask, q).size()), problem.heads);
  for (double i = 1; i <= problem.heads * problem.mask.kv_tiles; ++i) {
    ++chains;
    count *= chains + problem.workers - 1;  // K! * C(K + W - 1, W - 1) placements in sequence
  }
  return count;
}

class Enumeration {
 public:
  Enumeration(const BackwardProblem& problem, const BackwardCosts& costs) : problem_(problem), costs_(costs) {
    schedule_.dispatch = Dispatch::kStatic;
    for (std::int32_t head = 0; head < problem.heads; ++head) {
      for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv)
        chains_.push_back({head, kv, attended_q_tiles(problem.mask, kv)});
      for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q)
        schedule_.dq_order.push_back(attended_kv_tiles(problem.mask, q));
    }
    placed_.resize(chains_.size(), false);
  }

  double best() {
    permute_q(0);
    return best_;
  }

 private:
  void permute_q(std::size_t chain) {
    if (chain == chains_.size()) return permute_dq(0);
    std::vector<std::int32_t>& order = chains_[chain].q_order;
    std::sort(order.begin(), order.end());
    do permute_q(chain + 1);
    while (std::next_permutation(order.begin(), order.end()));
  }
  void permute_dq(std::size_t cell) {
    if (cell == schedule_.dq_order.size()) return place(0, 0);
    std::vector<std::int32_t>& order = schedule_.dq_order[cell];
    std::sort(order.begin(), order.end());
    do permute_dq(cell + 1);
    while (std::next_permutation(order.begin(), order.end()));
  }
  /// Fills worker after worker, each with any sequence of the chains left.
  void place(std::int32_t worker, std::size_t done) {
    if (done == chains_.size()) return run();
    if (worker == problem_.workers) return;
    for (std::size_t chain = 0; chain < chains_.size(); ++chain) {
      if (placed_[chain]) continue;
      placed_[chain] = true;
      schedule_.chains.push_back(chains_[chain]);
      schedule_.worker.push_back(worker);
      place(worker, done + 1);
      schedule_.chains.pop_back();
      schedule_.worker.pop_back();
      placed_[chain] = false;
    }
    place(worker + 1, done);
  }
  void run() {
    const std::variant<ScheduleRun, Deadlock> outcome = attempt_schedule(problem_, costs_, schedule_);
    if (const auto* finished = std::get_if<ScheduleRun>(&outcome))
      best_ = std::min(best_, finished->makespan);
  }

  const BackwardProblem& problem_;
  const BackwardCosts& costs_;
  BackwardSchedule schedule_;
  std::vector<ScheduledChain> chains_;
  std::vector<bool> placed_;
  double best_ = std::numeric_limits<double>::infinity();
};

TEST_CASE(
    "best equals plain enumeration over Q orders, dQ orders and placements on small problems, and says so") {
  std::int64_t enumerated = 0, met_by_bound = 0, exits = 0, tried = 0;
  REQUIRE(natten_sim::test::holds("best == enumeration", 800, [&] {
    ++tried;
    BackwardProblem problem = random_problem(3, 2, 3);
    while (schedule_count(problem) > 8000) problem = random_problem(3, 2, 3);
    const BackwardCosts costs = random_costs();
    for (std::int32_t kv = 0; costs.early_exit > 0 && kv < problem.mask.kv_tiles; ++kv) {
      if (!attended_q_tiles(problem.mask, kv).empty()) continue;
      ++exits;  // chains without tasks are placed as any other
      break;
    }
    const double optimum = Enumeration(problem, costs).best();
    enumerated += static_cast<std::int64_t>(schedule_count(problem));
    const ScheduleRequest request{.problem = problem, .costs = costs};
    const SchedulePlan plan = plan_backward(schedule_algorithm("best"), request);
    const PlanRun run = run_plan(plan);
    RC_ASSERT(run.makespan == optimum);
    RC_ASSERT(run.optimality_gap == 0.0);
    RC_ASSERT(schedule_bounds(problem, costs).best() <= optimum);
    if (!plan.exhausted_at) ++met_by_bound;
  }));
  INFO(enumerated << " schedules enumerated, " << met_by_bound << " problems met by a closed bound");
  INFO(exits << " problems with a CTA that exits early");
  if (tried < 800) return;  // a soak asks for fewer cases at a time
  CHECK(enumerated > 60'000);
  CHECK(exits > 60);
  CHECK(met_by_bound > 150);
}

TEST_CASE(
    "best is never later than any ordered named schedule, whatever the dispatch, and runs as its table "
    "says") {
  REQUIRE(natten_sim::test::holds("best <= named", 800, [] {
    ScheduleRequest request{.problem = random_problem(7, 4, 6), .costs = random_costs()};
    request.effort = pick(0, 12);
    request.seed = static_cast<std::uint64_t>(pick(0, 1000));
    const SchedulePlan plan = plan_backward(schedule_algorithm("best"), request);
    const PlanRun best = run_plan(plan);
    RC_ASSERT(best.lower_bound <= best.makespan);
    RC_ASSERT(run_plan(plan_backward(schedule_algorithm("best"), request)).makespan == best.makespan);
    const SchedulePhase& phase = plan.phases.front();
    RC_ASSERT(
        solve_schedule_dag(phase.problem, phase.costs, phase.schedule, best.runs.front().worker).makespan ==
        best.makespan);
    for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
      for (const std::optional<Dispatch> dispatch :
           {std::optional<Dispatch>(), std::optional(Dispatch::kStatic), std::optional(Dispatch::kDynamic)}) {
        ScheduleRequest named = request;
        named.dispatch = dispatch;
        const PlanOutcome planned = attempt_plan(*algorithm, named);
        if (std::holds_alternative<NotApplicable>(planned)) {
          RC_ASSERT(algorithm->not_applicable(named.problem).has_value());
          continue;
        }
        const auto* made = std::get_if<SchedulePlan>(&planned);
        const auto outcome = made == nullptr ? std::variant<PlanRun, Deadlock>(std::get<Deadlock>(planned))
                                             : attempt_run(*made);
        const auto* run = std::get_if<PlanRun>(&outcome);
        if (run == nullptr) {
          RC_ASSERT(named.problem.heads_per_kv_head > 1 || dispatch == Dispatch::kDynamic ||
                    named.costs.release == TurnRelease::kAfterNext);
          continue;
        }
        RC_ASSERT(run->lower_bound <= run->makespan);
        if (algorithm->ordered && !algorithm->searches) RC_ASSERT(best.makespan <= run->makespan);
      }
    }
  }));
}

}  // namespace schedule_search_test
