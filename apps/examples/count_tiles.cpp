// Counts the tiles that a video model's sparse attention visits, and what that is worth.
#include <cstdio>

#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>

int main() {
  using namespace natten_sim;
  const TilingProblem problem{
      .mask = make_mask(/*input=*/{30, 48, 80}, /*window=*/{18, 24, 24}, /*stride=*/{16, 8, 8}),
      .tiles = {.q_tile = {4, 8, 8}, .kv_tile = {2, 8, 8}},
  };
  const TileCount count = count_tiles(problem);  // exact; throws natten_sim::Error on bad input
  std::printf("%lld of %lld tiles, %.1fx faster, block-sparse: %s\n",
              static_cast<long long>(count.visited_tiles), static_cast<long long>(count.dense_tiles),
              count.speedup_worst(), count.fully_block_sparse() ? "yes" : "no");
  const double end_to_end =
      end_to_end_speedup({.share = 0.607, .dense_steps = 15, .steps = 50}, count.speedup_worst());
  std::printf("end to end: %.2fx\n", end_to_end);
}
