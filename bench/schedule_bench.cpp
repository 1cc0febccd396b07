// The scheduler at scale, on 132 workers and one core:
//   ascending_full    128 heads of 128 x 128 tiles, full mask, 2.1 million tasks. Goal: 0.25 s, 512 MiB.
//   best_causal       the search on the same, causal, 1.06 million tasks. Goal: 2 s.
//   many_documents    64 heads of 128 documents of 8,192 tokens, 33.6 million tasks. Goal: 2 GiB.
// peak_MiB is that of the process, of every benchmark before included. `of_named` is the makespan of `best`
// over that of the earliest named schedule, `gap` its distance from the lower bound.
#include <algorithm>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

namespace {

using namespace natten_sim;

void report_peak(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}

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
  report_peak(state);
}
BENCHMARK(ascending_full)->Unit(benchmark::kMillisecond);

void best_causal(benchmark::State& state) {
  ScheduleRequest request;
  request.problem.mask = window_mask({256, 256, 2, 2}, {std::nullopt, 0});
  request.problem.heads = 128;
  request.problem.workers = 132;
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2};
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

void many_documents(benchmark::State& state) {
  constexpr std::int64_t kDocuments = 128, kTokens = 8192, kTile = 128;
  ScheduleRequest request;
  request.problem.mask = document_mask({kDocuments * kTokens, kDocuments * kTokens, kTile, kTile},
                                       std::vector<std::int64_t>(kDocuments, kTokens));
  request.problem.heads = 64;
  request.problem.workers = 132;
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2};
  for (auto _ : state) {
    const PlanRun run = run_plan(plan_backward(schedule_algorithm("spt"), request));
    state.counters["of_bound"] = run.makespan / run.lower_bound;
  }
  report_peak(state);
}
BENCHMARK(many_documents)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
