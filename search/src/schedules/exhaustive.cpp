#include "schedules/exhaustive.hpp"

#include <algorithm>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/models/schedules/schedule_bounds.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>

#include "schedules/partial_schedule.hpp"

namespace natten_sim::schedules {
namespace {

using Step = PartialSchedule::Step;
constexpr std::int32_t kNoChain = PartialSchedule::kNone;

class Search {
 public:
  Search(const BackwardProblem& problem, const BackwardCosts& costs, double makespan, double lower_bound,
         std::int64_t nodes, const std::function<bool()>& go_on)
      : problem_(problem),
        costs_(costs),
        partial_(problem, costs, PartialSchedule::Undo::kYes),
        attended_(attended_of_each_kv_tile(problem.mask)),
        lower_bound_(lower_bound),
        nodes_left_(nodes),
        go_on_(go_on) {
    result_.makespan = makespan;
    serial_ = costs.writer_stages == 0;
    reduce_ = costs.reduce + costs.per_tile_tax;
    for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv)
      chain_times_.push_back(chain_time(problem, costs, kv));
  }

  ExhaustiveResult run() {
    descend(0.0);
    result_.complete = nodes_left_ > 0;
    return std::move(result_);
  }

 private:
  struct Choice {
    Step step;
    double start;
  };

  [[nodiscard]] bool stop() const { return nodes_left_ <= 0 || result_.makespan <= lower_bound_; }

  void descend(double last_start) {
    if (--nodes_left_ <= 0) return;
    constexpr std::int64_t kNodesBetweenLooks = 1024;
    if (nodes_left_ % kNodesBetweenLooks == 0 && !go_on_()) nodes_left_ = 0;
    if (partial_.complete()) {
      const double makespan = costs_.early_exit > 0 ? partial_.early_exits().end : partial_.makespan();
      if (makespan < result_.makespan) {
        result_.makespan = makespan;
        result_.better = partial_.schedule();
      }
      return;
    }
    if (bound(last_start) >= result_.makespan) return;
    std::vector<Choice> choices = choices_from(last_start);
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.start < b.start; });
    for (const Choice& choice : choices) {
      poll();
      if (stop()) return;
      partial_.append(choice.step);
      descend(choice.start);
      partial_.undo();
    }
  }

  [[nodiscard]] std::vector<Choice> choices_from(double last_start) const {
    std::vector<Choice> choices;
    const auto consider = [&](const Step& step) {
      const double start = partial_.times(step).start;
      if (start >= last_start) choices.push_back({step, start});
    };
    bool idle_seen[2] = {false, false};  // workers that did nothing yet, by the parity that handoffs look at
    for (std::int32_t worker = 0; worker < problem_.workers; ++worker) {
      const PartialSchedule::Worker& state = partial_.worker(worker);
      if (partial_.at_dkv(worker)) {
        if (partial_.dkv_ready(worker)) consider({worker, state.chain, kNoChain});
        continue;
      }
      if (state.chain != kNoChain) {
        consider_tiles(worker, state.chain, 0, consider);
        continue;
      }
      if (state.chains == 0) {
        bool& seen = idle_seen[costs_.handoff_far ? worker % 2 : 0];
        if (seen) continue;
        seen = true;
      }
      consider_new_chains(worker, consider);
    }
    return choices;
  }

  template <typename Consider>
  void consider_tiles(std::int32_t worker, std::int32_t chain, std::int32_t exits,
                      const Consider& consider) const {
    for (const std::int32_t q : attended_[static_cast<std::size_t>(partial_.kv_tile_of(chain))]) {
      if (!partial_.reduced(chain, q) && !partial_.held(partial_.cell_of(chain, q)))
        consider({worker, chain, q, exits});
    }
  }

  /// A chain that would wait for its turn anyway may come behind chains without tasks at no cost.
  template <typename Consider>
  void consider_new_chains(std::int32_t worker, const Consider& consider) const {
    bool untouched_seen = false;
    for (std::int32_t head = 0; head < problem_.heads; ++head) {
      poll();
      const std::int32_t first = head * problem_.mask.kv_tiles;
      bool touched = problem_.heads_per_kv_head > 1;  // heads of a group differ by their turn
      for (std::int32_t kv = 0; kv < problem_.mask.kv_tiles; ++kv)
        touched = touched || partial_.started(first + kv);
      if (!touched && untouched_seen) continue;
      untouched_seen = untouched_seen || !touched;
      for (std::int32_t kv = 0; kv < problem_.mask.kv_tiles; ++kv) {
        if (partial_.started(first + kv)) continue;
        const std::int64_t most = costs_.early_exit > 0 ? partial_.exits_left() : 0;
        for (std::int32_t exits = 0; exits <= most; ++exits)
          consider_tiles(worker, first + kv, exits, consider);
      }
    }
  }

  /// Lower bound of every completion of the partial schedule whose next reduction is not before `last_start`.
  [[nodiscard]] double bound(double last_start) const {
    double most = partial_.makespan(), earliest = worker_free(0), longest_left = 0;
    double sum = static_cast<double>(partial_.exits_left()) * costs_.early_exit;
    for (std::int32_t worker = 0; worker < problem_.workers; ++worker) {
      const double free = worker_free(worker);
      most = std::max(most, free);
      sum += free;
      earliest = std::min(earliest, free);
    }
    for (std::int32_t chain = 0; chain < partial_.chain_count(); ++chain) {
      poll();
      if (partial_.started(chain) || partial_.tasks(chain) == 0) continue;
      const double time = chain_times_[static_cast<std::size_t>(partial_.kv_tile_of(chain))];
      sum += time;
      longest_left = std::max(longest_left, time);
    }
    most = std::max({most, sum / problem_.workers, longest_left > 0 ? earliest + longest_left : 0.0});
    const std::int32_t cells = problem_.heads * problem_.mask.q_tiles;
    for (std::int32_t cell = 0; cell < cells; ++cell) {
      if (partial_.dq_left(cell) > 0)
        most = std::max(most, std::max(partial_.dq_end(cell), last_start) + partial_.dq_left(cell) * reduce_);
    }
    return most;
  }

  /// When the worker can be done with its present chain.
  [[nodiscard]] double worker_free(std::int32_t worker) const {
    const PartialSchedule::Worker& state = partial_.worker(worker);
    if (state.chain == kNoChain) return state.free;
    if (partial_.at_dkv(worker)) return state.writer + partial_.dkv_left(worker);
    double computes = 0;
    std::int32_t tasks = 0;
    const std::int32_t kv = partial_.kv_tile_of(state.chain);
    for (const std::int32_t q : attended_[static_cast<std::size_t>(kv)]) {
      if (partial_.reduced(state.chain, q)) continue;
      computes += problem_.mask.at(q, kv) == TileWork::kPartial ? costs_.compute_partial : costs_.compute;
      ++tasks;
    }
    const double dkv = problem_.heads_per_kv_head > 1 ? costs_.reduce_kv : 0.0;
    if (serial_) return state.free + computes + tasks * reduce_ + dkv;
    return std::max(state.free + computes + reduce_, state.writer + tasks * reduce_) + dkv;
  }

  const BackwardProblem& problem_;
  const BackwardCosts& costs_;
  PartialSchedule partial_;
  QTiles attended_;
  std::vector<double> chain_times_;
  double lower_bound_, reduce_ = 0;
  bool serial_ = true;
  std::int64_t nodes_left_;
  const std::function<bool()>& go_on_;
  ExhaustiveResult result_;
};

}  // namespace

ExhaustiveResult search_exhaustively(const BackwardProblem& problem, const BackwardCosts& costs,
                                     double makespan, double lower_bound, std::int64_t nodes,
                                     const std::function<bool()>& go_on) {
  return Search(problem, costs, makespan, lower_bound, nodes, go_on).run();
}

}  // namespace natten_sim::schedules
