#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <natten_sim/study/conclusion/schedule.hpp>

#include "schedules/whole_costs.hpp"

namespace natten_sim::study {
namespace {

constexpr int kHandoffSteps = 128;  // of a thirty-second of a compute
constexpr std::size_t kRivals = 3;

struct Timed {
  std::string name;
  double makespan = 0;
};

std::int64_t tasks_of(const BackwardProblem& problem) {
  return problem.heads * problem.mask.attended().count;
}

/// The request that the answer's algorithms had.
ScheduleRequest request_of(const ScheduleAnswer& answer, const ScheduleQuestion& asked) {
  return {.problem = answer.problem,
          .dispatch = asked.dispatch,
          .launch = asked.launch,
          .walk = asked.walk,
          .heads_in_flight = answer.heads_in_flight};
}

/// None where it does not apply, or never ends.
std::optional<double> makespan_with(const ScheduleAlgorithm& algorithm, const ScheduleAnswer& answer,
                                    const ScheduleQuestion& asked, BackwardCosts costs) {
  costs.reduce /= answer.ctas > answer.problem.workers ? 2 : 1;  // pairs of CTAs
  const WholeCosts whole = whole_costs(answer.problem, costs);
  ScheduleRequest request = request_of(answer, asked);
  request.costs = whole.costs;
  PlanOutcome planned = attempt_plan(algorithm, request);
  const auto* plan = std::get_if<SchedulePlan>(&planned);
  if (plan == nullptr) return std::nullopt;
  const std::variant<PlanRun, Deadlock> outcome = attempt_run(*plan);
  const auto* run = std::get_if<PlanRun>(&outcome);
  return run == nullptr ? std::nullopt : std::optional(run->makespan / whole.parts);
}

const FinishedSchedule* finished_of(const ScheduleResult& result) {
  return std::get_if<FinishedSchedule>(&result.outcome);
}

/// What the conclusion starts from.
const ScheduleResult* starting_point(const ScheduleAnswer& answer) {
  const ScheduleResult* from = nullptr;
  for (const ScheduleResult& result : answer.results) {
    if (finished_of(result) == nullptr) continue;
    if (answer.results.size() == 1 || result.name == "ascending") return &result;
    if (from == nullptr || finished_of(result)->run.makespan > finished_of(*from)->run.makespan)
      from = &result;
  }
  return from;
}

void say_loss(const ScheduleAnswer& answer, const PlanRun& run, ScheduleConclusion& end) {
  const double total = run.makespan * answer.problem.workers;
  if (total <= 0) return;
  for (const auto& [loss, time] : {std::pair{ScheduleLoss::kStartup, run.bubble.startup},
                                   std::pair{ScheduleLoss::kWaitForTurn, run.bubble.wait_for_turn},
                                   std::pair{ScheduleLoss::kTail, run.bubble.tail}}) {
    if (time / total <= end.loss_share) continue;
    end.loss = loss;
    end.loss_share = time / total;
  }
}

/// Deterministic ones, the fastest first; ties in the order of the registry.
std::vector<Timed> rivals(const ScheduleAnswer& answer, const ScheduleQuestion& asked, bool run_others) {
  std::vector<Timed> found;
  for (const ScheduleResult& result : answer.results) {
    if (finished_of(result) != nullptr && result.repeatable)
      found.push_back({result.name, finished_of(result)->run.makespan});
  }
  if (answer.results.size() == 1 && run_others) {
    for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
      if (algorithm->searches || !algorithm->repeatable ||
          algorithm->name == answer.results.front().name)
        continue;
      const std::optional<double> makespan = makespan_with(*algorithm, answer, asked, answer.costs);
      if (makespan) found.push_back({algorithm->name, *makespan});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Timed& a, const Timed& b) { return a.makespan < b.makespan; });
  return found;
}

/// Who is fastest when a handoff takes this long; the incumbent wins ties.
std::string fastest_at(double handoff, const std::vector<Timed>& rivals, const ScheduleAnswer& answer,
                       const ScheduleQuestion& asked) {
  BackwardCosts costs = answer.costs;
  costs.handoff = handoff;
  std::string fastest;
  double least = 0;
  for (const Timed& rival : rivals) {
    const std::optional<double> makespan =
        makespan_with(schedule_algorithm(rival.name), answer, asked, costs);
    if (!makespan || (!fastest.empty() && *makespan >= least)) continue;
    fastest = rival.name;
    least = *makespan;
  }
  return fastest;
}

/// Halves the steps between the answer's handoff and four computes, or none, until the two neighbours are
/// found between which the fastest changes.
void find_flip(const std::vector<Timed>& all, const ScheduleAnswer& answer, const ScheduleQuestion& asked,
               ScheduleConclusion& end) {
  const double step = answer.costs.compute * 4 / kHandoffSteps;
  std::vector<Timed> candidates;
  for (const Timed& rival : all) {
    const std::string& name = rival.name;
    if (name == "table" || schedule_algorithm(name).searches) continue;
    if (candidates.size() < kRivals) candidates.push_back(rival);
  }
  if (candidates.size() < 2 || step <= 0 || candidates.front().name != end.fastest) return;
  end.flip_asked = true;
  const double own = answer.costs.handoff;
  for (const bool above : {true, false}) {
    const auto at = [&](int steps) { return std::max(0.0, above ? own + steps * step : own - steps * step); };
    constexpr double kMostSteps = 1 << 30;  // denormal costs have more
    const int reach = above ? kHandoffSteps : static_cast<int>(std::min(own / step, kMostSteps)) + 1;
    if (own == 0 && !above) continue;
    int same = 0, other = reach;
    std::string to = fastest_at(at(reach), candidates, answer, asked);
    if (to == end.fastest) continue;
    while (other - same > 1) {
      const int middle = (same + other) / 2;
      const std::string there = fastest_at(at(middle), candidates, answer, asked);
      (there == end.fastest ? same : other) = middle;
      if (there != end.fastest) to = there;
    }
    end.flip = ScheduleFlip{at(other), to, above};
    return;
  }
}

}  // namespace

ScheduleConclusion conclude(const ScheduleAnswer& answer, const ScheduleQuestion& asked) {
  ScheduleConclusion end;
  const ScheduleResult* from = starting_point(answer);
  if (from == nullptr) return end;
  const PlanRun& run = finished_of(*from)->run;
  end.from = from->name;
  end.from_makespan = run.makespan;
  end.gap = run.optimality_gap;
  say_loss(answer, run, end);
  const std::int64_t tasks = tasks_of(answer.problem);
  const std::vector<Timed> all = rivals(answer, asked, tasks <= kConcludedTasks);
  if (all.size() < 2) return end;
  end.fastest = all.front().name;
  end.fastest_makespan = all.front().makespan;
  if (end.fastest_makespan > 0)  // of denormal costs the ratio may be larger than any number
    end.gain = std::min(end.from_makespan / end.fastest_makespan, std::numeric_limits<double>::max());
  if (tasks <= kVariedTasks) find_flip(all, answer, asked, end);
  return end;
}

}  // namespace natten_sim::study
