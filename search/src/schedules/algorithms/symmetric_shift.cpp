// DASH 3.4 for causal masks, for any number of KV tiles, heads and workers. Rows are blocks of `ratio` Q
// tiles as long as one KV tile; n = KV tiles = rows, KV tile j attends to rows j and later. half = n / 2
// (rounded down).
//
// Pairs: KV tiles j and n-1-j, j < half, one after the other on one worker: n + 1 rows, whatever j.
//   KV j    visits rows half + (j + t) mod p, t < p, with p = n - half: the dense square below the middle,
//   shifted;
//           then rows j .. half - 1.
//   KV n-1-j visits rows n-1, n-2, .., n-1-j.
// Middle (odd n only): KV tile half has p rows. Two heads share one worker: the first head's visits
//   half + (p - 1 + t) mod p, the place that the pairs leave free in the shifted square; the second head's
//   visits n-1, .., half.
//
// Pairs and middles are bins of n + 1 rows; the bins of all heads run on the workers in turn. In step, no dQ
// row is touched twice at one depth: in the square, columns differ by their shift; row i < half is touched by
// KV j at depth p + i - j; row n-1-u by KV n-1-j at depth p + half - j + u > p + u, and by the second middle
// at depth p + u. So the depth order of every dQ tile increases strictly, and nobody waits (Lemma 1). Rounds
// do not overlap, so bins of one head may lie in different rounds.
//
// Spread, for workers that are not in step. Pairs of a head that run at a time lie as many rows apart as a dQ tile takes
// to be handed on: first every second j of several heads, then the others. And a round that is not full keeps most
// workers waiting, for up to a whole pair: so the chains of the last two rounds, and middles, go one by one, the longest
// first, to the worker that is free first.
#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/schedules/schedule_closed_form.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

/// Q tiles a KV tile is as long as (the last one may have fewer); none unless the mask is causal with such tiles.
std::optional<std::int32_t> causal_ratio(const BlockMask& mask) {
  const auto ratio = static_cast<std::int32_t>(ceil_divide(mask.q_tiles, mask.kv_tiles));
  bool causal = mask.q_tiles > std::int64_t{ratio} * (mask.kv_tiles - 1);
  for (std::int32_t q = 0; q < mask.q_tiles && causal; ++q) {
    poll();
    for (std::int32_t kv = 0; kv < mask.kv_tiles && causal; ++kv)
      causal = (mask.at(q, kv) != TileWork::kNone) == (q >= kv * ratio);
  }
  return causal ? std::optional(ratio) : std::nullopt;
}

std::optional<std::string> lacks_causal_tiles(const BackwardProblem& problem) {
  if (causal_ratio(problem.mask)) return std::nullopt;
  return "a causal mask of square shape whose KV tiles are as long as one or more Q tiles; best and shift "
         "take any mask";
}

class Bins {
 public:
  Bins(const ScheduleRequest& request, std::int32_t ratio)
      : workers_(request.problem.workers),
        n_(request.problem.mask.kv_tiles),
        half_(n_ / 2),
        square_(n_ - half_),
        ratio_(ratio),
        q_tiles_(request.problem.mask.q_tiles) {}

  void add_pair(std::int32_t head, std::int32_t j) {
    std::vector<std::int32_t> rows = shifted(j);
    for (std::int32_t row = j; row < half_; ++row) rows.push_back(row);
    add(head, j, rows);
    add(head, n_ - 1 - j, upwards(n_ - 1 - j));
    ++bin_;
  }
  void add_middle(std::int32_t head, bool first) {
    add(head, half_, first ? shifted(square_ - 1) : upwards(half_));
    if (!first) ++bin_;
  }
  /// All chains since `first`, longest first, each to the worker that is free first of those equally loaded before.
  void place_longest_first(std::size_t first, double compute, double chain) {
    const auto begin = schedule.chains.begin() + static_cast<std::ptrdiff_t>(first);
    std::stable_sort(begin, schedule.chains.end(), polled([](const ScheduledChain& a, const ScheduledChain& b) {
      return a.q_order.size() > b.q_order.size();
    }));
    using Free = std::pair<double, std::int32_t>;  // when, which worker
    std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
    for (std::int32_t worker = 0; worker < workers_; ++worker) free.emplace(0, worker);
    for (std::size_t i = first; i < schedule.chains.size(); ++i) {
      const auto [at, worker] = free.top();
      free.pop();
      schedule.worker[i] = worker;
      free.emplace(at + compute * static_cast<double>(schedule.chains[i].q_order.size()) + chain, worker);
    }
  }

  BackwardSchedule schedule;

 private:
  [[nodiscard]] std::vector<std::int32_t> shifted(std::int32_t shift) const {
    std::vector<std::int32_t> rows;
    for (std::int32_t t = 0; t < square_; ++t) rows.push_back(half_ + (shift + t) % square_);
    return rows;
  }
  [[nodiscard]] std::vector<std::int32_t> upwards(std::int32_t last) const {
    std::vector<std::int32_t> rows;
    for (std::int32_t row = n_ - 1; row >= last; --row) rows.push_back(row);
    return rows;
  }
  void add(std::int32_t head, std::int32_t kv, const std::vector<std::int32_t>& rows) {
    ScheduledChain chain{head, kv, {}};
    for (const std::int32_t row : rows) {
      for (std::int32_t q = row * ratio_; q < std::min((row + 1) * ratio_, q_tiles_); ++q) chain.q_order.push_back(q);
    }
    schedule.chains.push_back(std::move(chain));
    schedule.worker.push_back(static_cast<std::int32_t>(bin_ % workers_));
  }

  std::int32_t workers_, n_, half_, square_, ratio_, q_tiles_;
  std::int64_t bin_ = 0;
};

PlanOutcome reduced_pairs(const ScheduleRequest& request, BackwardSchedule schedule) {
  schedule.dispatch = request.dispatch.value_or(Dispatch::kStatic);
  if (schedule.dispatch == Dispatch::kDynamic) schedule.worker.clear();
  return reduced_by_visiting_time(request, std::move(schedule));
}

/// Shorter chains gain nothing from more distance (measured, docs/backward-speed.md).
constexpr std::int32_t kLongChains = 32;

/// Whether pairs stay together to the end: rows of two Q tiles and few of them, whose chains wait for each other when
/// they go one by one (measured, docs/backward-predictions.md).
bool keeps_pairs(const BackwardProblem& problem) {
  constexpr std::int32_t kFewRows = 8;
  return problem.mask.kv_tiles <= kFewRows && causal_ratio(problem.mask).value() > 1;
}

/// Pairs (head, j) in launch order: of as many heads as fill the workers with every `apart`-th pair.
std::vector<std::pair<std::int32_t, std::int32_t>> spread_pairs(const BackwardProblem& problem, std::int32_t apart) {
  const std::int32_t half = problem.mask.kv_tiles / 2;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  if (half == 0) return pairs;
  const auto together = static_cast<std::int32_t>(ceil_divide(std::int64_t{problem.workers} * apart, half));
  for (std::int32_t first = 0; first < problem.heads; first += apart == 1 ? 1 : together) {
    const std::int32_t end = std::min(problem.heads, apart == 1 ? first + 1 : first + together);
    for (std::int32_t phase = 0; phase < apart; ++phase) {
      poll();
      for (std::int32_t head = first; head < end; ++head) {
        for (std::int32_t j = phase; j < half; j += apart) pairs.emplace_back(head, j);
      }
    }
  }
  return pairs;
}

PlanOutcome plan_spread_pairs(const ScheduleRequest& request) {
  const BackwardProblem& problem = request.problem;
  const std::int32_t ratio = causal_ratio(problem.mask).value(), n = problem.mask.kv_tiles;
  const auto tasks = static_cast<std::int64_t>(tasks_of_hand_over(request.costs));
  const auto rows = static_cast<std::int32_t>(std::min<std::int64_t>(ceil_divide(tasks, ratio), std::max(n / 2, 1)));
  const std::int32_t apart = n < kLongChains ? 1 : rows;
  Bins bins(request, ratio);
  const auto pairs = spread_pairs(problem, apart);
  const auto workers = static_cast<std::size_t>(problem.workers);
  const std::size_t rounds = pairs.size() / workers;
  const bool full = pairs.size() % workers == 0;
  const std::size_t in_step = full ? pairs.size() : (rounds > 0 ? rounds - 1 : 0) * workers;
  for (const auto& [head, j] : pairs) bins.add_pair(head, j);
  if (n % 2 == 1) {
    for (std::int32_t head = 0; head < problem.heads; ++head) bins.add_middle(head, head % 2 == 0);
  }
  bins.place_longest_first(2 * in_step, request.costs.compute, request.costs.prologue + request.costs.epilogue);
  return reduced_pairs(request, std::move(bins.schedule));
}

PlanOutcome plan_symmetric_shift(const ScheduleRequest& request) {
  if (request.walk == TileWalk::kSpread && !keeps_pairs(request.problem)) return plan_spread_pairs(request);
  const BackwardProblem& problem = request.problem;
  Bins bins(request, causal_ratio(problem.mask).value());
  const std::int32_t n = problem.mask.kv_tiles;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t j = 0; j < n / 2; ++j) bins.add_pair(head, j);
    if (n % 2 == 1 && head % 2 == 1) {
      bins.add_middle(head - 1, true);
      bins.add_middle(head, false);
    }
  }
  if (n % 2 == 1 && problem.heads % 2 == 1) bins.add_middle(problem.heads - 1, true);
  return reduced_pairs(request, std::move(bins.schedule));
}

}  // namespace

ScheduleAlgorithm symmetric_shift() {
  return {.name = "symmetric-shift",
          .origin = "DASH, section 3.4, causal masks",
          .position = 50,
          .plan = plan_symmetric_shift,
          .lacks = lacks_causal_tiles,
          .closed_form = symmetric_shift_closed_form};
}

}  // namespace natten_sim::schedules
