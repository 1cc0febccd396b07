#include <algorithm>
#include <random>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/block_mask.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace block_mask_test {

using namespace natten_sim;

TEST_CASE("blocks of a sequence in windows of two tiles: the window's ends are partial, its middle is full") {
  // Tiles of 4, window 8 with 4 tokens before and 3 behind: queries 8..11 see 4..14.
  const study::BlockTables mask = study::block_mask(make_mask({20}, {8}), {{4}, {4}});
  CHECK(mask.q_blocks() == 5);
  CHECK(mask.partial[2] == std::vector<std::int32_t>{1, 3});
  CHECK(mask.full[2] == std::vector<std::int32_t>{2});
  CHECK(mask.ranges[0][0][8] == TokenRange{4, 12});
  CHECK(mask.ranges[0][0][11] == TokenRange{7, 15});
}

TEST_CASE("a KV tile that sticks out is partial even when all its tokens attend") {
  const study::BlockTables mask = study::block_mask(make_mask({6}, {6}), {{4}, {4}});
  CHECK(mask.full[0] == std::vector<std::int32_t>{0});
  CHECK(mask.partial[0] == std::vector<std::int32_t>{1});
}

TEST_CASE("groups of a dilated axis have the blocks of the longest one") {
  // Residues of 3 tokens and 2: one tile of 2 tokens is left empty.
  const study::BlockTables mask = study::block_mask(make_mask({5}, {2}, {1}, {2}), {{2}, {2}});
  CHECK(mask.groups == 2);
  CHECK(mask.q_tiles == Extents{2});
  CHECK(mask.kv_blocks() == 4);
  CHECK(mask.partial[3].empty());
  CHECK(mask.full[3].empty());
}

/// Token of block-order position `at` of one axis, or none.
struct Place {
  std::int64_t residue = 0, token = 0;
  bool inside = true;
};

std::vector<Place> places(const study::BlockTables& mask, const Extents& tile, const Extents& tiles,
                          std::size_t axis, std::int64_t position) {
  // Position: group, tile and token, each row-major.
  std::int64_t in_tile = position % product(tile, "tile"), rest = position / product(tile, "tile");
  std::int64_t tile_index = rest % product(tiles, "tiles"), group = rest / product(tiles, "tiles");
  for (std::size_t other = mask.mask.rank(); other-- > axis + 1;) {
    in_tile /= tile[other];
    tile_index /= tiles[other];
    group /= mask.mask[other].dilation;
  }
  const std::int64_t residue = group % mask.mask[axis].dilation;
  const std::int64_t token = tile_index % tiles[axis] * tile[axis] + in_tile % tile[axis];
  return {{residue, token, token < residue_class(mask.mask[axis], residue).length}};
}

TEST_CASE("tables agree with the rule, pair of tokens by pair of tokens") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937 random(seed);
  const auto between = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  for (int trial = 0; trial < 60; ++trial) {
    const auto rank = static_cast<std::size_t>(between(1, 2));
    Extents input, window, stride, dilation, q_tile, kv_tile;
    PerAxis<bool> causal;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      input.push_back(between(2, rank == 1 ? 40 : 11));
      dilation.push_back(between(1, std::min<std::int64_t>(3, input[axis])));
      window.push_back(between(1, input[axis] / dilation[axis]));
      stride.push_back(between(1, window[axis]));
      causal.push_back(between(0, 3) == 0);
      q_tile.push_back(between(1, 4));
      kv_tile.push_back(between(1, 4));
    }
    const NeighborhoodMask rule = make_mask(input, window, stride, dilation, causal);
    const study::BlockTables mask = study::block_mask(rule, {q_tile, kv_tile});
    const std::int64_t q_tokens = product(q_tile, "q"), kv_tokens = product(kv_tile, "kv");
    for (std::int64_t q_block = 0; q_block < mask.q_blocks(); ++q_block) {
      std::set<std::int32_t> partial, full;
      for (std::int64_t kv_block = 0; kv_block < mask.kv_blocks(); ++kv_block) {
        bool any = false, all = true;
        for (std::int64_t q = q_block * q_tokens; q < (q_block + 1) * q_tokens; ++q) {
          for (std::int64_t kv = kv_block * kv_tokens; kv < (kv_block + 1) * kv_tokens; ++kv) {
            bool query = true, attends = true;
            for (std::size_t axis = 0; axis < rank; ++axis) {
              const Place of_q = places(mask, q_tile, mask.q_tiles, axis, q).front();
              const Place of_kv = places(mask, kv_tile, mask.kv_tiles, axis, kv).front();
              query = query && of_q.inside;
              if (!of_q.inside) continue;
              const TokenRange range = attended_range(residue_class(rule[axis], of_q.residue), of_q.token);
              CHECK(mask.ranges[axis][static_cast<std::size_t>(of_q.residue)]
                               [static_cast<std::size_t>(of_q.token)] == range);
              attends = attends && of_kv.inside && of_q.residue == of_kv.residue &&
                        range.begin <= of_kv.token && of_kv.token < range.end;
            }
            if (!query) continue;  // padding may read anything
            any = any || attends;
            all = all && attends;
          }
        }
        if (any) (all ? full : partial).insert(static_cast<std::int32_t>(kv_block));
      }
      const auto row = static_cast<std::size_t>(q_block);
      CHECK(std::set(mask.partial[row].begin(), mask.partial[row].end()) == partial);
      CHECK(std::set(mask.full[row].begin(), mask.full[row].end()) == full);
    }
  }
}

}  // namespace block_mask_test
