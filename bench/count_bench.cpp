// One full count of a 3-D problem from scratch: closed form, tile walk, and token-level brute force for the
// ratio. items_per_second of count_closed_form is the goal's figure: 2 million a second and core.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>
#include <natten_sim/io/catalog.hpp>

namespace {

using namespace natten_sim;

/// Hunyuan Video with random windows, strides and one of blackwell-fna's tile pairs, so that nothing is
/// predictable.
std::vector<TilingProblem> hunyuan_problems(std::size_t count, bool causal) {
  const Catalog catalog = builtin_catalog();
  const std::vector<TilePair> pairs = tile_pairs(catalog.backend("blackwell-fna"), 3, 128, Walk::kForward);
  const Extents layout{30, 48, 80};
  std::mt19937_64 random(20240817);
  std::vector<TilingProblem> problems;
  for (std::size_t i = 0; i < count; ++i) {
    Extents window, stride;
    for (std::int64_t length : layout) {
      window.push_back(std::uniform_int_distribution<std::int64_t>(1, length)(random));
      stride.push_back(std::uniform_int_distribution<std::int64_t>(1, window[window.rank() - 1])(random));
    }
    problems.push_back({.mask = make_mask(layout, window, stride, {}, {causal, false, false}),
                        .tiles = pairs[i % pairs.size()]});
  }
  return problems;
}

void count_closed_form(benchmark::State& state) {
  const std::vector<TilingProblem> problems = hunyuan_problems(4096, state.range(0) != 0);
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(count_tiles(problems[i++ % problems.size()]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(count_closed_form)->ArgName("causal")->Arg(0)->Arg(1);

void count_published_problem(benchmark::State& state) {
  const TilingProblem problem{.mask = make_mask({30, 48, 80}, {18, 24, 24}), .tiles = {{4, 8, 8}, {2, 8, 8}}};
  for (auto _ : state) benchmark::DoNotOptimize(count_tiles(problem));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(count_published_problem);

void count_by_tile_walk(benchmark::State& state) {
  const TilingProblem problem{.mask = make_mask({30, 48, 80}, {18, 24, 24}), .tiles = {{4, 8, 8}, {2, 8, 8}}};
  for (auto _ : state) benchmark::DoNotOptimize(walk_tiles(problem));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(count_by_tile_walk)->Unit(benchmark::kMillisecond);

void count_single_dimensional(benchmark::State& state) {
  const TilingProblem problem{.mask = make_mask({30, 48, 80}, {18, 24, 24}),
                              .tiles = {{256}, {128}},
                              .tiling = Tiling::kSingleDimensional};
  for (auto _ : state) benchmark::DoNotOptimize(walk_tiles(problem));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(count_single_dimensional)->Unit(benchmark::kMillisecond);

/// One axis in row-major order with dilation, which no closed form covers: linear in the tokens, in both passes.
void count_single_dimensional_axis(benchmark::State& state) {
  const std::int64_t tokens = state.range(0);
  const TilingProblem problem{.mask = make_mask({tokens}, {1024}, {}, {2}),
                              .tiles = {{128}, {128}},
                              .tiling = Tiling::kSingleDimensional,
                              .walk = state.range(1) == 0 ? Walk::kForward : Walk::kBackward};
  for (auto _ : state) benchmark::DoNotOptimize(walk_tiles(problem));
  state.SetComplexityN(tokens);
}
BENCHMARK(count_single_dimensional_axis)
    ->ArgNames({"tokens", "backward"})
    ->ArgsProduct({{1 << 16, 1 << 18, 1 << 20}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

/// Visits every attended pair of tokens and marks its pair of tiles.
void count_by_tokens(benchmark::State& state) {
  const NeighborhoodMask mask = make_mask({30, 48, 80}, {18, 24, 24});
  const Extents q_tile{4, 8, 8}, kv_tile{2, 8, 8};
  const std::int64_t q_grid[3] = {8, 6, 10}, kv_grid[3] = {15, 6, 10};
  for (auto _ : state) {
    std::vector<std::int64_t> pairs(480UL * 900UL, 0);
    std::int64_t query[3];
    for (query[0] = 0; query[0] < 30; ++query[0]) {
      for (query[1] = 0; query[1] < 48; ++query[1]) {
        for (query[2] = 0; query[2] < 80; ++query[2]) {
          TokenRange range[3];
          std::int64_t q = 0;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            range[axis] = attended_range(residue_class(mask[axis], 0), query[axis]);
            q = q * q_grid[axis] + query[axis] / q_tile[axis];
          }
          for (std::int64_t x = range[0].begin; x < range[0].end; ++x) {
            for (std::int64_t y = range[1].begin; y < range[1].end; ++y) {
              for (std::int64_t z = range[2].begin; z < range[2].end; ++z) {
                const std::int64_t kv =
                    (x / kv_tile[0] * kv_grid[1] + y / kv_tile[1]) * kv_grid[2] + z / kv_tile[2];
                ++pairs[static_cast<std::size_t>(q * 900 + kv)];
              }
            }
          }
        }
      }
    }
    benchmark::DoNotOptimize(std::count_if(pairs.begin(), pairs.end(), [](std::int64_t n) { return n > 0; }));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(count_by_tokens)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
