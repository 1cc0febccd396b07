// Goal: a stream of 10^8 updates is analysed in at most 5 s, in memory that the rows bound, not the updates.
#include <benchmark/benchmark.h>

#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>
#include <natten_sim/sim/msda/msda.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/msda_data.hpp>

namespace {

using namespace natten_sim;

void count_stream(benchmark::State& state, const IndexDistribution& distribution) {
  const std::int64_t updates = state.range(0), rows = state.range(1);
  for (auto _ : state) {
    const auto stream = generate_indices({distribution, updates, rows, 512, 1});
    benchmark::DoNotOptimize(count_collisions(*stream, rows));
  }
  state.SetItemsProcessed(state.iterations() * updates);
}

void uniform(benchmark::State& state) { count_stream(state, UniformRows{}); }
void zipf(benchmark::State& state) { count_stream(state, ZipfRows{1.5}); }
void mild_zipf(benchmark::State& state) { count_stream(state, ZipfRows{0.5}); }
void hot(benchmark::State& state) { count_stream(state, HotRows{64}); }

constexpr std::int64_t kUpdates = 100'000'000;
BENCHMARK(uniform)
    ->Args({kUpdates, 32768})
    ->Args({kUpdates, 10'000'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK(zipf)
    ->Args({kUpdates, 32768})
    ->Args({kUpdates, 10'000'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK(mild_zipf)->Args({kUpdates, 10'000'000})->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(hot)->Args({kUpdates, 32768})->Unit(benchmark::kMillisecond)->Iterations(1);

void closed_form(benchmark::State& state) {
  ScatterLoad load;
  load.updates = 262144;
  load.rows_touched = 4700;
  load.max_multiplicity = load.serial_multiplicity = 101286;
  load.width = 256;
  load.type = Dtype::kBf16;
  load.path = InstructionPath::kCas;
  const ContentionProfile profile = contention_profile(builtin_catalog().device("h200"));
  for (auto _ : state) benchmark::DoNotOptimize(predict_contention(load, profile));
}
BENCHMARK(closed_form);

void msda_encoder(benchmark::State& state) {
  for (const MsdaConfig& config : builtin_msda_configs()) {
    if (config.name != "B2_800x1333_d256_L4_enc") continue;
    for (auto _ : state)
      benchmark::DoNotOptimize(simulate_msda(config, {}, QueryOrder::kLinear, MsdaCache{60000, 8}));
  }
}
BENCHMARK(msda_encoder)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
