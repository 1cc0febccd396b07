#include "schedules/partial_schedule.hpp"

#include <natten_sim/core/cancellation.hpp>

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace natten_sim::schedules {

PartialSchedule::PartialSchedule(const BackwardProblem& problem, const BackwardCosts& costs, Undo undo)
    : problem_(problem),
      costs_(costs),
      q_tiles_(static_cast<std::size_t>(problem.mask.q_tiles)),
      stages_(static_cast<std::size_t>(costs.writer_stages)),
      dkv_turns_(problem.heads_per_kv_head > 1 ? costs.kv_turns() : 0),
      workers_(static_cast<std::size_t>(problem.workers)),
      ends_(workers_.size() * stages_, 0.0),
      undo_(undo == Undo::kYes) {
  const auto kv_tiles = static_cast<std::size_t>(problem.mask.kv_tiles);
  const std::size_t chains = static_cast<std::size_t>(problem.heads) * kv_tiles;
  tasks_.assign(kv_tiles, 0);
  dq_.resize(static_cast<std::size_t>(problem.heads) * q_tiles_);
  const AttendedTiles& attended = problem.mask.attended();
  for (std::size_t kv = 0; kv < kv_tiles; ++kv)
    tasks_[kv] = static_cast<std::int32_t>(attended.q_of_kv[kv].size());
  for (std::size_t cell = 0; cell < dq_.size(); ++cell)
    dq_[cell].left = static_cast<std::int32_t>(attended.kv_of_q[cell % q_tiles_].size());
  steps_left_ = problem.heads * attended.count;
  for (std::size_t chain = 0; chain < chains; ++chain) {
    poll();
    if (tasks_[chain % kv_tiles] == 0) without_tasks_.push_back(static_cast<std::int32_t>(chain));
  }
  if (dkv_turns_ > 0) {
    dkv_places_.resize(chains / static_cast<std::size_t>(problem.heads_per_kv_head) *
                       static_cast<std::size_t>(dkv_turns_));
    for (const std::int32_t tasks : tasks_)
      steps_left_ += tasks > 0 ? std::int64_t{problem.heads} * dkv_turns_ : 0;
  }
  started_.assign(chains, 0);
  for (const std::vector<std::int32_t>& q_tiles : attended.q_of_kv) {
    poll();
    const auto first = static_cast<std::size_t>(q_tiles.empty() ? 0 : q_tiles.front());
    first_place_.push_back(places_a_head_ - first);
    places_a_head_ += q_tiles.empty() ? 0 : static_cast<std::size_t>(q_tiles.back()) - first + 1;
  }
  reduced_.assign(static_cast<std::size_t>(problem.heads) * places_a_head_, 0);
  q_orders_.resize(chains);
  dq_orders_.resize(dq_.size());
}

double PartialSchedule::handed(std::int32_t index, TileWork work, std::int32_t exits) const {
  const Worker& worker = workers_[static_cast<std::size_t>(index)];
  const auto done = static_cast<std::size_t>(worker.chain == kNone ? 0 : worker.done);
  const double handed = worker.free + exits * costs_.early_exit +
                        (worker.chain == kNone ? costs_.prologue : 0.0) +
                        (work == TileWork::kPartial ? costs_.compute_partial : costs_.compute);
  if (stages_ == 0 || done < stages_) return handed;
  return std::max(handed, ends_[static_cast<std::size_t>(index) * stages_ + done % stages_]);
}

double PartialSchedule::ready(std::int32_t index, TileWork work) const {
  const Worker& worker = workers_[static_cast<std::size_t>(index)];
  const double result = handed(index, work);
  return worker.chain != kNone && worker.done > 0 ? std::max(result, worker.writer) : result;
}

const PartialSchedule::Place& PartialSchedule::place_of(const Step& step) const {
  if (step.q_tile != kNone) return dq_[static_cast<std::size_t>(cell_of(step.chain, step.q_tile))];
  const auto group = static_cast<std::size_t>(head_of(step.chain) / problem_.heads_per_kv_head);
  const std::size_t of_chain = group * static_cast<std::size_t>(problem_.mask.kv_tiles) +
                               static_cast<std::size_t>(kv_tile_of(step.chain));
  const std::int32_t turn = workers_[static_cast<std::size_t>(step.worker)].done - tasks(step.chain);
  return dkv_places_[of_chain * static_cast<std::size_t>(dkv_turns_) + static_cast<std::size_t>(turn)];
}

std::int32_t PartialSchedule::released_by(const Step& step) const {
  const Worker& worker = workers_[static_cast<std::size_t>(step.worker)];
  if (costs_.release == TurnRelease::kAtOnce || step.q_tile == kNone || worker.chain == kNone) return kNone;
  return cell_of(step.chain, q_orders_[static_cast<std::size_t>(step.chain)].back());
}

PartialSchedule::Place& PartialSchedule::place_of(const Step& step) {
  return const_cast<Place&>(static_cast<const PartialSchedule&>(*this).place_of(step));
}

PartialSchedule::Times PartialSchedule::times(const Step& step) const {
  const Worker& worker = workers_[static_cast<std::size_t>(step.worker)];
  const Place& place = place_of(step);
  const std::int32_t tasks_done = worker.chain == kNone ? 0 : worker.done;
  Times times;
  double ready = 0;
  double cost = costs_.kv_turn();
  if (step.q_tile == kNone) {
    ready = worker.writer;
  } else {
    times.free = handed(step.worker, problem_.mask.at(step.q_tile, kv_tile_of(step.chain)), step.exits);
    ready = tasks_done > 0 ? std::max(times.free, worker.writer) : times.free;
    cost = costs_.reduce + costs_.per_tile_tax;
  }
  times.start =
      place.count == 0 ? ready : std::max(ready, place.end + handoff(place.last_worker, step.worker));
  times.end = times.start + cost;
  times.writer = times.end;
  if (step.q_tile != kNone && tasks_done + 1 == tasks(step.chain))
    times.writer =
        stages_ == 0 ? times.end + costs_.epilogue : std::max(times.end, times.free + costs_.epilogue);
  const bool last = step.q_tile == kNone || tasks_done + 1 == tasks(step.chain);
  if (stages_ == 0 || last) times.free = times.writer;
  return times;
}

void PartialSchedule::start_chain(const Step& step, Worker& worker) {
  for (std::int32_t exit = 0; exit < step.exits; ++exit)
    order_.push_back({worker.free + exit * costs_.early_exit, step.worker, without_tasks_[exits_taken_++]});
  order_.push_back({worker.free + step.exits * costs_.early_exit, step.worker, step.chain});
  worker.chain = step.chain;
  worker.done = 0;
  ++worker.chains;
  started_[static_cast<std::size_t>(step.chain)] = 1;
}

void PartialSchedule::append(const Step& step) {
  Worker& worker = workers_[static_cast<std::size_t>(step.worker)];
  Place& place = place_of(step);
  const Times at = times(step);
  Record record{step, worker, place, 0.0, makespan_, 0.0};
  if (const std::int32_t cell = released_by(step); cell != kNone) {
    Place& released = dq_[static_cast<std::size_t>(cell)];
    record.released_end = released.end;
    released.end = at.start;
    released.held = false;
  }
  if (worker.chain == kNone) start_chain(step, worker);
  if (step.q_tile != kNone) {
    reduced_[task_of(step.chain, step.q_tile)] = 1;
    q_orders_[static_cast<std::size_t>(step.chain)].push_back(step.q_tile);
    dq_orders_[static_cast<std::size_t>(cell_of(step.chain, step.q_tile))].push_back(kv_tile_of(step.chain));
    if (stages_ > 0) {
      double& slot = ends_[static_cast<std::size_t>(step.worker) * stages_ +
                           static_cast<std::size_t>(worker.done) % stages_];
      record.overwritten_end = slot;
      slot = at.end;
    }
  }
  ++worker.done;
  worker.free = at.free;
  worker.writer = at.writer;
  if (worker.done == tasks(step.chain) + dkv_turns_) worker.chain = kNone;
  place.end = at.end;
  place.held = costs_.release == TurnRelease::kAfterNext && worker.done < tasks(step.chain);
  place.last_worker = step.worker;
  --place.left;
  ++place.count;
  makespan_ = std::max(makespan_, at.writer);
  --steps_left_;
  if (undo_) records_.push_back(record);
}

void PartialSchedule::undo() {
  const Record record = records_.back();
  records_.pop_back();
  const Step& step = record.step;
  Worker& worker = workers_[static_cast<std::size_t>(step.worker)];
  worker = record.worker;
  place_of(step) = record.place;
  if (step.q_tile != kNone) {
    reduced_[task_of(step.chain, step.q_tile)] = 0;
    q_orders_[static_cast<std::size_t>(step.chain)].pop_back();
    dq_orders_[static_cast<std::size_t>(cell_of(step.chain, step.q_tile))].pop_back();
    if (stages_ > 0) {
      ends_[static_cast<std::size_t>(step.worker) * stages_ +
            static_cast<std::size_t>(worker.done) % stages_] = record.overwritten_end;
    }
  }
  if (worker.chain == kNone) {
    started_[static_cast<std::size_t>(step.chain)] = 0;
    order_.resize(order_.size() - 1 - static_cast<std::size_t>(step.exits));
    exits_taken_ -= static_cast<std::size_t>(step.exits);
  }
  if (const std::int32_t cell = released_by(step); cell != kNone) {
    Place& released = dq_[static_cast<std::size_t>(cell)];
    released.end = record.released_end;
    released.held = true;
  }
  makespan_ = record.makespan;
  ++steps_left_;
}

bool PartialSchedule::at_dkv(std::int32_t worker) const {
  const Worker& state = workers_[static_cast<std::size_t>(worker)];
  return dkv_turns_ > 0 && state.chain != kNone && state.done >= tasks(state.chain);
}

double PartialSchedule::dkv_left(std::int32_t worker) const {
  const Worker& state = workers_[static_cast<std::size_t>(worker)];
  return (tasks(state.chain) + dkv_turns_ - state.done) * costs_.kv_turn();
}

bool PartialSchedule::dkv_ready(std::int32_t worker) const {
  const Worker& state = workers_[static_cast<std::size_t>(worker)];
  return place_of({worker, state.chain, kNone}).count == head_of(state.chain) % problem_.heads_per_kv_head;
}

PartialSchedule::Exits PartialSchedule::early_exits() const {
  Exits exits{{}, makespan_};
  using Free = std::pair<double, std::int32_t>;
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (std::int32_t index = 0; index < problem_.workers; ++index) free.emplace(worker(index).free, index);
  for (std::int64_t left = exits_left(); left > 0; --left) {
    poll();
    const auto [time, at] = free.top();
    free.pop();
    exits.workers.push_back(at);
    exits.end = std::max(exits.end, time + costs_.early_exit);
    free.emplace(time + costs_.early_exit, at);
  }
  return exits;
}

BackwardSchedule PartialSchedule::schedule() const {
  std::vector<Started> order = order_;
  std::stable_sort(order.begin(), order.end(), polled([](const Started& a, const Started& b) {
    return std::tie(a.start, a.worker) < std::tie(b.start, b.worker);
  }));
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kStatic;
  schedule.dq_order = dq_orders_;
  for (const auto& [start, worker, chain] : order) {
    poll();
    schedule.chains.push_back(
        {head_of(chain), kv_tile_of(chain), q_orders_[static_cast<std::size_t>(chain)]});
    schedule.worker.push_back(worker);
  }
  const Exits exits = early_exits();
  for (std::size_t left = 0; left < exits.workers.size(); ++left) {
    const std::int32_t chain = without_tasks_[exits_taken_ + left];
    schedule.chains.push_back({head_of(chain), kv_tile_of(chain), {}});
    schedule.worker.push_back(exits.workers[left]);
  }
  return schedule;
}

}  // namespace natten_sim::schedules
