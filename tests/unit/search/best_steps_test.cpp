// The search of best.cpp once more, step by step as its head says, without what only saves time.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <natten_sim/models/schedules/schedule_bounds.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "catch.hpp"
#include "random_masks.hpp"
#include "random_values.hpp"
#include "schedules/construct.hpp"
#include "schedules/exhaustive.hpp"
#include "schedules/local_change.hpp"
#include "schedules/packing.hpp"
#include "random.hpp"

namespace best_steps_test {

using namespace natten_sim;
using namespace natten_sim::schedules;

using Chains = std::vector<std::int32_t>;
using Score = std::pair<std::int32_t, double>;  // heads beyond the limit, then the makespan

struct Found {
  Score score;
  BackwardSchedule schedule;
  std::vector<std::int32_t> worker;
};

class Steps {
 public:
  explicit Steps(const ScheduleRequest& request)
      : request_(request),
        problem_(request.problem),
        kv_tiles_(problem_.mask.kv_tiles),
        bound_(schedule_bounds(problem_, request.costs).best()),
        limited_(request.heads_in_flight && *request.heads_in_flight < problem_.heads),
        local_(request.seed),
        packing_(request.seed) {
    for (std::int32_t chain = 0; chain < problem_.heads * kv_tiles_; ++chain) {
      const std::int32_t kv = chain % kv_tiles_;
      const auto tiles = attended_q_tiles(problem_.mask, kv);
      tasks_ += std::ssize(tiles);
      if (!tiles.empty()) chains_.push_back(chain);
      longest_ = std::max(longest_, time_of(chain));
    }
  }

  struct Result {
    std::optional<Found> best;
    std::optional<double> exhausted_at;
    std::vector<double> progress;
    std::vector<std::int64_t> told;
  };

  Result run() {
    named();
    lists();
    packed();
    const auto effort = *request_.effort;
    std::int64_t i = 0;
    for (; i < effort && !proven(); ++i) {
      result_.progress.push_back(static_cast<double>(i) / static_cast<double>(effort));
      if (best_ || packed_best_) result_.told.push_back(i);
      if (i % 4 == 0) {
        restart();
      } else {
        change();
      }
      if (!proven()) change_packed();
    }
    if (packed_best_) offer(packed_best_->schedule);
    if (best_ && !proven() && tasks_ <= 32 && !limited_ && effort > 0) {
      const ExhaustiveResult all = search_exhaustively(problem_, request_.costs, best_->score.second, bound_,
                                                       500 * effort, [] { return true; });
      if (all.better) offer(*all.better);
      if (all.complete) result_.exhausted_at = all.makespan;
    }
    if (best_) result_.told.push_back(i);
    result_.best = best_;
    return result_;
  }

 private:
  [[nodiscard]] double time_of(std::int32_t chain) const {
    return chain_time(problem_, request_.costs, chain % kv_tiles_);
  }
  [[nodiscard]] bool met(const std::optional<Found>& found) const {
    return found && found->score <= Score{0, bound_};
  }
  [[nodiscard]] bool proven() const { return met(best_) || met(packed_best_); }

  /// As the request has it dispatched; none where a static one is asked for, or it waits for itself.
  std::optional<Found> evaluated(BackwardSchedule schedule) const {
    if (request_.dispatch == Dispatch::kStatic && schedule.dispatch != Dispatch::kStatic) return std::nullopt;
    if (request_.dispatch == Dispatch::kDynamic) {
      schedule.dispatch = Dispatch::kDynamic;
      schedule.worker.clear();
    }
    const auto outcome = attempt_schedule(problem_, request_.costs, schedule);
    const auto* run = std::get_if<ScheduleRun>(&outcome);
    if (run == nullptr) return std::nullopt;
    std::int32_t beyond = 0;
    if (limited_) beyond = std::max(heads_in_flight(schedule, *run) - *request_.heads_in_flight, 0);
    return Found{{beyond, run->makespan}, schedule, run->worker};
  }

  std::optional<Score> offer(const BackwardSchedule& schedule) {
    std::optional<Found> found = evaluated(schedule);
    if (!found) return std::nullopt;
    const Score score = found->score;
    if (!best_ || score < best_->score) {
      best_ = std::move(found);
      current_.reset();
    }
    return score;
  }

  void named() {
    std::vector<const ScheduleAlgorithm*> all = schedule_algorithms();
    std::reverse(all.begin(), all.end());
    for (const ScheduleAlgorithm* algorithm : all) {
      if (!algorithm->ordered || algorithm->searches) continue;
      for (const Dispatch dispatch : {Dispatch::kStatic, Dispatch::kDynamic}) {
        if (request_.dispatch.value_or(dispatch) != dispatch) continue;
        std::vector<std::optional<HeadSections>> launches = {request_.launch};
        if (request_.launch) launches.push_back(std::nullopt);
        for (const auto& launch : launches) {
          if (proven()) break;
          ScheduleRequest named = request_;
          named.dispatch = dispatch;
          named.launch = launch;
          const PlanOutcome outcome = attempt_plan(*algorithm, named);
          if (const auto* plan = std::get_if<SchedulePlan>(&outcome)) offer(plan->phases.front().schedule);
        }
      }
    }
  }

  void list(const Chains& order, const std::vector<double>& preference) {
    if (proven()) return;
    if (const auto schedule = list_schedule(problem_, request_.costs, order, preference)) offer(*schedule);
  }

  template <class Key>
  [[nodiscard]] Chains by(Key key) const {
    Chains order = chains_;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
    return order;
  }

  void lists() {
    const auto head = [&](std::int32_t chain) { return chain / kv_tiles_; };
    list(chains_, {});
    list(by([&](std::int32_t chain) { return -time_of(chain); }), {});
    list(by([&](std::int32_t chain) { return std::pair{head(chain), -time_of(chain)}; }), {});
    list(by([&](std::int32_t chain) { return time_of(chain); }), {});
    list(by([&](std::int32_t chain) { return chain % kv_tiles_; }), {});
    if (!limited_) return;
    for (std::int32_t section = 2; section <= *request_.heads_in_flight; section *= 2)
      list(by([&](std::int32_t chain) { return std::pair{head(chain) / section, -time_of(chain)}; }), {});
  }

  void heads_together(Chains& order) const {
    if (limited_)
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int32_t a, std::int32_t b) { return a / kv_tiles_ < b / kv_tiles_; });
  }

  std::optional<Score> packed_score(const std::vector<Chains>& of_worker,
                                    const std::vector<double>& preference) {
    const auto schedule = list_schedule(problem_, request_.costs, of_worker, preference);
    std::optional<Found> found = schedule ? evaluated(*schedule) : std::nullopt;
    if (!found) return std::nullopt;
    const Score score = found->score;
    if (!packed_best_ || score < packed_best_->score) packed_best_ = std::move(found);
    return score;
  }

  void keep(const std::vector<Chains>& of_worker, const std::vector<double>& preference) {
    const std::optional<Score> score = packed_score(of_worker, preference);
    if (!score || (packed_score_ && *packed_score_ < *score)) return;
    packed_ = of_worker;
    preference_ = preference;
    packed_score_ = score;
  }

  /// Longest first, then shortest first.
  void packed() {
    if (proven() || chains_.empty()) return;
    std::vector<double> times;
    for (const std::int32_t chain : chains_) times.push_back(time_of(chain));
    const std::vector<Chains> even = multifit(chains_, times, problem_.workers, bound_);
    packed_ = even;
    for (Chains& order : packed_) heads_together(order);
    packed_score_ = packed_score(packed_, {});
    std::vector<Chains> turned = even;
    for (Chains& order : turned) {
      std::reverse(order.begin(), order.end());
      heads_together(order);
    }
    keep(turned, {});
  }

  void change_packed() {
    if (packed_.empty()) return;
    std::vector<Chains> changed = packed_;
    std::vector<double> preference = preference_;
    preference.resize(static_cast<std::size_t>(problem_.mask.q_tiles));
    for (std::size_t left = 1 + packing_.below(4); left > 0; --left) {
      Chains& from = changed[packing_.below(changed.size())];
      Chains& to = changed[packing_.below(changed.size())];
      if (from.empty() || to.empty()) continue;
      const std::size_t a = packing_.below(from.size()), b = packing_.below(to.size());
      const bool one_worker = &from == &to;
      if (one_worker || time_of(from[a]) == time_of(to[b])) std::swap(from[a], to[b]);
      heads_together(from);
      heads_together(to);
    }
    if (packing_.below(4) == 0) {
      const double preferred = packing_.unit();
      preference[packing_.below(preference.size())] = preferred;
    }
    keep(changed, preference);
  }

  void restart() {
    const double blur = local_.unit();
    std::int32_t section = problem_.heads;
    if (limited_)
      section =
          1 + static_cast<std::int32_t>(local_.below(static_cast<std::size_t>(*request_.heads_in_flight)));
    std::map<std::int32_t, std::pair<std::int32_t, double>> key;
    for (const std::int32_t chain : chains_)
      key[chain] = {chain / kv_tiles_ / section, blur * longest_ * local_.unit() - time_of(chain)};
    std::vector<double> preference(static_cast<std::size_t>(problem_.mask.q_tiles));
    for (double& each : preference) each = local_.unit();
    list(by([&](std::int32_t chain) { return key.at(chain); }), preference);
  }

  void change() {
    if (!best_) return;
    if (!current_) {
      current_ = assignment_of(problem_, best_->schedule, best_->worker);
      const auto schedule = first_come_first_served(problem_, request_.costs, *current_);
      const auto outcome = schedule ? attempt_schedule(problem_, request_.costs, *schedule)
                                    : std::variant<ScheduleRun, Deadlock>(Deadlock{});
      current_score_ = best_->score;
      if (const auto* run = std::get_if<ScheduleRun>(&outcome)) {
        std::int32_t beyond = 0;
        if (limited_) beyond = std::max(heads_in_flight(*schedule, *run) - *request_.heads_in_flight, 0);
        current_score_ = {beyond, run->makespan};
      }
    }
    Assignment changed = *current_;
    for (std::size_t left = 1 + local_.below(3); left > 0; --left) {
      if (local_.below(4) == 0) {
        move_chain(changed, local_);
      } else {
        move_tile(changed, chains_, local_);
      }
    }
    const auto schedule = first_come_first_served(problem_, request_.costs, changed);
    if (!schedule) return;
    const Score before = best_->score;
    const std::optional<Score> score = offer(*schedule);
    if (!score || current_score_ < *score || best_->score < before) return;
    current_ = changed;
    current_score_ = *score;
  }

  const ScheduleRequest& request_;
  const BackwardProblem& problem_;
  std::int32_t kv_tiles_;
  double bound_;
  bool limited_;
  RandomSequence local_, packing_;
  Chains chains_;
  std::int64_t tasks_ = 0;
  double longest_ = 0;
  std::optional<Found> best_, packed_best_;
  std::vector<Chains> packed_;
  std::vector<double> preference_;
  std::optional<Score> packed_score_;
  std::optional<Assignment> current_;
  Score current_score_;
  Result result_;
};

ScheduleRequest random_request(RandomSequence& random, test::RandomValues& values) {
  ScheduleRequest request;
  request.problem.mask = test::random_block_mask(random, 6);
  request.problem.heads = static_cast<std::int32_t>(values.whole(1, 6));
  request.problem.workers = static_cast<std::int32_t>(values.whole(1, 6));
  if (request.problem.heads % 2 == 0 && values.coin()) request.problem.heads_per_kv_head = 2;
  const auto halves = [&](std::int64_t lo, std::int64_t hi) {
    return static_cast<double>(values.whole(lo, hi)) / 2;
  };
  BackwardCosts& costs = request.costs;
  costs.compute = halves(1, 12), costs.compute_partial = halves(1, 12);
  costs.reduce = halves(1, 8);
  costs.reduce_kv = halves(0, 4);
  costs.handoff = halves(0, 8);
  if (values.coin()) costs.prologue = halves(0, 6), costs.epilogue = halves(0, 6);
  if (values.coin()) costs.early_exit = halves(0, 3);
  costs.writer_stages = static_cast<std::int32_t>(values.of<std::int64_t>({0, 0, 1, 2}));
  costs.release = values.of({TurnRelease::kAtOnce, TurnRelease::kAtOnce, TurnRelease::kAfterNext});
  request.effort = values.of<std::int64_t>({0, 1, 7, 40});
  request.seed = static_cast<std::uint64_t>(values.whole(0, 1000));
  if (values.coin()) request.dispatch = values.of({Dispatch::kStatic, Dispatch::kDynamic});
  if (values.coin()) request.launch = HeadSections{static_cast<std::int32_t>(values.whole(1, 3))};
  if (values.coin()) request.heads_in_flight = static_cast<std::int32_t>(values.whole(1, 4));
  return request;
}

bool same(const BackwardSchedule& a, const BackwardSchedule& b) {
  const auto chains = [](const BackwardSchedule& schedule) {
    std::vector<std::tuple<std::int32_t, std::int32_t, Chains>> all;
    for (const ScheduledChain& chain : schedule.chains)
      all.emplace_back(chain.head, chain.kv_tile, chain.q_order);
    return all;
  };
  return a.dispatch == b.dispatch && chains(a) == chains(b) && a.worker == b.worker &&
         a.dq_order == b.dq_order;
}

TEST_CASE("a search takes the steps that it describes, and ends with the best of them") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomSequence random(seed);
  test::RandomValues values(seed + 1);
  int searched = 0;
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    ScheduleRequest request = random_request(random, values);
    const Steps::Result expected = Steps(request).run();
    std::vector<double> progress;
    std::vector<std::int64_t> told;
    request.progress = [&](double share) { progress.push_back(share); };
    request.standing = [&](std::int64_t iterations, const BackwardSchedule&) { told.push_back(iterations); };
    const PlanOutcome outcome = attempt_plan(schedule_algorithm("best"), request);
    REQUIRE(std::holds_alternative<SchedulePlan>(outcome) == expected.best.has_value());
    CHECK(progress == expected.progress);
    CHECK(told == expected.told);
    if (!expected.best) {
      CHECK(std::holds_alternative<Deadlock>(outcome));
      continue;
    }
    const auto& plan = std::get<SchedulePlan>(outcome);
    REQUIRE(plan.phases.size() == 1);
    const PlanRun run = run_plan(plan);
    CHECK(run.makespan == expected.best->score.second);
    CHECK(same(plan.phases.front().schedule, expected.best->schedule));
    CHECK(plan.exhausted_at == expected.exhausted_at);
    searched += progress.size() > 5;
  }
  CHECK(searched > 30);
}

TEST_CASE("what a search tells is the best so far, of both of its searches") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomSequence random(seed);
  test::RandomValues values(seed + 1);
  for (int trial = 0; trial < 60; ++trial) {
    CAPTURE(trial);
    ScheduleRequest request = random_request(random, values);
    request.dispatch.reset();
    request.heads_in_flight.reset();
    request.effort = 20;
    std::vector<double> told;
    request.standing = [&](std::int64_t, const BackwardSchedule& best) {
      told.push_back(std::get<ScheduleRun>(attempt_schedule(request.problem, request.costs, best)).makespan);
    };
    const PlanOutcome outcome = attempt_plan(schedule_algorithm("best"), request);
    if (!std::holds_alternative<SchedulePlan>(outcome)) continue;
    REQUIRE(!told.empty());
    CHECK(std::is_sorted(told.rbegin(), told.rend()));
    CHECK(told.back() == run_plan(std::get<SchedulePlan>(outcome)).makespan);
    // As good at each as if it had been left there.
    const std::size_t at = static_cast<std::size_t>(values.whole(0, std::ssize(told) - 1));
    ScheduleRequest left = request;
    left.standing = {};
    left.effort = static_cast<std::int64_t>(at);
    const PlanOutcome short_run = attempt_plan(schedule_algorithm("best"), left);
    const auto& plan = std::get<SchedulePlan>(short_run);
    if (!plan.exhausted_at && at + 1 < told.size()) CHECK(run_plan(plan).makespan <= told[at]);
  }
}

}  // namespace best_steps_test
