// Exact stack distances of an attention trace over 131,072 distinct blocks (goal: 20 million a second and
// core), and the timed model of S = 262144, D = 128, 4 heads, causal (goal: 10 s).
#include <cstdint>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <natten_sim/sim/reuse/lockstep.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>

namespace {

using namespace natten_sim;

SplitQProblem attention(std::int64_t length, std::int64_t q_tile, std::int64_t kv_tile, std::int64_t heads,
                        bool causal) {
  return {.mask = make_mask({length}, {length}, {}, {}, {causal}),
          .tiles = {{q_tile}, {kv_tile}},
          .sizes = {.heads = heads, .heads_kv = heads, .head_dim = 128, .head_dim_value = 128}};
}

/// The trace is made beforehand: (block, bytes).
std::vector<std::pair<std::int64_t, std::int64_t>> trace_of(const AttentionWork& work, std::size_t most) {
  std::vector<std::pair<std::int64_t, std::int64_t>> trace;
  for_each_lockstep_access(work, [&](const BlockAccess& access) {
    if (trace.size() < most) trace.emplace_back(access.block, access.bytes);
  });
  return trace;
}

void replay(benchmark::State& state, const std::vector<std::pair<std::int64_t, std::int64_t>>& trace,
            std::int64_t blocks) {
  std::int64_t distinct = 0;
  for (auto _ : state) {
    StackDistances distances(blocks);
    std::int64_t sum = 0;
    for (const auto& [block, bytes] : trace) sum += distances.access(block, bytes).value_or(0);
    benchmark::DoNotOptimize(sum);
    distinct = distances.distinct_blocks();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.size()));
  state.counters["distinct_blocks"] = static_cast<double>(distinct);
}

/// Causal attention on 264 workers that drift apart: 40 heads of 65536 tokens, KV tiles of 32 rows; 81,920 KV
/// tiles, and Q and O tiles up to 131,072 blocks in all.
void distances_causal(benchmark::State& state) {
  const SplitQProblem problem = attention(65536, 128, 32, 43, true);
  const AttentionWork work(problem,
                           {.schedule = CtaSchedule::kGrid, .order = KvOrder::kDescending, .workers = 264});
  replay(state, trace_of(work, 40'000'000), work.blocks());
}
BENCHMARK(distances_causal)->Unit(benchmark::kMillisecond);

/// Dense attention in lockstep: most accesses follow another CTA's.
void distances_lockstep(benchmark::State& state) {
  const SplitQProblem problem = attention(65536, 128, 32, 43, false);
  const AttentionWork work(problem, {.order = KvOrder::kSawtooth, .workers = 132});
  replay(state, trace_of(work, 40'000'000), work.blocks());
}
BENCHMARK(distances_lockstep)->Unit(benchmark::kMillisecond);

/// The hardest: one worker, every distance is 131,072 blocks, or spreads over them.
void distances_single_worker(benchmark::State& state) {
  const bool sawtooth = state.range(0) != 0;
  const SplitQProblem problem = attention(131072 * 2, 65536, 2, 1, false);  // 4 passes over 131,072 KV tiles
  const AttentionWork work(problem,
                           {.order = sawtooth ? KvOrder::kSawtooth : KvOrder::kCyclic, .workers = 1});
  replay(state, trace_of(work, 40'000'000), work.blocks());
}
BENCHMARK(distances_single_worker)->ArgName("sawtooth")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void timed_causal(benchmark::State& state) {
  const SplitQProblem problem = attention(262144, 128, state.range(0), 4, true);
  const AttentionWork work(problem,
                           {.schedule = CtaSchedule::kGrid, .order = KvOrder::kDescending, .workers = 264});
  const WavefrontDevice h200{.capacity_bytes = 30'723'277,
                             .sms = 132,
                             .hit_bytes_per_ns = 65.9,
                             .miss_bytes_per_ns = 44.3,
                             .dram_bytes_per_ns = 4300,
                             .pairs_per_ns = 5.2};
  for (auto _ : state) benchmark::DoNotOptimize(run_wavefront(work, h200).load_miss_sectors);
  state.SetItemsProcessed(state.iterations() * work.accesses());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}
BENCHMARK(timed_causal)->ArgName("kv_tile")->Arg(64)->Arg(128)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
