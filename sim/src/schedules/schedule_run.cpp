#include <algorithm>
#include <limits>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "schedules/event_queue.hpp"
#include "schedules/prepared_schedule.hpp"
#include "schedules/schedule_costs.hpp"
#include "schedules/worker_state.hpp"

namespace natten_sim {

namespace {

class Runner {
 public:
  Runner(const BackwardProblem& problem, const BackwardCosts& costs, const BackwardSchedule& schedule,
         const PreparedSchedule& prepared, EventOrder order, RecordTimes record = RecordTimes::kNo)
      : problem_(problem),
        costs_(costs),
        schedule_(schedule),
        prepared_(prepared),
        q_tiles_(static_cast<std::size_t>(problem.mask.q_tiles)),
        kv_tiles_(static_cast<std::size_t>(problem.mask.kv_tiles)),
        workers_(static_cast<std::size_t>(problem.workers)),
        ordered_(!schedule.dq_order.empty()),
        events_(reductions_take_time(problem, costs, ordered_) ? order : EventOrder::kByTime) {
    const std::size_t chains = schedule.chains.size();
    run_.worker.assign(chains, kNobody);
    run_.chains.resize(chains);
    left_ = static_cast<std::int64_t>(chains);
    if (ordered_) dq_turns_.resize(static_cast<std::size_t>(problem.heads) * q_tiles_);
    if (problem.heads_per_kv_head > 1)
      kv_turns_.resize(chains / static_cast<std::size_t>(problem.heads_per_kv_head) *
                       static_cast<std::size_t>(costs.kv_turns()));
    if (record == RecordTimes::kYes) run_.tasks.resize(prepared.tasks);
    if (schedule.dispatch == Dispatch::kStatic) {
      queue_of_.resize(workers_.size());
      for (std::size_t launch = chains; launch-- > 0;) {
        poll();
        queue_of_[static_cast<std::size_t>(schedule.worker[launch])].push_back(
            static_cast<std::int32_t>(launch));
      }
    }
    for (WorkerState& worker : workers_)
      worker.ends.assign(static_cast<std::size_t>(std::max(costs.writer_stages, 1)), 0.0);
  }

  /// Gives up, as if waiting for ever, when it is not done by `limit`.
  std::variant<ScheduleRun, Deadlock> run(double limit = std::numeric_limits<double>::infinity()) {
    std::vector<double> free_at(workers_.size(), 0.0);
    for (std::size_t worker = 0; worker < workers_.size(); ++worker)
      start_chain(static_cast<std::int32_t>(worker), 0.0);
    const auto start = [this](const ScheduleEvent& end) { start_chain(end.worker, end.time); };
    while (const std::optional<ScheduleEvent> event = events_.next(start)) {
      poll();
      if (event->time > limit) return Deadlock{};
      free_at[static_cast<std::size_t>(event->worker)] = event->time;
      run_.makespan = std::max(run_.makespan, event->time);
      finish_reduction(event->worker, event->time);
      while (!awake_.empty()) {
        const std::int32_t worker = awake_.back();
        awake_.pop_back();
        take_turn(worker);
      }
    }
    if (left_ > 0) return describe_deadlock();
    for (double time : free_at) run_.bubble.tail += run_.makespan - time;
    return std::move(run_);
  }

 private:
  [[nodiscard]] const ScheduledChain& chain_of(const WorkerState& state) const {
    return schedule_.chains[static_cast<std::size_t>(state.chain)];
  }
  [[nodiscard]] bool at_kv(const WorkerState& state, std::int32_t task) const {
    return static_cast<std::size_t>(task) >= chain_of(state).q_order.size();
  }
  [[nodiscard]] bool at_kv(const WorkerState& state) const { return at_kv(state, state.task); }
  /// Whether the turn of this task is passed on with the turn of the next one.
  [[nodiscard]] bool keeps_turn(const WorkerState& state, std::int32_t task) const {
    return costs_.release == TurnRelease::kAfterNext && ordered_ && !at_kv(state, task + 1);
  }

  /// Place and rank of a reduction of a worker's chain; no place when reductions are unordered.
  struct Slot {
    Turn* turn = nullptr;
    std::int32_t rank = 0;
  };
  [[nodiscard]] Slot slot_of(const WorkerState& state, std::int32_t task) {
    const ScheduledChain& chain = chain_of(state);
    if (at_kv(state, task)) {
      if (schedule_.dkv_order == DkvOrder::kUnordered) return {};
      const auto group = static_cast<std::size_t>(chain.head / problem_.heads_per_kv_head);
      const std::size_t place = group * kv_tiles_ + static_cast<std::size_t>(chain.kv_tile);
      const std::size_t turn = static_cast<std::size_t>(task) - chain.q_order.size();
      return {&kv_turns_[place * static_cast<std::size_t>(costs_.kv_turns()) + turn],
              chain.head % problem_.heads_per_kv_head};
    }
    if (!ordered_) return {};
    const auto q = static_cast<std::size_t>(chain.q_order[static_cast<std::size_t>(task)]);
    return {&dq_turns_[static_cast<std::size_t>(chain.head) * q_tiles_ + q],
            prepared_.rank[state.first_task + static_cast<std::size_t>(task)]};
  }
  [[nodiscard]] Slot slot_of(const WorkerState& state) { return slot_of(state, state.task); }

  void start_chain(std::int32_t worker, double now) {
    WorkerState& state = workers_[static_cast<std::size_t>(worker)];
    state.chain = kNobody;
    std::int32_t launch = kNobody;
    bool empty = false;
    do {
      launch = next_launch(worker);
      if (launch == kNobody) return;
      run_.worker[static_cast<std::size_t>(launch)] = worker;
      empty = schedule_.chains[static_cast<std::size_t>(launch)].q_order.empty();
      if (empty && costs_.early_exit == 0) --left_;  // it takes no time
    } while (empty && costs_.early_exit == 0);
    state.chain = launch;
    state.task = 0;
    run_.chains[static_cast<std::size_t>(launch)].start = now;
    if (empty) {
      run_.total_work += costs_.early_exit;
      state.closing = true;
      events_.add({now + costs_.early_exit, worker});
      return;
    }
    state.first_task = prepared_.first_task[static_cast<std::size_t>(launch)];
    const double start = now + costs_.prologue;
    run_.total_work += costs_.prologue + costs_.epilogue;
    compute(worker, start, start, start);
  }

  std::int32_t next_launch(std::int32_t worker) {
    if (schedule_.dispatch == Dispatch::kStatic) {
      std::vector<std::int32_t>& queue = queue_of_[static_cast<std::size_t>(worker)];
      if (queue.empty()) return kNobody;
      const std::int32_t launch = queue.back();
      queue.pop_back();
      return launch;
    }
    return next_ < schedule_.chains.size() ? static_cast<std::int32_t>(next_++) : kNobody;
  }

  /// Computes the current task from `start` on. Its buffer is free at `buffer`, the writer at `writer`.
  void compute(std::int32_t worker, double start, double buffer, double writer) {
    WorkerState& state = workers_[static_cast<std::size_t>(worker)];
    const ScheduledChain& chain = chain_of(state);
    const std::int32_t q = chain.q_order[static_cast<std::size_t>(state.task)];
    const double cost =
        problem_.mask.at(q, chain.kv_tile) == TileWork::kPartial ? costs_.compute_partial : costs_.compute;
    run_.total_work += cost;
    run_.compute_work += cost;
    const double end = start + cost;
    state.handed = std::max(end, buffer);
    state.ready = std::max(state.handed, writer);
    if (!run_.tasks.empty()) {
      TaskTimes& times = run_.tasks[state.first_task + static_cast<std::size_t>(state.task)];
      times.compute_start = start;
      times.compute_end = end;
    }
    take_turn(worker);
  }

  /// Starts the worker's reduction if it is its turn; else it waits to be woken.
  void take_turn(std::int32_t worker) {
    WorkerState& state = workers_[static_cast<std::size_t>(worker)];
    const Slot slot = slot_of(state);
    double start = state.ready;
    if (slot.turn != nullptr) {
      state.waits = slot.turn->next != slot.rank;
      if (state.waits) return;
      if (slot.turn->last_worker != kNobody) {
        start = std::max(start, slot.turn->last_end + handoff(costs_, slot.turn->last_worker, worker));
      }
    }
    const bool kv = at_kv(state);
    const std::int32_t before = state.task - 1;
    if (!kv && before >= 0 && keeps_turn(state, before)) pass_on(worker, before, start);
    const double cost = kv ? costs_.kv_turn() : costs_.reduce + (ordered_ ? costs_.per_tile_tax : 0.0);
    run_.total_work += cost;
    (state.reduced_before ? run_.bubble.wait_for_turn : run_.bubble.startup) += start - state.ready;
    if (!kv && !run_.tasks.empty()) {
      TaskTimes& times = run_.tasks[state.first_task + static_cast<std::size_t>(state.task)];
      times.reduce_start = start;
      times.reduce_end = start + cost;
    }
    events_.add({start + cost, worker});
  }

  /// Gives the turn of a task's place to the next chain in its order.
  void pass_on(std::int32_t worker, std::int32_t task, double now) {
    const WorkerState& state = workers_[static_cast<std::size_t>(worker)];
    const Slot slot = slot_of(state, task);
    if (slot.turn == nullptr) return;
    ++slot.turn->next;
    slot.turn->last_worker = worker;
    slot.turn->last_end = now;
    wake_next(state, task, slot);
  }

  /// A reduction, the epilogue behind the last one, or an early exit ends.
  void finish_reduction(std::int32_t worker, double now) {
    WorkerState& state = workers_[static_cast<std::size_t>(worker)];
    if (state.closing) {
      end_chain(worker, now);
      return;
    }
    state.reduced_before = true;
    if (!keeps_turn(state, state.task)) pass_on(worker, state.task, now);
    const std::size_t tasks = chain_of(state).q_order.size();
    if (!at_kv(state)) {
      const auto stages = static_cast<std::size_t>(costs_.writer_stages);
      state.ends[static_cast<std::size_t>(state.task) % state.ends.size()] = now;
      ++state.task;
      const auto task = static_cast<std::size_t>(state.task);
      if (task < tasks) {
        const double start = stages == 0 ? now : state.handed;
        const double buffer = stages > 0 && task >= stages ? state.ends[task % stages] : 0.0;
        compute(worker, start, buffer, now);
        return;
      }
      const double end = stages == 0 ? now + costs_.epilogue : std::max(now, state.handed + costs_.epilogue);
      if (problem_.heads_per_kv_head > 1) {
        state.ready = end;
        take_turn(worker);
        return;
      }
      if (end > now) {
        state.closing = true;
        events_.add({end, worker});
        return;
      }
    } else if (static_cast<std::size_t>(++state.task) < tasks + static_cast<std::size_t>(costs_.kv_turns())) {
      state.ready = now;
      take_turn(worker);
      return;
    }
    end_chain(worker, now);
  }

  void end_chain(std::int32_t worker, double now) {
    WorkerState& state = workers_[static_cast<std::size_t>(worker)];
    state.closing = false;
    run_.chains[static_cast<std::size_t>(state.chain)].end = now;
    --left_;
    if (events_.by_need()) {
      state.chain = kNobody;
      events_.add_end_of_chain({now, worker});
    } else {
      start_chain(worker, now);
    }
  }

  /// Wakes the worker of the chain whose turn it is now, if that worker waits for it.
  void wake_next(const WorkerState& state, std::int32_t task, const Slot& slot) {
    const ScheduledChain& chain = chain_of(state);
    std::int32_t launch = kNobody;
    if (at_kv(state, task)) {
      if (slot.turn->next == problem_.heads_per_kv_head) return;
      const std::size_t head = static_cast<std::size_t>(chain.head + 1);
      launch = prepared_.launch_of[head * kv_tiles_ + static_cast<std::size_t>(chain.kv_tile)];
    } else {
      const auto q = static_cast<std::size_t>(chain.q_order[static_cast<std::size_t>(task)]);
      const std::vector<std::int32_t>& order =
          schedule_.dq_order[static_cast<std::size_t>(chain.head) * q_tiles_ + q];
      if (static_cast<std::size_t>(slot.turn->next) == order.size()) return;
      const auto kv = static_cast<std::size_t>(order[static_cast<std::size_t>(slot.turn->next)]);
      launch = prepared_.launch_of[static_cast<std::size_t>(chain.head) * kv_tiles_ + kv];
    }
    const std::int32_t sleeper = run_.worker[static_cast<std::size_t>(launch)];
    if (sleeper == kNobody) return;
    WorkerState& other = workers_[static_cast<std::size_t>(sleeper)];
    if (other.chain == launch && other.waits && slot_of(other).turn == slot.turn) awake_.push_back(sleeper);
  }

  /// Whether this chain has reduced into the place and not passed its turn on.
  [[nodiscard]] bool keeps(std::int32_t launch, const Slot& slot) {
    const std::int32_t worker = run_.worker[static_cast<std::size_t>(launch)];
    if (worker == kNobody) return false;
    const WorkerState& state = workers_[static_cast<std::size_t>(worker)];
    return state.chain == launch && state.task > 0 && keeps_turn(state, state.task - 1) &&
           slot_of(state, state.task - 1).turn == slot.turn;
  }

  Deadlock describe_deadlock() {
    // Follow the waits from the first waiting worker until one repeats or was never started.
    const auto first = std::find_if(workers_.begin(), workers_.end(),
                                    [](const WorkerState& state) { return state.chain != kNobody; });
    std::string text;
    std::vector<bool> seen(schedule_.chains.size(), false);
    std::int32_t launch = first == workers_.end() ? kNobody : first->chain;
    while (launch != kNobody && !seen[static_cast<std::size_t>(launch)]) {
      seen[static_cast<std::size_t>(launch)] = true;
      const ScheduledChain& chain = schedule_.chains[static_cast<std::size_t>(launch)];
      const std::string name =
          "chain (head " + std::to_string(chain.head) + ", KV tile " + std::to_string(chain.kv_tile) + ")";
      const std::int32_t worker = run_.worker[static_cast<std::size_t>(launch)];
      text += text.empty() ? name : ", which is " + name;
      if (worker == kNobody) {
        text += ", which no worker can start";
        break;
      }
      const WorkerState& state = workers_[static_cast<std::size_t>(worker)];
      const Slot slot = slot_of(state);
      if (at_kv(state)) {
        const std::int32_t head = chain.head - chain.head % problem_.heads_per_kv_head + slot.turn->next;
        text += " waits to reduce dK/dV behind head " + std::to_string(head);
        launch = prepared_.launch_of[static_cast<std::size_t>(head) * kv_tiles_ +
                                     static_cast<std::size_t>(chain.kv_tile)];
      } else {
        const std::int32_t q = chain.q_order[static_cast<std::size_t>(state.task)];
        const auto cell = static_cast<std::size_t>(chain.head) * q_tiles_ + static_cast<std::size_t>(q);
        const std::int32_t kv = schedule_.dq_order[cell][static_cast<std::size_t>(slot.turn->next)];
        text +=
            " waits to reduce dQ of Q tile " + std::to_string(q) + " behind KV tile " + std::to_string(kv);
        launch =
            prepared_
                .launch_of[static_cast<std::size_t>(chain.head) * kv_tiles_ + static_cast<std::size_t>(kv)];
        if (keeps(launch, slot)) text += " (which has done so, and keeps the turn until it has its next)";
      }
      if (seen[static_cast<std::size_t>(launch)]) text += ", which waits already: a cycle";
    }
    return {text};
  }

  const BackwardProblem& problem_;
  const BackwardCosts& costs_;
  const BackwardSchedule& schedule_;
  const PreparedSchedule& prepared_;
  std::size_t q_tiles_, kv_tiles_;
  std::vector<WorkerState> workers_;
  std::vector<Turn> dq_turns_, kv_turns_;
  std::vector<std::vector<std::int32_t>> queue_of_;  // static dispatch: launches of a worker, last first
  std::size_t next_ = 0;
  std::int64_t left_ = 0;
  bool ordered_ = true;
  std::vector<std::int32_t> awake_;  // workers whose turn has come since the last event
  EventQueue events_;
  ScheduleRun run_;
};

}  // namespace

DeadlockError::DeadlockError(const std::string& waits)
    : Error(Sentence{Deadlock{waits}.text()}, "schedule", waits, "schedules that finish", "") {}

std::variant<ScheduleRun, Deadlock> attempt_schedule(const BackwardProblem& problem,
                                                     const BackwardCosts& costs,
                                                     const BackwardSchedule& schedule, RecordTimes record) {
  require_valid(problem, schedule);
  require_valid_costs(problem, costs);
  const EventOrder order = sums_are_exact(costs) ? EventOrder::kByNeed : EventOrder::kByTime;
  return Runner(problem, costs, schedule, PreparedSchedule(problem, schedule), order, record).run();
}

std::optional<ScheduleRun> run_by(const BackwardProblem& problem, const BackwardCosts& costs,
                                  const BackwardSchedule& schedule, double limit) {
  require_valid(problem, schedule);
  require_valid_costs(problem, costs);
  const PreparedSchedule prepared(problem, schedule);
  const EventOrder order = sums_are_exact(costs) ? EventOrder::kByNeed : EventOrder::kByTime;
  std::variant<ScheduleRun, Deadlock> outcome = Runner(problem, costs, schedule, prepared, order).run(limit);
  auto* run = std::get_if<ScheduleRun>(&outcome);
  return run == nullptr ? std::nullopt : std::optional(std::move(*run));
}

struct RepeatedSchedule::Parts {
  BackwardProblem problem;
  BackwardSchedule schedule;
  PreparedSchedule prepared;
};

RepeatedSchedule::RepeatedSchedule(BackwardProblem problem, BackwardSchedule schedule) {
  require_valid(problem, schedule);
  PreparedSchedule prepared(problem, schedule);
  parts_ = std::make_shared<const Parts>(Parts{std::move(problem), std::move(schedule), std::move(prepared)});
}

double RepeatedSchedule::makespan(const BackwardCosts& costs) const {
  require_valid_costs(parts_->problem, costs);
  std::variant<ScheduleRun, Deadlock> outcome =
      Runner(parts_->problem, costs, parts_->schedule, parts_->prepared, EventOrder::kByNeed).run();
  if (const auto* deadlock = std::get_if<Deadlock>(&outcome)) throw DeadlockError(deadlock->waits);
  return std::get<ScheduleRun>(outcome).makespan;
}

ScheduleRun run_schedule(const BackwardProblem& problem, const BackwardCosts& costs,
                         const BackwardSchedule& schedule, RecordTimes record) {
  std::variant<ScheduleRun, Deadlock> outcome = attempt_schedule(problem, costs, schedule, record);
  if (const auto* deadlock = std::get_if<Deadlock>(&outcome)) throw DeadlockError(deadlock->waits);
  return std::move(std::get<ScheduleRun>(outcome));
}

}  // namespace natten_sim
