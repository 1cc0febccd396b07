// Distinct answers against the whole ordered list, with tiles compared pair of tokens by pair of tokens.
#include <cstdlib>
#include <random>
#include <set>
#include <vector>

#include <natten_sim/search/windows/distinct.hpp>

#include "brute_force.hpp"
#include "catch.hpp"
#include "random.hpp"

namespace distinct_search_test {

using namespace natten_sim;

/// Every pair of boxes (Q tile, KV tile on a grid of its dilation group) of which some tokens attend.
std::set<std::vector<std::int64_t>> visited_by_tokens(const Candidate& candidate, const TilePair& tiles) {
  std::set<std::vector<std::int64_t>> visited;
  for (std::size_t axis = 0; axis < candidate.mask.rank(); ++axis) {
    const AxisMask& mask = candidate.mask[axis];
    const auto attends = test::axis_mask_by_definition(mask);
    for (std::int64_t q = 0; q < mask.length; ++q) {
      for (std::int64_t kv = 0; kv < mask.length; ++kv) {
        if (!attends[static_cast<std::size_t>(q)][static_cast<std::size_t>(kv)]) continue;
        visited.insert({static_cast<std::int64_t>(axis), q % mask.dilation,
                        q / mask.dilation / tiles.q_tile[axis], kv / mask.dilation / tiles.kv_tile[axis]});
      }
    }
  }
  // The shapes too, told apart: Q 3 with KV 4 is not Q 4 with KV 3.
  for (const auto& [operand, shape] : {std::pair{-1, &tiles.q_tile}, std::pair{-2, &tiles.kv_tile}}) {
    std::vector<std::int64_t> entry = {operand};
    entry.insert(entry.end(), shape->begin(), shape->end());
    visited.insert(entry);
  }
  return visited;
}

/// Window, or window and stride.
std::vector<std::int64_t> mask_key(const Candidate& candidate, Distinct distinct) {
  std::vector<std::int64_t> key;
  for (const AxisMask& axis : candidate.mask) {
    key.push_back(axis.window);
    if (distinct == Distinct::kStride) key.push_back(axis.stride);
  }
  return key;
}

std::set<std::vector<std::int64_t>> tiles_of_all_passes(const SearchSpace& space,
                                                        const Candidate& candidate) {
  const TileChoice& choice = space.tiles[candidate.tile_choice];
  std::set<std::vector<std::int64_t>> visited;
  for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
    if (!has_pass(space.phase, pass)) continue;
    for (std::vector<std::int64_t> entry :
         visited_by_tokens(candidate, pass == Walk::kForward ? choice.tiles : choice.backward_tiles)) {
      entry.push_back(pass == Walk::kForward ? 0 : 1);
      visited.insert(entry);
    }
  }
  return visited;
}

TEST_CASE("distinct answers are the first of each kind in the order of the search") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  for (int i = 0; i < 300; ++i) {
    Extents input, dilation;
    const std::int64_t rank = pick(1, 2);
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      input.push_back(pick(3, rank == 1 ? 18 : 7));
      dilation.push_back(pick(0, 3) == 0 ? 2 : 1);
    }
    SearchSpace space = full_space(input, dilation);
    for (std::size_t axis = 0; axis < input.rank(); ++axis) {
      space.causal[axis] = pick(0, 3) == 0;
      space.cyclic.push_back(!space.causal[axis] && input[axis] % dilation[axis] == 0 && pick(0, 2) == 0);
    }
    for (std::int64_t choice = pick(1, 3); choice > 0; --choice) {
      TilePair tiles;
      for (std::size_t axis = 0; axis < input.rank(); ++axis) {
        tiles.q_tile.push_back(pick(1, 4));
        tiles.kv_tile.push_back(pick(1, 4));
      }
      TilePair backward_tiles = tiles;
      for (std::int64_t& size : backward_tiles.q_tile) size = pick(1, 4);
      space.tiles.push_back({"", tiles, backward_tiles});
    }
    space.phase = values_of<SearchPhase>()[static_cast<std::size_t>(pick(0, 2))];
    const Objective objective = pick(0, 2) == 0 ? Objective::kWorst : Objective::kWork;
    const SearchRun run{.tie_break = pick(0, 1) == 0 ? TieBreak::kFastPath : TieBreak::kStrideProduct};
    SearchConstraints constraints;
    if (pick(0, 1) == 0) constraints.sparsity = SparsityRange{0.2, 0.8};
    const std::vector<Candidate> all = search_best(space, constraints, objective, 1'000'000, run).candidates;
    for (const Distinct distinct :
         {Distinct::kNone, Distinct::kTiles, Distinct::kStride, Distinct::kWindow}) {
      const auto top = static_cast<std::size_t>(pick(1, 20));
      std::vector<Candidate> wanted;
      std::set<std::vector<std::int64_t>> masks;
      std::set<std::set<std::vector<std::int64_t>>> tiles;
      for (const Candidate& candidate : all) {
        if (wanted.size() == top) break;
        const bool by_mask = distinct == Distinct::kWindow || distinct == Distinct::kStride;
        if (by_mask && !masks.insert(mask_key(candidate, distinct)).second) continue;
        const bool is_new =
            distinct == Distinct::kNone || tiles.insert(tiles_of_all_passes(space, candidate)).second;
        if (is_new) wanted.push_back(candidate);
      }
      const DistinctResult result = search_distinct(space, constraints, objective, top, distinct, run);
      INFO("input " << to_string(input) << " distinct " << to_string(distinct) << " phase "
                    << to_string(space.phase) << " top " << top);
      REQUIRE(result.complete);
      REQUIRE(result.search.candidates.size() == wanted.size());
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        REQUIRE(result.search.candidates[k].mask == wanted[k].mask);
        REQUIRE(result.search.candidates[k].tile_choice == wanted[k].tile_choice);
      }
    }
  }
}

TEST_CASE("answers that differ by the last query of the first KV tile are told apart") {
  // Backward, Q tiles of two from the first query on. Keys 0 and 1 are seen by queries 0 and 1 (window 1: one
  // Q tile), or by query 2 too (window 2: two); key 2 by query 2 alone, or by all (window 3).
  SearchSpace space = full_space({3});
  space.phase = SearchPhase::kBackward;
  space.backward_kv_tiling = KvTiling::kDynamic;
  space.tiles = {{"", {{2}, {2}}, {{2}, {2}}}};
  const DistinctResult result = search_distinct(space, {}, Objective::kWork, 100, Distinct::kTiles);
  std::set<std::int64_t> windows;
  for (const Candidate& candidate : result.search.candidates) windows.insert(candidate.mask[0].window);
  CHECK(windows == std::set<std::int64_t>{1, 2, 3});
}

TEST_CASE("strides on an axis that the window covers are one answer") {
  SearchSpace space = full_space({64});
  space.window[0] = {64, 64};
  space.tiles = {{"", {{8}, {8}}}};
  REQUIRE(search_best(space, {}, Objective::kWork, 100).candidates.size() == 64);
  const DistinctResult result = search_distinct(space, {}, Objective::kWork, 100, Distinct::kTiles);
  REQUIRE(result.search.candidates.size() == 1);
  REQUIRE(result.search.candidates[0].mask[0].stride == 1);
}

}  // namespace distinct_search_test
