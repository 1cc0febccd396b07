// The search against plain enumeration on axes long enough that its sketch is a part of the space only.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <tuple>
#include <vector>

#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/search.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace large_search_test {

using namespace natten_sim;

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // multiplied pairs, stride, window

std::vector<Key> best_by_enumeration(const SearchSpace& space, const SearchConstraints& constraints,
                                     std::size_t top) {
  std::vector<Key> keys;
  const TilePair& tiles = space.tiles[0].tiles;
  const std::int64_t length = space.input[0], dilation = space.dilation[0];
  for (std::int64_t window = 1; window * dilation <= length; ++window) {
    if (constraints.window_multiple_of_kv_tile && window % tiles.kv_tile[0] != 0) continue;
    for (std::int64_t stride = 1; stride <= window; ++stride) {
      const NeighborhoodMask mask = {{length, window, stride, dilation, space.causal[0], space.cyclic[0]}};
      const TileCount count = count_tiles({.mask = mask, .tiles = tiles, .kv_tiling = space.kv_tiling});
      if (constraints.fully_block_sparse && !count.fully_block_sparse()) continue;
      // Bounds in tenths: exact in integers.
      const Int128 masked = 10 * (count.dense_pairs - count.attended_pairs);
      const auto lo = static_cast<std::int64_t>(constraints.sparsity->lo * 10 + 0.5);
      const auto hi = static_cast<std::int64_t>(constraints.sparsity->hi * 10 + 0.5);
      if (masked < lo * count.dense_pairs || masked > hi * count.dense_pairs) continue;
      keys.emplace_back(count.mma_pairs, stride, window);
    }
  }
  std::sort(keys.begin(), keys.end());
  if (keys.size() > top) keys.resize(top);
  return keys;
}

TEST_CASE("the search equals plain enumeration on long axes") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  for (int i = 0; i < 40; ++i) {
    SearchSpace space = full_space({pick(300, 700)}, {pick(0, 3) == 0 ? 2 : 1});
    space.causal[0] = pick(0, 2) == 0;
    space.cyclic = {!space.causal[0] && space.input[0] % space.dilation[0] == 0 && pick(0, 2) == 0};
    if (!space.cyclic[0] && pick(0, 3) == 0) space.kv_tiling = KvTiling::kDynamic;
    space.tiles = {{"", {{pick(1, 24)}, {pick(1, 24)}}}};
    SearchConstraints constraints;
    const std::int64_t lo = pick(0, 9);
    constraints.sparsity =
        SparsityRange{static_cast<double>(lo) / 10, static_cast<double>(pick(lo, 10)) / 10};
    constraints.window_multiple_of_kv_tile = pick(0, 2) == 0;
    constraints.fully_block_sparse = pick(0, 2) == 0;
    const auto top = static_cast<std::size_t>(pick(1, 40));
    const std::vector<Key> wanted = best_by_enumeration(space, constraints, top);
    std::vector<Key> found;
    for (const Candidate& candidate : search_best(space, constraints, Objective::kWork, top).candidates) {
      found.emplace_back(candidate.count.mma_pairs, candidate.mask[0].stride, candidate.mask[0].window);
    }
    INFO("length " << space.input[0] << " dilation " << space.dilation[0] << " causal " << space.causal[0]
                   << " cyclic " << space.cyclic[0]
                   << " tiles " << space.tiles[0].tiles.q_tile[0] << " " << space.tiles[0].tiles.kv_tile[0]
                   << " sparsity " << constraints.sparsity->lo << " " << constraints.sparsity->hi << " top "
                   << top);
    REQUIRE(found == wanted);
  }
}

}  // namespace large_search_test
