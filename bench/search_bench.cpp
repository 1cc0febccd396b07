// The joint search over all windows, strides and blackwell-fna's seven forward pairs for Hunyuan Video
// (1.24e10 combinations), and plain enumeration of a slice of it for the ratio.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/distinct.hpp>
#include <natten_sim/search/windows/search.hpp>

namespace {

using namespace natten_sim;

SearchSpace hunyuan_space() {
  SearchSpace space = full_space({30, 48, 80});
  for (const TilePair& tiles :
       tile_pairs(builtin_catalog().backend("blackwell-fna"), 3, 128, Walk::kForward)) {
    space.tiles.push_back({"blackwell-fna", tiles});
  }
  return space;
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

/// Sparsity ranges from everything over thin slices to nearly dense, where millions of combinations tie.
constexpr std::array<std::array<double, 2>, 6> kSparsity = {
    {{0, 1}, {0.9, 0.92}, {0.5, 0.6}, {0, 0.01}, {0, 0}, {0.999, 1}}};

void joint_search(benchmark::State& state) {
  const SearchSpace space = hunyuan_space();
  const auto& [lo, hi] = kSparsity[static_cast<std::size_t>(state.range(0))];
  const auto objective = static_cast<Objective>(state.range(1));
  const SearchConstraints constraints{.sparsity = SparsityRange{lo, hi}};
  for (auto _ : state) {
    const SearchResult result = search_best(space, constraints, objective, 100, {.threads = 2});
    benchmark::DoNotOptimize(result.candidates.data());
    state.counters["space"] = static_cast<double>(result.space_size);
  }
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(joint_search)
    ->ArgNames({"range", "objective"})
    ->ArgsProduct({{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void joint_search_causal(benchmark::State& state) {
  SearchSpace space = hunyuan_space();
  space.causal = state.range(0) == 1 ? PerAxis<bool>{true, false, false} : PerAxis<bool>{true, true, true};
  const SearchConstraints constraints{.sparsity = SparsityRange{0.9, 0.92}};
  for (auto _ : state)
    benchmark::DoNotOptimize(
        search_best(space, constraints, Objective::kWork, 100, {.threads = 2}).candidates.data());
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(joint_search_causal)
    ->ArgName("causal_axes")
    ->Arg(1)
    ->Arg(3)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Ten windows that differ, for one pass (0: forward, 1: backward) or both (2) with every pair of tile pairs.
void distinct_windows(benchmark::State& state) {
  SearchSpace space = hunyuan_space();
  space.phase = static_cast<SearchPhase>(state.range(0));
  std::vector<TileChoice> choices;
  for (const TileChoice& forward : space.tiles) {
    for (const TilePair& backward :
         tile_pairs(builtin_catalog().backend("blackwell-fna"), 3, 128, Walk::kBackward))
      choices.push_back({forward.backend, forward.tiles, backward});
  }
  space.tiles = choices;
  const SearchConstraints constraints{.sparsity = SparsityRange{0.9, 0.92}, .max_imbalance = 2.5};
  SearchRun run;
  run.tie_break = TieBreak::kFastPath;
  for (auto _ : state) {
    const DistinctResult result =
        search_distinct(space, constraints, Objective::kWork, 10, Distinct::kWindow, run);
    state.counters["space"] = static_cast<double>(result.search.space_size);
    state.counters["rows"] = static_cast<double>(result.search.candidates.size());
  }
}
BENCHMARK(distinct_windows)->ArgName("phase")->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void pareto_front(benchmark::State& state) {
  const SearchSpace space = hunyuan_space();
  for (auto _ : state) {
    const SearchResult result = search_pareto(space, {}, Objective::kWork, {.threads = 2});
    state.counters["points"] = static_cast<double>(result.candidates.size());
  }
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(pareto_front)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Spaces whose tables alone would take minutes: windows and strides are excluded before they are counted.
void large_space(benchmark::State& state, const Extents& input, bool causal,
                 const SearchConstraints& constraints) {
  SearchSpace space = full_space(input);
  space.causal = PerAxis<bool>(input.rank(), causal);
  for (const TilePair& tiles :
       tile_pairs(builtin_catalog().backend("blackwell-fna"), input.rank(), 128, Walk::kForward)) {
    space.tiles.push_back({"blackwell-fna", tiles});
  }
  for (auto _ : state) {
    const SearchResult result = search_best(space, constraints, Objective::kWork, 10);
    state.counters["counted"] = static_cast<double>(result.evaluated);
    state.counters["speedup"] =
        result.candidates.empty() ? 0 : result.candidates.front().count.speedup_work();
  }
}
const SearchConstraints kSparse = {.sparsity = SparsityRange{0.9, 0.92}};
const SearchConstraints kBlockSparse = {
    .sparsity = SparsityRange{0.9, 0.92}, .window_multiple_of_kv_tile = true, .fully_block_sparse = true};
BENCHMARK_CAPTURE(large_space, image_4096, Extents{4096, 4096}, false, kSparse)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(large_space, image_4096_any, Extents{4096, 4096}, false, SearchConstraints{})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(large_space, cube_128_causal, Extents{128, 128, 128}, true, kSparse)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(large_space, text_65536, Extents{65536}, false, kBlockSparse)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(large_space, text_1048576, Extents{1 << 20}, false, kBlockSparse)
    ->Unit(benchmark::kMillisecond);

/// items_per_second: combinations that plain enumeration counts a second.
void plain_enumeration(benchmark::State& state) {
  const SearchSpace space = hunyuan_space();
  std::int64_t counted = 0;
  for (auto _ : state) {
    std::optional<double> best;
    for (std::int64_t window = 40; window <= 48; ++window) {
      for (std::int64_t x = 1; x <= 18; ++x) {
        for (std::int64_t y = 1; y <= 24; ++y) {
          for (std::int64_t z = 1; z <= 24; ++z, ++counted) {
            const TileCount count = count_tiles(
                {.mask = make_mask(space.input, {18, 24, window}, {x, y, z}), .tiles = space.tiles[6].tiles});
            if (!best || count.speedup_work() > *best) best = count.speedup_work();
          }
        }
      }
    }
    benchmark::DoNotOptimize(best);
  }
  state.SetItemsProcessed(counted);
}
BENCHMARK(plain_enumeration)->Unit(benchmark::kMillisecond);

}  // namespace
