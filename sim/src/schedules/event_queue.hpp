#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim {

/// In which order events are handled. Every time follows from those of the events that it waits for, so any
/// order finds the same times. Only who is free first, and so takes the next chain, has to be known.
/// kByTime: the earliest first. kByNeed: what can go on does, and the worker that is free first takes a chain
/// when all others wait: they end behind it. It needs no heap of events, but adds work and waits up in
/// another order, and of workers that are free at the same time it may take another one where reductions take
/// no time.
enum class EventOrder { kByTime, kByNeed };

/// Whether sums are the same in any order: the costs are whole numbers.
[[nodiscard]] bool sums_are_exact(const BackwardCosts& costs);

/// Whether every reduction ends later than it starts, rounded to what a double holds beside all tasks.
[[nodiscard]] bool reductions_take_time(const BackwardProblem& problem, const BackwardCosts& costs,
                                        bool ordered);

/// A reduction, an epilogue or an early exit ends.
struct ScheduleEvent {
  double time;
  std::int32_t worker;
  /// Of a max-heap: the earliest, then the smallest worker on top.
  bool operator<(const ScheduleEvent& other) const {
    return time != other.time ? time > other.time : worker > other.worker;
  }
};

class EventQueue {
 public:
  explicit EventQueue(EventOrder order) : by_need_(order == EventOrder::kByNeed) {}

  [[nodiscard]] bool by_need() const { return by_need_; }
  void add(const ScheduleEvent& event) {
    if (by_need_) {
      going_on_.push_back(event);
    } else {
      heap_.push(event);
    }
  }
  /// By need: the worker is free.
  void add_end_of_chain(const ScheduleEvent& end) { heap_.push(end); }

  /// None when nothing is left. By need, start(end) lets a free worker take a chain where nothing else goes
  /// on.
  template <typename Start>
  std::optional<ScheduleEvent> next(const Start& start) {
    while (by_need_ && going_on_.empty() && !heap_.empty()) start(pop());
    if (!by_need_) return heap_.empty() ? std::nullopt : std::optional(pop());
    if (going_on_.empty()) return std::nullopt;
    const ScheduleEvent event = going_on_.back();
    going_on_.pop_back();
    return event;
  }

 private:
  ScheduleEvent pop() {
    const ScheduleEvent event = heap_.top();
    heap_.pop();
    return event;
  }

  bool by_need_;
  std::priority_queue<ScheduleEvent> heap_;  // by need: ends of chains alone
  std::vector<ScheduleEvent> going_on_;      // by need: all other events
};

}  // namespace natten_sim
