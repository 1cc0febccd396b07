// Search for the earliest deterministic schedule of any mask, workers, heads and costs. Tries every ordered algorithm of
// the table in both dispatches, then list schedules in several launch orders and of packed chains, then as many random
// restarts and local changes as the effort says, and, up to 32 tasks, branch and bound of 500 nodes an iteration, which
// may cover every schedule. It stops when the lower bound is met. A time limit takes the place of the effort: then both
// searches go on until the bound is met or time is up. Of many tasks kSoon comes first, and what follows while
// SearchBudget affords it. When time is up, a step is given up. With dynamic dispatch requested, a searched schedule
// counts as it runs when dispatched dynamically. With a limit of heads in flight, launches are section by section, and a
// schedule with fewer heads beyond the limit wins.
#include <algorithm>
#include <compare>
#include <functional>
#include <limits>
#include <tuple>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

#include "schedules/construct.hpp"
#include "schedules/exhaustive.hpp"
#include "schedules/local_change.hpp"
#include "schedules/packing.hpp"
#include "schedules/search_budget.hpp"

namespace natten_sim::schedules {
namespace {

constexpr std::int64_t kTimedTasks = 128;  // of a problem whose schedules are all tried, under a time limit
constexpr const char* kSoon = "spt";  // closest to the bound with most masks, in the time of one simulation
constexpr double kForever = std::numeric_limits<double>::infinity();

/// Score of a schedule; the smaller one wins.
struct Score {
  std::int32_t heads_beyond = 0;  // the limit of heads in flight
  double makespan = 0;
  friend auto operator<=>(const Score&, const Score&) = default;
};

/// How schedules wait for themselves, where none was found that does not.
PlanOutcome hanging(const ScheduleRequest& request) {
  PlanOutcome outcome = attempt_plan(schedule_algorithm("ascending"), request);
  const auto* plan = std::get_if<SchedulePlan>(&outcome);
  if (plan == nullptr) return outcome;
  std::variant<PlanRun, Deadlock> run = attempt_run(*plan);
  if (auto* deadlock = std::get_if<Deadlock>(&run)) return std::move(*deadlock);
  return outcome;
}

class BestSearch {
 public:
  explicit BestSearch(const ScheduleRequest& request)
      : request_(request),
        problem_(request.problem),
        bound_(schedule_bounds(request.problem, request.costs).best()),
        tasks_(problem_.heads * problem_.mask.attended().count),
        budget_(request, tasks_),
        earlier_iterations_(request.start ? request.start->iterations : 0),
        random_(request.seed, first_number(earlier_iterations_)),
        packing_random_(request.seed, first_number(earlier_iterations_)),
        chains_(chains_with_tasks(request.problem)) {
    for (std::int32_t kv = 0; kv < problem_.mask.kv_tiles; ++kv)
      times_.push_back(chain_time(problem_, request.costs, kv));
  }

  PlanOutcome run() {
    const bool small = tasks_ <= (request_.time_limit_s ? kTimedTasks : SearchBudget::kExhaustiveTasks) && !limited();
    // Under a time limit, half of it is left for the proof of a small problem.
    const double share = small && request_.time_limit_s ? 0.5 : 1.0;
    std::int64_t done = earlier_iterations_;
    try {
      Deadline deadline([&] { return found() && budget_.spent(0) >= 1; });
      std::optional<CancellationScope> scope;
      if (request_.time_limit_s) scope.emplace(deadline);
      begin();
      for (; !proven() && begins(kByIteration) && budget_.spent(done) < share; ++done) iterate(done);
    } catch (const TimeIsUp&) {
    }
    if (packed_is_better()) {
      score_ = packed_best_score_;
      best_ = std::move(packed_best_);
    }
    std::optional<double> exhausted;
    if (score_ && !proven() && small && budget_.effort() > 0) exhausted = exhaust();
    if (!score_) return hanging(request_);
    tell_standing(done);
    SchedulePlan plan = one_phase(request_, std::move(best_));
    plan.exhausted_at = exhausted;
    return plan;
  }

 private:
  /// Iterations that go on from others draw their own numbers.
  static std::uint64_t first_number(std::int64_t iterations) { return static_cast<std::uint64_t>(iterations) << 32; }

  /// What is tried once.
  void begin() {
    if (request_.start) offer(request_.start->best);
    if (!score_) {
      if (budget_.many()) {
        try_named(schedule_algorithm(kSoon), request_.dispatch.value_or(Dispatch::kDynamic));
        tell_standing(earlier_iterations_);
        try_list_schedules();
      }
      try_named();
      if (!budget_.many()) try_list_schedules();
    }
    try_packed_lists();
  }

  void iterate(std::int64_t done) {
    poll_now();
    tell_progress(done);
    tell_standing(done);
    done % 4 == 0 ? restart() : change();
    if (!proven()) change_packed_lists();
  }

  [[nodiscard]] bool found() const { return score_ || packed_best_score_; }
  [[nodiscard]] bool packed_is_better() const {
    return packed_best_score_ && !packed_best_.chains.empty() && (!score_ || *packed_best_score_ < *score_);
  }

  void tell_standing(std::int64_t iterations) const {
    if (request_.standing && found()) request_.standing(iterations, packed_is_better() ? packed_best_ : best_);
  }

  void tell_progress(std::int64_t iterations) const {
    if (request_.progress) request_.progress(std::max(budget_.spent(iterations), budget_.share()));
  }
  /// Whether another schedule of this cost is tried; the first always is. Who listens may want to end it there.
  bool begins(double cost) {
    poll_now();
    if (found() && !budget_.affords(cost)) return false;
    if (budget_.many()) tell_progress(earlier_iterations_);
    budget_.spend(cost);
    return true;
  }

  [[nodiscard]] bool proven() const {
    const Score least{0, bound_};
    return (score_ && *score_ <= least) || (packed_best_score_ && *packed_best_score_ <= least);
  }
  [[nodiscard]] bool limited() const {
    return request_.heads_in_flight && *request_.heads_in_flight < problem_.heads;
  }
  [[nodiscard]] std::int32_t head_of(std::int32_t chain) const { return chain / problem_.mask.kv_tiles; }
  [[nodiscard]] Score score_of(const BackwardSchedule& schedule, const ScheduleRun& run) const {
    if (!limited()) return {0, run.makespan};
    return {std::max(heads_in_flight(schedule, run) - *request_.heads_in_flight, 0), run.makespan};
  }
  [[nodiscard]] double time_of(std::int32_t chain) const {
    return times_[static_cast<std::size_t>(chain % problem_.mask.kv_tiles)];
  }

  /// Runs the schedule as the request has it dispatched; none when it may not be, or is not done by `limit`.
  std::optional<ScheduleRun> run_offered(BackwardSchedule& schedule, double limit = kForever) const {
    if (request_.dispatch && schedule.dispatch != *request_.dispatch) {
      if (*request_.dispatch == Dispatch::kStatic) return std::nullopt;  // constructed schedules are static
      schedule.dispatch = Dispatch::kDynamic;
      schedule.worker.clear();
    }
    return run_by(problem_, request_.costs, schedule, limit);
  }

  /// Keeps the schedule if it finishes, and is better than the best so far. Returns its score.
  std::optional<Score> offer(BackwardSchedule schedule, double limit = kForever) {
    const std::optional<ScheduleRun> run = run_offered(schedule, limit);
    if (!run) return std::nullopt;
    const Score score = score_of(schedule, *run);
    if (!score_ || score < *score_) {
      score_ = score;
      best_ = std::move(schedule);
      best_worker_ = run->worker;
      current_.reset();
    }
    return score;
  }

  /// Every ordered algorithm of the table, the last one first: it is the likeliest to meet the bound.
  void try_named() {
    const std::vector<const ScheduleAlgorithm*>& all = schedule_algorithms();
    for (auto algorithm = all.rbegin(); algorithm != all.rend(); ++algorithm) {
      if (!(*algorithm)->ordered || (*algorithm)->searches) continue;
      for (const Dispatch dispatch : {Dispatch::kStatic, Dispatch::kDynamic}) {
        if (request_.dispatch && dispatch != *request_.dispatch) continue;
        try_named(**algorithm, dispatch);
      }
    }
  }

  /// Tries the launch order of the request and the algorithm's own.
  void try_named(const ScheduleAlgorithm& algorithm, Dispatch dispatch) {
    for (const bool own_launch : {false, true}) {
      if ((own_launch && !request_.launch) || proven()) return;  // the same again
      if (!begins(algorithm.ignores_costs ? kByRule : kByTime)) return;
      ScheduleRequest named = request_;
      named.dispatch = dispatch;
      if (own_launch) named.launch.reset();
      PlanOutcome outcome = attempt_plan(algorithm, named);
      auto* plan = std::get_if<SchedulePlan>(&outcome);
      if (plan != nullptr && !hopeless(plan->phases.front().schedule))
        offer(std::move(plan->phases.front().schedule), time_to_beat());
    }
  }

  /// A schedule that is later cannot be better.
  [[nodiscard]] double time_to_beat() const { return limited() || !score_ ? kForever : score_->makespan; }

  /// A static schedule that is late without a wait already.
  [[nodiscard]] bool hopeless(const BackwardSchedule& schedule) const {
    return schedule.dispatch == Dispatch::kStatic && largest_load(problem_, schedule, times_) > time_to_beat();
  }

  void offer_list(const std::vector<std::int32_t>& chains, const std::vector<double>& preference) {
    if (proven() || !begins(kByList)) return;
    std::optional<BackwardSchedule> schedule = list_schedule(problem_, request_.costs, chains, preference);
    if (schedule) offer(std::move(*schedule), time_to_beat());
  }

  void try_list_schedules() {
    offer_list(chains_, {});  // head by head
    const auto sorted_by = [&](const auto& before) {
      std::vector<std::int32_t> order = chains_;
      std::stable_sort(order.begin(), order.end(), polled(before));
      return order;
    };
    const std::int32_t kv_tiles = problem_.mask.kv_tiles;
    offer_list(sorted_by([&](std::int32_t a, std::int32_t b) { return time_of(a) > time_of(b); }), {});
    offer_list(sorted_by([&](std::int32_t a, std::int32_t b) {
                 return a / kv_tiles != b / kv_tiles ? a / kv_tiles < b / kv_tiles : time_of(a) > time_of(b);
               }),
               {});
    offer_list(sorted_by([&](std::int32_t a, std::int32_t b) { return time_of(a) < time_of(b); }), {});
    offer_list(sorted_by([&](std::int32_t a, std::int32_t b) { return a % kv_tiles < b % kv_tiles; }), {});
    if (!limited()) return;
    for (std::int32_t heads = 2; heads <= *request_.heads_in_flight; heads *= 2) {  // sections of heads
      offer_list(sorted_by([&](std::int32_t a, std::int32_t b) {
                   const std::int32_t first = head_of(a) / heads, second = head_of(b) / heads;
                   return first != second ? first < second : time_of(a) > time_of(b);
                 }),
                 {});
    }
  }

  /// Heads one after the other on each worker, when they are limited.
  void by_head(std::vector<std::int32_t>& list) const {
    if (!limited()) return;
    std::stable_sort(list.begin(), list.end(),
                     polled([&](std::int32_t a, std::int32_t b) { return head_of(a) < head_of(b); }));
  }

  /// Lists of chains that load the workers evenly, each longest first and shortest first.
  void try_packed_lists() {
    if (proven() || chains_.empty() || !begins(2 * kByList)) return;
    std::vector<double> times;
    for (const std::int32_t chain : chains_) times.push_back(time_of(chain));
    packed_ = multifit(chains_, times, problem_.workers, bound_);
    std::vector<std::vector<std::int32_t>> reversed = packed_;
    for (std::vector<std::int32_t>& list : packed_) by_head(list);
    packed_score_ = offer_lists(packed_, {});
    for (std::vector<std::int32_t>& list : reversed) {
      std::reverse(list.begin(), list.end());
      by_head(list);
    }
    keep_packed(std::move(reversed), {});
  }

  std::optional<Score> offer_lists(const std::vector<std::vector<std::int32_t>>& lists,
                                   const std::vector<double>& preference) {
    std::optional<BackwardSchedule> schedule = list_schedule(problem_, request_.costs, lists, preference);
    if (!schedule) return std::nullopt;
    const std::optional<ScheduleRun> run = run_offered(*schedule);
    if (!run) return std::nullopt;
    const Score score = score_of(*schedule, *run);
    if (!packed_best_score_ || score < *packed_best_score_) {
      packed_best_ = std::move(*schedule);
      packed_best_score_ = score;
    }
    return score;
  }

  /// Goes on from these lists if they are no worse than those before.
  void keep_packed(std::vector<std::vector<std::int32_t>> lists, const std::vector<double>& preference) {
    const std::optional<Score> score = offer_lists(lists, preference);
    if (!score || (packed_score_ && *score > *packed_score_)) return;
    packed_ = std::move(lists);
    packed_preference_ = preference;
    packed_score_ = score;
  }

  /// A change that keeps the loads: chains of equal time trade places between workers, chains of one worker
  /// trade places, or other Q tiles are preferred. Q orders are built anew.
  void change_packed_lists() {
    if (packed_.empty()) return;
    std::vector<std::vector<std::int32_t>> lists = packed_;
    std::vector<double> preference = packed_preference_;
    preference.resize(static_cast<std::size_t>(problem_.mask.q_tiles));
    const std::size_t changes = 1 + packing_random_.below(4);
    for (std::size_t i = 0; i < changes; ++i) {
      std::vector<std::int32_t>& from = lists[packing_random_.below(lists.size())];
      std::vector<std::int32_t>& to = lists[packing_random_.below(lists.size())];
      if (from.empty() || to.empty()) continue;
      std::int32_t& a = from[packing_random_.below(from.size())];
      std::int32_t& b = to[packing_random_.below(to.size())];
      if (&from == &to || time_of(a) == time_of(b)) std::swap(a, b);
      by_head(from);
      by_head(to);
    }
    if (packing_random_.below(4) == 0)
      preference[packing_random_.below(preference.size())] = packing_random_.unit();
    keep_packed(std::move(lists), preference);
  }

  /// A list schedule with longest chains first, blurred, and random ties; section by section when heads are
  /// limited.
  void restart() {
    const double blur = random_.unit();
    const std::int32_t section = limited() ? 1 + static_cast<std::int32_t>(random_.below(
                                                     static_cast<std::size_t>(*request_.heads_in_flight)))
                                           : problem_.heads;
    std::vector<std::tuple<std::int32_t, double, std::int32_t>> keyed;
    const double longest = *std::max_element(times_.begin(), times_.end());
    for (const std::int32_t chain : chains_)
      keyed.emplace_back(head_of(chain) / section, -time_of(chain) + blur * longest * random_.unit(), chain);
    std::sort(keyed.begin(), keyed.end(), polled(std::less<>()));
    std::vector<std::int32_t> order;
    for (const auto& [at, key, chain] : keyed) order.push_back(chain);
    std::vector<double> preference(static_cast<std::size_t>(problem_.mask.q_tiles));
    for (double& value : preference) value = random_.unit();
    offer_list(order, preference);
  }

  void start_from_best() {
    current_ = assignment_of(problem_, best_, best_worker_);
    const auto schedule = first_come_first_served(problem_, request_.costs, *current_);
    const auto run = schedule ? run_by(problem_, request_.costs, *schedule, kForever) : std::nullopt;
    current_score_ = run ? score_of(*schedule, *run) : *score_;
  }

  /// One random change of the current assignment, kept unless it is later than before.
  void change() {
    if (!score_) return;
    if (!current_) start_from_best();
    Assignment changed = *current_;
    const std::size_t changes = 1 + random_.below(3);
    for (std::size_t i = 0; i < changes; ++i)
      random_.below(4) == 0 ? move_chain(changed, random_) : move_tile(changed, chains_, random_);
    std::optional<BackwardSchedule> schedule = first_come_first_served(problem_, request_.costs, changed);
    if (!schedule) return;
    const Score before = *score_;
    const std::optional<Score> score = offer(std::move(*schedule));
    if (!score || *score > current_score_) return;
    if (*score_ < before) return;  // the new best is where the next change starts
    current_ = std::move(changed);
    current_score_ = *score;
  }

  /// The optimum, if the budget covers all schedules.
  std::optional<double> exhaust() {
    const std::int64_t nodes =
        request_.time_limit_s ? std::numeric_limits<std::int64_t>::max() : SearchBudget::kNodesAnIteration * budget_.effort();
    ExhaustiveResult result = search_exhaustively(problem_, request_.costs, score_->makespan, bound_, nodes,
                                                  [&] { return !request_.time_limit_s || budget_.spent(0) < 1; });
    if (result.better) offer(std::move(*result.better));
    return result.complete ? std::optional(result.makespan) : std::nullopt;
  }

  const ScheduleRequest& request_;
  const BackwardProblem& problem_;
  double bound_;
  std::int64_t tasks_;
  SearchBudget budget_;
  std::int64_t earlier_iterations_;  // of runs that this one goes on from
  RandomSequence random_, packing_random_;
  std::vector<std::int32_t> chains_;  // with tasks
  std::vector<double> times_;         // of a chain, by KV tile
  std::optional<Score> score_;  // of the best
  BackwardSchedule best_;
  std::vector<std::int32_t> best_worker_;
  std::vector<std::vector<std::int32_t>> packed_;  // chains by worker
  std::vector<double> packed_preference_;          // of Q tiles
  std::optional<Score> packed_score_;
  BackwardSchedule packed_best_;  // a search of its own beside the local one
  std::optional<Score> packed_best_score_;
  std::optional<Assignment> current_;
  Score current_score_;
};

}  // namespace

ScheduleAlgorithm best() {
  return {.name = "best",
          .origin = "search",
          .position = 1000,
          .plan = [](const ScheduleRequest& request) -> PlanOutcome { return BestSearch(request).run(); },
          .searches = true};
}

}  // namespace natten_sim::schedules
