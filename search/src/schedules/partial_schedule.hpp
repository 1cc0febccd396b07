#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim::schedules {

/// A static schedule that grows one reduction at a time. Appending in any order that respects each worker's
/// own sequence fixes all orders and all times at once: a step starts as early as its worker, its buffers and
/// its dQ tile allow. Times follow the rules of run_schedule; the caller runs the result there to be sure.
class PartialSchedule {
 public:
  static constexpr std::int32_t kNone = -1;

  struct Step {
    std::int32_t worker = 0;
    std::int32_t chain = 0;   ///< head * kv_tiles + kv_tile
    std::int32_t q_tile = 0;  ///< kNone: the chain's dK/dV
    std::int32_t exits = 0;   ///< chains without tasks that the worker takes before this chain's first step
  };
  struct Times {
    double start = 0;  ///< of the reduction
    double end = 0;
    double free = 0;    ///< of the worker: when the next compute, or the next chain, may start
    double writer = 0;  ///< of the worker's writer; behind a chain's last task, its epilogue included
  };
  struct Worker {
    std::int32_t chain = kNone;
    std::int32_t done = 0;  ///< reductions of that chain
    double free = 0;        ///< when the next compute, or the next chain, may start
    double writer = 0;      ///< end of the chain's last reduction, or its start
    std::int32_t chains = 0;
  };

  enum class Undo { kNo, kYes };

  PartialSchedule(const BackwardProblem& problem, const BackwardCosts& costs, Undo undo = Undo::kNo);

  /// Times of a step that could be appended now. A chain's first step may go to any idle worker.
  [[nodiscard]] Times times(const Step& step) const;
  void append(const Step& step);

  /// When the reduction of the worker's next task could start but for its turn; a chain's first task too.
  [[nodiscard]] double ready(std::int32_t worker, TileWork work) const;
  /// When it starts, into a dQ tile of `cell_of`: what `times` says, for many tiles of one chain at a time.
  [[nodiscard]] double start(std::int32_t worker, double ready, std::int32_t cell) const {
    const Place& place = dq_[static_cast<std::size_t>(cell)];
    return place.count == 0 ? ready : std::max(ready, place.end + handoff(place.last_worker, worker));
  }
  /// The last chain that reduced there keeps the turn until it has its next. Then no step may go there.
  [[nodiscard]] bool held(std::int32_t cell) const { return dq_[static_cast<std::size_t>(cell)].held; }

  /// Takes back the last step; with Undo::kYes only.
  void undo();

  [[nodiscard]] const Worker& worker(std::int32_t index) const {
    return workers_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] bool reduced(std::int32_t chain, std::int32_t q_tile) const {
    return reduced_[task_of(chain, q_tile)] != 0;
  }
  [[nodiscard]] bool started(std::int32_t chain) const {
    return started_[static_cast<std::size_t>(chain)] != 0;
  }
  [[nodiscard]] std::int32_t tasks(std::int32_t chain) const {
    return tasks_[static_cast<std::size_t>(chain) % static_cast<std::size_t>(problem_.mask.kv_tiles)];
  }
  [[nodiscard]] std::int32_t chain_count() const { return static_cast<std::int32_t>(started_.size()); }
  [[nodiscard]] std::int32_t head_of(std::int32_t chain) const { return chain / problem_.mask.kv_tiles; }
  [[nodiscard]] std::int32_t kv_tile_of(std::int32_t chain) const { return chain % problem_.mask.kv_tiles; }
  /// All tasks of the worker's chain are reduced, and its dK/dV is not, or not all of it.
  [[nodiscard]] bool at_dkv(std::int32_t worker) const;
  /// What is left to do for it.
  [[nodiscard]] double dkv_left(std::int32_t worker) const;
  /// It is the turn of that dK/dV.
  [[nodiscard]] bool dkv_ready(std::int32_t worker) const;
  /// Contributions to (head, Q tile) still to come, and when the last one ended.
  [[nodiscard]] std::int32_t dq_left(std::int32_t cell) const {
    return dq_[static_cast<std::size_t>(cell)].left;
  }
  [[nodiscard]] double dq_end(std::int32_t cell) const { return dq_[static_cast<std::size_t>(cell)].end; }
  [[nodiscard]] std::int32_t cell_of(std::int32_t chain, std::int32_t q_tile) const {
    return head_of(chain) * problem_.mask.q_tiles + q_tile;
  }
  [[nodiscard]] bool complete() const { return steps_left_ == 0; }
  /// Of the chains with tasks.
  [[nodiscard]] double makespan() const { return makespan_; }

  /// Chains without tasks that no step took come last, each where it ends first: they are all alike, and so
  /// no other places behind all chains with tasks end sooner. (Before a chain that waits for its turn anyway,
  /// one may cost nothing.)
  struct Exits {
    std::vector<std::int32_t> workers;
    double end = 0;  ///< of the whole schedule
  };
  [[nodiscard]] Exits early_exits() const;
  /// How many they are.
  [[nodiscard]] std::int64_t exits_left() const {
    return static_cast<std::int64_t>(without_tasks_.size() - exits_taken_);
  }

  /// The complete schedule: static, chains by the time they start.
  [[nodiscard]] BackwardSchedule schedule() const;

 private:
  struct Place {     // dQ of one (head, Q tile), or a turn of dK/dV of one (group, KV tile)
    double end = 0;  // when the turn was passed on; of a place that is held, when the reduction ended
    std::int32_t last_worker = kNone;
    std::int32_t left = 0;
    std::int32_t count = 0;
    bool held = false;
  };
  struct Record {  // what a step changed
    Step step;
    Worker worker;
    Place place;
    double overwritten_end = 0;
    double makespan = 0;
    double released_end = 0;  // of the place that the step released
  };
  struct Started {
    double start = 0;
    std::int32_t worker = 0, chain = 0;
  };

  /// The cell that a worker holds, as a step of its chain releases it; kNone.
  [[nodiscard]] std::int32_t released_by(const Step& step) const;
  [[nodiscard]] Place& place_of(const Step& step);
  [[nodiscard]] const Place& place_of(const Step& step) const;
  [[nodiscard]] double handoff(std::int32_t from, std::int32_t to) const {
    if (from == kNone || from == to) return 0.0;
    return (from - to) % 2 == 0 ? costs_.handoff : costs_.handoff_far.value_or(costs_.handoff);
  }
  /// Place in reduced_. A KV tile has places from its first Q tile to its last one: a band takes no square.
  [[nodiscard]] std::size_t task_of(std::int32_t chain, std::int32_t q_tile) const {
    const auto head = static_cast<std::size_t>(chain / problem_.mask.kv_tiles);
    const auto kv = static_cast<std::size_t>(kv_tile_of(chain));
    return head * places_a_head_ + first_place_[kv] + static_cast<std::size_t>(q_tile);
  }
  /// When the worker hands over the result of its next task.
  [[nodiscard]] double handed(std::int32_t worker, TileWork work, std::int32_t exits = 0) const;
  /// Notes that the worker of the step starts its chain, behind the exits that it takes.
  void start_chain(const Step& step, Worker& worker);

  const BackwardProblem& problem_;
  const BackwardCosts& costs_;
  std::size_t q_tiles_, stages_;
  std::int32_t dkv_turns_;  // 0: one head a KV head
  std::vector<Worker> workers_;
  std::vector<double> ends_;  // of each worker's last reductions, by task modulo stages
  std::vector<Place> dq_, dkv_places_;
  std::vector<std::int32_t> tasks_;  // by KV tile
  std::vector<char> started_, reduced_;
  std::size_t places_a_head_ = 0;
  std::vector<std::size_t>
      first_place_;  // of Q tile 0, by KV tile; wraps where that is before the first place
  std::vector<Started> order_;
  std::vector<std::vector<std::int32_t>> q_orders_, dq_orders_;
  bool undo_;
  std::vector<Record> records_;
  std::vector<std::int32_t> without_tasks_;  // chains, in the order in which they are taken
  std::size_t exits_taken_ = 0;
  std::int64_t steps_left_ = 0;
  double makespan_ = 0;
};

}  // namespace natten_sim::schedules
