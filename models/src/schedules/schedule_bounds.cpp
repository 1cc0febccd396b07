#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/schedules/packing_bound.hpp>
#include <natten_sim/models/schedules/schedule_bounds.hpp>

namespace natten_sim {
namespace {

/// Costs of one problem in the terms of ScheduleBounds.
class Terms {
 public:
  Terms(const BackwardProblem& problem, const BackwardCosts& costs, ReductionOrder order)
      : reduce(costs.reduce + (order == ReductionOrder::kPrescribed ? costs.per_tile_tax : 0.0)),
        reduce_kv(problem.heads_per_kv_head > 1 ? costs.reduce_kv : 0.0),
        handoff(std::min(costs.handoff, costs.handoff_far.value_or(costs.handoff))),
        prologue(costs.prologue),
        epilogue(costs.epilogue),
        early_exit(costs.early_exit),
        kv_turns(costs.kv_turns()),
        serial(costs.writer_stages == 0),
        problem_(problem),
        costs_(costs) {}
  [[nodiscard]] double compute(std::int32_t q, std::int32_t kv) const {
    return problem_.mask.at(q, kv) == TileWork::kPartial ? costs_.compute_partial : costs_.compute;
  }

  double reduce, reduce_kv, handoff, prologue, epilogue, early_exit;
  std::int32_t kv_turns;
  bool serial;

 private:
  const BackwardProblem& problem_;
  const BackwardCosts& costs_;
};

struct ChainLoad {
  std::int32_t tasks = 0;
  double compute = 0;
  double least_compute = 0;
};

ChainLoad load_of(const BackwardProblem& problem, const Terms& terms, std::int32_t kv) {
  ChainLoad load;
  for (const std::int32_t q : problem.mask.attended().q_of_kv[static_cast<std::size_t>(kv)]) {
    const double compute = terms.compute(q, kv);
    load.least_compute = load.tasks == 0 ? compute : std::min(load.least_compute, compute);
    load.compute += compute;
    ++load.tasks;
  }
  return load;
}

/// Time of a chain without the reduction of dK/dV.
double dq_time(const ChainLoad& load, const Terms& terms) {
  if (load.tasks == 0) return 0;
  if (terms.serial) return terms.prologue + load.compute + load.tasks * terms.reduce + terms.epilogue;
  return terms.prologue + std::max(load.compute + std::max(terms.reduce, terms.epilogue),
                                   load.least_compute + load.tasks * terms.reduce);
}

double chain_time(const ChainLoad& load, const Terms& terms) {
  return load.tasks == 0 ? terms.early_exit : dq_time(load, terms) + terms.reduce_kv;
}

/// Greatest common divisor of the costs that tasks or their waits may add; 0 unless all are whole.
double grain_of(const BackwardProblem& problem, const BackwardCosts& costs, const Terms& terms) {
  const AttendedTiles& attended = problem.mask.attended();
  std::int64_t grain = 0;
  for (const double cost :
       {attended.some_full ? costs.compute : 0.0, attended.some_partial ? costs.compute_partial : 0.0,
        terms.reduce, terms.reduce_kv / terms.kv_turns, costs.handoff, costs.handoff_far.value_or(0.0),
        terms.prologue, terms.epilogue, terms.early_exit}) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (cost != std::floor(cost) || cost >= kExact) return 0;
    grain = std::gcd(grain, static_cast<std::int64_t>(cost));
  }
  return static_cast<double>(grain);
}

double chains_bound(const std::vector<double>& times, std::int64_t heads, std::int64_t workers) {
  // Chain number i (0-based, longest first) of heads copies of each time; sums run over the k+1 shortest of
  // the first k * workers + 1.
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end(), polled(std::greater<>()));
  std::vector<double> sums = {0};  // of all heads of the first times
  for (const double time : sorted) sums.push_back(sums.back() + time * static_cast<double>(heads));
  const auto sum_of_first = [&](std::int64_t chains) {
    const auto whole = static_cast<std::size_t>(chains / heads);
    const std::int64_t rest = chains % heads;
    return sums[whole] + (rest == 0 ? 0.0 : static_cast<double>(rest) * sorted[whole]);
  };
  const std::int64_t count = heads * static_cast<std::int64_t>(sorted.size());
  double best = 0;
  for (std::int64_t k = 0; k * workers < count; ++k) {
    poll();
    const std::int64_t last = k * workers;
    best = std::max(best, sum_of_first(last + 1) - sum_of_first(last - k));
  }
  return best;
}

/// Requires whole costs.
double packed_chains(const std::vector<double>& times, const BackwardProblem& problem, double least) {
  std::vector<ChainCount> chains;
  for (const double time : times) {
    if (time > 0) chains.push_back({static_cast<std::int64_t>(time), problem.heads});
  }
  return static_cast<double>(
      packing_bound(chains, problem.workers, static_cast<std::int64_t>(std::ceil(least))));
}

double dq_bound(const BackwardProblem& problem, const Terms& terms) {
  double best = 0;
  const auto& kv_of_q = problem.mask.attended().kv_of_q;
  for (std::int32_t q = 0; q < problem.mask.q_tiles; ++q) {
    poll();
    std::int32_t contributions = 0;
    double least = 0;
    for (const std::int32_t kv : kv_of_q[static_cast<std::size_t>(q)]) {
      least = contributions == 0 ? terms.compute(q, kv) : std::min(least, terms.compute(q, kv));
      ++contributions;
    }
    if (contributions == 0) continue;
    // Contributions of one worker come from different chains, and a chain starts when the one before is done.
    const double between = std::min(terms.handoff, terms.prologue + least);
    best = std::max(best, terms.prologue + least + contributions * terms.reduce +
                              (contributions - 1) * between + (terms.serial ? terms.epilogue : 0.0));
  }
  return best;
}

double crowding_bound(const BackwardProblem& problem, const Terms& terms, const std::vector<ChainLoad>& loads,
                      double least_compute) {
  if (!terms.serial) return 0;
  double best = 0;
  for (const std::vector<std::int32_t>& kv_tiles : problem.mask.attended().kv_of_q) {
    poll();
    std::map<std::int32_t, std::int32_t> chains;  // contributing chains by their tasks
    for (const std::int32_t kv : kv_tiles) ++chains[loads[static_cast<std::size_t>(kv)].tasks];
    for (const auto& [tasks, count] : chains) {
      const std::int32_t crowd = (count + tasks - 1) / tasks;
      best = std::max(best, terms.prologue + tasks * (least_compute + terms.reduce) + terms.epilogue +
                                (crowd - 1) * (terms.reduce + std::min(terms.handoff, least_compute)));
    }
  }
  return best;
}

}  // namespace

double ScheduleBounds::largest() const {
  return std::max({work, tasks, chains, packing, dq_sequence, crowding, dkv_sequence});
}

double ScheduleBounds::best() const { return grain > 0 ? std::ceil(largest() / grain) * grain : largest(); }

BindingBound ScheduleBounds::binding() const {
  const double most = largest();
  if (work == most) return BindingBound::kWork;
  if (tasks == most) return BindingBound::kTasks;
  if (chains == most) return BindingBound::kChains;
  if (packing == most) return BindingBound::kPacking;
  if (dq_sequence == most) return BindingBound::kDqSequence;
  return crowding == most ? BindingBound::kCrowding : BindingBound::kDkvSequence;
}

double chain_time(const BackwardProblem& problem, const BackwardCosts& costs, std::int32_t kv_tile,
                  ReductionOrder order) {
  const Terms terms(problem, costs, order);
  return chain_time(load_of(problem, terms, kv_tile), terms);
}

ScheduleBounds schedule_bounds(const BackwardProblem& problem, const BackwardCosts& costs,
                               ReductionOrder order) {
  require_valid(problem);
  const Terms terms(problem, costs, order);
  std::vector<ChainLoad> loads;
  std::vector<double> times;
  double total = 0, least_compute = 0;
  std::int64_t tasks = 0;
  for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv) {
    loads.push_back(load_of(problem, terms, kv));
    times.push_back(chain_time(loads.back(), terms));
    total += times.back();
    if (loads.back().tasks == 0) continue;
    least_compute =
        tasks == 0 ? loads.back().least_compute : std::min(least_compute, loads.back().least_compute);
    tasks += loads.back().tasks;
  }
  ScheduleBounds bounds;
  bounds.grain = grain_of(problem, costs, terms);
  bounds.work = total * problem.heads / problem.workers;
  if (terms.serial) {
    const std::int64_t most = ceil_divide(tasks * problem.heads, problem.workers);
    bounds.tasks = static_cast<double>(most) * (least_compute + terms.reduce);
    if (tasks > 0) bounds.tasks += terms.prologue + terms.epilogue;
  }
  bounds.chains = chains_bound(times, problem.heads, problem.workers);
  if (bounds.grain > 0) bounds.packing = packed_chains(times, problem, std::max(bounds.work, bounds.chains));
  if (problem.heads_per_kv_head > 1 && order != ReductionOrder::kUnordered) {
    const std::int32_t heads = problem.heads_per_kv_head;
    for (const ChainLoad& load : loads) {
      if (load.tasks == 0) continue;
      const double chain = dq_time(load, terms), turn = terms.reduce_kv / terms.kv_turns;
      bounds.dkv_sequence =
          std::max(bounds.dkv_sequence,
                   chain + (heads - 1) * (turn + std::min(terms.handoff, chain)) + terms.reduce_kv);
    }
  }
  if (order != ReductionOrder::kPrescribed) return bounds;
  bounds.dq_sequence = dq_bound(problem, terms);
  bounds.crowding = crowding_bound(problem, terms, loads, least_compute);
  return bounds;
}

}  // namespace natten_sim
