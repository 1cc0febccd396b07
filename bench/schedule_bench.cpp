// Event simulation of one deterministic backward pass at scale: 132 workers, 128 heads, 128 x 128 tiles, full
// mask, 2.1 million tasks, ascending order. Goal: 0.5 s and 512 MiB on one core.
#include <algorithm>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

namespace {

using namespace natten_sim;

void ascending_full(benchmark::State& state) {
  constexpr std::int32_t kTiles = 128, kHeads = 128;
  BackwardProblem problem;
  problem.mask = {kTiles, kTiles, std::vector<TileWork>(std::size_t{kTiles} * kTiles, TileWork::kFull)};
  problem.heads = kHeads;
  problem.workers = 132;
  BackwardSchedule schedule;
  for (std::int32_t head = 0; head < kHeads; ++head) {
    for (std::int32_t kv = 0; kv < kTiles; ++kv)
      schedule.chains.push_back({head, kv, attended_q_tiles(problem.mask, kv)});
    for (std::int32_t q = 0; q < kTiles; ++q) schedule.dq_order.push_back(attended_kv_tiles(problem.mask, q));
  }
  const BackwardCosts costs{.compute = 7, .compute_partial = 7, .reduce = 2};
  for (auto _ : state) benchmark::DoNotOptimize(run_schedule(problem, costs, schedule).makespan);
  state.SetItemsProcessed(state.iterations() * kHeads * kTiles * kTiles);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}
BENCHMARK(ascending_full)->Unit(benchmark::kMillisecond);

/// The search at the same scale, causal (1.06 million tasks), constructions alone. `gap` is the distance from
/// the lower bound, `of_named` the ratio to the earliest published schedule.
void best_causal(benchmark::State& state) {
  ScheduleRequest request;
  request.problem.mask = window_mask({256, 256, 2, 2}, {std::nullopt, 0});
  request.problem.heads = 128;
  request.problem.workers = 132;
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2};
  request.effort = 0;
  PlanRun best;
  for (auto _ : state) best = run_plan(plan_backward(schedule_algorithm("best"), request));
  double named = 0;
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
    if (!algorithm->ordered || algorithm->searches) continue;
    const double makespan = run_plan(plan_backward(*algorithm, request)).makespan;
    named = named == 0 ? makespan : std::min(named, makespan);
  }
  state.counters["gap"] = best.optimality_gap;
  state.counters["of_named"] = best.makespan / named;
}
BENCHMARK(best_causal)->Unit(benchmark::kMillisecond);

}  // namespace
