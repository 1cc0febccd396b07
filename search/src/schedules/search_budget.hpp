#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/search/schedules/schedule_plan.hpp>

namespace natten_sim::schedules {

/// What one schedule costs, in simulations of it: by a rule, with a dQ order by the time of a run, by a list, and an
/// iteration of both searches beside its list.
inline constexpr double kByRule = 4, kByTime = 10, kByList = 50, kByIteration = 50;

/// What a search for a schedule of many tasks may still try. Costs are in simulations of one schedule. With a time
/// limit, what would end after it by the pace so far is not begun; with an effort, all is tried; with neither, work of
/// about ten seconds, so that the answer does not depend on the machine. Searches of few tasks try everything.
class SearchBudget {
 public:
  static constexpr std::int64_t kManyTasks = std::int64_t{1} << 18;
  /// Simulated tasks, some 50 ns each.
  static constexpr double kUsualWork = 200e6;

  /// Up to so many tasks all schedules are tried, and so many nodes of their tree for each iteration.
  static constexpr std::int64_t kExhaustiveTasks = 32, kNodesAnIteration = 500;

  /// Iterations where none are asked for.
  [[nodiscard]] static std::int64_t usual_effort(std::int64_t tasks) {
    return std::clamp<std::int64_t>((std::int64_t{1} << 22) / std::max<std::int64_t>(tasks, 1), 8, 2000);
  }

  SearchBudget(const ScheduleRequest& request, std::int64_t tasks)
      : tasks_(static_cast<double>(tasks)),
        effort_(request.effort.value_or(usual_effort(tasks))),
        many_(tasks > kManyTasks),
        bounded_(many_ && !request.effort && !request.time_limit_s),
        time_limit_s_(request.time_limit_s) {}

  [[nodiscard]] bool many() const { return many_; }
  [[nodiscard]] std::int64_t effort() const { return effort_; }
  /// How much of the search is over, from 0 to 1, before iteration `i`.
  [[nodiscard]] double spent(std::int64_t i) const {
    if (!time_limit_s_) return i < effort_ ? static_cast<double>(i) / static_cast<double>(effort_) : 1.0;
    return *time_limit_s_ > 0 ? std::min(seconds() / *time_limit_s_, 1.0) : 1.0;
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  [[nodiscard]] bool affords(double schedules) const {
    if (bounded_) return work_ + schedules * tasks_ <= kUsualWork;
    if (!many_ || !time_limit_s_ || work_ == 0) return true;
    return seconds() * (1 + schedules * tasks_ / work_) <= *time_limit_s_;
  }
  void spend(double schedules) { work_ += schedules * tasks_; }
  /// How much of the usual work is done; 0 where that is no bound.
  [[nodiscard]] double share() const { return bounded_ ? work_ / kUsualWork : 0; }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double tasks_, work_ = 0;
  std::int64_t effort_;
  bool many_, bounded_;
  std::optional<double> time_limit_s_;
};

/// Ends a step that is not done when time is up.
struct TimeIsUp {};

/// Throws it in what polls, once `over` says so; who waits outside may end the work before.
class Deadline : public Cancellation {
 public:
  explicit Deadline(std::function<bool()> over) : over_(std::move(over)) {}
  void check() override {
    if (outer_ != nullptr) outer_->check();
    if (over_()) throw TimeIsUp();
  }

 private:
  std::function<bool()> over_;
  Cancellation* outer_ = current_cancellation();
};

}  // namespace natten_sim::schedules
