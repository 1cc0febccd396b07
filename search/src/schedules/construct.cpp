#include "schedules/construct.hpp"

#include <algorithm>
#include <queue>
#include <span>
#include <tuple>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>

#include "schedules/partial_schedule.hpp"

namespace natten_sim::schedules {
namespace {

using Step = PartialSchedule::Step;
constexpr std::int32_t kNone = PartialSchedule::kNone;

/// The earliest time on top, then the smallest worker.
struct Waiting {
  double time;
  std::int32_t worker;
  bool operator<(const Waiting& other) const {
    return std::tie(time, worker) > std::tie(other.time, other.worker);
  }
};

/// Workers whose next step must wait for another's: dK/dV for the head before, a dQ tile for its release.
class Parking {
 public:
  void park(std::int32_t worker) { parked_.push_back(worker); }
  /// Takes out those that may go on.
  template <typename MayGoOn>
  std::vector<std::int32_t> wake(const MayGoOn& may_go_on) {
    std::vector<std::int32_t> awake;
    std::erase_if(parked_, [&](std::int32_t worker) {
      if (!may_go_on(worker)) return false;
      awake.push_back(worker);
      return true;
    });
    return awake;
  }

  [[nodiscard]] bool empty() const { return parked_.empty(); }

 private:
  std::vector<std::int32_t> parked_;
};

class ListScheduler {
 public:
  using Lists = std::span<const std::vector<std::int32_t>>;

  /// One list for all workers, or one a worker.
  ListScheduler(const BackwardProblem& problem, const BackwardCosts& costs, Lists lists,
                const std::vector<double>& preference)
      : lists_(lists),
        next_(lists.size(), 0),
        preference_(preference),
        mask_(problem.mask),
        holds_(costs.release == TurnRelease::kAfterNext),
        attended_(attended_of_each_kv_tile(problem.mask)),
        left_(static_cast<std::size_t>(problem.workers)),
        partial_(problem, costs) {
    for (std::int32_t worker = 0; worker < problem.workers; ++worker) queue_.push({0.0, worker});
  }

  std::optional<BackwardSchedule> run() {
    while (!queue_.empty()) {
      poll();
      const std::int32_t worker = queue_.top().worker;
      queue_.pop();
      if (partial_.at_dkv(worker)) {
        if (!partial_.dkv_ready(worker)) {
          parking_.park(worker);
          continue;
        }
        append({worker, partial_.worker(worker).chain, kNone});
      } else {
        std::int32_t chain = partial_.worker(worker).chain;
        if (chain == kNone) {
          const std::size_t list = lists_.size() == 1 ? 0 : static_cast<std::size_t>(worker);
          if (next_[list] == lists_[list].size()) continue;  // nothing left for this worker
          chain = lists_[list][next_[list]];
          if (holds_ && all_held(chain)) {
            parking_.park(worker);
            continue;
          }
          ++next_[list];
          left_[static_cast<std::size_t>(worker)] =
              attended_[static_cast<std::size_t>(partial_.kv_tile_of(chain))];
        }
        const std::optional<std::int32_t> q = choose(worker, chain);  // which takes it off the list
        if (!q) {
          parking_.park(worker);
          continue;
        }
        append({worker, chain, *q});
      }
      wake();
    }
    if (!partial_.complete()) return std::nullopt;
    return partial_.schedule();
  }

 private:
  void append(const Step& step) {
    partial_.append(step);
    queue_.push({partial_.worker(step.worker).free, step.worker});
  }

  [[nodiscard]] bool all_held(std::int32_t chain) const {
    const std::vector<std::int32_t>& tiles = attended_[static_cast<std::size_t>(partial_.kv_tile_of(chain))];
    return std::all_of(tiles.begin(), tiles.end(),
                       [&](std::int32_t q) { return partial_.held(partial_.cell_of(chain, q)); });
  }

  void wake() {
    if (parking_.empty()) return;
    const auto may_go_on = [&](std::int32_t worker) {
      return !partial_.at_dkv(worker) || partial_.dkv_ready(worker);  // those at a dQ tile look for another
    };
    for (const std::int32_t worker : parking_.wake(may_go_on))
      queue_.push(
          {partial_.at_dkv(worker) ? partial_.worker(worker).writer : partial_.worker(worker).free, worker});
  }

  /// The remaining tile of the chain that can be reduced first; none when all are held.
  std::optional<std::int32_t> choose(std::int32_t worker, std::int32_t chain) {
    std::vector<std::int32_t>& tiles = left_[static_cast<std::size_t>(worker)];
    const double ready = partial_.ready(worker, TileWork::kFull);
    const double ready_partial = partial_.ready(worker, TileWork::kPartial);
    const std::int32_t kv = partial_.kv_tile_of(chain), first_cell = partial_.cell_of(chain, 0);
    std::size_t best = tiles.size();
    double best_start = 0, best_preference = 0;
    std::int32_t best_left = 0;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const std::int32_t q = tiles[i];
      if (holds_ && partial_.held(first_cell + q)) continue;
      const bool partial = mask_.at(q, kv) == TileWork::kPartial;
      const double start = partial_.start(worker, partial ? ready_partial : ready, first_cell + q);
      if (best < tiles.size() && start > best_start) continue;
      const std::int32_t left = partial_.dq_left(first_cell + q);
      const double preference = preference_.empty() ? 0.0 : preference_[static_cast<std::size_t>(q)];
      const bool better = best == tiles.size() || start < best_start || left > best_left ||
                          (left == best_left && preference > best_preference);
      if (!better) continue;
      best = i;
      best_start = start;
      best_left = left;
      best_preference = preference;
    }
    if (best == tiles.size()) return std::nullopt;
    const std::int32_t q = tiles[best];
    tiles.erase(tiles.begin() + static_cast<std::ptrdiff_t>(best));
    return q;
  }

  Lists lists_;
  std::vector<std::size_t> next_;
  const std::vector<double>& preference_;
  const BlockMask& mask_;
  bool holds_;  // chains keep a turn until they have the next
  QTiles attended_;
  QTiles left_;  // Q tiles of each worker's chain, ascending
  PartialSchedule partial_;
  std::priority_queue<Waiting> queue_;
  Parking parking_;
};

}  // namespace

std::optional<BackwardSchedule> list_schedule(const BackwardProblem& problem, const BackwardCosts& costs,
                                              const std::vector<std::int32_t>& chains,
                                              const std::vector<double>& preference) {
  return ListScheduler(problem, costs, {&chains, 1}, preference).run();
}

std::optional<BackwardSchedule> list_schedule(const BackwardProblem& problem, const BackwardCosts& costs,
                                              const std::vector<std::vector<std::int32_t>>& chains_of_worker,
                                              const std::vector<double>& preference) {
  return ListScheduler(problem, costs, chains_of_worker, preference).run();
}

std::optional<BackwardSchedule> first_come_first_served(const BackwardProblem& problem,
                                                        const BackwardCosts& costs,
                                                        const Assignment& assignment) {
  PartialSchedule partial(problem, costs);
  std::priority_queue<Waiting> queue;
  Parking parking;
  std::vector<std::size_t> next(assignment.of_worker.size(), 0);
  const auto step_of = [&](std::int32_t worker) -> std::optional<Step> {
    const PartialSchedule::Worker& state = partial.worker(worker);
    if (partial.at_dkv(worker)) return Step{worker, state.chain, kNone};
    const std::vector<std::int32_t>& chains = assignment.of_worker[static_cast<std::size_t>(worker)];
    std::size_t& position = next[static_cast<std::size_t>(worker)];
    if (state.chain == kNone && position == chains.size()) return std::nullopt;
    const std::int32_t chain = state.chain == kNone ? chains[position] : state.chain;
    const std::int32_t done = state.chain == kNone ? 0 : state.done;
    return Step{worker, chain,
                assignment.q_order[static_cast<std::size_t>(chain)][static_cast<std::size_t>(done)]};
  };
  const auto may_go_on = [&](std::int32_t worker) {
    const Step step = *step_of(worker);
    return step.q_tile == kNone ? partial.dkv_ready(worker)
                                : !partial.held(partial.cell_of(step.chain, step.q_tile));
  };
  const auto enqueue = [&](std::int32_t worker) {
    const std::optional<Step> step = step_of(worker);
    if (!step) return;
    if (!may_go_on(worker)) {
      parking.park(worker);
    } else {
      queue.push({partial.times(*step).start, worker});
    }
  };
  for (std::int32_t worker = 0; worker < problem.workers; ++worker) enqueue(worker);
  while (!queue.empty()) {
    poll();
    const Waiting top = queue.top();
    queue.pop();
    const Step step = *step_of(top.worker);
    if (!may_go_on(top.worker)) {  // another reduction came first, and holds the tile
      parking.park(top.worker);
      continue;
    }
    const double start = partial.times(step).start;
    if (start > top.time) {  // another reduction came first
      queue.push({start, top.worker});
      continue;
    }
    if (partial.worker(top.worker).chain == kNone) ++next[static_cast<std::size_t>(top.worker)];
    partial.append(step);
    if (!parking.empty()) {
      for (const std::int32_t other : parking.wake(may_go_on)) enqueue(other);
    }
    enqueue(top.worker);
  }
  if (!partial.complete()) return std::nullopt;
  return partial.schedule();
}

Assignment assignment_of(const BackwardProblem& problem, const BackwardSchedule& schedule,
                         const std::vector<std::int32_t>& worker) {
  Assignment assignment;
  assignment.of_worker.resize(static_cast<std::size_t>(problem.workers));
  assignment.q_order.resize(schedule.chains.size());
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    poll();
    const ScheduledChain& chain = schedule.chains[i];
    const std::int32_t id = chain.head * problem.mask.kv_tiles + chain.kv_tile;
    if (!chain.q_order.empty()) assignment.of_worker[static_cast<std::size_t>(worker[i])].push_back(id);
    assignment.q_order[static_cast<std::size_t>(id)] = chain.q_order;
  }
  return assignment;
}

}  // namespace natten_sim::schedules
