// Branch and bound: what its bound settles at once, and how few nodes it takes to prove a schedule.
#include "schedules/exhaustive.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/models/schedules/schedule_bounds.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "catch.hpp"
#include "random_masks.hpp"
#include "schedules/construct.hpp"
#include "schedules/partial_schedule.hpp"

namespace exhaustive_test {

using namespace natten_sim;
using schedules::ExhaustiveResult;
using schedules::PartialSchedule;

const std::function<bool()> kGoOn = [] { return true; };

BackwardProblem problem_of(std::int32_t q_tiles, std::int32_t kv_tiles, std::vector<TileWork> cells,
                           std::int32_t heads, std::int32_t workers) {
  BackwardProblem problem;
  problem.mask = {q_tiles, kv_tiles, std::move(cells)};
  problem.heads = heads;
  problem.workers = workers;
  return problem;
}

BackwardProblem full(std::int32_t q_tiles, std::int32_t kv_tiles, std::int32_t heads, std::int32_t workers) {
  return problem_of(q_tiles, kv_tiles,
                    std::vector<TileWork>(static_cast<std::size_t>(q_tiles * kv_tiles), TileWork::kFull),
                    heads, workers);
}

/// With one node to look at, and one left, a search is complete only if the bound settles it at the root.
bool settled_at_root(const BackwardProblem& problem, const BackwardCosts& costs, double makespan) {
  const ExhaustiveResult result = schedules::search_exhaustively(problem, costs, makespan, 0, 2, kGoOn);
  return result.complete && !result.better && result.makespan == makespan;
}

void check_root_bound(const BackwardProblem& problem, const BackwardCosts& costs, double bound) {
  CHECK(settled_at_root(problem, costs, bound));
  CHECK_FALSE(settled_at_root(problem, costs, bound + 0.125));
}

TEST_CASE("a makespan that the bound meets needs one node, a larger one needs more") {
  // Work over workers: 2 x 3 tiles of 5 + 2 for 3 workers, 4 heads.
  check_root_bound(full(2, 3, 4, 3), {.compute = 5, .compute_partial = 5, .reduce = 2}, 4 * 6 * 7 / 3.0);
  // With prologue, epilogue and tax of every chain and task.
  check_root_bound(
      full(2, 3, 4, 3),
      {.compute = 5, .compute_partial = 5, .reduce = 2, .per_tile_tax = 1, .prologue = 4, .epilogue = 3},
      4 * (6 * 8 + 3 * 7) / 3.0);
  // The longest chain: a single one, of a full and a partial task.
  check_root_bound(problem_of(2, 1, {TileWork::kFull, TileWork::kPartial}, 1, 3),
                   {.compute = 5, .compute_partial = 3, .reduce = 2}, 5 + 3 + 4);
  // Reductions into one dQ tile, one after the other: 4 KV tiles on 4 workers, compute 1 and reduce 10.
  check_root_bound(full(1, 4, 1, 4), {.compute = 1, .compute_partial = 1, .reduce = 10}, 4 * 10);
  // Chains without tasks take their exits: 2 tasks of 3 and six exits of 1 on 2 workers.
  std::vector<TileWork> cells(4, TileWork::kNone);
  cells[0] = TileWork::kFull;
  check_root_bound(problem_of(1, 4, cells, 2, 2),
                   {.compute = 2, .compute_partial = 2, .reduce = 1, .early_exit = 1}, (2 * 3 + 6) / 2.0);
  // A writer reduces beside the next compute: 3 tasks of 5 and the last reduction.
  check_root_bound(full(3, 1, 1, 1), {.compute = 5, .compute_partial = 5, .reduce = 2, .writer_stages = 1},
                   3 * 5 + 2);
}

TEST_CASE("of equal idle workers and untouched heads one is tried, so that a proof takes few nodes") {
  // One task: the root, and the schedule.
  const BackwardCosts costs{.compute = 3, .compute_partial = 3, .reduce = 1};
  const auto nodes_of = [&](const BackwardProblem& problem, const BackwardCosts& with, double makespan) {
    for (std::int64_t nodes = 1;; ++nodes) {
      if (schedules::search_exhaustively(problem, with, makespan, 0, nodes + 1, kGoOn).complete) return nodes;
    }
  };
  CHECK(nodes_of(full(1, 1, 1, 1), costs, 100) == 2);
  CHECK(nodes_of(full(1, 1, 1, 50), costs, 100) == 2);  // whichever worker
  // Near and far handoffs tell even workers from odd ones: the second finds no less, and is left at once.
  BackwardCosts far = costs;
  far.handoff = 1, far.handoff_far = 2;
  CHECK(nodes_of(full(1, 1, 1, 50), far, 100) == 3);
  // Six heads of one task on six workers: each next step takes an untouched head on an idle worker, or on
  // one of the 0, 1, .. 5 that have had one, where it would end at 8, so that the bound leaves it at once.
  CHECK(nodes_of(full(1, 1, 6, 6), costs, 4.5) == 1 + 6 + 15);
  CHECK(nodes_of(full(1, 1, 6, 6), costs, 4) == 1);
}

TEST_CASE("workers are looked at beyond idle ones that are alike: handoffs within one parity may be best") {
  // Three chains reduce into one dQ tile, on workers 0, 2 and 4 from 5, 7 and 9 on. A far handoff takes 10,
  // and a second chain on one worker ends at 2 * (5 + 1) at the earliest.
  const BackwardCosts costs{.compute = 5, .reduce = 1, .handoff = 1, .handoff_far = 10};
  const auto found = schedules::search_exhaustively(full(1, 3, 1, 5), costs, 99, 0, 1'000'000, kGoOn);
  CHECK((found.complete && found.makespan == 10));
}

TEST_CASE("a search stops at its lower bound, at its nodes and when it is told to") {
  const BackwardCosts costs{.compute = 3, .compute_partial = 3, .reduce = 1, .handoff = 1};
  const BackwardProblem problem = full(3, 3, 1, 3);
  const auto search = [&](double lower_bound, std::int64_t nodes, const std::function<bool()>& go_on) {
    return schedules::search_exhaustively(problem, costs, 1000, lower_bound, nodes, go_on);
  };
  const ExhaustiveResult best = search(0, 10'000'000, kGoOn);
  REQUIRE(best.complete);
  REQUIRE(best.better);
  CHECK(run_schedule(problem, costs, *best.better).makespan == best.makespan);
  // Tasks that shift take 3 * (3 + 1); none is earlier than its chain.
  CHECK(best.makespan == 12);
  // A bound that the first schedule meets ends the search there: ten nodes, the root and nine tasks.
  const ExhaustiveResult first = search(999, 11, kGoOn);
  CHECK(first.complete);
  CHECK(first.better);
  CHECK_FALSE(search(999, 10, kGoOn).complete);
  CHECK_FALSE(search(0, 10, kGoOn).better);
  CHECK_FALSE(search(0, 0, kGoOn).complete);
  int asked = 0;
  const ExhaustiveResult stopped = schedules::search_exhaustively(
      full(4, 4, 2, 3), costs, 1000, 0, std::int64_t{1} << 40, [&] { return ++asked < 3; });
  CHECK_FALSE(stopped.complete);
  CHECK(asked == 3);
}

/// All steps that can come next; the first one of a chain behind any number of chains without tasks.
std::vector<PartialSchedule::Step> next_steps(const BackwardProblem& problem, const BackwardCosts& costs,
                                              const PartialSchedule& partial) {
  std::vector<PartialSchedule::Step> steps;
  for (std::int32_t worker = 0; worker < problem.workers; ++worker) {
    if (partial.at_dkv(worker)) {
      if (partial.dkv_ready(worker))
        steps.push_back({worker, partial.worker(worker).chain, PartialSchedule::kNone});
      continue;
    }
    for (std::int32_t chain = 0; chain < partial.chain_count(); ++chain) {
      const std::int32_t own = partial.worker(worker).chain;
      if (own == PartialSchedule::kNone ? partial.started(chain) : chain != own) continue;
      const bool exits_may_come = own == PartialSchedule::kNone && costs.early_exit > 0;
      for (std::int32_t exits = 0; exits <= (exits_may_come ? partial.exits_left() : 0); ++exits) {
        for (const std::int32_t q : attended_q_tiles(problem.mask, partial.kv_tile_of(chain))) {
          if (!partial.reduced(chain, q) && !partial.held(partial.cell_of(chain, q)))
            steps.push_back({worker, chain, q, exits});
        }
      }
    }
  }
  return steps;
}

BackwardCosts random_costs(RandomSequence& random) {
  BackwardCosts costs;
  const auto cost = [&](std::size_t below) { return static_cast<double>(random.below(below)); };
  costs.compute = 1 + cost(6);
  costs.compute_partial = 1 + cost(6);
  costs.reduce = 1 + cost(4);
  costs.per_tile_tax = cost(3);
  costs.handoff = cost(3);
  if (random.below(2) == 0) costs.handoff_far = costs.handoff + cost(4);
  costs.reduce_kv = 2 * cost(3);
  costs.prologue = cost(3);
  costs.epilogue = cost(3);
  costs.early_exit = cost(3);
  costs.writer_stages = static_cast<std::int32_t>(random.below(3));
  if (random.below(3) == 0) costs.release = TurnRelease::kAfterNext;
  if (random.below(2) == 0) costs.dkv_turns = DkvTurns::kApart;
  return costs;
}

BackwardProblem random_problem(RandomSequence& random) {
  BackwardProblem problem;
  problem.mask = test::random_block_mask(random, 4);
  problem.workers = static_cast<std::int32_t>(1 + random.below(3));
  problem.heads_per_kv_head = static_cast<std::int32_t>(1 + random.below(2));
  problem.heads = problem.heads_per_kv_head * static_cast<std::int32_t>(1 + random.below(2));
  return problem;
}

/// The earliest end of all ways to go on.
double earliest_end(const BackwardProblem& problem, const BackwardCosts& costs, PartialSchedule& partial) {
  if (partial.complete()) return std::max(partial.makespan(), partial.early_exits().end);
  double earliest = std::numeric_limits<double>::infinity();
  for (const PartialSchedule::Step& step : next_steps(problem, costs, partial)) {
    partial.append(step);
    earliest = std::min(earliest, earliest_end(problem, costs, partial));
    partial.undo();
  }
  return earliest;
}

TEST_CASE("a complete search finds what trying all orders of steps finds, with chains without tasks too") {
  RandomSequence random(23);
  int tried = 0;
  while (tried < 150) {
    const BackwardProblem problem = random_problem(random);
    const BackwardCosts costs = random_costs(random);
    if (problem.heads * problem.mask.attended().count > 4 || problem.workers > 2) continue;
    PartialSchedule partial(problem, costs, PartialSchedule::Undo::kYes);
    const double earliest = earliest_end(problem, costs, partial);
    if (earliest == std::numeric_limits<double>::infinity()) continue;
    ++tried;
    CAPTURE(problem.heads, problem.mask.q_tiles, problem.mask.kv_tiles, problem.workers, costs.early_exit);
    const auto search = [&](double makespan) {
      return schedules::search_exhaustively(problem, costs, makespan, 0, std::int64_t{1} << 40, kGoOn);
    };
    const ExhaustiveResult found = search(earliest + 0.5);
    CHECK(found.complete);
    CHECK(found.makespan == earliest);
    REQUIRE(found.better);
    CHECK(run_schedule(problem, costs, *found.better).makespan == earliest);
    CHECK_FALSE(search(earliest).better);
  }
}

TEST_CASE(
    "a schedule that grew step by step runs in the time that it said, and undoing takes back all of it") {
  RandomSequence random(5);
  int complete = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const BackwardProblem problem = random_problem(random);
    const BackwardCosts costs = random_costs(random);
    PartialSchedule partial(problem, costs, PartialSchedule::Undo::kYes);
    const auto state = [&] {  // times of all steps that can come next say all of it
      std::vector<double> times = {partial.makespan(), static_cast<double>(partial.complete())};
      for (const PartialSchedule::Step& step : next_steps(problem, costs, partial)) {
        const PartialSchedule::Times at = partial.times(step);
        times.insert(times.end(), {at.start, at.end, at.free, at.writer, static_cast<double>(step.chain)});
      }
      for (std::int32_t cell = 0; cell < problem.heads * problem.mask.q_tiles; ++cell)
        times.insert(times.end(), {static_cast<double>(partial.dq_left(cell)), partial.dq_end(cell),
                                   static_cast<double>(partial.held(cell))});
      for (std::int32_t worker = 0; worker < problem.workers; ++worker)
        times.insert(times.end(), {partial.worker(worker).free, partial.worker(worker).writer,
                                   static_cast<double>(partial.worker(worker).done),
                                   static_cast<double>(partial.worker(worker).chains)});
      return times;
    };
    std::vector<std::vector<double>> before;
    std::vector<PartialSchedule::Step> taken;
    for (auto steps = next_steps(problem, costs, partial); !steps.empty();
         steps = next_steps(problem, costs, partial)) {
      before.push_back(state());
      taken.push_back(steps[random.below(steps.size())]);
      partial.append(taken.back());
      if (random.below(4) != 0) continue;  // back and forth
      partial.undo();
      CHECK(state() == before.back());
      partial.append(taken.back());
    }
    if (partial.complete()) {
      ++complete;
      const double end = std::max(partial.makespan(), partial.early_exits().end);
      CHECK(run_schedule(problem, costs, partial.schedule()).makespan == end);
    }
    while (!before.empty()) {
      partial.undo();
      CHECK(state() == before.back());
      before.pop_back();
    }
  }
  CHECK(complete > 200);
}

/// Branch and bound as its header tells it, plainly: counts the nodes that it takes to cover everything.
class PlainSearch {
 public:
  PlainSearch(const BackwardProblem& problem, const BackwardCosts& costs, double makespan)
      : problem_(problem),
        costs_(costs),
        makespan_(makespan),
        partial_(problem, costs, PartialSchedule::Undo::kYes) {
    descend(0);
  }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] double makespan() const { return makespan_; }

 private:
  void descend(double last_start) {
    ++nodes_;
    if (partial_.complete()) {
      makespan_ = std::min(makespan_, std::max(partial_.makespan(), partial_.early_exits().end));
      return;
    }
    if (bound(last_start) >= makespan_) return;
    std::vector<std::pair<double, PartialSchedule::Step>> steps;
    for (const PartialSchedule::Step& step : next_steps(problem_, costs_, partial_)) {
      const double start = partial_.times(step).start;
      if (start >= last_start && !like_another(step)) steps.emplace_back(start, step);
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [start, step] : steps) {
      partial_.append(step);
      descend(start);
      partial_.undo();
    }
  }

  [[nodiscard]] bool untouched(std::int32_t head) const {
    for (std::int32_t kv = 0; kv < problem_.mask.kv_tiles; ++kv) {
      if (partial_.started(head * problem_.mask.kv_tiles + kv)) return false;
    }
    return problem_.heads_per_kv_head == 1;
  }

  /// An idle worker before this one is as good (of its parity, where handoffs tell), or an untouched head is.
  [[nodiscard]] bool like_another(const PartialSchedule::Step& step) const {
    const auto idle = [&](std::int32_t worker) {
      return partial_.worker(worker).chain == PartialSchedule::kNone && partial_.worker(worker).chains == 0;
    };
    for (std::int32_t other = 0; other < step.worker && idle(step.worker); ++other) {
      if (idle(other) && (!costs_.handoff_far || (step.worker - other) % 2 == 0)) return true;
    }
    const std::int32_t head = partial_.head_of(step.chain);
    if (partial_.worker(step.worker).chain != PartialSchedule::kNone || !untouched(head)) return false;
    for (std::int32_t other = 0; other < head; ++other) {
      if (untouched(other)) return true;
    }
    return false;
  }

  /// The latest of: what has ended; the end of each worker's chain; all work, and exits, spread evenly; the
  /// longest chain that nobody has begun, on the worker that is free first; each dQ tile's reductions one
  /// after the other.
  [[nodiscard]] double bound(double last_start) const {
    double latest = partial_.makespan(), sum = static_cast<double>(partial_.exits_left()) * costs_.early_exit,
           first_free = std::numeric_limits<double>::infinity(), longest = 0;
    for (std::int32_t worker = 0; worker < problem_.workers; ++worker) {
      const double free = end_of_chain(worker);
      latest = std::max(latest, free);
      first_free = std::min(first_free, free);
      sum += free;
    }
    for (std::int32_t chain = 0; chain < partial_.chain_count(); ++chain) {
      if (partial_.started(chain) || partial_.tasks(chain) == 0) continue;
      const double time = chain_time(problem_, costs_, partial_.kv_tile_of(chain));
      sum += time;
      longest = std::max(longest, time);
    }
    latest = std::max(latest, sum / problem_.workers);
    if (longest > 0) latest = std::max(latest, first_free + longest);
    for (std::int32_t cell = 0; cell < problem_.heads * problem_.mask.q_tiles; ++cell) {
      const double left = partial_.dq_left(cell) * (costs_.reduce + costs_.per_tile_tax);
      if (left > 0) latest = std::max(latest, std::max(partial_.dq_end(cell), last_start) + left);
    }
    return latest;
  }

  [[nodiscard]] double end_of_chain(std::int32_t index) const {
    const PartialSchedule::Worker& worker = partial_.worker(index);
    if (worker.chain == PartialSchedule::kNone) return worker.free;
    if (partial_.at_dkv(index)) return worker.writer + partial_.dkv_left(index);
    std::vector<double> computes;
    for (const std::int32_t q : attended_q_tiles(problem_.mask, partial_.kv_tile_of(worker.chain))) {
      if (partial_.reduced(worker.chain, q)) continue;
      const bool partly = problem_.mask.at(q, partial_.kv_tile_of(worker.chain)) == TileWork::kPartial;
      computes.push_back(partly ? costs_.compute_partial : costs_.compute);
    }
    const double all = std::accumulate(computes.begin(), computes.end(), 0.0);
    const double reduce = costs_.reduce + costs_.per_tile_tax, left = static_cast<double>(computes.size());
    const double dkv = problem_.heads_per_kv_head > 1 ? costs_.reduce_kv : 0;
    if (costs_.writer_stages == 0) return worker.free + all + left * reduce + dkv;
    const double first = worker.free + *std::min_element(computes.begin(), computes.end());
    return std::max(worker.free + all + reduce, std::max(first, worker.writer) + left * reduce) + dkv;
  }

  const BackwardProblem& problem_;
  const BackwardCosts& costs_;
  double makespan_;
  PartialSchedule partial_;
  int nodes_ = 0;
};

TEST_CASE("a search takes exactly the nodes that its bound and its symmetries leave") {
  RandomSequence random(37);
  int tried = 0;
  while (tried < 120) {
    const BackwardProblem problem = random_problem(random);
    const BackwardCosts costs = random_costs(random);
    if (problem.heads * problem.mask.attended().count > 6) continue;
    ++tried;
    const PlainSearch plain(problem, costs, 1000);
    CAPTURE(problem.heads, problem.mask.q_tiles, problem.mask.kv_tiles, problem.workers, costs.early_exit);
    const auto search = [&](std::int64_t nodes) {
      return schedules::search_exhaustively(problem, costs, 1000, 0, nodes, kGoOn);
    };
    const ExhaustiveResult enough = search(plain.nodes() + 1);
    CHECK(enough.complete);
    CHECK(enough.makespan == plain.makespan());
    CHECK_FALSE(search(plain.nodes()).complete);
  }
}

}  // namespace exhaustive_test
