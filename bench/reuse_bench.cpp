// Exact stack distances and their histogram, of five traces over 131,072 distinct blocks (goal: 20 million a
// second and core, of CPU time), and the timed model of S = 262144, D = 128, 4 heads, causal (goal: 10 s).
#include <algorithm>
#include <cstdint>
#include <random>
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
    ReuseProfile profile;
    for (const auto& [block, bytes] : trace) profile.add(distances.access(block, bytes));
    benchmark::DoNotOptimize(profile.misses(1 << 20));
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

constexpr std::int64_t kBlocks = 131072;

/// Blocks of 32 bytes, each as likely as any other.
void distances_uniform(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<std::pair<std::int64_t, std::int64_t>> trace(8'000'000);
  for (auto& access : trace) access = {static_cast<std::int64_t>(random() % kBlocks), 32};
  replay(state, trace, kBlocks);
}
BENCHMARK(distances_uniform)->Unit(benchmark::kMillisecond);

/// Block k with a probability proportional to 1 / (k + 1), the blocks shuffled.
void distances_zipf(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<double> upto;
  std::vector<std::int64_t> blocks;
  for (std::int64_t k = 0; k < kBlocks; ++k) {
    upto.push_back((upto.empty() ? 0 : upto.back()) + 1 / static_cast<double>(k + 1));
    blocks.push_back(k);
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  std::uniform_real_distribution<double> any(0, upto.back());
  std::vector<std::pair<std::int64_t, std::int64_t>> trace(8'000'000);
  for (auto& access : trace) {
    const auto at = std::lower_bound(upto.begin(), upto.end() - 1, any(random)) - upto.begin();
    access = {blocks[static_cast<std::size_t>(at)], 32};
  }
  replay(state, trace, kBlocks);
}
BENCHMARK(distances_zipf)->Unit(benchmark::kMillisecond);

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
