// What early draws cost a table. Chains are taken in launch order, and a turn waits only for chains launched
// before. So when a chain is drawn, all that it can wait for is known.
#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include <natten_sim/kernels/attention_backward/draws.hpp>

namespace natten_sim::kernels::attention_backward {
namespace {

// Microseconds, as recorded (bench record): nothing is fitted to a makespan.
constexpr double kComputeUs = 2.0;
constexpr double kLookUs = 0.42;      // at a turn that has come
constexpr double kHandoffUs = 0.46;   // from the end of an addition to the turn of the next worker's
constexpr double kReadUs = 0.7;       // from a turn until the buffer is free
constexpr double kAdditionUs = 1.3;   // from a turn until it is passed on
constexpr double kNextChainUs = 5.5;  // from the last turn until the next chain computes
constexpr double kWorthInTime = 0.97;
/// Shorter chains gain less from draws in time than the last dO costs that comes late: measured, 3% to 5%.
constexpr std::size_t kLeastTasks = 5;

/// A worker between two chains.
struct WorkerDraw {
  double at = 0;
  int worker = 0;
  double free = 0;  ///< when it begins what it draws

  friend bool operator>(const WorkerDraw& a, const WorkerDraw& b) {
    return std::tie(a.at, a.worker) > std::tie(b.at, b.worker);
  }
};

class DrawnRun {
 public:
  DrawnRun(const BackwardProblem& tiles, Draws draws)
      : q_tiles_(static_cast<std::size_t>(tiles.mask.q_tiles)),
        draws_(draws),
        added_(static_cast<std::size_t>(tiles.heads) * q_tiles_, -kHandoffUs) {}

  /// Runs a chain and returns when its worker draws the next one.
  WorkerDraw run(const ScheduledChain& chain, const WorkerDraw& drawn) {
    const std::size_t count = chain.q_order.size();
    if (count == 0) return drawn;
    WorkerDraw next{0, drawn.worker, 0};
    double computed = drawn.free + (drawn.free > 0 ? kNextChainUs : 0), given_back[2] = {0, 0};
    bool early = false;
    for (std::size_t i = 0; i < count; ++i) {
      computed = std::max(computed, given_back[i % 2]) + kComputeUs;
      double& added = added_[static_cast<std::size_t>(chain.head) * q_tiles_ +
                             static_cast<std::size_t>(chain.q_order[i])];
      const bool in_line = added > computed;
      const double turn = in_line ? added + kHandoffUs : computed + kLookUs;
      given_back[i % 2] = turn + kReadUs;
      added = turn + kAdditionUs;
      end_ = std::max(end_, added);
      next.free = turn;
      // The loader has the last task, and finds the buffer of this one in use.
      if (draws_ == Draws::kEarly && i + 3 == count && in_line) {
        early = true;
        next.at = computed;
      }
    }
    if (!early) next.at = next.free;
    return next;
  }

  [[nodiscard]] double end() const { return end_; }

 private:
  std::size_t q_tiles_;
  Draws draws_;
  std::vector<double> added_;  ///< end of the last addition to each dQ tile
  double end_ = 0;
};

}  // namespace

double simulated_us(const BackwardProblem& tiles, const BackwardSchedule& schedule, Draws draws) {
  std::priority_queue<WorkerDraw, std::vector<WorkerDraw>, std::greater<>> workers;
  for (int worker = 0; worker < tiles.workers; ++worker) workers.push({0, worker, 0});
  DrawnRun run(tiles, draws);
  for (const ScheduledChain& chain : schedule.chains) {
    const WorkerDraw drawn = workers.top();
    workers.pop();
    workers.push(run.run(chain, drawn));
  }
  return run.end();
}

Draws best_draws(const BackwardProblem& tiles, const BackwardSchedule& schedule) {
  if (schedule.dispatch == Dispatch::kStatic || schedule.dq_order.empty()) return Draws::kEarly;
  const bool all_short = std::ranges::all_of(
      schedule.chains, [](const ScheduledChain& chain) { return chain.q_order.size() < kLeastTasks; });
  if (all_short) return Draws::kEarly;
  const double in_time = simulated_us(tiles, schedule, Draws::kInTime);
  return in_time < kWorthInTime * simulated_us(tiles, schedule, Draws::kEarly) ? Draws::kInTime
                                                                               : Draws::kEarly;
}

}  // namespace natten_sim::kernels::attention_backward
